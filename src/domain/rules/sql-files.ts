/** Rules about SQL files, statements in Python, and the sources that they read: 150 to 159, 210. */

import { error, message, rule, warning } from "./rule.ts";

const PYTHON =
  '@features\nclass User:\n    id: int\n    name: str\n    email: str = ""\n\n\nlite = SQLiteSource(name="lite", path="app.db")\n';
const sql = (text: string): { "features.py": string; "get_user.svc.sql": string } => ({ "features.py": PYTHON, "get_user.svc.sql": text });
const HEADER = "-- resolves: User\n-- source: lite\n";
const NEEDS_DATABASE = "It is found by a server that is connected to the database.";

export const MISSING_HEADER_KEY = rule(
  {
    code: 150,
    id: "missing-header-key",
    title: "The header of a SQL file lacks `resolves` or `source`",
    severity: "error",
    foundBy: ["text"],
    means: "The comment at the top of a SQL file names the feature class that its columns belong to, and the source that it reads.",
    why: "Without them nobody knows what to run where, or what the result means.",
    example: { broken: sql("-- resolves: User\nselect id, name from users\n"), mended: sql(`${HEADER}select id, name from users\n`) },
  },
  {
    absent: message("the header has no `{key}`: {meaning}", "no `{key}`"),
    empty: message("the header's `{key}` is empty: {meaning}", "nothing behind it"),
  },
);

export const UNKNOWN_CLASS = rule(
  {
    code: 151,
    id: "unknown-class",
    title: "`resolves` names no feature class",
    severity: "error",
    foundBy: ["text"],
    means: "Write the name of a class with `@features`, or its namespace.",
    why: "The columns would belong to nothing.",
    example: {
      broken: sql("-- resolves: Usr\n-- source: lite\nselect id, name from users\n"),
      mended: sql(`${HEADER}select id, name from users\n`),
    },
  },
  {
    versioned: message("'{written}': feature versions are not supported by this version of svc", "has a version"),
    noSuchClass: message("no feature class is called '{written}'; {near}", "no such class"),
  },
);

export const BAD_HEADER = rule(
  {
    code: 152,
    id: "bad-header",
    title: "The header of a SQL file cannot be understood",
    severity: "error",
    foundBy: ["text"],
    means: "The header is YAML in `--` comments, with keys that svc knows. The message names the keys that are close.",
    why: "A misspelt key would be without effect.",
    example: {
      broken: sql(`${HEADER}-- tgas: [crm]\nselect id, name from users\n`),
      mended: sql(`${HEADER}-- tags: [crm]\nselect id, name from users\n`),
    },
  },
  {
    notText: message("the file holds {what}: save it as UTF-8 text", "not text"),
    notYaml: message("the header is not YAML: {problem}", "in this comment"),
    unknownKey: message("unknown header key '{key}'; {near}", "unknown key"),
    noSuchColumn: message("`fields` names column '{column}', which the query does not return; {near}", "no such column"),
  },
);

export const UNKNOWN_OUTPUT = rule(
  {
    code: 153,
    id: "unknown-output",
    title: "A column of a SQL file fills no feature of the class",
    severity: "error",
    foundBy: ["text", "server"],
    means: "Every column is a feature of the class that the file resolves: rename it with `as`, or map it under `fields` in the header.",
    why: "The value would be read and thrown away.",
    example: {
      broken: sql(`${HEADER}select id, title as nmae from users\n`),
      mended: sql(`${HEADER}select id, title as name from users\n`),
    },
  },
  {
    relation: message("output '{column}' is a relation of class {owner}, not a value; a SQL resolver gives values only", "a relation"),
    noSuchFeature: message("output feature '{column}' does not exist in class {owner}; {closest}", "no such feature"),
  },
);

export const UNUSABLE_SOURCE = rule(
  {
    code: 154,
    id: "unusable-source",
    title: "The source of a SQL file does not exist or cannot be used",
    severity: "error",
    foundBy: ["server"],
    means:
      "The header names a source that the project does not declare, or the server lacks its settings or cannot connect. The hint says where settings go.",
    why: "The statement could not run.",
    example: { none: NEEDS_DATABASE },
  },
  {
    named: message("{problem}", "reads this source"),
    unusable: message("source '{source}' ({kind}) cannot be used: {problem}", "reads this source"),
  },
);

export const BAD_PLACEHOLDER = rule(
  {
    code: 155,
    id: "bad-placeholder",
    title: "A placeholder of a SQL file is no feature that can be bound",
    severity: "error",
    foundBy: ["text"],
    means:
      "`${...}` holds a feature of the class that the file resolves, `user.id`, or `now`. A placeholder inside of quotes is text and is not bound.",
    why: "The statement would run with a value that nobody gave.",
    example: {
      broken: sql(`${HEADER}select id, name from users where email = \${user.emial}\n`),
      mended: sql(`${HEADER}select id, name from users where email = \${user.email}\n`),
    },
  },
  {
    inText: warning(
      "{placeholder} stands in a text literal, where it is text and no parameter; take it out of the quotes",
      "not bound here",
    ),
    open: message("this placeholder has no closing `}` on its line", "opened here"),
    notPath: message("'{written}' in a placeholder is neither a feature such as ${user.id} nor now", "no feature"),
    relation: message("{placeholder} is a relation; bind one of its values, for example its key", "no feature"),
    manyValues: message(
      "{placeholder} is any number of values, through the has-many relation {relation}; bind a value of the row itself",
      "no feature",
    ),
    otherClass: message("{placeholder} is a feature of class {owner}, but the file resolves {resolved}: {cure}", "no feature"),
    throughValue: message("{placeholder} goes on behind a feature that is no has-one relation", "no feature"),
    unknown: message("{placeholder} is neither a feature nor now: {where}{near}", "no feature"),
  },
);

export const INCOMPLETE_INCREMENTAL = rule(
  {
    code: 156,
    id: "incomplete-incremental",
    title: "What `incremental` of a SQL file says is not enough for its mode",
    severity: "error",
    foundBy: ["text"],
    means:
      "Modes `row` and `group` need `incremental_column`, a column of the result with the time by which a row is new. Mode `parameter` needs the placeholder `${svc_incremental_timestamp}` in the statement. The statement takes no features.",
    why: "A run could not tell what is new.",
    example: {
      broken: sql(`${HEADER}-- incremental: {mode: row}\nselect id, name from users\n`),
      mended: sql(`${HEADER}-- incremental: {mode: row, incremental_column: changed_at}\nselect id, name, changed_at from users\n`),
    },
  },
  {
    noColumn: message("`incremental` in mode {mode} needs `incremental_column`: the column by which a row is new", "no column"),
    unknownColumn: message("`incremental_column` names '{column}', which the query does not return; {near}", "no such column"),
    uselessColumn: message("`incremental_column` is without effect in mode parameter: the statement says what is new", "without effect"),
    noPlaceholder: message("`incremental` in mode parameter needs svc_incremental_timestamp in the statement", "no placeholder"),
    uselessPlaceholder: message("svc_incremental_timestamp is bound in mode parameter alone, and this is mode {mode}", "not bound"),
    noSettings: message("svc_incremental_timestamp needs `incremental: {mode: parameter}` in the header", "not bound"),
    takesFeatures: message(
      "a statement that takes features has no incremental runs: its rows are those that it is asked for",
      "takes features",
    ),
  },
);

export const BAD_SELECT_LIST = rule(
  {
    code: 157,
    id: "bad-select-list",
    title: "A SQL file is not one query whose columns are named once each",
    severity: "error",
    foundBy: ["text"],
    means: "The file holds one `select`. Every column has a name, and no two of them fill the same feature.",
    why: "Which column belongs to which feature would not be known.",
    example: {
      broken: sql(`${HEADER}select id, name, title as name from users\n`),
      mended: sql(`${HEADER}select id, name from users\n`),
    },
  },
  {
    noQuery: message("the file has no query behind its header", "no select list"),
    otherStatement: message("the file must be one query, but it begins with '{verb}'", "no select list"),
    secondStatement: message("a SQL resolver is one statement; a second one begins here", "second statement"),
    empty: message("the select list is empty", "no columns"),
    unnamed: message("this column has no name: write `as` and the feature that it fills", "column without a name"),
    twice: message("two columns fill feature '{feature}'", "second column"),
  },
);

export const STAR_COLUMNS = rule(
  {
    code: 158,
    id: "star-columns",
    title: "The columns of `*` are known to the database alone",
    severity: "warning",
    foundBy: ["text", "server"],
    means:
      "`select *` is checked by the server only, which asks the database. There it is an error when a column that the header names is missing.",
    why: "A mistake shows at the deployment instead of in the editor.",
    example: { broken: sql(`${HEADER}select * from users\n`), mended: sql(`${HEADER}select id, name from users\n`) },
  },
  {
    unchecked: message("the columns of `*` are known to the database alone: only the server can check them", "columns not known here"),
    missing: error("the database's answer has no column '{column}'; it has {columns}", "missing column"),
  },
);

export const STATEMENT_REJECTED = rule(
  {
    code: 159,
    id: "statement-rejected",
    title: "The database rejects a statement",
    severity: "error",
    foundBy: ["server"],
    means:
      "The server had the database prepare the statement, and this is what it said. The marker is at the place that the database named, if it did.",
    why: "The resolver would fail at every call.",
    example: { none: NEEDS_DATABASE },
  },
  {
    here: message("{source} rejects the statement: {problem}", "here"),
    somewhere: message("{source} rejects the statement: {problem}", "in this resolver"),
  },
);

const STATEMENT = (text: string): { "features.py": string } => ({
  "features.py": `${PYTHON}\n\n@online\ndef contact(i: User.id) -> Features[User.name, User.email]:\n    return lite.query_string(${text}).one()\n`,
});

export const PYTHON_STATEMENT = rule(
  {
    code: 210,
    id: "python-statement",
    title: "A statement that a resolver returns cannot be run",
    severity: "error",
    foundBy: ["analyzer"],
    means:
      "A resolver that returns `source.query_string(...)` names a value in `args=` for each placeholder `:name`, and the statement has a column for each feature that the resolver returns.",
    why: "The resolver would fail at every call.",
    example: {
      broken: STATEMENT('"select name, email from users where id = :id", args={"i": i}'),
      mended: STATEMENT('"select name, email from users where id = :i", args={"i": i}'),
    },
  },
  {
    refused: message("{problem}", "no statement"),
    noArgument: message("placeholder :{name} has no value: give it in args=", "no value"),
    unusedArgument: message("args= has '{name}', which is no placeholder of the statement: it has {placeholders}", "no such placeholder"),
    notReturned: message("column '{column}' fills {feature}, which {resolver} does not return", "not returned"),
    noColumn: message("{resolver} returns {feature}, and the statement has no column for it", "no column"),
    notReturnedField: message("fields= has {feature}, which {resolver} does not return", "not returned"),
    hiddenRead: message(
      "{resolver} has .incremental(...), which is seen only where the body is a single `return` of a statement whose text, args= and fields= stand there, without arguments of features",
      "cannot be seen",
    ),
  },
);
