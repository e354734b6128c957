/**
 * Failing projects for the rules about resolvers, SQL files, the graph, queries and the project
 * (140 to 194).
 */

import { after, IMPORTS, type RuleFixture, USER } from "./fixtures.ts";

const ORDER = `${USER}

@features
class Order:
    id: int
    total: float
    risk: float
    user_id: User.id
    user: User
`;
const SOURCE = '\n\nlite = SQLiteSource(name="lite", path="app.db")\n';
const HEADER = "-- resolves: User\n-- source: lite\n";
const sql = (text: string, head = USER): RuleFixture["files"] => ({ ...after(head, SOURCE), "get_user.svc.sql": text });
const resolver = (text: string, head = USER): RuleFixture["files"] => after(head, `\n\n@online\n${text}\n`);

export const GRAPH_FIXTURES: readonly RuleFixture[] = [
  {
    rule: "E140",
    says: "parameter 'id' names no feature: annotate it, such as 'id: User.id'",
    files: resolver("def f(«id») -> User.name: ..."),
  },
  {
    rule: "E141",
    says: "the parameters start from Order and from User: a resolver starts from one class; write 'Order.user.name'",
    files: resolver("def f(total: Order.total, name: «User.name») -> Order.risk: ...", ORDER),
  },
  {
    rule: "E142",
    says: "User has no feature 'nmae'; did you mean 'name'?",
    files: resolver("def f(name: User.«nmae») -> User.email: ..."),
  },
  {
    rule: "E143",
    says: "'f' does not say what it produces: write '-> User.name' or '-> Features[User.name, User.email]'",
    files: resolver("def «f»(id: User.id): ..."),
  },
  {
    rule: "E144",
    says: "'user.name' is an output and the input 'name': a resolver cannot produce what it needs",
    files: resolver("def f(name: User.name) -> Features[User.email, «User.name»]: ..."),
  },
  {
    rule: "E145",
    says: "'order.user.name' is a feature of User, reached through a relation: a resolver produces features of the class it starts from; write one from User to 'User.name'",
    files: resolver("def f(id: Order.id) -> «Order.user.name»: ...", ORDER),
  },
  {
    rule: "E146",
    says: 'cron of f is "61 * * * *": minute \'61\' is outside of 0-59; write a cron expression of five fields such as "30 2 * * *", or a duration such as 15m or 1d',
    files: after(USER, '\n\n@online(cron=«"61 * * * *"»)\ndef f(id: User.id) -> User.name: ...\n'),
  },
  {
    rule: "E147",
    says: "'users' has no column User.email: the columns that its annotation names leave it out; add User.email to them",
    files: resolver(
      "def f(users: DataFrame[User.id]) -> DataFrame[User.id, User.name]:\n    return [{User.id: user.id, User.name: «user.email»} for user in users]",
    ),
  },
  {
    rule: "E148",
    says: "two resolvers have the name 'features.f': rename one function, or give it another 'name='",
    files: resolver('def f(id: User.id) -> User.name: ...\n\n\n@online(name=«"f"»)\ndef g(id: User.id) -> User.email: ...'),
  },
  {
    rule: "W149",
    says: "the rows lack the primary key, User.id, so that they cannot be told apart or stored: add it to the columns",
    files: resolver("def f() -> «DataFrame[User.name, User.email]»: ..."),
  },
  {
    rule: "E150",
    says: "the header has no `source`: the data source it reads, for example `-- source: pg`",
    files: sql("«--» resolves: User\nselect id, name from t\n"),
  },
  {
    rule: "E151",
    says: "no feature class is called 'Usr'; did you mean 'User'?",
    files: sql("-- resolves: «Usr»\n-- source: lite\nselect id, name from t\n"),
  },
  {
    rule: "E152",
    says: "unknown header key 'tgas'; did you mean 'tags'?",
    files: sql(`${HEADER}-- «tgas»: [a]\nselect id, name from t\n`),
  },
  {
    rule: "E153",
    says: "output feature 'nmae' does not exist in class User; the closest is 'name'",
    files: sql(`${HEADER}select id, title as «nmae» from t\n`),
  },
  {
    rule: "E154",
    says: "there is no source 'lote'; there is lite (sqlite)",
    files: sql("-- resolves: User\n-- source: «lote»\nselect id, name from app_user\n"),
    remote: true,
  },
  {
    rule: "E177",
    says: "the evaluation 'answers' names no dataset: dataset is str ''; write its name, such as 'tickets'",
    files: after(USER, "\n\nEvaluation('answers', dataset=«''», task=len, scorers=[str.lower])\n"),
  },
  {
    rule: "E178",
    says: "the evaluation 'answers' has 0 scorers: write 1 to 20, such as scorers=[exact_match('expected')]",
    files: after(USER, "\n\nEvaluation('answers', dataset='d', task=lambda a: a, scorers=«[]»)\n"),
  },
  {
    rule: "E179",
    says: "the task of the evaluation 'answers' does not take its inputs: got an unexpected keyword argument 'b'",
    files: after(USER, "\n\nEvaluation('answers', dataset='d', task=lambda a=1: a, inputs=«{'b': 'c'}», scorers=[lambda a: 1])\n"),
  },
  {
    rule: "E155",
    says: "${user.emial} is neither a feature nor now: 'emial' is no feature of class User; did you mean 'email'?",
    files: sql(`${HEADER}select id, name from t where mail = «\${user.emial}»\n`),
  },
  {
    rule: "E156",
    says: "`incremental` in mode row needs `incremental_column`: the column by which a row is new",
    files: sql(`${HEADER}-- incremental: «{mode: row}»\nselect id, name from t\n`),
  },
  {
    rule: "E157",
    says: "two columns fill feature 'user.name'",
    files: sql(`${HEADER}select id, name, title as «name» from t\n`),
  },
  {
    rule: "W158",
    says: "the columns of `*` are known to the database alone: only the server can check them",
    files: sql(`${HEADER}select «*» from t\n`),
  },
  {
    rule: "E158",
    says: "the database's answer has no column 'titel'; it has 'id', 'name' and 'mail'",
    files: sql("-- resolves: User\n-- source: lite\n-- fields:\n--   «titel»: name\nselect * from app_user\n"),
    remote: true,
  },
  {
    rule: "E159",
    says: "lite rejects the statement: no such column: nmae",
    files: sql(`${HEADER}select id,\n  «nmae» as name\nfrom app_user\n`),
    remote: true,
  },
  {
    rule: "E160",
    says: "named query 'q' cannot compute user.name from its inputs; no resolver or default computes user.name",
    files: after(USER, "\n\nNamedQuery(name=«'q'», input=[User.id], output=[User.name])\n"),
  },
  {
    rule: "E161",
    says: "cycle: user.email -> user.name -> user.email; each of these features is computed only from the next",
    files: resolver("def «f»(name: User.name) -> User.email: ...\n\n\n@online\ndef g(email: User.email) -> User.name: ..."),
  },
  {
    rule: "E161",
    says: "cycle: emp.level -> emp.level; each of these features is computed only from the next",
    files: after(
      IMPORTS,
      `
@features
class Emp:
    id: int
    boss_id: "Emp.id | None"
    boss: "Emp | None"
    level: int

@online
def boss_of(id: Emp.id) -> Emp.boss_id: ...

@online
def «level»(above: Emp.boss.level = -1) -> Emp.level: ...
`,
    ),
  },
  {
    rule: "E162",
    says: "features.f and features.g both compute user.name, and nothing says which of them a query should use",
    files: resolver("def f(id: User.id) -> User.name: ...\n\n\n@online\ndef «g»(id: User.id) -> User.name: ..."),
  },
  {
    rule: "W163",
    says: "nothing computes user.spare and nothing uses it: a query can only give it back as it was given",
    files: after(IMPORTS, "\n@features\nclass User:\n    id: int\n    «spare»: str\n"),
  },
  {
    rule: "W164",
    says: "features.f needs user.name, which only the offline resolver features.g computes",
    files: resolver("def «f»(name: User.name) -> User.email: ...\n\n\n@offline\ndef g(id: User.id) -> User.name: ..."),
  },
  {
    rule: "W165",
    says: "features.f has the schedule '1d', and nothing runs it: it returns the rows of user.txns, which queries alone ask for",
    files: after(
      IMPORTS,
      '\n@features\nclass Txn:\n    id: int\n    user_id: "User.id"\n    amount: float\n\n\n@features\nclass User:\n    id: int\n    txns: DataFrame[Txn]\n\n\n@online(cron="1d")\ndef «f»(id: User.id) -> User.txns[Txn.id, Txn.amount]: ...\n',
    ),
  },
  {
    rule: "E166",
    says: "user.half is checked by is_even, and its expression computes it without Python",
    files: after(
      IMPORTS,
      "\nfrom svc.features import Validation, _, feature\n\n\ndef is_even(value):\n    return value % 2 == 0\n\n\n@features\nclass User:\n    id: int\n    «half»: int = feature(validations=[Validation(check=is_even)], expression=_.id * 2)\n",
    ),
  },
  {
    rule: "E170",
    says: "the named query 'q' asks for what does not exist: User has no feature 'nmae'; did you mean 'name'?",
    files: after(USER, "\n\nNamedQuery(name='q', input=[User.id], output=[«'user.nmae'»])\n"),
  },
  {
    rule: "E171",
    says: "the named query 'q' is defined twice in version '1': give one of them another version",
    files: after(
      USER,
      "\n\nNamedQuery(name='q', version='1', output=[User.name])\nNamedQuery(name=«'q'», version='1', output=[User.email])\n",
    ),
  },
  {
    rule: "E172",
    says: "the scheduled query 'q' is defined twice: give one of them another name",
    files: after(
      USER,
      "\n\nScheduledQuery(name='q', schedule='1d', output=[User.name])\nScheduledQuery(name=«'q'», schedule='1d', output=[User.email])\n",
    ),
  },
  {
    rule: "E173",
    says: "the monitor 'slow' has no bound: write above= or below=",
    files: after(USER, "\n\n«Monitor»('slow', 'p99:query.latency')\n"),
  },
  {
    rule: "E173",
    says: "the monitor 'slow' is defined twice: give one of them another name",
    files: after(USER, "\n\nMonitor('slow', 'p99:query.latency', above='80ms')\nMonitor(«'slow'», 'p50:query.latency', above='8ms')\n"),
  },
  {
    rule: "E173",
    says: "the monitor 'slow' has no possible period: 10s is none of 1m to 2d in whole minutes",
    files: after(USER, "\n\nMonitor('slow', «'p99:query.latency.rollup(10s)'», above='80ms')\n"),
  },
  {
    rule: "E174",
    says: "the query of the monitor 'slow' cannot be read: column 5: there is no metric 'query.latencies'",
    files: after(USER, "\n\nMonitor('slow', query='p99:«query.latencies»', above='80ms')\n"),
  },
  {
    rule: "E174",
    says: "the query of the monitor 'slow' cannot be read: column 19: query.latency has no label 'feature'",
    files: after(USER, "\n\nMonitor('slow', 'p99:query.latency{«feature»:user.name}', above='80ms')\n"),
  },
  {
    rule: "E175",
    says: "the bound '1GiB' of the monitor 'slow' does not go with its query, whose values are seconds",
    files: after(USER, "\n\nMonitor('slow', 'p99:query.latency', above=«'1GiB'»)\n"),
  },
  {
    rule: "W176",
    says: "the monitor 'slow' names the webhook 'ops', which the environment does not have",
    files: after(USER, "\n\nMonitor(«'slow'», 'p99:query.latency', above='80ms', notify=['webhook:ops'])\n"),
    remote: true,
  },
  {
    rule: "E180",
    says: '\'fails\' has the window 7d twice, as "7d" and "1w": take one out',
    files: after(USER, '    fails: Windowed[int] = windowed("7d", «"1w"»)\n'),
  },
  {
    rule: "E190",
    says: "owners: unknown key; the keys are project, name, environments, validation",
    files: { ...after(USER, ""), "svc.yaml": "project: demo\n«owners»: me\n" },
  },
  {
    rule: "E191",
    says: /^no Python 3\.10 to 3\.13 was found \(searched .*; install it with /,
    files: after(USER, ""),
    env: { PATH: "/nonexistent" },
  },
  {
    rule: "E209",
    says: "the resolver 'features.f' runs in resource group 'big', and the environment has no resource group 'big': it has default",
    files: after(USER, '\n\n@online(resource_group="big")\ndef «f»(id: User.id) -> User.name: ...\n'),
    remote: true,
  },
  {
    rule: "E192",
    says: "'features.f' has no owner, which this project asks of every resolver: write owner= in its decorator",
    files: resolver("def «f»(id: User.id) -> User.name: ..."),
    settings: "validation:\n  resolver:\n    metadata:\n      - name: owner\n        missing: error\n",
  },
  {
    rule: "W193",
    says: "user.twice uses user.old, which is deprecated: Use score",
    files: after(
      IMPORTS,
      "\n@features\nclass User:\n    id: int\n    # Use score\n    old: int = feature(deprecated=True, default=0)\n    «twice»: int = _.old * 2\n",
    ),
  },
  {
    rule: "E194",
    says: "RedshiftSource needs the driver redshift-connector, which no requirements file names: add 'svc[redshift]' or 'redshift-connector'",
    files: after("from svc.sources import RedshiftSource\n\n", "wh = «RedshiftSource»(name='wh')\n"),
    beside: [105],
  },
  {
    rule: "E196",
    says: "the resolver 'features.f' runs in venv 'modle', which svc.yaml does not have for this environment: did you mean 'model'?",
    files: { ...after(USER, '\n\n@online(venv="modle")\ndef «f»(id: User.id) -> User.name: ...\n'), "model.txt": "" },
    settings: "    venvs:\n      model:\n        requirements: model.txt\n",
  },
  {
    rule: "E200",
    says: "messages of type list have no fixed schema: write a dataclass, a pydantic model, dict, str or bytes, or give parse= a function that makes them of the bytes",
    files: streamed("@stream(source=events)\ndef on(message: «list») -> Features[Txn.id, Txn.amount]: ..."),
  },
  {
    rule: "E201",
    says: "the outputs lack Txn.id, the primary key: rows of Txn are stored by it",
    files: streamed("@stream(source=events)\ndef on(message: dict) -> «Features[Txn.amount]»: ..."),
  },
  {
    rule: "E202",
    says: "source is str 'events': write a KafkaSource(...) or a TopicSource(...)",
    files: streamed('@stream(source=«"events"»)\ndef on(message: dict) -> Features[Txn.id, Txn.amount]: ...'),
  },
  {
    rule: "E202",
    says: '@stream is written without its source: write @stream(source=TopicSource(name="...")) or @stream(source=KafkaSource(name="..."))',
    files: streamed("@stream\ndef «on»(message: dict) -> Features[Txn.id, Txn.amount]: ..."),
  },
  {
    rule: "E202",
    says: "source is missing: write source=, a KafkaSource(...) or a TopicSource(...)",
    files: streamed("@stream(name='a')\ndef «on»(message: dict) -> Features[Txn.id, Txn.amount]: ..."),
  },
  {
    rule: "E203",
    says: "parse takes 2 parameters: it is called with one, the bytes of a message",
    files: streamed("@stream(source=events, parse=«lambda a, b: a»)\ndef on(message: dict) -> Features[Txn.id, Txn.amount]: ..."),
  },
  {
    rule: "E204",
    says: "TxnMsg has no field 'amuont'; did you mean 'amount'?",
    files: streamed(
      'make_stream_resolver(name="on", source=events, message_type=TxnMsg, output_features={Txn.id: _.id, Txn.amount: «_.amuont»})',
    ),
  },
  {
    rule: "E204",
    says: "txn.amount: the expression is str, and the feature is float",
    files: streamed(
      'make_stream_resolver(name="on", source=events, message_type=TxnMsg, output_features={Txn.id: _.id, Txn.amount: «_.memo»})',
    ),
  },
  {
    rule: "E205",
    says: "'messages' is DataFrame[dict]: messages that came together are a DataFrame of one dataclass or pydantic model, whose fields are the columns, such as 'messages: DataFrame[TxnMsg]'",
    files: streamed("@stream(source=events)\ndef on(messages: «DataFrame[dict]») -> DataFrame[Txn.id, Txn.amount]: ..."),
  },
  {
    rule: "E205",
    says: "'on' takes messages as a DataFrame, so it returns rows, such as DataFrame[Txn.id, Txn.amount]",
    files: streamed("@stream(source=events)\ndef on(messages: DataFrame[TxnMsg]) -> «Features[Txn.id, Txn.amount]»: ..."),
  },
  {
    rule: "E205",
    says: "'on' takes 2 parameters: a stream's function takes one, the message",
    files: streamed("@stream(source=events)\ndef on(message: dict, «other»: str) -> Features[Txn.id, Txn.amount]: ..."),
  },
  {
    rule: "E206",
    says: "the statement of 'on' is not known: called with the name of its table, the function raised AttributeError: messages has no 'max': it is the name of a table here. Its text names the table as {messages}, and hangs on nothing else",
    files: asked('«return f"select id, amount from {messages} where id < {messages.max()}"»'),
  },
  {
    rule: "E206",
    says: "the statement of 'on' is not known: called with the name of its table, the function raised TypeError: {messages:>9} has a format: a table has a name alone. Its text names the table as {messages}, and hangs on nothing else",
    files: asked('«return f"select id, amount from {messages:>9}"»'),
  },
  {
    rule: "E206",
    says: "'on' returns a statement in one place of several: write one return, as it is called once",
    files: asked('if messages:\n        «return f"select id, amount from {messages}"»\n    return DataFrame({})'),
  },
  {
    rule: "E206",
    says: "a statement's messages are read as JSON, without Python: leave out parse=, or compute the rows in Python",
    files: asked('return f"select id, amount from {messages}"', ", parse=«lambda raw: None»"),
  },
  {
    rule: "E207",
    says: "the columns lack Txn.id, the primary key: rows of Txn are told apart by it",
    files: streamed("@sink\ndef out(rows: «DataFrame[Txn.amount]») -> None: ..."),
  },
  {
    rule: "E207",
    says: "the key Txn.id is the only column: name a feature that becomes known",
    files: streamed("@sink\ndef out(rows: «DataFrame[Txn.id]») -> None: ..."),
  },
  {
    rule: "E207",
    says: "'out' takes 2 parameters: a sink takes one, rows of a class, such as 'rows: DataFrame[User.id, User.score]'",
    files: streamed("@sink\ndef out(rows: DataFrame[Txn.id, Txn.amount], «more»: int) -> None: ..."),
  },
  {
    rule: "E207",
    says: "the parameter 'rows' has no type: write rows of a class, such as 'rows: DataFrame[User.id, User.score]'",
    files: streamed("@sink\ndef out(«rows») -> None: ..."),
  },
  {
    rule: "E207",
    says: "'rows' is Txn.amount: a sink takes rows of a class, such as DataFrame[User.id, User.score]",
    files: streamed("@sink\ndef out(rows: «Txn.amount») -> None: ..."),
  },
  {
    rule: "E207",
    says: "'out' returns int, which goes nowhere: write '-> None'",
    files: streamed("@sink\ndef out(rows: DataFrame[Txn.id, Txn.amount]) -> «int»: ..."),
  },
  {
    rule: "E207",
    says: "'out' yields values: a sink is a plain function, whose rows it is given",
    files: streamed("@sink\ndef «out»(rows: DataFrame[Txn.id, Txn.amount]):\n    yield 1"),
  },
  {
    rule: "E207",
    says: "debounce is str '2s', and max_delay str '1s': rows wait at most max_delay, so write a shorter debounce",
    files: streamed('@sink(debounce=«"2s"»)\ndef out(rows: DataFrame[Txn.id, Txn.amount]) -> None: ...'),
  },
  ...[
    ["def f(*«rows»: int) -> int: ...", "'f' takes *rows: each column of the arguments is a parameter with a name"],
    ["def f(«a»: int, /) -> int: ...", "'f' takes 'a' by its place alone: arguments come by name, so leave out the '/'"],
    ["def f(«a») -> int: ...", "the parameter 'a' has no type: write one, such as 'a: float'"],
    ["def «f»(a: int): ...", "'f' does not say what it returns: write a type, such as '-> float'"],
    ["def f(a: int) -> «None»: ...", "'f' returns None: a function that callers run returns a value, and one without news returns True"],
    ["def f(a: «DataFrame») -> int: ...", "DataFrame is no value: take columns, each a parameter, and return one value for each row"],
    ["def «f»(a: int) -> int:\n    yield a", "'f' yields values: it returns one for each row"],
    ['def f() -> int: ...\n\n@function(name="f")\ndef «g»() -> int: ...', "two functions are called 'f': give one of them another name="],
  ].map(([text = "", says = ""]) => ({ rule: "E208", says, files: called(`@function\n${text}`) })),
  {
    rule: "E208",
    says: "'a' is int: with batch=True it is a list of all rows' values, such as list[float]",
    files: called("@function(batch=True)\ndef f(a: «int») -> list[int]: ..."),
  },
  {
    rule: "E208",
    says: "'f' returns int: with batch=True it returns a list, such as list[float]",
    files: called("@function(batch=True)\ndef f(a: list[int]) -> «int»: ..."),
  },
];

/** A project with a stream whose function takes a DataFrame. */
function asked(body: string, options = ""): ReturnType<typeof streamed> {
  return streamed(`@stream(source=events${options})\ndef on(messages: DataFrame[TxnMsg]) -> DataFrame[Txn.id, Txn.amount]:\n    ${body}`);
}

/** A project with a class of payments, a topic and a stream. */
function streamed(text: string): Readonly<Record<string, string>> {
  return after(
    IMPORTS,
    `
from dataclasses import dataclass
from svc.streams import TopicSource, make_stream_resolver, sink, stream

events = TopicSource(name="events")


@features
class Txn:
    id: int
    amount: float


@dataclass
class TxnMsg:
    id: int
    amount: float
    memo: str


${text}
`,
  );
}

/** Functions that callers run. */
function called(text: string): RuleFixture["files"] {
  return { "features.py": `from svc.compute import function\nfrom svc.features import DataFrame\n\n${text}\n` };
}
