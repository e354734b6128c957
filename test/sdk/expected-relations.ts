/**
 * What each rule about relations, expressions and windows says of its fixture project: place with
 * the text under the marker, message, label.
 */

import type { ExpectedFinding } from "./expected-findings.ts";

/** Findings by fixture project, in order. */
export const EXPECTED_RELATION_FINDINGS: Readonly<Record<string, readonly ExpectedFinding[]>> = {
  "114-relations": [
    [
      "E114 features.py:15:12 DataFrame[Txn] | None",
      "'user.maybe' may have no rows, but is never None: write DataFrame[Txn]",
      "never None",
    ],
    [
      "E114 features.py:16:13 DataFrame[Txn.amount]",
      "'user.column' is a relation to the rows of one class: write DataFrame[Txn] with the name of a feature class",
      "no feature class",
    ],
    [
      "E114 features.py:17:10 Txn",
      "'user.one' leads to one row by its type, but not by its join: write 'one: \"DataFrame[Txn]\"'",
      "not what the join says",
    ],
    [
      "E114 features.py:18:14 DataFrame[Txn]",
      "'user.several' leads to several rows by its type, but not by its join: write 'several: \"Txn\"'",
      "not what the join says",
    ],
    [
      "E114 features.py:19:12 int",
      "'user.value' is of type int, which is no feature class: has_many relates two feature classes",
      "no feature class",
    ],
    ["E114 features.py:20:51 _.txns", "'user.computed' is a relation: its rows are found by a join, not by an expression", "a relation"],
    [
      'E146 features.py:21:84 "soon"',
      "max_staleness is str 'soon', which is not a duration: write a duration such as '90s', '5m', '1h30m', '7d' or 'infinity'",
      "bad value",
    ],
    ["E115 features.py:22:45 ()", "'user.given' is a relation and takes no default: it may have no rows", "no default"],
    ["E146 features.py:23:37 5", "expression is int 5: write an expression such as _.total - _.tax", "bad value"],
    ["E114 features.py:24:12 int", "'user.plain' has windows, but not by its type: write 'plain: Windowed[int]'", "not windowed"],
    [
      "E114 features.py:25:13 list[Txn]",
      "'Txn' is a feature class, not a type of values: any number of its rows is DataFrame[Txn]",
      "unsupported type",
    ],
    [
      "E114 features.py:26:11 DataFrame",
      "'DataFrame' cannot be the type of a feature: write DataFrame[Txn], with the name of a feature class",
      "unsupported type",
    ],
    [
      "E114 features.py:27:14 Windowed[Txn]",
      "'user.windows' is a relation, which has no windows: give them to a feature that aggregates its rows",
      "a relation",
    ],
    ["E124 features.py:28:25 Txnn", "'Txnn' in this annotation is never defined; did you mean 'Txn'?", "never defined"],
    [
      "E114 features.py:33:15 _.other",
      "'computed.id' is the primary key, which says what row it is: it is given, not computed by an expression",
      "a key",
    ],
    ['E115 features.py:35:50 "x"', "the default of 'computed.text' does not fit its type: str 'x' is not of type int", "wrong type"],
    [
      'E146 features.py:36:58 "never"',
      "max_staleness is str 'never', which is not a duration: write a duration such as '90s', '5m', '1h30m', '7d' or 'infinity'",
      "bad value",
    ],
    [
      "E116 features.py:37:5 fails__600__",
      "'fails' and 'fails__600__' both have the name 'computed.fails__600__': choose another 'name='",
      "same name",
    ],
  ],
  "120-has-many": [
    [
      'E120 features.py:8:11 "DataFrame[Txn]"',
      "no join can be inferred from User to Txn for 'user.txns': neither class has a foreign key; add 'user_id: \"User.id\"' to Txn, or spell the join out",
      "no join",
    ],
  ],
  "121-has-many": [
    [
      'E121 features.py:7:14 "DataFrame[Flight]"',
      "several joins lead from Airport to Flight for 'airport.flights': Airport.code == Flight.origin; Airport.code == Flight.destination: say which one is meant",
      "ambiguous join",
    ],
  ],
  "121-own": [
    [
      "E121 features.py:11:36 Emp.chief_badge",
      "the join of 'emp.chief' compares two features of Emp, and either may be the foreign key: 'emp.chief_badge' and 'emp.badge'; say which one refers to the other by its type",
      "either way",
    ],
    [
      "E121 features.py:12:71 Emp.badge",
      "the join of 'emp.team' compares two features of Emp, and either may be the foreign key: 'emp.badge' and 'emp.chief_badge'; say which one refers to the other by its type",
      "either way",
    ],
  ],
  "122-has-many": [
    [
      "E122 features.py:13:47 Txn.id",
      "the join of 'user.banks' uses Txn.id, a feature of neither User nor Bank: a join compares a feature of User with one of Bank",
      "another class",
    ],
    [
      "E122 features.py:14:30 has_many(lambda: Txn.user_id > User.id)",
      "the join of 'user.txns' compares Txn.user_id > User.id: a join compares a feature of User with one of Txn, with '=='",
      "not between the classes",
    ],
    [
      "E122 features.py:15:30 has_many(lambda: (Txn.user_id == User.id) | (Txn.id == User.id))",
      "'(Txn.user_id == User.id) | (Txn.id == User.id)' is no part of a join: write comparisons with '==', joined by '&'",
      "not a join",
    ],
    [
      "E122 features.py:16:30 has_many(lambda: Txn.user_id == User.id and Txn.id == User.id)",
      "the join of 'user.both' uses 'and', 'or' or 'not', which Python decides at once: write (a == b) & (c == d)",
      "not a join",
    ],
    [
      "E123 features.py:17:63 User.name",
      "the join of 'user.types' compares str ('user.name') with int ('txn.user_id'): the two never match; give both the same type",
      "types differ",
    ],
    ["E142 features.py:18:51 user_idd", "Txn has no feature 'user_idd'; did you mean 'user_id'?", "no such feature"],
  ],
  "130-anything": [
    [
      "E122 features.py:23:28 has_many(lambda: Weird())",
      "the join of 'user.txns' compares nothing: compare a feature of User with one of Txn, several comparisons joined by '&'",
      "no comparison",
    ],
    [
      "E122 features.py:24:29 has_many(lambda: 1/0, max_staleness=Weird())",
      "the join of 'user.txns2' cannot be evaluated: ZeroDivisionError: division by zero",
      "no join",
    ],
    [
      "E146 features.py:24:65 Weird()",
      "max_staleness is Weird, which is not a duration: write a duration such as '90s', '5m', '1h30m', '7d' or 'infinity'",
      "bad value",
    ],
    [
      "E180 features.py:26:33 Weird()",
      "Weird is no window of 'user.a': write a length of whole seconds such as '10m', '1h30m' or '7d', or 'all'",
      "no window",
    ],
    [
      "E146 features.py:26:56 Weird()",
      "max_staleness is Weird, which is not a duration: write a duration such as '90s', '5m', '1h30m', '7d' or 'infinity'",
      "bad value",
    ],
    [
      "E180 features.py:27:33 [1]",
      "list [1] is no window of 'user.b': write a length of whole seconds such as '10m', '1h30m' or '7d', or 'all'",
      "no window",
    ],
    [
      "E180 features.py:27:38 {}",
      "dict {} is no window of 'user.b': write a length of whole seconds such as '10m', '1h30m' or '7d', or 'all'",
      "no window",
    ],
    [
      "E180 features.py:27:42 None",
      "None is no window of 'user.b': write a length of whole seconds such as '10m', '1h30m' or '7d', or 'all'",
      "no window",
    ],
    [
      'E180 features.py:27:48 float("nan")',
      "float nan is no window of 'user.b': write a length of whole seconds such as '10m', '1h30m' or '7d', or 'all'",
      "no window",
    ],
    [
      "E180 features.py:27:62 10**400",
      "int 100000000000000000000000000000000000000000000000000000000... is no window of 'user.b': write a length of whole seconds such as '10m', '1h30m' or '7d', or 'all'",
      "no window",
    ],
    ["E146 features.py:28:33 Weird()", "expression is Weird: write an expression such as _.total - _.tax", "bad value"],
    ["E130 features.py:29:21 Weird()", "Weird is neither a condition nor a column: write _.amount > 100 or _.amount", "no condition"],
    ["E130 features.py:30:18 Weird()", "_.a has no window Weird; its windows are: none", "no such window"],
    [
      "E130 features.py:31:31 Ellipsis",
      "ellipsis Ellipsis is neither a condition nor a column: write _.amount > 100 or _.amount",
      "no condition",
    ],
    ["E130 features.py:31:41 None", "None is neither a condition nor a column: write _.amount > 100 or _.amount", "no condition"],
    [
      "E130 features.py:31:47 1:2",
      "slice slice(1, 2, None) is neither a condition nor a column: write _.amount > 100 or _.amount",
      "no condition",
    ],
    ["E130 features.py:31:56 Weird()", "Weird is no value of the engine: it cannot be a constant of an expression", "no constant"],
    [
      "E132 features.py:32:21 sum",
      "sum() needs exactly one column, and these are named: none; write _.rows[_.amount].sum()",
      "exactly one column",
    ],
    ["E132 features.py:32:25 _.x", "sum() takes constants, and _.x is none: project in the brackets instead", "no constant"],
    [
      "E130 features.py:33:35 2**70",
      "1180591620717411303424 does not fit into 64 bits: it cannot be a constant of an expression",
      "no constant",
    ],
    [
      "E130 features.py:34:21 2**80",
      "1208925819614629174706176 does not fit into 64 bits: it cannot be a constant of an expression",
      "no constant",
    ],
    [
      "E114 features.py:36:8 DataFrame[Weird()]",
      "'user.k' is a relation to the rows of one class: write DataFrame[Txn] with the name of a feature class",
      "no feature class",
    ],
    [
      "E114 features.py:37:8 DataFrame[()]",
      "'user.l' is a relation to the rows of one class: write DataFrame[Txn] with the name of a feature class",
      "no feature class",
    ],
    ["E130 features.py:39:14 _", "_ alone is a row, not a value: name a feature of it", "no value"],
    ["E130 features.py:40:22 _", "_ alone is a row, not a value: name a feature of it", "no value"],
    [
      "E132 features.py:41:14 _.rows[:]",
      "_.rows[slice(None, None, None)] is any number of rows, not a value: aggregate them, such as _.rows[slice(None, None, None)].count()",
      "no value",
    ],
  ],
  "130-expressions": [
    ["E130 features.py:26:18 amuont", "User has no feature 'amuont'; did you mean 'a'?", "no such feature"],
    ["E130 features.py:26:29 nmae", "User has no feature 'nmae'; did you mean 'name' or 'n'?", "no such feature"],
    ["E130 features.py:27:40 name", "Txn has no feature 'name'", "no such feature"],
    ["E130 features.py:28:23 length", "_.name is a value, not a relation: it has no feature 'length'", "not a relation"],
    ["E130 features.py:29:16 _.txns", "_.txns is any number of rows, not a value: aggregate them, such as _.txns.count()", "no value"],
    ["E130 features.py:30:16 _.fails", '_.fails has one value per window: write _.fails["10m"]', "which window?"],
    ['E130 features.py:31:24 "2d"', "_.fails has no window 2d; its windows are: 10m, 1d", "no such window"],
    [
      'E130 features.py:32:16 _.name["x"]',
      "_.name has neither windows nor rows: brackets choose a window, or rows and a column of a has-many relation",
      "nothing to choose from",
    ],
    [
      "E130 features.py:33:21 Txn.amount > 10",
      "Txn.amount > 10 names features by their class: in expressions _ is the row of Txn, so write _.amount",
      "write _",
    ],
    ["E130 features.py:34:14 _.name.sum()", "_.name is one value: sum() aggregates the rows of a has-many relation", "one value"],
    [
      "E133 features.py:35:21 lower",
      "values have no method 'lower': functions are written F.lower(_.name), with 'import svc.functions as F'",
      "no method",
    ],
    ["E130 features.py:36:57 prce", "Line has no feature 'prce'; did you mean 'price'?", "no such feature"],
    [
      "E132 features.py:37:16 _.txns.lines.price.sum()",
      "_.lines.price is any number of values: aggregate them, such as _.lines.price.sum()",
      "no single value",
    ],
    [
      "E130 features.py:38:31 _.svc_window",
      "'user.m' has no windows, so that _.svc_window has no meaning: write 'Windowed[...] = windowed(\"1d\", expression=...)'",
      "no window",
    ],
    ["E130 features.py:39:58 _.svc_window", "_.fails has no window 2d; its windows are: 10m, 1d", "no such window"],
    [
      'E130 features.py:40:35 "amount"',
      "str 'amount' is neither a condition nor a column: write _.amount > 100 or _.amount",
      "no condition",
    ],
    ["E130 features.py:41:21 agee", "User has no feature 'agee'; did you mean 'a'?", "no such feature"],
    ["E130 features.py:45:15 at", "Txn has no feature 'at'", "no such feature"],
  ],
  "132-columns": [
    [
      "E132 features.py:16:41 sum",
      "sum() needs exactly one column, and these are named: none; write _.txns[_.amount].sum()",
      "exactly one column",
    ],
    [
      "E132 features.py:17:35 _.tax",
      "mean() needs exactly one column, and these are named: _.amount, _.tax; write _.txns[_.amount].mean()",
      "exactly one column",
    ],
    [
      "E132 features.py:18:25 sum",
      "sum() needs exactly one column, and these are named: none; write _.txns[_.amount].sum()",
      "exactly one column",
    ],
    [
      "E132 features.py:19:41 max",
      "max() needs exactly one column, and these are named: _.amount, _.tax; write _.txns[_.amount].max()",
      "exactly one column",
    ],
    [
      "E132 features.py:20:51 all",
      "all() needs exactly one column, and these are named: none; write _.txns[_.amount].all()",
      "exactly one column",
    ],
    [
      "E132 features.py:21:17 _.txns[_.amount > 10]",
      "_.txns[_.amount > 10] is any number of rows, not a value: aggregate them, such as _.txns[_.amount > 10].count()",
      "no value",
    ],
    [
      "E132 features.py:22:21 _.txns.amount",
      "_.txns.amount is any number of values: aggregate them, such as _.txns.amount.sum()",
      "no single value",
    ],
    [
      "E132 features.py:23:21 _.txns[_.amount > 10].count",
      "_.txns[_.amount > 10].count is not called: write _.txns[_.amount > 10].count()",
      "not called",
    ],
  ],
  "133-functions": [["E133 features.py:9:19 uper", "there is no function 'uper'; did you mean 'upper'?", "unknown function"]],
  "134-operators": [
    [
      "E134 and.py:10:28 and",
      "'and' makes Python decide at once what is known only when a query runs: write & and put each comparison in parentheses: (_.a > 1) & (_.b < 2)",
      "decided at once",
    ],
    [
      "E134 brackets.py:21:27 FILTER",
      "this filter is False for every row: Python decides 'is', 'in', 'and', 'or' and 'not' at once; write == & | ~ .isin([...])",
      "decided at once",
    ],
    [
      "E134 chain.py:10:28 <",
      "'<' makes Python decide at once what is known only when a query runs: write two comparisons joined by &: (1 < _.a) & (_.a < 9)",
      "decided at once",
    ],
    [
      "E134 cond.py:10:25 _.a > 1",
      "'if' makes Python decide at once what is known only when a query runs: write F.if_then_else(condition, value, other)",
      "decided at once",
    ],
    [
      "E134 contains.py:10:24 in",
      "'in' makes Python decide at once what is known only when a query runs: write F.contains(_.tags, value)",
      "decided at once",
    ],
    [
      "E134 listed.py:10:24 not in",
      "'not in' makes Python decide at once what is known only when a query runs: write ~ and .isin([...])",
      "decided at once",
    ],
    [
      "E134 not.py:10:20 not",
      "'not' makes Python decide at once what is known only when a query runs: write ~ and put the comparison in parentheses: ~(_.a > 1)",
      "decided at once",
    ],
    [
      "E134 or.py:10:42 or",
      "'or' makes Python decide at once what is known only when a query runs: write | and put each comparison in parentheses: (_.a > 1) | (_.b < 2)",
      "decided at once",
    ],
  ],
  "142-windows": [
    ['E142 later.py:6:28 "2d"', "User.fails has no window '2d'; its windows are: 10m, 1d", "no such window"],
    ["E142 resolvers.py:14:27 '2d'", "User.fails has no window '2d'; its windows are: 10m, 1d", "no such window"],
    [
      'E144 resolvers.py:19:66 User.fails["1d"]',
      "'user.fails[1d]' is an output and the input 'a': a resolver cannot produce what it needs",
      "also an input",
    ],
    [
      'E144 resolvers.py:19:66 User.fails["1d"]',
      "'user.fails[1d]' is an output and the input 'b': a resolver cannot produce what it needs",
      "also an input",
    ],
    [
      'E170 resolvers.py:23:47 "user.fails[2d]"',
      "the named query 'q' asks for what does not exist: User.fails has no window '2d'; its windows are: 10m, 1d",
      "no such window",
    ],
  ],
  "146-materialization": [
    ['E146 features.py:19:71 "yes"', "materialization is str 'yes': write True, or a dict such as {'bucket_duration': '1h'}", "bad value"],
    [
      'E146 features.py:20:71 {"bucket": "1h"}',
      "materialization has no option str 'bucket': write one of bucket_duration, bucket_durations, bucket_start, backfill_schedule, backfill_resolver, continuous_buffer_duration",
      "bad value",
    ],
    [
      'E146 features.py:21:71 {"bucket_duration": "500ms"}',
      "bucket_duration of materialization is str '500ms': write a length of whole seconds such as '10m', '1h' or '1d'",
      "bad value",
    ],
    [
      'E146 features.py:22:71 {"bucket_durations": {"1h": ["7d"]}}',
      "bucket_durations of materialization names the window str '7d': the windows are 1d",
      "bad value",
    ],
    [
      'E146 features.py:23:71 {"backfill_schedule": "often"}',
      "backfill_schedule of materialization is str 'often': a cron expression has 5 fields, this one has 1; write a duration such as '1d', or five cron fields such as '*/15 * * * *'",
      "bad value",
    ],
    ['E146 features.py:24:71 {"backfill_resolver": 5}', "backfill_resolver of materialization is int 5: name a resolver", "bad value"],
    [
      'E146 features.py:25:71 {"continuous_buffer_duration": "infinity"}',
      "continuous_buffer_duration of materialization is str 'infinity': write a duration such as '30h'",
      "bad value",
    ],
    [
      'E146 features.py:26:71 {"bucket_start": "noon"}',
      "bucket_start of materialization is str 'noon': write a datetime, or text such as '2024-01-01T05:00:00Z'",
      "bad value",
    ],
  ],
  "180-windows": [
    [
      "E180 features.py:10:28 windowed()",
      "'user.empty' names no windows: write a length of whole seconds such as '10m', '1h30m' or '7d', or 'all'",
      "no windows",
    ],
    [
      "E180 features.py:11:14 Windowed[float]",
      "'user.missing' names no windows: write 'missing: Windowed[float] = windowed(\"1d\", \"7d\")'",
      "no windows",
    ],
    ['E180 features.py:12:49 "1w"', "'user.twice' has the window 7d twice, as str '7d' and str '1w': take one out", "the same window"],
    [
      "E180 features.py:12:55 timedelta(hours=1)",
      "'user.twice' has the window 1h twice, as str '1h' and timedelta datetime.timedelta(seconds=3600): take one out",
      "the same window",
    ],
    [
      'E180 features.py:13:36 "soon"',
      "str 'soon' is no window of 'user.none': write a length of whole seconds such as '10m', '1h30m' or '7d', or 'all'",
      "no window",
    ],
    [
      "E180 features.py:13:44 5",
      "int 5 is no window of 'user.none': write a length of whole seconds such as '10m', '1h30m' or '7d', or 'all'",
      "no window",
    ],
    [
      'E180 features.py:13:47 "500ms"',
      "str '500ms' is no window of 'user.none': write a length of whole seconds such as '10m', '1h30m' or '7d', or 'all'",
      "no window",
    ],
    [
      'E180 features.py:13:56 "infinity"',
      "str 'infinity' is no window of 'user.none': write a length of whole seconds such as '10m', '1h30m' or '7d', or 'all'",
      "no window",
    ],
    [
      "E180 features.py:13:68 timedelta(0)",
      "timedelta datetime.timedelta(0) is no window of 'user.none': write a length of whole seconds such as '10m', '1h30m' or '7d', or 'all'",
      "no window",
    ],
  ],
};
