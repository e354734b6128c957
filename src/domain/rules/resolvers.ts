/** Rules about resolvers: 140 to 149, 195, and 197 to 199. */

import { error, message, rule } from "./rule.ts";
import { NO_COLUMN, NO_SUCH_FEATURE, NO_SUCH_WINDOW } from "./sentences.ts";

const USER = '@features\nclass User:\n    id: int\n    name: str = ""\n    email: str = ""\n';
const ORDER = `${USER}\n\n@features\nclass Order:\n    id: int\n    total: float = 0.0\n    risk: float = 0.0\n    user_id: User.id\n    user: User\n`;
const online = (text: string, head = USER): { "features.py": string } => ({ "features.py": `${head}\n\n@online\n${text}\n` });
const SQL_USER = `${USER}    total: float = 0.0\n\n\nlite = SQLiteSource(name="lite", path="app.db")\n`;
const sqlFile = (header: string): { "features.py": string; "get_user.svc.sql": string } => ({
  "features.py": SQL_USER,
  "get_user.svc.sql": `-- resolves: User\n-- source: lite\n${header}select id, name, email from users\n`,
});

export const BAD_INPUT = rule(
  {
    code: 140,
    id: "bad-input",
    title: "A parameter of a resolver names no feature that it could be given",
    severity: "error",
    foundBy: ["text", "analyzer"],
    yields: "to-sound-analysis",
    means:
      "Every parameter is annotated with a feature (`name: User.name`), with rows of a has-many relation and filters over them (`User.txns[...]`), with a " +
      "DataFrame of features, or with `Now`.",
    why: "What to call the resolver with is known from its annotations alone.",
    example: {
      broken: online('def greet(id) -> User.name:\n    return f"user {id}"'),
      mended: online('def greet(id: User.id) -> User.name:\n    return f"user {id}"'),
    },
  },
  {
    bareFrame: message(
      "parameter '{parameter}' does not say which rows: write '{parameter}: User.txns' for a relation's, or '{parameter}: DataFrame[User.id, User.name]'",
      "no feature",
    ),
    columnIsRelation: message("{token} is a relation: name a feature of it, such as {token}.{first}", "a relation"),
    expression: message(
      "{item} is an expression: in a resolver's parameter features are named by their class, {child}.{example}",
      "no feature",
    ),
    listOfTwoRelations: message("'{path}' goes through two has-many relations: a list has the values of the rows of one", "two relations"),
    manyValues: message("{token} goes through a has-many relation: a column has one value for each row", "many values"),
    noConstant: message("{error}: it cannot stand in a filter", "no constant"),
    noFeatureTime: message(
      "{method}() compares the feature time, and {owner} has none: annotate a feature 'FeatureTime'",
      "no feature time",
    ),
    noFilter: message("{condition} is no filter", "no filter"),
    noFilterOrColumn: message("'{shown}' is neither a filter nor a column: {advice}", "no filter or column"),
    noLimit: message("a slice in brackets says how many rows at most, newest first: write [:100]", "no limit"),
    noNumber: message("{operand} is {type}: in a filter one can calculate with int and float", "no number"),
    noRows: message("'{path}' has no rows: brackets choose rows and columns of a has-many relation", "no has-many relation"),
    notBool: message("{operand} is not bool, so it is no filter by itself: compare it", "not bool"),
    noText: message("{operand} is {type}: a text contains another text", "no text"),
    number: message("{condition} is a number, so it is no filter by itself: compare it", "not bool"),
    numberAndOther: message("{operand} is a number and is compared with {value}: the two are never alike", "types differ"),
    ofHook: message(
      "'{hook}' runs before or after all resolver calls and is given nothing: take the parameter '{parameter}' out",
      "no value",
    ),
    ofOneRow: message("parameter '{parameter}' is of one row, but {why}{advice}", "of one row"),
    ofOtherClass: message("{reference} is no feature of {child}: filters and columns of these rows start from {child}", "not from {child}"),
    relation: message("parameter '{parameter}' is a relation: take a feature of it, such as '{written}.{first}'", "a relation"),
    starred: message("'{stars}{parameter}' names no features: write one parameter per feature, such as 'name: User.name'", "no feature"),
    twoRelations: message("'{path}' goes through two has-many relations: a DataFrame has the rows of one", "two relations"),
    typesDiffer: message("{operand} is {type} and is compared with {value}: the two are never alike", "types differ"),
    unannotated: message(
      "parameter '{parameter}' names no feature: annotate it, such as '{parameter}: User.{parameter}'",
      "no feature annotation",
    ),
    value: message(
      "parameter '{parameter}' has the type '{written}', which names no feature: write '{parameter}: User.{parameter}' instead",
      "no feature",
    ),
    whichWindow: message('{token} has one value for each window: name one, such as {token}["1d"]', "which window?"),
    wholeClass: message(
      "parameter '{parameter}' is the class {owner}: take its features one by one, such as '{parameter}: {owner}.{first}'",
      "no feature",
    ),
    noColumn: NO_COLUMN,
  },
);

export const TWO_INPUT_CLASSES = rule(
  {
    code: 141,
    id: "two-input-classes",
    title: "The parameters of a resolver start from two classes",
    severity: "error",
    foundBy: ["text", "analyzer"],
    yields: "to-sound-analysis",
    means: "A resolver starts from one row. Features of other classes are reached through a relation of its class: `Order.user.name`.",
    why: "Which row of the second class belongs to the first would not be known.",
    example: {
      broken: online("def risk(total: Order.total, name: User.name) -> Order.risk:\n    return total / len(name)", ORDER),
      mended: online("def risk(total: Order.total, name: Order.user.name) -> Order.risk:\n    return total / len(name)", ORDER),
    },
  },
  {
    inColumns: message("the columns start from {name} and from {other}: a table has rows of one class", "not from {name}"),
    inParameters: message("the parameters start from {name} and from {other}: a resolver starts from one class{advice}", "not from {name}"),
  },
);

export const UNKNOWN_FEATURE = rule(
  {
    code: 142,
    id: "unknown-feature",
    title: "A feature does not exist",
    severity: "error",
    foundBy: ["text", "analyzer"],
    yields: "to-sound-analysis",
    means:
      "An annotation or a named query uses an attribute that the feature class does not have, or a window that the feature does not have.",
    why: "There is nothing to compute or to read.",
    example: {
      broken: online("def mail(name: User.nmae) -> User.email:\n    return name"),
      mended: online("def mail(name: User.name) -> User.email:\n    return name"),
    },
  },
  {
    noSuchFeature: NO_SUCH_FEATURE,
    noSuchWindow: NO_SUCH_WINDOW,
    notARelation: message("'{feature}' is a value, not a relation: it has no feature '{attribute}'", "not a relation"),
    raised: message("{problem}", "{label}"),
  },
);

export const BAD_OUTPUT = rule(
  {
    code: 143,
    id: "bad-output",
    title: "A resolver does not say which features it produces",
    severity: "error",
    foundBy: ["text", "analyzer"],
    yields: "to-sound-analysis",
    means:
      "The return annotation is a feature (`-> User.name`), several of one class (`-> Features[User.name, User.email]`), or rows as a DataFrame.",
    why: "A query finds the resolver by what it produces.",
    example: {
      broken: online('def greet(id: User.id):\n    return f"user {id}"'),
      mended: online('def greet(id: User.id) -> User.name:\n    return f"user {id}"'),
    },
  },
  {
    bareFrame: message("'DataFrame' does not say which features: write '-> {example}'", "not a feature"),
    filter: message("{rows} chooses rows: an output names columns only; choose the rows in '{resolver}'", "a filter"),
    generator: message("'{resolver}' yields: a resolver returns its result", "a generator"),
    listedTwice: message("'{feature}' stands twice among the outputs", "listed twice"),
    noFrame: message("'{resolver}' runs once for all rows of its DataFrame, so it returns a DataFrame: write '{example}'", "no DataFrame"),
    noRows: message("'{path}' has no rows: brackets choose the columns of a has-many relation", "no has-many relation"),
    notAnOutput: message("{reference} is not among the outputs, so it cannot be left out", "not an output"),
    nothingLeft: message("nothing is left in {written}: name the features that '{resolver}' produces", "no output"),
    optional: message("write '-> {written}': whether it may be None is said where the feature is defined", "not a feature"),
    relation: message("'{feature}' is a relation, found by its join: {advice}", "a relation"),
    unannotated: message("'{resolver}' does not say what it produces: {advice}", "no return annotation"),
    value: message("'{written}' names no feature: {advice}", "not a feature"),
    wholeClass: message("'{owner}' is a class: {advice}", "not a feature"),
    noColumn: NO_COLUMN,
  },
);

export const OUTPUT_IS_INPUT = rule(
  {
    code: 144,
    id: "output-is-input",
    title: "A resolver produces what it needs",
    severity: "error",
    foundBy: ["text", "analyzer"],
    yields: "to-sound-analysis",
    means: "A feature is both a parameter and an output. Take it out of one of them, or give the result a feature of its own.",
    why: "The value would have to exist before it is computed.",
    example: {
      broken: online("def mail(name: User.name) -> Features[User.email, User.name]:\n    return name, name"),
      mended: online("def mail(name: User.name) -> Features[User.email]:\n    return (name,)"),
    },
  },
  {
    alsoInput: message("'{feature}' is an output and the input '{parameter}': a resolver cannot produce what it needs", "also an input"),
  },
);

export const FOREIGN_OUTPUT = rule(
  {
    code: 145,
    id: "foreign-output",
    title: "A resolver produces features of another class than it starts from",
    severity: "error",
    foundBy: ["analyzer"],
    means: "What a resolver produces belongs to the row that it starts from. Write a resolver that starts from the other class.",
    why: "Many rows may lead to one row of the other class, and each would give it another value.",
    example: {
      broken: online('def owner(id: Order.id) -> Order.user.name:\n    return f"user of {id}"', ORDER),
      mended: online('def owner(id: User.id) -> User.name:\n    return f"user {id}"', ORDER),
    },
  },
  {
    anotherClass: message(
      "'{path}' is a feature of {owner}, but the parameters start from {root}: a resolver produces features of the class it starts from{advice}",
      "another class",
    ),
    rows: message(
      "'{path}' is reached through a relation: a resolver gives the rows of a relation of the class it starts from",
      "not its own relation",
    ),
    severalClasses: message(
      "the outputs belong to {names}: a resolver produces features of one class; write a resolver for each",
      "another class",
    ),
    throughRelation: message(
      "'{path}' is a feature of {owner}, reached through a relation: a resolver produces features of the class it starts from; write one from {owner} to '{owner}.{attribute}'",
      "not its own feature",
    ),
  },
);

export const BAD_VALUE = rule(
  {
    code: 146,
    id: "bad-value",
    title: "An option has a value that it cannot have",
    severity: "error",
    foundBy: ["text", "analyzer"],
    yields: "to-sound-analysis",
    means:
      "An option of a decorator, of `feature(...)`, of a named query or of the header of a SQL file. The message says what may be written.",
    why: "The option would be without effect, or have another one than was meant.",
    example: {
      broken: { "features.py": `${USER}    score: float = feature(default=0.0, max_staleness="soon")\n` },
      mended: { "features.py": `${USER}    score: float = feature(default=0.0, max_staleness="1h")\n` },
    },
  },
  {
    asyncCpu: message(
      "an async def runs on one event loop with all others, so one that computes for long keeps them waiting: write a plain def for resource_hint='cpu'",
      "async",
    ),
    ofRelation: message("'{feature}' is a relation and takes no {option}: its rows are stored if it has a max_staleness", "a relation"),
    option: message("{problem}", "bad value"),
    totalWithInputs: message(
      "total=True says that a DataFrame has all rows of its class: a resolver that is given features is asked for some of them",
      "has inputs",
    ),
    totalWithoutFrame: message("total=True says that a DataFrame has all rows of its class: return DataFrame[...]", "no DataFrame"),
    written: message("{option} of {owner} is {written}: {problem}", "bad value"),
    header: message("{problem}", "{label}"),
  },
);

export const MISSING_COLUMN = rule(
  {
    code: 147,
    id: "missing-column",
    title: "A resolver reads a column that its own annotation leaves out",
    severity: "error",
    foundBy: ["analyzer"],
    means: "The rows of a DataFrame have the columns that the annotation names. Add the one that is read.",
    why: "The call would fail for every row.",
    example: {
      broken: online(
        "def names(users: DataFrame[User.id]) -> DataFrame[User.id, User.name]:\n    return [{User.id: user.id, User.name: user.email} for user in users]",
      ),
      mended: online(
        "def names(users: DataFrame[User.id, User.email]) -> DataFrame[User.id, User.name]:\n    return [{User.id: user.id, User.name: user.email} for user in users]",
      ),
    },
  },
  {
    leftOut: message(
      "'{parameter}' has no column {reference}: the columns that its annotation names leave it out; add {reference} to them",
      "left out",
    ),
  },
);

export const DUPLICATE_RESOLVER = rule(
  {
    code: 148,
    id: "duplicate-resolver",
    title: "Two resolvers have one name",
    severity: "error",
    foundBy: ["text", "analyzer"],
    yields: "to-sound-analysis",
    means:
      "A Python resolver is named by its module and function, or `name=`; a SQL file by its name without folder and ending. Rename one of the two.",
    why: "Logs, plans and calls by name would not tell which one is meant.",
    example: {
      broken: online(
        'def greet(id: User.id) -> User.name:\n    return "name"\n\n\n@online(name="greet")\ndef mail(id: User.id) -> User.email:\n    return "mail"',
      ),
      mended: online(
        'def greet(id: User.id) -> User.name:\n    return "name"\n\n\n@online(name="mail")\ndef mail(id: User.id) -> User.email:\n    return "mail"',
      ),
    },
  },
  {
    inPython: message("two resolvers have the name '{resolver}': rename one function, or give it another 'name='", "same name"),
    sqlFile: message(
      "resolver name '{resolver}' is taken: a SQL file's name without folder and ending must be unique in the project",
      "second resolver of this name",
    ),
  },
);

export const ROWS_WITHOUT_KEY = rule(
  {
    code: 149,
    id: "rows-without-key",
    title: "The rows of a resolver lack their primary key",
    severity: "warning",
    foundBy: ["analyzer", "text"],
    means:
      "Name the primary key among the columns. For a SQL file it is an error, unless the statement binds a feature of the row: `where id = ${user.id}`.",
    why: "Rows without a key cannot be told apart, matched or stored.",
    example: {
      broken: online('def everyone() -> DataFrame[User.name, User.email]:\n    return [{User.name: "a", User.email: "b"}]'),
      mended: online('def everyone() -> DataFrame[User.id, User.name]:\n    return [{User.id: 1, User.name: "a"}]'),
    },
  },
  {
    ofFrame: message(
      "the rows lack the primary key, {key}, so that they cannot be told apart or stored: add it to the columns",
      "no primary key",
    ),
    sqlFile: error("the query returns no '{key}', the primary key of {owner}: its rows cannot be matched to keys", "no primary key"),
  },
);

export const BAD_CONDITION = rule(
  {
    code: 195,
    id: "bad-condition",
    title: "The condition of a resolver cannot be tested for a row",
    severity: "error",
    foundBy: ["analyzer"],
    means:
      "`when=` takes a condition on features of the resolver's class, or of rows that has-one relations lead to: comparisons with `==` and `<`, `is None` " +
      "and `in`, joined by `and`, `or` and `not`, or a feature that is bool. The resolver returns values of one row.",
    why: "Which of several resolvers computes a row is decided row by row, before any of them runs.",
    example: {
      broken: {
        "features.py": `${USER}\n\n@online(when=len("x") == 1)\ndef greet(id: User.id) -> User.name:\n    return "name"\n`,
      },
      mended: {
        "features.py": `${USER}\n\n@online(when=User.email == "x")\ndef greet(id: User.id) -> User.name:\n    return "name"\n`,
      },
    },
  },
  {
    decided: message(
      "when= is {value} for every row: Python decides at once what does not begin with a feature; compare a feature, such as {owner}.{example} == 1",
      "decided at once",
    ),
    noCondition: message("when= is {value}: write a condition such as {owner}.{example} == 1", "no condition"),
    notOfClass: message(
      "when= is {value}, and '_' is the row of an expression: begin with the class, such as {owner}.{example} == 1",
      "no condition",
    ),
    notOfRow: message("the condition cannot be tested for a row: {error}", "no condition"),
    ofRows: message(
      "when= is tested for the row that a resolver computes: one that returns a DataFrame finds the rows itself; leave out there what does not count",
      "no row yet",
    ),
    otherClass: message("{reference} is no feature of {owner}: the condition is on the row that the resolver computes", "not from {owner}"),
  },
);

/** What is said of a list of features, whatever it is for. */
const OF_LIST = {
  noFeature: message("{option} holds {value}: write features, such as {option}=[{example}]", "no feature"),
  nothing: message("{option} is empty: write features, such as {option}=[{example}]", "no feature"),
  relation: message("{feature} is a relation: name a feature that holds a value", "a relation"),
  twice: message("{feature} stands twice", "listed twice"),
};

export const BAD_UNIQUE_ON = rule(
  {
    code: 197,
    id: "bad-unique-on",
    title: "`unique_on` names no columns that the rows of a resolver have",
    severity: "error",
    foundBy: ["text", "analyzer"],
    means:
      "`unique_on` lists columns of the rows that a resolver returns, each once: outputs of a Python function that returns a DataFrame, or of a SQL file " +
      "that may give any number of rows.",
    why: "Rows cannot be compared by what they do not have.",
    example: { broken: sqlFile("-- unique_on: [total]\n"), mended: sqlFile("-- unique_on: [email]\n") },
  },
  {
    ...OF_LIST,
    notReturned: message("{feature} is no output of {resolver}, so its rows cannot be told apart by it", "not an output"),
    ofValues: message(
      "unique_on compares the rows of a result, and {resolver} gives values of one row: return DataFrame[...], or take unique_on out",
      "no rows",
    ),
    oneRow: message(
      "`unique_on` compares the rows of a result, and with `count: {count}` there is one at most: take one of them out",
      "one row",
    ),
    unknownColumn: message("`unique_on` names '{column}', which the query does not return; {near}", "not an output"),
  },
);

export const BAD_PARTITIONED_BY = rule(
  {
    code: 198,
    id: "bad-partitioned-by",
    title: "`partitioned_by` names no columns that a resolver is given",
    severity: "error",
    foundBy: ["text", "analyzer"],
    means:
      "`partitioned_by` lists columns of the DataFrame that a Python function takes, each once and of the row itself. A SQL file is given no rows that " +
      "could be divided: it takes none.",
    why: "Which rows belong together has to be known before the resolver is called.",
    example: { broken: sqlFile("-- partitioned_by: [email]\n"), mended: sqlFile("-- tags: [crm]\n") },
  },
  {
    ...OF_LIST,
    notGiven: message("{feature} is no column of the DataFrame that {resolver} takes: add it to the columns", "not a column"),
    ofOtherRow: message("{feature} belongs to a row that a relation leads to: rows are divided by features of their own", "of another row"),
    ofStatement: message(
      "`partitioned_by` divides the rows that a function is called with, and a statement is called with none: it runs once for each set of values that it binds, or for up to 1,000 keys. For a table with partitions bind the column, such as `where country = ${user.country}`, so that the database reads those alone",
      "without effect",
    ),
    ofValues: message(
      "partitioned_by divides a DataFrame, and {resolver} takes none: take DataFrame[...], or take partitioned_by out",
      "no DataFrame",
    ),
  },
);

export const TWO_STALENESSES = rule(
  {
    code: 199,
    id: "two-stalenesses",
    title: "The `max_staleness` of a resolver cannot be that of its outputs",
    severity: "error",
    foundBy: ["text", "graph"],
    means:
      "`max_staleness` of a resolver is that of its outputs, as far as feature and class state none. Where one of them, or another resolver of the feature, " +
      "states another, say it in one place alone. Rows of a has-many relation have that of `has_many(...)`.",
    why: "A stored value is one value, whichever resolver gave it: it can only be of one age at most.",
    example: {
      broken: {
        ...sqlFile("-- max_staleness: 1d\n"),
        "get_name.svc.sql": "-- resolves: User\n-- source: lite\n-- tags: [vip]\n-- max_staleness: 1h\nselect id, name from vips\n",
      },
      mended: {
        ...sqlFile("-- max_staleness: 1d\n"),
        "get_name.svc.sql": "-- resolves: User\n-- source: lite\n-- tags: [vip]\nselect id, name from vips\n",
      },
    },
  },
  {
    ofFeature: message(
      "{resolver} has max_staleness {own}, and {feature}, which it gives, has {other}: leave one of them out",
      "{own} here, {other} there",
    ),
    ofResolver: message(
      "{resolver} has max_staleness {own} and {rival} has {other}, and both give {feature}: state it once, with the feature",
      "{own} here, {other} there",
    ),
    ofRelation: message(
      "{resolver} gives rows of {relation}, which are stored by the max_staleness of the relation: write it in has_many(...)",
      "of a relation",
    ),
    ofStar: message(
      "which features `*` gives is known to the database alone: name the columns, or write max_staleness with the features",
      "columns not known here",
    ),
  },
);
