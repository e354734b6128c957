/**
 * Failing projects for the rules about loading, classes, relations and expressions (101 to 136).
 */

import { after, IMPORTS, type RuleFixture, USER } from "./fixtures.ts";

const TXNS = `${IMPORTS}
@features
class User:
    id: int
    name: str
    txns: "DataFrame[Txn]"
`;
const TXN = `

@features
class Txn:
    id: int
    amount: float
    tax: float
    user_id: User.id
`;

/** The same with a feature time. */
const TIMED = `${TXN}    at: FeatureTime
`;

export const DEFINITION_FIXTURES: readonly RuleFixture[] = [
  { rule: "E101", says: /^'\(' was never closed \(Python 3\.1\d\.\d+\)$/, files: after("", "x = «(»1,\n") },
  {
    rule: "E102",
    says: "features.py cannot be imported: ZeroDivisionError: division by zero (features.py:2)",
    files: after("", "x = 1\n«y = 1 / 0»\n"),
  },
  { rule: "E103", says: /exit/, files: after("", "import sys\n\n«sys.exit(3)»\n") },
  {
    rule: "E104",
    says: "the `type` statement needs Python 3.12, but the runtime is python310",
    files: after("", "«type X» = int\n"),
    settings: "    runtime: python310\n",
    beside: [191],
  },
  {
    rule: "E105",
    says: "this version of svc has no 'Sink': a sink is the function that @sink stands above",
    files: after("", "from svc.streams import «Sink», windowed\n"),
  },
  {
    rule: "E105",
    says: "svc.streams has no 'has_many': it is in svc.features; write 'from svc.features import has_many'",
    files: after("", "from svc.streams import «has_many»\n"),
  },
  {
    rule: "E105",
    says: "this version of svc has no module 'svc.ml': it deploys no models",
    files: after("", "import «svc.ml» as P\n"),
  },
  {
    rule: "E105",
    says: "this version of svc has no 'Chart': it has no charts as code; a Monitor(...) tells when a metric breaks a bound",
    files: after(USER, "\nimport svc\n\nnightly = svc.«Chart»('1d')\n"),
  },
  {
    rule: "E106",
    says: "this version of svc has no option 'cache' of online: max_staleness= of the feature, or of its class, says how long its values are kept",
    files: after(USER, "\n\n@online(«cache»=True)\ndef f(id: User.id) -> User.name: ...\n"),
  },
  {
    rule: "E106",
    says: "feature has no option 'max_stalenes'; did you mean 'max_staleness'?",
    files: after(USER, '    age: int = feature(«max_stalenes»="1h")\n'),
  },
  {
    rule: "E106",
    says: "features has no option 'ownr'; did you mean 'owner'?",
    files: after(IMPORTS, '\n@features(«ownr»="a@example.com")\nclass User:\n    id: int\n'),
  },
  {
    rule: "E110",
    says: "User has no primary key: name it 'id', or annotate it 'Primary[...]'; its features are: name",
    files: after(IMPORTS, "\n@features\nclass «User»:\n    name: str\n"),
  },
  {
    rule: "E111",
    says: "the namespace 'user' is defined in two files: rename one class, or give it 'name='",
    files: {
      "features.py": USER,
      "more.py": `${IMPORTS}\n@features(name=«"user"»)\nclass Person:\n    id: int\n`,
    },
  },
  {
    rule: "W112",
    says: "the feature class 'User' is defined again in this file: the last one counts",
    files: after(USER, "\n\n@features\nclass «User»:\n    id: int\n"),
  },
  {
    rule: "E113",
    says: "User has two primary keys, 'email' and 'number': a row is identified by one; unmark the other",
    files: after(IMPORTS, "\n@features\nclass User:\n    email: Primary[str]\n    «number»: int = feature(primary=True)\n"),
  },
  {
    rule: "E114",
    says: "'complex' cannot be the type of a feature: write float",
    files: after(USER, "    size: «complex»\n"),
  },
  {
    rule: "E115",
    says: "the default of 'user.age' does not fit its type: str 'old' is not of type int",
    files: after(USER, '    age: int = «"old"»\n'),
  },
  {
    rule: "E116",
    says: "'name' and 'label' both have the name 'user.name': choose another 'name='",
    files: after(USER, '    label: str = feature(name=«"name"»)\n'),
  },
  {
    rule: "E117",
    says: "User has two feature times, 'at' and 'seen': a row is observed at one; write datetime for the other",
    files: after(USER, "    at: FeatureTime\n    «seen»: FeatureTime\n"),
  },
  {
    rule: "E118",
    says: "default_version of 'user.code' is int 3, and its versions are 1 to 2",
    files: after(USER, "    code: int = feature(version=2, default_version=«3», default=0)\n"),
  },
  {
    rule: "W119",
    says: "'name' is annotated twice in User: the last one counts",
    files: after(USER, "    «name»: str\n"),
  },
  {
    rule: "E120",
    says: "no join can be inferred from Order to User for 'order.user': neither class has a foreign key; add 'user_id: \"User.id\"', or spell the join out",
    files: after(USER, "\n\n@features\nclass Order:\n    id: int\n    user: «User»\n"),
  },
  {
    rule: "E121",
    says: "several joins lead from Route to User for 'route.via': Route.start == User.id; Route.end == User.id: say which one is meant",
    files: after(USER, "\n\n@features\nclass Route:\n    id: int\n    start: User.id\n    end: User.id\n    via: «User»\n"),
  },
  {
    rule: "E122",
    says: "the join of 'order.user' uses Other.id, a feature of neither Order nor User: a join compares a feature of Order with one of User",
    files: after(
      USER,
      "\n\n@features\nclass Other:\n    id: int\n\n\n@features\nclass Order:\n    id: int\n    user: User = has_one(lambda: «Other.id» == User.id)\n",
    ),
  },
  {
    rule: "E123",
    says: "the join of 'order.user' compares int ('order.id') with str ('user.name'): the two never match; give both the same type",
    files: after(USER, "\n\n@features\nclass Order:\n    id: int\n    user: User | None = has_one(lambda: User.name == «Order.id»)\n"),
  },
  {
    rule: "E124",
    says: "'Usr' in this annotation is never defined; did you mean 'User'?",
    files: after(USER, '\n\n@features\nclass Order:\n    id: int\n    user_id: "«Usr».id"\n'),
  },
  {
    rule: "E125",
    says: 'quote the whole annotation, not a part of it: write "DataFrame[Txn]"',
    files: after(`${USER}    txns: DataFrame[«"Txn"»]\n`, TXN),
  },
  {
    rule: "W126",
    says: "'order.user' is required, but its key 'order.user_id' may be None: write 'user: \"User | None\"'",
    files: after(USER, "\n\n@features\nclass Order:\n    id: int\n    user_id: User.id | None\n    user: «User»\n"),
  },
  {
    rule: "E128",
    says: "encoder of 'user.place' cannot be used: it does not say what it returns: write a function with a return annotation, such as '-> str'",
    files: after(USER, "    place: complex = feature(encoder=«repr», decoder=complex)\n"),
  },
  {
    rule: "E130",
    says: "User has no feature 'nmae'; did you mean 'name'?",
    files: after(USER, "    loud: str = F.upper(_.«nmae»)\n"),
  },
  {
    rule: "E131",
    says: "the expression of user.size is str, and its annotation is int",
    files: after(USER, "    size: int = «F.upper(_.name)»\n"),
  },
  {
    rule: "E131",
    says: "the expression of user.size is int, and its annotation is str",
    files: after(USER, "    size: str = «F.cast(value=_.name, type=int)»\n"),
  },
  {
    rule: "E131",
    says: "when cannot take (bool, str, int); it takes (bool, T), (bool, T, T), (bool, T, bool, T), (bool, T, bool, T, T), (bool, T, bool, T, bool, T), (bool, T, bool, T, bool, T, T), (bool, T, bool, T, bool, T, bool, T), (bool, T, bool, T, bool, T, bool, T, T), (...)",
    files: after(USER, '    size: str = «F.when(_.id > 1).then("a").otherwise(1)»\n'),
  },
  {
    rule: "E132",
    says: "mean() needs exactly one column, and these are named: _.amount, _.tax; write _.txns[_.amount].mean()",
    files: after(TXNS, `    mean: float | None = _.txns[_.amount, «_.tax»].mean()\n${TXN}`),
  },
  {
    rule: "E133",
    says: "there is no function 'uper'; did you mean 'upper'?",
    files: after(USER, "    loud: str = F.«uper»(_.name)\n"),
  },
  {
    rule: "E134",
    says: "'and' makes Python decide at once what is known only when a query runs: write & and put each comparison in parentheses: (_.a > 1) & (_.b < 2)",
    files: after(USER, '    both: bool = (_.name == "a") «and» (_.email == "b")\n'),
  },
  {
    rule: "E135",
    says: "F.upper makes an expression for the server and computes nothing in a resolver: write it in Python",
    files: after(USER, "\n\n@online\ndef f(id: User.id) -> User.name:\n    return «F.upper»(str(id))\n"),
  },
  {
    rule: "W136",
    says: "the expression of user.top may be null (max() of no rows is), and the feature is not optional",
    files: after(TXNS, `    top: float = «_.txns[_.amount].max()»\n${TXN}`),
  },
  {
    rule: "W136",
    says: "the expression of user.size may be null (when may be), and the feature is not optional",
    files: after(USER, '    size: str = «F.when(_.id > 1).then("a")»\n'),
  },
  {
    rule: "E127",
    says: "'search.near' asks for 5000 rows: k is a number from 1 to 1000",
    files: {
      "features.py":
        'from svc.features import DataFrame, Vector, features, has_many\n\n\n@features(max_staleness="1d")\nclass Doc:\n    id: int\n    emb: Vector[3]\n\n\n' +
        "@features\nclass Search:\n    id: int\n    emb: Vector[3]\n    near: DataFrame[Doc] = «has_many(lambda: Search.emb.is_near(Doc.emb, k=5000))»\n",
    },
  },
  {
    rule: "E137",
    says: "'user.emb' is str, and a model gives a vector: write Vector[768], with the model's number of dimensions",
    files: after(`from svc import embed\n\n\n${USER}`, '    emb: «str» = embed(input=lambda: User.name, model="m")\n'),
  },
  {
    rule: "E181",
    says: "'user.kinds' cannot be kept: n_unique() needs all values of its rows, and its state would grow with them; what can be kept is count, sum, min, max, mean, any, all, var, std, first, last, approx_count_distinct, approx_percentile, approx_top_k, min_by, max_by, min_by_n, max_by_n",
    files: after(
      TXNS,
      `    kinds: Windowed[int] = windowed("1d", materialization=True, expression=«_.txns[_.amount, _.at > _.svc_window].n_unique()»)\n${TIMED}`,
    ),
  },
  {
    rule: "E181",
    says: "'user.size' cannot be kept: its expression is not one aggregation of rows: give the aggregation a feature of its own, and compute with that",
    files: after(
      TXNS,
      `    size: Windowed[int] = windowed("1d", materialization=True, expression=«_.txns[_.at > _.svc_window].count() + 1»)\n${TIMED}`,
    ),
  },
  {
    rule: "E181",
    says: "'user.own' cannot be kept: it compares something with the query's time in another way than a bound of the window",
    files: after(
      TXNS,
      `    own: Windowed[int] = windowed("1d", materialization=True, expression=«_.txns[_.at > _.svc_window, _.at < _.svc_now, _.amount > F.total_seconds(_.svc_now - _.at)].count()»)\n${TIMED}`,
    ),
  },
  {
    rule: "E181",
    says: "'user.all_time' cannot be kept: no condition compares a time of its rows with _.svc_window, such as _.at > _.svc_window",
    files: after(TXNS, `    all_time: Windowed[int] = windowed("1d", materialization=True, expression=«_.txns.count()»)\n${TIMED}`),
  },
  {
    rule: "E183",
    says: "'user.spends' has int for 'total', and its class says float: change one of the two",
    files: after(
      `${IMPORTS}from dataclasses import dataclass\n\nfrom svc.streams import group_by_windowed\n\n\n@dataclass\nclass Spend:\n    dear: bool\n    total: float\n\n${TXNS.slice(IMPORTS.length)}`,
      `    spends: Windowed[list[Spend]] = group_by_windowed("1d", group_by=_.amount > 9, expression=«_.txns[_.at > _.svc_window].count()»)\n${TIMED}`,
    ),
  },
  {
    rule: "E183",
    says: "group_by of 'user.spends' is str 'kind': write a feature of the rows such as _.kind, or a list of up to 8",
    files: after(
      `${IMPORTS}from svc.streams import group_by_windowed\n${TXNS.slice(IMPORTS.length)}`,
      `    spends: Windowed[list[str]] = group_by_windowed("1d", group_by=«"kind"», expression=_.txns[_.at > _.svc_window].count())\n${TIMED}`,
    ),
  },
  {
    rule: "W184",
    says: "'user.spends' may have 1056 groups, and at most 1000 are a value: group by fewer columns",
    files: after(
      `${IMPORTS}from dataclasses import dataclass\nfrom enum import Enum\n\nfrom svc.streams import group_by_windowed\n\nDay = Enum("Day", [f"D{number}" for number in range(32)])\n\n\n@dataclass\nclass Count:\n    day: Day\n    other: "Day | None"\n    number: int\n\n${TXNS.slice(IMPORTS.length)}`,
      `    spends: Windowed[list[Count]] = group_by_windowed("1d", group_by=[_.day, _.other], expression=«_.txns[_.at > _.svc_window].count()»)\n${TIMED}    day: Day\n    other: "Day | None"\n`,
    ),
  },
  {
    rule: "E182",
    says: "the window 1d of 'user.n' is no multiple of its buckets of 7h",
    files: after(
      TXNS,
      `    n: Windowed[int] = windowed("1d", materialization={"bucket_duration": "7h"}, expression=«_.txns[_.at > _.svc_window].count()»)\n${TIMED}`,
    ),
  },
  {
    rule: "E182",
    says: "'user.n' has buckets of 2d, longer than its window 1d: shorten them",
    files: after(
      TXNS,
      `    n: Windowed[int] = windowed("1d", materialization={"bucket_duration": "2d"}, expression=«_.txns[_.at > _.svc_window].count()»)\n${TIMED}`,
    ),
  },
  {
    rule: "E195",
    says: "when= is True for every row: Python decides at once what does not begin with a feature; compare a feature, such as User.id == 1",
    files: after(USER, '\n\n@online(when=«1 == 1»)\ndef f(id: User.id) -> User.name:\n    return "x"\n'),
  },
  {
    rule: "E197",
    says: "User.id stands twice",
    files: after(USER, "\n\n@online(unique_on=[«User.id», User.id])\ndef f() -> DataFrame[User.id, User.name]:\n    return []\n"),
  },
  {
    rule: "E198",
    says: "User.name is no column of the DataFrame that f takes: add it to the columns",
    files: after(
      USER,
      "\n\n@online(partitioned_by=[«User.name»])\ndef f(rows: DataFrame[User.id]) -> DataFrame[User.id, User.name]:\n    return []\n",
    ),
  },
  {
    rule: "E199",
    says: "features.f has max_staleness 1d, and user.name, which it gives, has 1h: leave one of them out",
    files: {
      "features.py":
        'from svc import online\nfrom svc.features import features\n\n\n@features(max_staleness="1h")\nclass User:\n    id: int\n    name: str\n\n\n@online(max_staleness=«"1d"»)\ndef f(id: User.id) -> User.name:\n    return "x"\n',
    },
  },
  {
    rule: "E210",
    says: "placeholder :id has no value: give it in args=",
    files: after(
      USER,
      '\n\nlite = SQLiteSource("lite")\n\n\n@online\ndef f(i: User.id) -> User.name:\n    return lite.query_string("select name from app_user where id = «:id» or id = :i", args={"i": i}).one()\n',
    ),
  },
];
