/**
 * Rules about expressions of `_`, which the server computes without Python: 130 to 136, and 180
 * about windows.
 */

import { message, rule } from "./rule.ts";
import { NO_SUCH_FEATURE } from "./sentences.ts";

const WINDOW_GRAMMAR = "a length of whole seconds such as '10m', '1h30m' or '7d', or 'all'";
const USER = '@features\nclass User:\n    id: int\n    name: str = ""\n';
const WITH_TXNS = '@features\nclass User:\n    id: int\n    txns: "DataFrame[Txn]"\n';
const TXN = "\n\n@features\nclass Txn:\n    id: int\n    amount: float = 0.0\n    tax: float = 0.0\n    user_id: User.id\n";

export const BAD_EXPRESSION = rule(
  {
    code: 130,
    id: "bad-expression",
    title: "An expression uses what its row does not have, or what is no value",
    severity: "error",
    foundBy: ["analyzer", "graph"],
    means:
      "In an expression `_` is the row of the class it stands in, and inside of brackets a row of the relation. Behind it come features of that class. " +
      "A relation is no value: aggregate its rows, or name a feature of its row.",
    why: "The server could not compute it.",
    example: {
      broken: { "features.py": `${USER}    loud: str = F.upper(_.nmae)\n` },
      mended: { "features.py": `${USER}    loud: str = F.upper(_.name)\n` },
    },
  },
  {
    brackets: message(
      "{path} has neither windows nor rows: brackets choose a window, or rows and a column of a has-many relation",
      "nothing to choose from",
    ),
    className: message("{item} names features by their class: in expressions _ is the row of {child}, so write _.{name}", "write _"),
    manyRows: message("{item} is any number of rows, not a value: aggregate them, such as {item}.count()", "no value"),
    noCondition: message("{value} is neither a condition nor a column: write _.amount > 100 or _.amount", "no condition"),
    noConstant: message("{error}: it cannot be a constant of an expression", "no constant"),
    noExpression: message("{value} cannot be part of an expression", "no expression"),
    noRows: message("_ alone is a row: {method}() takes the rows of a has-many relation", "no rows"),
    noSuchFeature: NO_SUCH_FEATURE,
    noSuchWindow: message("{path} has no window {shown}; its windows are: {windows}", "no such window"),
    notARelation: message("{before} is a value, not a relation: it has no feature '{name}'", "not a relation"),
    notWindowed: message("'{feature}' has no windows, so that {written} has no meaning", "no window"),
    oneRow: message("{item} is a row, not a value: name a feature of it, such as {item}.{first}", "no value"),
    oneValue: message("{path} is one value: {method}() aggregates the rows of a has-many relation", "one value"),
    rowItself: message("_ alone is a row, not a value: name a feature of it", "no value"),
    tooDeep: message(
      "the expression of '{feature}' is nested more than {limit} deep: compute a part of it in a feature of its own",
      "nested too deeply",
    ),
    twoRelations: message(
      "{item} goes through two has-many relations: aggregate in the class of the inner one, and then here",
      "two has-many relations",
    ),
    unfinished: message("{item} has no value yet: write .then(value) behind it", "no value"),
    whichWindow: message("{item} has one value per window: write {example}", "which window?"),
    windowStart: message(
      "'{feature}' has no windows, so that {item} has no meaning: write 'Windowed[...] = windowed(\"1d\", expression=...)'",
      "no window",
    ),
    windowStartHere: message("_.svc_window is known in windowed features only", "no window"),
    outerRow: message("_.{path} is said of a row that lies outside of all brackets", "no such row"),
    valuePerWindow: message("{owner}.{name} has one value per window: {windows}", "which window?"),
    rowAlone: message("`_` alone is a row, not a value: name a feature of it", "no value"),
    rowsAsValue: message("{path} is any number of rows, not a value: aggregate them, such as _.{name}.count()", "no value"),
    rowAsValue: message("{path} is a row, not a value: name a feature of it", "no value"),
    noSuchField: message("{feature} has no field '{name}'{near}", "no such field"),
    valueAsRelation: message("{feature} is a value, not a relation: it has no feature '{name}'", "no such field"),
    nothingToAggregate: message("_.{path} is no has-many relation, so there is nothing to aggregate", "no rows"),
  },
);

export const EXPRESSION_TYPE = rule(
  {
    code: 131,
    id: "expression-type",
    title: "The types in an expression do not fit",
    severity: "error",
    foundBy: ["graph"],
    means:
      "The expression's type is not that of the annotation, or a function or filter in it is given what it cannot take. The hint names a conversion.",
    why: "The feature would have values of another type than whoever reads it expects.",
    example: {
      broken: { "features.py": `${USER}    size: int = F.upper(_.name)\n` },
      mended: { "features.py": `${USER}    size: int = F.length(_.name)\n` },
    },
  },
  {
    empty: message("the expression is empty", "nothing"),
    filter: message("a filter must be bool, and this is {type}", "no condition"),
    annotation: message("the expression of {feature} is {type}, and its annotation is {annotation}", "{type}"),
    untyped: message("the expression of {feature} is null, which has no type by itself", "no type"),
    cannotTake: message("{function} cannot take ({given}); it takes {legal}", "types do not fit"),
    cannotAggregate: message("{function}() cannot aggregate {given}; it takes {legal}", "types do not fit"),
    neverRight: message("{problem}", "never right"),
    cannotOrder: message("{function}() cannot order rows by {given}; it takes {legal}", "types do not fit"),
    wrongNumber: message("{usage} takes {wanted}, and {given} given", "wrong arguments"),
  },
);

export const BAD_AGGREGATION = rule(
  {
    code: 132,
    id: "bad-aggregation",
    title: "An aggregation needs exactly one column, and constants for the rest",
    severity: "error",
    foundBy: ["analyzer", "graph"],
    means: "Name the one column in the brackets, `_.txns[_.amount].mean()`; filters may stand beside it. `count()` needs no column.",
    why: "Of several columns, or of a whole row, there is no mean.",
    example: {
      broken: { "features.py": `${WITH_TXNS}    mean: float | None = _.txns[_.amount, _.tax].mean()\n${TXN}` },
      mended: { "features.py": `${WITH_TXNS}    mean: float | None = _.txns[_.amount].mean()\n${TXN}` },
    },
  },
  {
    manyRows: message("{item} is any number of rows, not a value: aggregate them, such as {item}.count()", "no value"),
    manyValues: message("{item} is any number of values: aggregate them, such as {item}.sum()", "no single value"),
    noConstant: message("{method}() takes constants, and {argument} is none: project in the brackets instead", "no constant"),
    notCalled: message("{item} is not called: write {item}()", "not called"),
    oneColumn: message("{method}() needs exactly one column, and these are named: {named}; write {example}", "exactly one column"),
    noColumn: message("{method}() needs exactly one column, and none is named; write {example}", "exactly one column"),
    noKey: message("{method}() needs what rows are ordered by as its first argument; write {example}", "ordered by what?"),
  },
);

export const UNKNOWN_FUNCTION = rule(
  {
    code: 133,
    id: "unknown-function",
    title: "There is no such function or aggregation",
    severity: "error",
    foundBy: ["text", "analyzer", "graph"],
    means: "`svc.functions` has no function of the name, or rows have no aggregation of the name. The message lists names that are close.",
    why: "The server could not compute the expression.",
    example: {
      broken: { "features.py": `${USER}    loud: str = F.uper(_.name)\n` },
      mended: { "features.py": `${USER}    loud: str = F.upper(_.name)\n` },
    },
  },
  {
    function: message("there is no {what} '{name}'{near}", "unknown {what}"),
    noMethod: message(
      "values have no method '{method}': functions are written F.{method}({path}), with 'import svc.functions as F'",
      "no method",
    ),
    noSuchFunction: message("there is no function '{name}'{near}", "no such function"),
    noSuchAggregation: message("there is no aggregation '{name}'{near}", "no such aggregation"),
  },
);

export const DECIDED_AT_ONCE = rule(
  {
    code: 134,
    id: "decided-at-once",
    title: "Python decides an operator at once, before any query runs",
    severity: "error",
    foundBy: ["text", "analyzer"],
    means:
      "`and`, `or`, `not`, `in`, `is`, chained comparisons and `if` ask for a truth value when the module is imported. Write `&`, `|`, `~`, `.isin([...])` " +
      "and `F.if_then_else`, with each comparison in parentheses.",
    why: "The expression would be replaced by one side of it, the same for every row.",
    example: {
      broken: { "features.py": `${USER}    known: bool = (_.id > 0) and (_.name != "")\n` },
      mended: { "features.py": `${USER}    known: bool = (_.id > 0) & (_.name != "")\n` },
    },
  },
  {
    constantFilter: message(
      "this filter is {item} for every row: Python decides 'is', 'in', 'and', 'or' and 'not' at once; write == & | ~ .isin([...])",
      "decided at once",
    ),
    frameFilter: message(
      "a filter is {item} for every row: Python decided 'and', 'or', 'not', 'in' or 'is' at once; write & | ~ .isin([...]), with each comparison in parentheses",
      "decided at once",
    ),
    operator: message("'{word}' makes Python decide at once what is known only when a query runs: {cure}", "decided at once"),
    raised: message("{problem}", "decided at once"),
  },
);

export const EXPRESSION_IN_RESOLVER = rule(
  {
    code: 135,
    id: "expression-in-resolver",
    title: "An expression stands in the body of a resolver",
    severity: "error",
    foundBy: ["text"],
    means:
      "`_` and the functions of `svc.functions` describe a computation for the server. In a resolver take the feature as a parameter and write Python.",
    why: "The resolver would return the description instead of a value.",
    example: {
      broken: { "features.py": `${USER}\n\n@online\ndef greet(id: User.id) -> User.name:\n    return F.upper("user")\n` },
      mended: { "features.py": `${USER}\n\n@online\ndef greet(id: User.id) -> User.name:\n    return "user".upper()\n` },
    },
  },
  {
    function: message(
      "{function} makes an expression for the server and computes nothing in a resolver: write it in Python",
      "no value here",
    ),
    row: message("_ is the row of a feature class and has no values in a resolver: take the feature as a parameter", "no value here"),
  },
);

export const NULL_EXPRESSION = rule(
  {
    code: 136,
    id: "null-expression",
    title: "An expression may be null, and its feature is not optional",
    severity: "warning",
    foundBy: ["graph"],
    means: "Write `| None` in the annotation, give the feature a default, or wrap the expression in `F.coalesce(..., value)`.",
    why: "Whoever reads the feature expects a value, and for some rows there is none, such as the largest amount of no rows.",
    example: {
      broken: { "features.py": `${WITH_TXNS}    top: float = _.txns[_.amount].max()\n${TXN}` },
      mended: { "features.py": `${WITH_TXNS}    top: float | None = _.txns[_.amount].max()\n${TXN}` },
    },
  },
  { mayBeNull: message("the expression of {feature} may be null{cause}, and the feature is not optional", "may be null") },
);

export const BAD_WINDOW = rule(
  {
    code: 180,
    id: "bad-window",
    title: "A windowed feature has no windows, or one that is none",
    severity: "error",
    foundBy: ["text", "analyzer"],
    means: "A window is a length of whole seconds such as '10m' or '7d', or 'all'. `windowed(...)` names each one once.",
    why: "Each window is a feature of its own and is stored under its length.",
    example: {
      broken: { "features.py": `${USER}    fails: Windowed[int] = windowed("7d", "1w", default=0)\n` },
      mended: { "features.py": `${USER}    fails: Windowed[int] = windowed("7d", "14d", default=0)\n` },
    },
  },
  {
    noValue: message("'{feature}' names no windows: write '{example}'", "no windows"),
    noWindow: message(`{written} is no window of '{feature}': write ${WINDOW_GRAMMAR}`, "no window"),
    noWindows: message(`'{feature}' names no windows: write ${WINDOW_GRAMMAR}`, "no windows"),
    sameWindow: message("'{feature}' has the window {window} twice, as {first} and {second}: take one out", "the same window"),
  },
);
