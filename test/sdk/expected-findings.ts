/**
 * What each rule says of its fixture project: place with the text under the marker, message, label.
 */

/** A finding: `E110 features.py:5:7 UserProfile`, its message, its label. */
export type ExpectedFinding = readonly [place: string, message: string, label: string];

/** Findings by fixture project, in order. */
export const EXPECTED_FINDINGS: Readonly<Record<string, readonly ExpectedFinding[]>> = {
  "105-names": [
    [
      "E105 attribute.py:3:23 ScheduleOptions",
      "this version of svc has no 'ScheduleOptions': a resolver runs by cron=, and a query by ScheduledQuery(schedule=...)",
      "no such name",
    ],
    ["E105 features.py:1:8 svc.ml", "this version of svc has no module 'svc.ml': it deploys no models", "no such module"],
    [
      "E105 features.py:2:25 Chart",
      "this version of svc has no 'Chart': it has no charts as code; a Monitor(...) tells when a metric breaks a bound",
      "no such name",
    ],
    [
      "E105 features.py:5:5 MissingValueStrategy",
      "this version of svc has no 'MissingValueStrategy': a value that is missing is None, or the feature's default",
      "no such name",
    ],
    ["E105 features.py:6:5 featurs", "this version of svc has no 'featurs'; did you mean 'feature' or 'features'?", "no such name"],
    ["E105 features.py:9:25 Sink", "this version of svc has no 'Sink': a sink is the function that @sink stands above", "no such name"],
    [
      "E105 features.py:9:31 has_many",
      "svc.streams has no 'has_many': it is in svc.features; write 'from svc.features import has_many'",
      "no such name",
    ],
  ],
  "106-options": [
    [
      "E106 features.py:5:37 password",
      "this version of svc has no option 'password' of PostgreSQLSource: credentials come from the server's environment, as <NAME>_PGPASSWORD",
      "no such option",
    ],
    ["E106 features.py:5:56 hots", "PostgreSQLSource has no option 'hots'; did you mean 'host'?", "no such option"],
    ["E106 features.py:6:29 timeout", "SQLiteSource has no option 'timeout'; its options are: name, path", "no such option"],
    ["E106 features.py:9:11 ownr", "features has no option 'ownr'; did you mean 'owner'?", "no such option"],
    [
      "E106 features.py:9:33 cache_strategy",
      "this version of svc has no option 'cache_strategy' of features: store_online=, store_offline= and cache_nulls= say what is stored",
      "no such option",
    ],
    ["E106 features.py:12:25 max_stalenes", "feature has no option 'max_stalenes'; did you mean 'max_staleness'?", "no such option"],
    ["E106 features.py:12:44 typ", "this version of svc has no option 'typ' of feature: the annotation is the type", "no such option"],
    [
      "E106 features.py:13:44 days",
      "this version of svc has no option 'days' of windowed: windows are written as texts, such as windowed('10m', '7d')",
      "no such option",
    ],
    ["E106 features.py:13:52 defalt", "windowed has no option 'defalt'; did you mean 'default'?", "no such option"],
    ["E106 features.py:14:71 max_stale", "has_many has no option 'max_stale'; did you mean 'max_staleness'?", "no such option"],
    [
      "E106 features.py:21:67 max_staleness",
      "this version of svc has no option 'max_staleness' of has_one: a related row is as fresh as its features, which have a max_staleness= of their own",
      "no such option",
    ],
    ["E106 features.py:24:13 enviroment", "before_all has no option 'enviroment'; did you mean 'environment'?", "no such option"],
    [
      "E140 features.py:25:13 database",
      "'connect' runs before or after all resolver calls and is given nothing: take the parameter 'database' out",
      "no value",
    ],
    [
      'E146 features.py:29:24 "no name"',
      "environment names str 'no name': write an environment's name: letters, digits, '.', '_' and '-'",
      "bad value",
    ],
    [
      "E106 features.py:34:9 cache",
      "this version of svc has no option 'cache' of online: max_staleness= of the feature, or of its class, says how long its values are kept",
      "no such option",
    ],
    ["E106 features.py:34:21 tmeout", "online has no option 'tmeout'; did you mean 'timeout'?", "no such option"],
    [
      "E106 features.py:39:10 machine_type",
      "this version of svc has no option 'machine_type' of offline: resolvers run in the server's worker processes, which have no sizes or kinds of their own",
      "no such option",
    ],
    ["E106 features.py:44:57 vesion", "NamedQuery has no option 'vesion'; did you mean 'version'?", "no such option"],
    [
      'E146 features.py:46:36 "pay ments"',
      "topic is str 'pay ments': a topic's name has letters, digits, '.', '_' and '-', at most 249 of them",
      "bad value",
    ],
    [
      "E106 features.py:46:49 sasl_password",
      "this version of svc has no option 'sasl_password' of KafkaSource: credentials come from the server's environment, as <NAME>_KAFKA_SASL_PASSWORD",
      "no such option",
    ],
    [
      "E106 features.py:46:73 bootstrap_server",
      "this version of svc has no option 'bootstrap_server' of KafkaSource: bootstrap_servers= names the brokers",
      "no such option",
    ],
    [
      'E146 features.py:47:57 ["localhost"]',
      "bootstrap_servers is list ['localhost']: write 'host:port', with commas or in a list where there are several",
      "bad value",
    ],
    ['E146 features.py:48:55 "TLS"', "security_protocol is str 'TLS': write one of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL", "bad value"],
    [
      'E146 features.py:49:18 "my clicks"',
      "name is str 'my clicks': a topic's name has letters, digits, '.', '_' and '-', at most 249 of them",
      "bad value",
    ],
    ["E146 features.py:50:39 0", "partitions is int 0: write a whole number from 1 to 1,000", "bad value"],
    [
      "E106 features.py:50:42 retention",
      "this version of svc has no option 'retention' of TopicSource: `svc infra apply kafka-topics` says how long the server keeps messages",
      "no such option",
    ],
  ],
  "110-no-key": [
    [
      "E110 features.py:5:7 UserProfile",
      "UserProfile has no primary key: name it 'id', or annotate it 'Primary[...]'; its features are: uid, name",
      "no primary key",
    ],
  ],
  "111-namespace": [
    ['E111 b.py:4:16 "user"', "the namespace 'user' is defined in two files: rename one class, or give it 'name='", "defined twice"],
  ],
  "113-two-keys": [
    [
      "E113 features.py:7:5 number",
      "User has two primary keys, 'email' and 'number': a row is identified by one; unmark the other",
      "second primary key",
    ],
  ],
  "114-cascade": [
    ["E114 features.py:7:9 complex", "'complex' cannot be the type of a feature: write float", "unsupported type"],
    [
      "E114 features.py:14:10 Primary[str] | None",
      "'user.key' is the primary key and may be None: a key is an int, str, date, datetime, Decimal, bytes or an Enum, never None",
      "no key",
    ],
    [
      "W126 features.py:16:14 Account",
      "'user.account' is required, but its key 'user.key' may be None: write 'account: \"Account | None\"'",
      "required",
    ],
    ["E124 features.py:17:12 Bnk", "'Bnk' in this annotation is never defined", "never defined"],
    [
      'E114 features.py:19:11 "Right.right"',
      "the type of 'user.left' refers back to itself: write the type of the values in one place",
      "refers to itself",
    ],
    [
      'E114 features.py:25:12 "User.left"',
      "the type of 'right.right' refers back to itself: write the type of the values in one place",
      "refers to itself",
    ],
  ],
  "114-types": [
    ["E114 features.py:27:12 UUID", "'UUID' cannot be the type of a feature: write str", "unsupported type"],
    ["E114 features.py:28:12 list", "'list' cannot be the type of a feature: write list[str]", "unsupported type"],
    [
      "E114 features.py:29:11 tuple[int, int] | None",
      "'tuple[int, int]' cannot be the type of a feature: write list[...] for values of one type, or a @dataclass",
      "unsupported type",
    ],
    [
      "E114 features.py:30:13 int | str",
      "'int | str' is more than one type: a feature has one, optionally with '| None'",
      "more than one type",
    ],
    [
      "E114 features.py:31:12 Mixed",
      "the members of Mixed need values of one type, all str, all int or all float; they have: int, str",
      "unsupported enum",
    ],
    [
      'E114 features.py:32:11 Literal["a", "b"]',
      "'Literal['a', 'b']' cannot be the type of a feature: write an Enum, or the type of the values",
      "unsupported type",
    ],
    [
      "E114 features.py:33:11 Node",
      "field 'children' of the class Node: the class Node contains itself: a struct has a fixed depth",
      "contains itself",
    ],
    [
      "E114 features.py:34:13 Range",
      "field 'low' of the class Range: 'complex' cannot be the type of a feature: write float",
      "unsupported type",
    ],
    ["E114 features.py:35:14 None", "None is no type of a feature: write the type of its values, such as 'str | None'", "no type"],
    [
      'E114 features.py:36:13 list["Other"]',
      "'Other' is a feature class, not a type of values: any number of its rows is DataFrame[Other]",
      "unsupported type",
    ],
    ["E114 features.py:37:5 loose", "'loose' has no type: a feature is annotated, such as 'loose: str = feature(...)'", "no type"],
    [
      "E114 features.py:38:12 int",
      "'user.score' is of type int, which is no feature class: has_one relates two feature classes",
      "no feature class",
    ],
    [
      "E114 features.py:43:10 Primary[list[str]]",
      "'other.key' is the primary key and is of type list[str]: a key is an int, str, date, datetime, Decimal, bytes or an Enum, never None",
      "no key",
    ],
  ],
  "115-defaults": [
    [
      "E115 features.py:18:24 []",
      "the default of 'user.names' is a list, which could be changed by whoever reads it: write ()",
      "mutable default",
    ],
    [
      'E115 features.py:19:39 {"a"}',
      "the default of 'user.flags' is a set, which could be changed by whoever reads it: write frozenset(...)",
      "mutable default",
    ],
    [
      "E115 features.py:20:19 {}",
      "the default of 'user.extra' is a dict, which could be changed by whoever reads it: make it '| None' with the default None",
      "mutable default",
    ],
    ['E115 features.py:21:16 "old"', "the default of 'user.age' does not fit its type: str 'old' is not of type int", "wrong type"],
    [
      "E115 features.py:22:57 None",
      "the default of 'user.height' is None, but its type is float: write 'height: float | None = None'",
      "None is no value of it",
    ],
    [
      'E115 features.py:23:18 "a"',
      "the default of 'user.kind' does not fit its type: str 'a' is not of type Kind (such as Kind.A)",
      "wrong type",
    ],
    ["E115 features.py:24:20 1", "the default of 'user.active' does not fit its type: int 1 is not of type bool", "wrong type"],
    [
      "E115 features.py:25:16 9223372036854775808",
      "the default of 'user.big' does not fit its type: 9223372036854775808 does not fit into 64 bits",
      "out of range",
    ],
    ["E115 features.py:28:38 1", "'user.other' is a relation and takes no default: write '| None' if there may be no row", "no default"],
  ],
  "116-collisions": [
    ['E116 features.py:9:31 "name"', "'name' and 'label' both have the name 'user.name': choose another 'name='", "same name"],
    [
      "E116 features.py:13:7 UserFeatures",
      "User and UserFeatures both have the namespace 'user': rename one, or give it 'name='",
      "same namespace",
    ],
    ['E116 features.py:18:19 "lite"', "the source 'lite' is declared twice: give one of them another name", "same name"],
  ],
  "117-two-times": [
    [
      "E117 features.py:8:5 seen",
      "User has two feature times, 'at' and 'seen': a row is observed at one; write datetime for the other",
      "second feature time",
    ],
  ],
  "120-no-join": [
    [
      'E120 features.py:19:14 "Account | None"',
      "no join can be inferred from User to Account for 'user.account': the foreign keys are: Account.bank_id refers to Bank.id; add 'account_id: \"Account.id\"', or spell the join out",
      "no join",
    ],
  ],
  "121-ambiguous": [
    [
      "E121 features.py:14:10 Airport",
      "several joins lead from Route to Airport for 'route.via': Route.start == Airport.id; Route.end == Airport.id: say which one is meant",
      "ambiguous join",
    ],
  ],
  "122-join": [
    [
      "E122 features.py:20:36 Other.id",
      "the join of 'user.one' uses Other.id, a feature of neither User nor Account: a join compares a feature of User with one of Account",
      "another class",
    ],
    [
      "E122 features.py:21:20 has_one(lambda: Account.owner == 5)",
      "the join of 'user.two' compares Account.owner == 5: a join compares a feature of User with one of Account",
      "no feature",
    ],
    [
      "E122 features.py:22:22 has_one(lambda: Account.owner == User.id and True)",
      "the join of 'user.three' uses 'and', 'or' or 'not', which Python decides at once: write (a == b) & (c == d)",
      "not a join",
    ],
    [
      "E122 features.py:23:37 Account.other.id",
      "the join of 'user.four' goes through a relation with Account.other.id: a join compares a feature of User with one of Account, directly",
      "through a relation",
    ],
    ["E122 features.py:24:37 Account.other", "Account.other is a relation: compare its key instead", "a relation"],
    [
      "E122 features.py:25:20 has_one(lambda: User.id != Account.owner)",
      "the join of 'user.six' compares User.id != Account.owner: a join compares a feature of User with one of Account, with '=='",
      "not between the classes",
    ],
    ["E142 features.py:26:46 ownr", "Account has no feature 'ownr'; did you mean 'owner'?", "no such feature"],
    ["E124 features.py:27:38 Acount", "'Acount' in the join of 'user.eight' is never defined", "never defined"],
    [
      "E122 features.py:28:21 has_one(lambda: 1 / 0)",
      "the join of 'user.nine' cannot be evaluated: ZeroDivisionError: division by zero",
      "no join",
    ],
    [
      "E122 features.py:29:20 has_one(lambda: User.id == User.id)",
      "the join of 'user.ten' compares User.id == User.id: a join compares a feature of User with one of Account, with '=='",
      "not between the classes",
    ],
  ],
  "123-join-types": [
    [
      "E123 features.py:13:57 User.id",
      "the join of 'user.account' compares int ('user.id') with str ('account.owner'): the two never match; give both the same type",
      "types differ",
    ],
  ],
  "118-versions": [
    ["E118 features.py:14:31 2", "'bad.id' is the primary key, which has one version", "one version"],
    ["E118 features.py:15:39 2", "'bad.at' is the feature time, which has one version", "one version"],
    ["E118 features.py:16:36 2", "'bad.trial' is a relation, which has one version", "one version"],
    [
      "E106 features.py:18:39 version",
      "this version of svc has no option 'version' of windowed: a windowed feature has one version; give the new one another name",
      "no such option",
    ],
    ["E180 features.py:19:8 Windowed[int]", "'bad.v' names no windows: write 'v: Windowed[int] = windowed(\"1d\", \"7d\")'", "no windows"],
    ["E118 features.py:19:40 2", "'bad.v' is windowed, which has one version", "one version"],
    ["E118 features.py:20:30 0", "version of 'bad.a' is int 0: write the number of its versions, 1 to 100", "no number"],
    ["E118 features.py:21:49 3", "default_version of 'bad.b' is int 3, and its versions are 1 to 2", "no such version"],
    ["E118 features.py:22:38 1", "default_version of 'bad.c' says nothing without version=: add version=2, or take it out", "no versions"],
    ["E118 features.py:23:42 {2: feature(default=1)}", "versions of 'bad.d' is int 2, and its versions are 1 to 1", "no such version"],
    [
      'E115 features.py:24:14 feature(versions={1: feature(default="x"), 2: feature(name="f"), 3: 5, "4": _.a})',
      "the default of 'bad.e' does not fit its type: str 'x' is not of type int",
      "wrong type",
    ],
    [
      'E118 features.py:24:31 {1: feature(default="x"), 2: feature(name="f"), 3: 5, "4": _.a}',
      "version 2 of 'bad.e' has name, which all versions share: give it to the feature",
      "of all versions",
    ],
    [
      'E118 features.py:24:31 {1: feature(default="x"), 2: feature(name="f"), 3: 5, "4": _.a}',
      "version 3 of 'bad.e' is int 5: write feature(...), or an expression",
      "no options",
    ],
    [
      'E118 features.py:24:31 {1: feature(default="x"), 2: feature(name="f"), 3: 5, "4": _.a}',
      "versions of 'bad.e' is str '4', and its versions are 1 to 3",
      "no such version",
    ],
    ["E146 features.py:25:42 {}", "versions is dict {}: write a dict such as {2: feature(...)}", "bad value"],
    [
      "E115 features.py:26:14 feature(version=2, versions={2: feature(min=3, default=2)})",
      "the default of 'bad.h@2' is int 2, which breaks its validation min=3",
      "breaks min=3",
    ],
    ["E130 features.py:27:14 _.trial.code @ 4", "Trial has no feature 'code@4'; did you mean 'code'?", "no such feature"],
    ["E106 features.py:28:31 {1: feature(defalt=1)}", "feature has no option 'defalt'; did you mean 'default'?", "no such option"],
  ],
  "124-forward": [
    ["E124 features.py:7:18 Acount", "'Acount' in this annotation is never defined; did you mean 'Account'?", "never defined"],
    ["E124 features.py:8:12 Bnk", "'Bnk' in this annotation is never defined", "never defined"],
    ["E142 features.py:14:20 idd", "User has no feature 'idd'; did you mean 'id'?", "no such feature"],
  ],
  "126-nullable-key": [
    [
      "W126 features.py:13:14 Account",
      "'user.account' is required, but its key 'user.account_id' may be None: write 'account: \"Account | None\"'",
      "required",
    ],
  ],
  "127-nearest": [
    [
      "E127 features.py:32:69 Doc.other",
      "'search.emb' is Vector[3] and 'doc.other' is Vector[\"f16\", 3]: vectors of the same size and precision have a distance",
      "another size or precision",
    ],
    [
      "E127 features.py:33:66 Doc.longer",
      "'search.emb' is Vector[3] and 'doc.longer' is Vector[4]: vectors of the same size and precision have a distance",
      "another size or precision",
    ],
    ["E127 features.py:34:49 Search.any", "Search.any has vectors of any length: state their size, such as Vector[768]", "no size"],
    ["E127 features.py:35:45 Search.word", "Search.word is str: is_near compares vectors, such as Vector[768]", "no vector"],
    [
      "E127 features.py:36:55 is_near",
      "'search.turned' has the condition Doc.emb.is_near(Search.emb): a vector of Search is compared with one of Doc, Search.emb.is_near(Doc.emb)",
      "not between the classes",
    ],
    [
      "E127 features.py:37:57 is_near",
      "'search.plain' has the condition Search.emb.is_near([1.0, 0.0, 0.0]): a vector of Search is compared with one of Doc, Search.emb.is_near(Doc.emb)",
      "not between the classes",
    ],
    [
      "E127 features.py:38:28 has_many(lambda: Search.emb.is_near(Doc.emb, k=0))",
      "'search.none' asks for 0 rows: k is a number from 1 to 1000",
      "out of bounds",
    ],
    [
      "E127 features.py:39:28 has_many(lambda: Search.emb.is_near(Doc.emb, k=1001))",
      "'search.much' asks for 1001 rows: k is a number from 1 to 1000",
      "out of bounds",
    ],
    [
      'E127 features.py:40:30 has_many(lambda: Search.emb.is_near(Doc.emb, metric="manhattan"))',
      '\'search.metric\' has the metric \'manhattan\': write one of "cosine", "l2", "dot"',
      "no metric",
    ],
    [
      "E127 features.py:41:32 has_many(lambda: Search.emb.is_near(Doc.emb, distance=Doc.farness))",
      "the distance of 'search.distance' goes to Doc.farness: name a feature of Doc of type float | None, such as distance=Doc.distance",
      "no feature for a distance",
    ],
    [
      "E127 features.py:42:65 Doc.fresh",
      "'search.fresh' looks for rows by 'doc.fresh', which is never stored online: give it a max_staleness, such as feature(max_staleness=\"infinity\")",
      "not stored",
    ],
    [
      "E127 features.py:43:78 Doc.lone",
      "'search.lonely' looks for rows by 'doc.lone', which is never stored online: give it a max_staleness, such as feature(max_staleness=\"infinity\")",
      "not stored",
    ],
    [
      "E127 features.py:44:55 is_near",
      "'search.two' has is_near twice: the rows that are nearest to one vector can be filtered by another distance",
      "twice",
    ],
    [
      "E127 features.py:45:43 is_near",
      "'search.one' leads to one row, and is_near to several: write DataFrame[...] and has_many",
      "several rows",
    ],
    [
      "E127 features.py:46:88 contains",
      "'search.words' has the condition Search.word.contains(Doc.body): a text of Doc contains another text, Doc.body.contains(Search.word)",
      "no texts",
    ],
    [
      "E127 features.py:47:79 Doc.search.word",
      "'search.through' has a condition on Doc.search.word: the nearest rows are chosen by features of their own",
      "through a relation",
    ],
    [
      "E127 features.py:48:76 Search.size",
      "Search.size is no feature of Doc: filters and columns of these rows start from Doc",
      "not from Doc",
    ],
    ["E127 features.py:49:77 Doc.size", "Doc.size is int and is compared with str 'a': the two are never alike", "types differ"],
    [
      "E127 features.py:53:39 is_near",
      "Search.emb.is_near(Doc.emb) is no filter: it chooses the rows of a relation, so it stands in has_many(lambda: Search.emb.is_near(Doc.emb))",
      "outside of has_many",
    ],
    ["E140 features.py:58:29 Doc.size", "Doc.size is int: a text contains another text", "no text"],
  ],
  "137-models": [
    ["E137 features.py:32:37 lambda: Doc.id", "'doc.number' is made of 'doc.id', which is int: a model embeds a str", "no text"],
    [
      "E137 features.py:33:11 str",
      "'doc.flat' is str, and a model gives a vector: write Vector[768], with the model's number of dimensions",
      "no vector",
    ],
    ["E142 features.py:34:47 txt", "Doc has no feature 'txt'; did you mean 'text'?", "no such feature"],
    ["E124 features.py:35:44 Dok", "'Dok' in this annotation is never defined", "never defined"],
    [
      'E146 features.py:36:36 "text"',
      "input is str 'text': write a function that gives the feature with the text, such as lambda: Doc.text",
      "bad value",
    ],
    [
      "E137 features.py:37:12 int",
      "'doc.count' is int: a completion is a str, a PromptResponse, or a @dataclass that says what to answer",
      "no answer",
    ],
    [
      "E137 features.py:38:10 Raw",
      "'doc.raw' has values of type bytes, which a model cannot be asked for: write str, int, float, bool or an Enum",
      "no such answer",
    ],
    [
      "E137 features.py:39:40 Fine",
      "'doc.twice' is Fine: output_structure is of a PromptResponse; take it out, or annotate PromptResponse",
      "not of this type",
    ],
    [
      "E137 features.py:40:52 Raw",
      "'doc.shape' has values of type bytes, which a model cannot be asked for: write str, int, float, bool or an Enum",
      "no such answer",
    ],
    ["E137 features.py:41:52 int", "output_structure is int: write a @dataclass", "no structure"],
    [
      'E146 features.py:42:17 ask("{{ text }}")',
      "'{{ text }}' in a message names no feature: write one such as '{{ Review.body }}'",
      "bad value",
    ],
    ["E142 features.py:43:28 tixt", "Doc has no feature 'tixt'; did you mean 'text'?", "no such feature"],
    ["E146 features.py:44:33 3", "temperature is int 3: write a number from 0 to 2", "bad value"],
    [
      "E146 features.py:45:50 []",
      'messages is list []: write a list of messages, such as [message(role="user", content="...")]',
      "bad value",
    ],
    ['E146 features.py:46:36 ""', "model is str '': write a text", "bad value"],
    [
      'E146 features.py:46:49 [P.message(role="boss", content="a")]',
      "the role of a message is str 'boss': write one of 'system', 'developer', 'user', 'assistant'",
      "bad value",
    ],
    [
      'E146 features.py:47:74 "cohere"',
      "provider is str 'cohere': the protocol of \"openai\" is the only one; url= says whom it is spoken with",
      "bad value",
    ],
    ['E146 features.py:47:88 "example.com"', "url is str 'example.com'; write one such as 'https://api.example.com/v1'", "bad value"],
    ['E146 features.py:47:111 "1h"', "timeout is str '1h'; write a duration of at most 5m, such as '30s'", "bad value"],
    [
      "E106 features.py:48:65 api_key",
      "this version of svc has no option 'api_key' of embed: the integration has the key",
      "no such option",
    ],
    [
      "E118 features.py:49:44 {2: ask()}",
      "version 2 of 'doc.old' is CompletionOptions CompletionOptions(max_staleness=None, default=MISSING, ow...: write feature(...), or an expression",
      "no options",
    ],
    [
      "E114 features.py:50:11 Vector[0]",
      "'Vector[0]' cannot be the type of a feature: write Vector[768], with 1 to 65536 elements, or Vector['f16', 768]",
      "unsupported type",
    ],
    [
      'E114 features.py:51:11 Vector["f8", 3]',
      "'Vector['f8', 3]' cannot be the type of a feature: write Vector[768], with 1 to 65536 elements, or Vector['f16', 768]",
      "unsupported type",
    ],
    [
      "E115 features.py:52:22 (1.0, 2.0, 3.0)",
      "the default of 'doc.odd' does not fit its type: tuple (1.0, 2.0, 3.0) is not of type Vector[2]",
      "wrong type",
    ],
  ],
  "128-coding": [
    [
      "E128 features.py:58:42 write",
      "'bad.id' is the primary key, whose values are of a type that the server knows: take encoder= and decoder= out",
      "not encoded",
    ],
    [
      "E128 features.py:59:39 str",
      "encoder of 'bad.at' cannot be used: it does not say what it returns: write a function with a return annotation, such as '-> str'",
      "encoder",
    ],
    [
      "E128 features.py:60:20 feature(encoder=write)",
      "decoder of 'bad.alone' cannot be used: it is missing beside encoder=: what is stored has to be read again",
      "decoder",
    ],
    [
      "E128 features.py:61:19 feature(decoder=read)",
      "encoder of 'bad.none' cannot be used: it is missing beside decoder=: what is stored has to be read again",
      "encoder",
    ],
    ['E128 features.py:62:35 "write"', "encoder of 'bad.text' cannot be used: it is no function of a value", "encoder"],
    [
      "E128 features.py:63:38 write_untyped",
      "encoder of 'bad.untyped' cannot be used: it does not say what it returns: write a function with a return annotation, such as '-> str'",
      "encoder",
    ],
    [
      "E128 features.py:64:38 write_complex",
      "encoder of 'bad.unknown' cannot be used: what it returns cannot be stored: 'complex' cannot be the type of a feature: write float",
      "encoder",
    ],
    [
      "E128 features.py:65:36 write_maybe",
      "encoder of 'bad.maybe' cannot be used: it is never given None: annotate it with the type of what it returns for a value",
      "encoder",
    ],
    [
      "E128 features.py:66:36 write_later",
      "encoder of 'bad.later' cannot be used: it is async or a generator: write a plain function",
      "encoder",
    ],
    [
      "E128 features.py:67:34 write_two",
      "encoder of 'bad.two' cannot be used: it is called with the value alone, which its parameters do not allow",
      "encoder",
    ],
    [
      "E128 features.py:68:41 write",
      "encoder of 'bad.again' cannot be used: the feature has the values of Shop.place, as they are: take encoder= and decoder= out",
      "encoder",
    ],
    [
      "E128 features.py:69:39 write",
      "'bad.computed' is computed by an expression, which knows no encoder: let a resolver give its values",
      "not computed so",
    ],
    [
      "E146 features.py:70:69 3",
      "max_length of 'bad.length' is int 3: its values are of a class of their own: write Validation(check=...)",
      "bad value",
    ],
    [
      'E115 features.py:71:67 "1,2"',
      "the default of 'bad.default' does not fit its type: the encoder fails for str '1,2': TypeError: expected Point, got str",
      "not encoded",
    ],
    [
      "E118 features.py:72:69 {1: feature(), 2: feature(encoder=write)}",
      "version 2 of 'bad.versions' has encoder, which all versions share: give it to the feature",
      "of all versions",
    ],
    [
      "E128 features.py:75:19 _.place",
      "'bad.place' is encoded by a function, and only Python code reads its values: take it in a resolver",
      "encoded",
    ],
    [
      'E195 features.py:78:14 Shop.corner == "1,2"',
      "the condition cannot be tested for a row: 'shop.corner' is encoded by a function, and only Python code reads its values: take it in a resolver",
      "no condition",
    ],
    [
      "E128 features.py:84:32 Visit.seen",
      "'visit.seen' is encoded by a function, and only Python code reads its values: take it in a resolver",
      "encoded",
    ],
  ],
  "183-groups": [
    [
      "E183 features.py:31:68 []",
      "group_by of 'user.none' is a list of 0: write a feature of the rows such as _.kind, or a list of up to 8",
      "no column",
    ],
    [
      'E183 features.py:32:68 "kind"',
      "group_by of 'user.text' is str 'kind': write a feature of the rows such as _.kind, or a list of up to 8",
      "no column",
    ],
    [
      "E183 features.py:33:13 Windowed[float]",
      "'user.number' is float, and groups are several values: write Windowed[list[...]] of a @dataclass",
      "no rows",
    ],
    [
      "E183 features.py:34:12 Windowed[list[Count]]",
      "'user.fewer' has rows of _.kind, the aggregate, and Count has the fields total: give it one for each, in this order",
      "other fields",
    ],
    [
      "E183 features.py:35:87 _.txns[_.amount, _.at > _.svc_window].sum() + 1",
      "the expression of 'user.call' is not one aggregation of rows, such as _.txns[_.amount, _.at > _.svc_window].sum()",
      "no aggregation",
    ],
    ["E130 features.py:36:70 knid", "Txn has no feature 'knid'; did you mean 'kind' or 'id'?", "no such feature"],
    [
      "E106 features.py:37:77 default",
      "this version of svc has no option 'default' of group_by_windowed: without rows the value is an empty list",
      "no such option",
    ],
  ],
  "140-parameters": [
    ["E140 resolvers.py:20:10 id", "parameter 'id' names no feature: annotate it, such as 'id: User.id'", "no feature annotation"],
    [
      "E140 resolvers.py:25:17 str",
      "parameter 'name' has the type 'str', which names no feature: write 'name: User.name' instead",
      "no feature",
    ],
    [
      "E140 resolvers.py:30:17 User",
      "parameter 'user' is the class User: take its features one by one, such as 'user: User.id'",
      "no feature",
    ],
    [
      "E140 resolvers.py:35:23 User.account",
      "parameter 'account' is a relation: take a feature of it, such as 'User.account.id'",
      "a relation",
    ],
    [
      "E140 resolvers.py:40:12 names",
      "'*names' names no features: write one parameter per feature, such as 'name: User.name'",
      "no feature",
    ],
    [
      "E140 resolvers.py:40:32 more",
      "'**more' names no features: write one parameter per feature, such as 'name: User.name'",
      "no feature",
    ],
    ["E115 resolvers.py:45:37 5", "the default of parameter 'name' does not fit 'user.name': int 5 is not of type str", "wrong type"],
    [
      'E140 resolvers.py:50:17 "int | User.name"',
      "the annotation \"int | User.name\" cannot be evaluated: TypeError: unsupported operand type(s) for |: 'type' and 'FeatureReference'",
      "no type",
    ],
  ],
  "140-rows": [
    [
      "E140 resolvers.py:22:19 User.txns.user.txns.amount",
      "'user.txns.user.txns.amount' goes through two has-many relations: a list has the values of the rows of one",
      "two relations",
    ],
    ["E140 resolvers.py:27:29 User.id", "User.id is no feature of Txn: filters and columns of these rows start from Txn", "not from Txn"],
    [
      'E140 resolvers.py:32:18 "User.txns[Txn.amount, 100]"',
      "'100' is neither a filter nor a column: write a condition such as Txn.id == 1, a feature such as Txn.id, or [:100]",
      "no filter or column",
    ],
    ["E140 resolvers.py:37:27 Txn.amount", "Txn.amount is not bool, so it is no filter by itself: compare it", "not bool"],
    ["E142 resolvers.py:42:34 amuont", "Txn has no feature 'amuont'; did you mean 'amount'?", "no such feature"],
    [
      "E141 resolvers.py:47:49 Txn.id",
      "the parameters start from User and from Txn: a resolver starts from one class; write 'User.txns[Txn.id]'",
      "not from User",
    ],
    [
      "E140 resolvers.py:52:53 User.id",
      "parameter 'id' is of one row, but with the DataFrame 'users' the resolver runs once for all rows: make it a column, DataFrame[..., User.id]",
      "of one row",
    ],
    [
      "E115 resolvers.py:57:31 ()",
      "the default of parameter 'txns' is not used: where there are no rows a DataFrame without rows is passed",
      "not used",
    ],
  ],
  "141-roots": [
    [
      "E141 resolvers.py:26:20 Account.total",
      "the parameters start from User and from Account: a resolver starts from one class; write 'User.account.total'",
      "not from User",
    ],
    [
      "E141 resolvers.py:31:34 Planet.mass",
      "the parameters start from User and from Planet: a resolver starts from one class; relate the two classes and go through the relation, such as 'User.planet.mass'",
      "not from User",
    ],
  ],
  "142-features": [
    ["E142 paths.py:6:29 sise", "Home has no feature 'sise'; did you mean 'size'?", "no such feature"],
    ["E142 quoted.py:9:43 emial", "User has no feature 'emial'; did you mean 'email'?", "no such feature"],
    ["E142 quoted.py:9:70 nam", "User has no feature 'nam'; did you mean 'name'?", "no such feature"],
    ["E142 quoted.py:16:32 sise", "Home has no feature 'sise'; did you mean 'size'?", "no such feature"],
    ["E142 quoted.py:17:24 domain", "User.email is a value, not a relation: it has no feature 'domain'", "no such feature"],
    ["E142 resolvers.py:7:31 emial", "User has no feature 'emial'; did you mean 'email'?", "no such feature"],
  ],
  "143-returns": [
    ["E143 resolvers.py:17:5 nothing", "'nothing' does not say what it produces: write '-> User.boss_id'", "no return annotation"],
    ["E143 resolvers.py:22:31 str", "'str' names no feature: write '-> User.boss_id'", "not a feature"],
    ["E143 resolvers.py:27:27 User", "'User' is a class: write '-> User.name' or '-> Features[User.name, User.boss_id]'", "not a feature"],
    [
      "E143 resolvers.py:32:30 User.boss",
      "'user.boss' is a relation, found by its join: write '-> User.boss_id', which the join compares",
      "a relation",
    ],
    [
      "E143 resolvers.py:37:34 Optional[User.label]",
      "write '-> User.label': whether it may be None is said where the feature is defined",
      "not a feature",
    ],
    ["E143 resolvers.py:42:5 yields", "'yields' yields: a resolver returns its result", "a generator"],
    ["E143 resolvers.py:47:40 User.label", "'user.label' stands twice among the outputs", "listed twice"],
    ["E143 resolvers.py:52:49 User.name", "User.name is not among the outputs, so it cannot be left out", "not an output"],
    [
      "E143 resolvers.py:57:26 tuple[User.label, User.name]",
      "'tuple[User.label, User.name]' names no feature: write '-> User.name' or '-> Features[User.name, User.boss_id]'",
      "not a feature",
    ],
    ["E143 resolvers.py:62:82 Features[User]", "nothing is left in Features[User]: name the features that 'left' produces", "no output"],
  ],
  "144-overlap": [
    [
      "E144 resolvers.py:13:31 User.name",
      "'user.name' is an output and the input 'name': a resolver cannot produce what it needs",
      "also an input",
    ],
    [
      "E144 resolvers.py:18:64 User.name",
      "'user.name' is an output and the input 'name': a resolver cannot produce what it needs",
      "also an input",
    ],
  ],
  "145-foreign-output": [
    [
      "E145 resolvers.py:20:29 User.account.total",
      "'user.account.total' is a feature of Account, reached through a relation: a resolver produces features of the class it starts from; write one from Account to 'Account.total'",
      "not its own feature",
    ],
    [
      "E145 resolvers.py:25:27 Account.total",
      "'account.total' is a feature of Account, but the parameters start from User: a resolver produces features of the class it starts from",
      "another class",
    ],
    [
      "E145 resolvers.py:30:47 Account.total",
      "the outputs belong to User and Account: a resolver produces features of one class; write a resolver for each",
      "another class",
    ],
  ],
  "145-rows": [
    [
      "E145 resolvers.py:21:36 Txn.id",
      "'txn.id' is a feature of Txn, but the parameters start from User: a resolver produces features of the class it starts from; for the rows of a relation write '-> User.txns[Txn.id, Txn.amount]'",
      "another class",
    ],
    [
      "E145 resolvers.py:26:35 Txn.id",
      "the outputs belong to User and Txn: a resolver produces features of one class; write a resolver for each",
      "another class",
    ],
    [
      "E145 resolvers.py:31:28 Txn.user.txns[Txn.id]",
      "'txn.user.txns' is reached through a relation: a resolver gives the rows of a relation of the class it starts from",
      "not its own relation",
    ],
    [
      "E143 resolvers.py:36:30 User.txns[Txn.id, Txn.amount > 1]",
      "User.txns[Txn.id, Txn.amount > 1] chooses rows: an output names columns only; choose the rows in 'filtered'",
      "a filter",
    ],
    [
      "E143 resolvers.py:41:42 User.total",
      "'scalar' runs once for all rows of its DataFrame, so it returns a DataFrame: write '-> DataFrame[User.id, User.total]'",
      "no DataFrame",
    ],
    ["E146 resolvers.py:45:15 True", "total=True says that a DataFrame has all rows of its class: return DataFrame[...]", "no DataFrame"],
  ],
  "146-values": [
    [
      'E146 crons.py:37:24 Cron("often", filter=Buyer.active)',
      "cron is str 'often': a cron expression has 5 fields, this one has 1; write a duration such as '1d', or five cron fields such as '*/15 * * * *'",
      "bad value",
    ],
    [
      "E146 crons.py:42:42 Buyer.age > 18",
      "filter is a condition: name a bool feature of Buyer that has it as its expression, such as adult: bool = _.age >= 18",
      "bad value",
    ],
    [
      "E146 crons.py:42:65 shops",
      "sample is shops, whose rows have no Buyer.id: write a resolver that returns DataFrame[Buyer.id]",
      "bad value",
    ],
    [
      "E146 crons.py:47:42 Buyer.age",
      "filter is Buyer.age, which is not one bool of a row: write a bool feature of Buyer, such as Buyer.active",
      "bad value",
    ],
    [
      "E146 crons.py:47:60 sound",
      "sample is the function sound: write a resolver without arguments that returns DataFrame[Buyer.id]",
      "bad value",
    ],
    ["E106 crons.py:47:74 buyers", "Cron has no option 'smaple'; did you mean 'sample'?", "no such option"],
    [
      "E146 crons.py:52:42 Shop.is_open",
      "filter is Shop.is_open, and d computes features of Buyer: write a bool feature of Buyer",
      "bad value",
    ],
    [
      "E146 crons.py:52:63 [1, 2]",
      "sample is list [1, 2]: write a resolver without arguments that returns DataFrame[Buyer.id]",
      "bad value",
    ],
    ["E146 crons.py:57:43 lambda: Buyer.active", "filter is a lambda: write a bool feature of Buyer, such as Buyer.active", "bad value"],
    [
      "E146 crons.py:57:72 buyers",
      "sample says which rows e is given, and it returns its rows itself: take sample out, or use filter",
      "bad value",
    ],
    ["E146 crons.py:65:25 nightly", "filter is str 'buyer.active': write a bool feature of Buyer, such as Buyer.active", "bad value"],
    [
      "E146 crons.py:70:32 Buyer.active",
      "filter is Buyer.active, which own computes itself: name a bool that is known before it runs",
      "bad value",
    ],
    [
      'E146 features.py:7:25 "one day"',
      "max_staleness is str 'one day', which is not a duration: write a duration such as '90s', '5m', '1h30m', '7d' or 'infinity'",
      "bad value",
    ],
    ["E146 features.py:7:41 5", "tags is int 5: write a list of texts such as ['team:risk', 'pii']", "bad value"],
    ['E146 features.py:7:50 ""', "owner is str '': write a text", "bad value"],
    [
      'E146 features.py:7:59 "The User"',
      "name is str 'The User': a name begins with a letter and has letters, digits and '_' only, such as 'user_profile'",
      "bad value",
    ],
    [
      "E146 features.py:10:39 5",
      "max_staleness is int 5, which is not a duration: write a duration such as '90s', '5m', '1h30m', '7d' or 'infinity'",
      "bad value",
    ],
    ['E146 features.py:10:47 ["", "a"]', "tags holds str '': a tag is a text such as 'team:risk' or 'pii'", "bad value"],
    ["E146 features.py:10:64 3", "owner is int 3: write a text", "bad value"],
    [
      'E146 features.py:11:40 "-1d"',
      "max_staleness is str '-1d', which is not a duration: write a duration such as '90s', '5m', '1h30m', '7d' or 'infinity'",
      "bad value",
    ],
    [
      'E146 features.py:11:52 "e mail"',
      "name is str 'e mail': a name begins with a letter and has letters, digits and '_' only, such as 'user_profile'",
      "bad value",
    ],
    [
      'E146 features.py:15:17 "soon"',
      "timeout is str 'soon', which is not a duration: write one such as '200ms', '5s' or '1m30s'",
      "bad value",
    ],
    [
      'E146 features.py:15:30 "61 * * * *"',
      "cron is str '61 * * * *': '61' is no minute, which goes from 0 to 59; write a duration such as '1d', or five cron fields such as '*/15 * * * *'",
      "bad value",
    ],
    [
      'E146 features.py:15:56 ["pro d"]',
      "environment names str 'pro d': write an environment's name: letters, digits, '.', '_' and '-'",
      "bad value",
    ],
    ["E146 features.py:15:72 [1]", "tags holds int 1: a tag is a text such as 'team:risk' or 'pii'", "bad value"],
    ["E146 features.py:15:83 2", "owner is int 2: write a text", "bad value"],
    [
      'E146 features.py:15:91 "a.b"',
      "name is str 'a.b': a name begins with a letter and has letters, digits and '_' only, such as 'user_profile'",
      "bad value",
    ],
    [
      'E146 features.py:20:18 "0s"',
      "timeout is str '0s': a resolver needs a time limit above zero that ends, such as '200ms'",
      "bad value",
    ],
    [
      'E146 features.py:20:29 "* * *"',
      "cron is str '* * *': a cron expression has 5 fields, this one has 3; write a duration such as '1d', or five cron fields such as '*/15 * * * *'",
      "bad value",
    ],
    [
      "E146 features.py:20:50 []",
      "environment is list []: write an environment's name: letters, digits, '.', '_' and '-', or a list of them",
      "bad value",
    ],
    [
      'E146 features.py:25:81 "often"',
      "the staleness of 'The User.fine' is str 'often', which is not a duration: write a duration such as '90s', '5m', '1h30m', '7d' or 'infinity'",
      "bad value",
    ],
    ['E146 features.py:28:24 "no"', "store_online is str 'no': write True or False", "bad value"],
    ["E146 features.py:31:39 0", "store_offline is int 0: write True or False", "bad value"],
    ['E146 features.py:31:54 "evict"', "cache_nulls is str 'evict': write True, False or \"evict_nulls\"", "bad value"],
    [
      "E146 features.py:33:55 False",
      "'stored.owners' is a relation and takes no store_online: its rows are stored if it has a max_staleness",
      "a relation",
    ],
    ['E146 features.py:34:58 "never"', "store_offline is str 'never': write True or False", "bad value"],
    ['E146 features.py:35:52 "evict_nulls"', "cache_defaults is str 'evict_nulls': write True, False or \"evict_defaults\"", "bad value"],
    [
      'E146 features.py:35:79 "0s"',
      "offline_ttl is str '0s': write a duration above zero such as '30d' or '365d', or 'infinity'",
      "bad value",
    ],
    [
      "E146 features.py:36:40 False",
      "'stored.rank' has no default, of which cache_defaults says whether it is stored: give it one, or take this out",
      "bad value",
    ],
  ],
  "146-validations": [
    ["E146 features.py:22:29 3", "min of 'item.name' is int 3: min is a rule about numbers, and the type is str", "bad value"],
    ["E146 features.py:23:31 3", "nothing keeps to the validation of 'item.bounds': min=3 is greater than max=2", "bad value"],
    ['E146 features.py:24:30 "1"', "min of 'item.early' is str '1': write a number", "bad value"],
    ['E146 features.py:25:34 float("inf")', "max of 'item.endless' is float inf: write a number", "bad value"],
    [
      "E146 features.py:26:30 2**63 - 1",
      "max of 'item.exact' is int 9223372036854775807: it is too large to be compared exactly",
      "bad value",
    ],
    ["E146 features.py:27:38 -1", "max_length of 'item.length' is int -1: write a number of characters or items, at least 0", "bad value"],
    [
      "E146 features.py:28:37 1",
      "min_length of 'item.flag' is int 1: min_length is a rule about texts, bytes and lists, and the type is bool",
      "bad value",
    ],
    ["E146 features.py:29:34 3", "contains of 'item.part' is int 3: write a text of 1 to 1000 characters", "bad value"],
    ['E146 features.py:30:40 "3"', "contains of 'item.item' is str '3': str '3' is not of type int", "bad value"],
    [
      "E146 features.py:31:35 True",
      "strict says what becomes of values that break a rule, and 'item.nothing' has none: add one such as min=0",
      "bad value",
    ],
    ['E146 features.py:32:40 "yes"', "strict is str 'yes': write True or False", "bad value"],
    [
      "E146 features.py:33:39 Validation(min=1)",
      "validations is Validation(min=1): write a list of 1 to 20 such as [Validation(min=0)]",
      "bad value",
    ],
    [
      "E146 features.py:34:38 [Validation()]",
      "Validation() states no rule: its rules are min, max, min_length, max_length, contains, check",
      "bad value",
    ],
    [
      "E146 features.py:35:36 [lambda value: value > 1]",
      "validations holds the function <lambda>: write Validation(check=...)",
      "bad value",
    ],
    ["E146 features.py:36:38 [Validation(min=1, strict=1)]", "strict is int 1: write True or False", "bad value"],
    ["E106 features.py:37:37 [Validation(mim=1, max=3)]", "Validation has no option 'mim'; did you mean 'min'?", "no such option"],
    ["E115 features.py:38:39 0", "the default of 'item.low' is int 0, which breaks its validation min=1", "breaks min=1"],
    ["E115 features.py:39:66 4", "the default of 'item.huge' is int 4, which breaks its validation max=3", "breaks max=3"],
    ["E146 features.py:40:39 [Validation(check=3)]", "check of 'item.number' is int 3: write a function of the value", "bad value"],
    [
      "E146 features.py:41:36 [Validation(check=lambda one, other: True)]",
      "check of 'item.two' is <lambda>: it is called with the value alone",
      "bad value",
    ],
    [
      'E115 features.py:42:93 "x"',
      "the default of 'item.digits' is str 'x', which breaks its validation check=isdigit",
      "breaks check=isdigit",
    ],
    ["E146 features.py:44:32 1", "'item.shop' is a relation and takes no min: give it to the features of Shop", "bad value"],
  ],
  "147-columns": [
    [
      "E147 resolvers.py:25:21 Txn.kind",
      "'txns' has no column Txn.kind: the columns that its annotation names leave it out; add Txn.kind to them",
      "left out",
    ],
    [
      'E147 resolvers.py:25:50 "txn.id"',
      "'txns' has no column Txn.id: the columns that its annotation names leave it out; add Txn.id to them",
      "left out",
    ],
    [
      "E147 resolvers.py:30:16 txn.amount",
      "'txns' has no column Txn.amount: the columns that its annotation names leave it out; add Txn.amount to them",
      "left out",
    ],
    [
      "E147 resolvers.py:37:65 user.total",
      "'users' has no column User.total: the columns that its annotation names leave it out; add User.total to them",
      "left out",
    ],
  ],
  "148-names": [
    [
      'E148 resolvers.py:17:14 "f"',
      "two resolvers have the name 'resolvers.f': rename one function, or give it another 'name='",
      "same name",
    ],
  ],
  "149-no-key": [
    [
      "W149 resolvers.py:21:19 DataFrame[User.name, User.email]",
      "the rows lack the primary key, User.id, so that they cannot be told apart or stored: add it to the columns",
      "no primary key",
    ],
    [
      "W149 resolvers.py:26:28 User.txns[Txn.amount]",
      "the rows lack the primary key, Txn.id, so that they cannot be told apart or stored: add it to the columns",
      "no primary key",
    ],
  ],
  "170-queries": [
    [
      'E170 queries.py:16:52 "user.nam"',
      "the named query 'text' asks for what does not exist: User has no feature 'nam'; did you mean 'name'?",
      "no such feature",
    ],
    [
      'E170 queries.py:16:64 "usr.name"',
      "the named query 'text' asks for what does not exist: there is no namespace 'usr'; did you mean 'user'?",
      "no such namespace",
    ],
    [
      'E170 queries.py:16:76 "user.name.x"',
      "the named query 'text' asks for what does not exist: 'user.name.x' goes through a value, not a relation",
      "not a relation",
    ],
    [
      "E170 queries.py:17:51 5",
      "the named query 'kinds' asks for what does not exist: 5 is no feature: write User.name or 'user.name'",
      "no feature",
    ],
    [
      'E170 queries.py:18:17 "roots"',
      "the named query 'roots' starts from user and planet: inputs and outputs start from one class",
      "two root classes",
    ],
    ['E170 queries.py:19:17 "empty"', "the named query 'empty' has no output: write output=[User.name]", "no output"],
    [
      'E171 queries.py:21:17 "twice"',
      "the named query 'twice' is defined twice in version '1.0': give one of them another version",
      "defined twice",
    ],
    [
      'E170 queries.py:23:71 {"user.nme": "1d"}',
      "the staleness of the named query 'old' names what does not exist: User has no feature 'nme'; did you mean 'name'?",
      "no such feature",
    ],
  ],
  "173-monitors": [
    ["E173 features.py:13:51 0", "the monitor 'both' has two bounds: leave above= or below= out", "a second bound"],
    ["E173 features.py:14:1 Monitor", "the monitor 'none' has no bound: write above= or below=", "no bound"],
    ['E173 features.py:15:9 "least"', "the monitor 'least' is defined twice: give one of them another name", "defined twice"],
    ['E146 features.py:16:9 " "', "name is str ' ': write a text", "bad value"],
    ['E146 features.py:17:43 float("nan")', "below is float nan: write a number, or a text such as '80ms', '1GiB' or '5%'", "bad value"],
    ['E146 features.py:18:50 "8d"', "for_ is str '8d': write a duration of at most 7d, such as '10m'", "bad value"],
    [
      'E146 features.py:19:52 ["webhook:ops", "mail:me"]',
      "notify holds str 'mail:me': write 'webhook:' and the name of a webhook, such as 'webhook:ops'",
      "bad value",
    ],
    ['E146 features.py:20:54 "mild"', "severity is str 'mild': write 'critical', 'warning' or 'info'", "bad value"],
    [
      "E106 features.py:21:37 threshold",
      "this version of svc has no option 'threshold' of Monitor: above= or below= is the bound",
      "no such option",
    ],
  ],
  "177-evaluations": [
    ['E177 features.py:20:12 "placed"', "the evaluation 'placed' is defined twice: give one of them another name", "defined twice"],
    ['E146 features.py:21:12 " "', "name is str ' ': write a text", "bad value"],
    [
      'E177 features.py:22:26 "dst_1"',
      "the evaluation 'id' names no dataset: dataset is str 'dst_1'; write its name, such as 'tickets' or 'tickets@rev_...'",
      "no dataset",
    ],
    [
      'E177 features.py:23:32 "a@rev_1/2"',
      "the evaluation 'revision' names no dataset: str 'rev_1/2' is no id of a revision; `svc dataset get a` shows them",
      "no dataset",
    ],
    ['E177 features.py:24:38 "answer"', "the task of the evaluation 'text' is str 'answer', which is no function", "no function"],
    ["E177 features.py:25:39 int", "the task of the evaluation 'class' is type <class 'int'>, which is no function", "no function"],
    [
      'E179 features.py:26:54 ["a", "b", "c"]',
      "the task of the evaluation 'three' does not take its inputs: it has 2 parameters with names, and inputs has 3 columns",
      "not taken",
    ],
    [
      'E179 features.py:27:54 {"text": 1}',
      "the task of the evaluation 'other' does not take its inputs: inputs holds int 1 for str 'text'; write the name of a column",
      "not taken",
    ],
    [
      'E179 features.py:28:54 {"tone": "x"}',
      "the task of the evaluation 'lacks' does not take its inputs: missing a required argument: 'text'",
      "not taken",
    ],
    [
      "E179 features.py:29:41 none_taken",
      "the task of the evaluation 'nothing' does not take its inputs: it is given no column; name one in inputs=",
      "not taken",
    ],
    [
      'E178 features.py:30:53 contains("x")',
      "the evaluation 'one' has Contains Contains(column='x', ignore_case=False, name='contains') among its scorers, which is no scorer and no function",
      "no scorer",
    ],
    [
      'E178 features.py:31:72 "numeric"',
      "the evaluation 'string' has str 'numeric' among its scorers, which is no scorer and no function",
      "no scorer",
    ],
    [
      'E178 features.py:32:71 contains("y")',
      "the evaluation 'twice' has two scorers of the name 'contains': give one another name=",
      "same name",
    ],
    [
      "E178 features.py:33:54 none_taken",
      "the scorer 'none_taken' of the evaluation 'odd' takes neither the output alone nor the output and the row",
      "not its arguments",
    ],
    [
      'E178 features.py:34:56 numeric("x", tolerance=-1)',
      "the evaluation 'below' has a scorer that cannot score: tolerance is int -1; write a number of at least 0",
      "cannot score",
    ],
    [
      'E178 features.py:35:55 contains("x", ignore_case="no")',
      "the evaluation 'case' has a scorer that cannot score: ignore_case is str 'no'; write True or False",
      "cannot score",
    ],
    [
      "E178 features.py:36:57 exact_match(3)",
      "the evaluation 'column' has a scorer that cannot score: column is int 3: write a text",
      "cannot score",
    ],
    [
      'E178 features.py:37:56 judge("good?", model="m", url="http://a")',
      "the evaluation 'blind' has a scorer that cannot score: prompt has no {output}, so the judge would not see what it judges",
      "cannot score",
    ],
    [
      'E178 features.py:38:56 judge("{output} {", model="m", url="http://a")',
      "the evaluation 'brace' has a scorer that cannot score: prompt cannot be read: Single '{' encountered in format string; write {{ for a brace",
      "cannot score",
    ],
    [
      'E178 features.py:39:55 judge("{output}", model="m")',
      "the evaluation 'whom' has a scorer that cannot score: judge has neither integration= nor url=, so nobody can be asked",
      "cannot score",
    ],
    [
      'E178 features.py:40:56 judge("{output}", model="m", url="a.example")',
      "the evaluation 'where' has a scorer that cannot score: url is str 'a.example'; write one such as 'https://api.example.com/v1'",
      "cannot score",
    ],
    [
      'E178 features.py:41:55 judge("{output}", model="m", url="http://a", timeout="1h")',
      "the evaluation 'long' has a scorer that cannot score: timeout is str '1h'; write a duration of at most 10m, such as '60s'",
      "cannot score",
    ],
    [
      "E106 features.py:42:73 metrics",
      "this version of svc has no option 'metrics' of Evaluation: scorers= says what scores an output",
      "no such option",
    ],
    [
      'E178 features.py:43:79 contains("y", name="Contains")',
      "the evaluation 'case of names' has two scorers of the name 'Contains': give one another name=",
      "same name",
    ],
  ],
  "195-conditions": [
    [
      "E195 features.py:33:14 1 == 1",
      "when= is True for every row: Python decides at once what does not begin with a feature; compare a feature, such as User.id == 1",
      "decided at once",
    ],
    ['E195 features.py:38:14 "User.kind == 1"', "when= is 'User.kind == 1': write a condition such as User.id == 1", "no condition"],
    [
      'E195 features.py:43:14 Bank.tier == "gold"',
      "Bank.tier is no feature of User: the condition is on the row that the resolver computes",
      "not from User",
    ],
    [
      "E195 features.py:48:14 User.age",
      "the condition cannot be tested for a row: User.age is not bool, so it is no filter by itself: compare it",
      "no condition",
    ],
    [
      'E195 features.py:53:14 User.age == "x"',
      "the condition cannot be tested for a row: User.age is int and is compared with str 'x': the two are never alike",
      "no condition",
    ],
    [
      "E195 features.py:58:14 User.others.id == 1",
      "the condition cannot be tested for a row: User.others.id goes through a has-many relation: a column has one value for each row",
      "no condition",
    ],
    [
      'E195 features.py:63:14 User.kind == "x"',
      "when= is tested for the row that a resolver computes: one that returns a DataFrame finds the rows itself; leave out there what does not count",
      "no row yet",
    ],
    ['E146 features.py:68:23 "gpu"', "resource_hint is str 'gpu': write one of cpu, io", "bad value"],
    [
      'E146 features.py:73:23 "cpu"',
      "an async def runs on one event loop with all others, so one that computes for long keeps them waiting: write a plain def for resource_hint='cpu'",
      "async",
    ],
    ['E146 features.py:88:43 "x"', "offline_expression is str 'x': write an expression such as _.total - _.tax", "bad value"],
    [
      "E146 features.py:89:48 True",
      "etl_offline_to_online of 'carried.never' does nothing: the feature is not stored online without a max_staleness",
      "bad value",
    ],
    [
      "E146 features.py:90:50 True",
      "etl_offline_to_online of 'carried.offline' does nothing: the feature has store_online=False",
      "bad value",
    ],
    ["E130 features.py:91:47 nothing", "Carried has no feature 'nothing'", "no such feature"],
    [
      "E146 features.py:95:33 True",
      "etl_offline_to_online does nothing: no feature of the class is stored both offline and, by a max_staleness, online",
      "bad value",
    ],
    ['E146 features.py:101:14 ""', "venv is str '': write a name under `venvs` of svc.yaml, such as 'model-1'", "bad value"],
    [
      "E195 features.py:111:14 _.age > 18",
      "when= is _.age > 18, and '_' is the row of an expression: begin with the class, such as User.id == 1",
      "no condition",
    ],
  ],
  "197-promises": [
    [
      "E197 features.py:40:19 [User.age]",
      "unique_on compares the rows of a result, and values gives values of one row: return DataFrame[...], or take unique_on out",
      "no rows",
    ],
    [
      "E198 features.py:40:46 [User.age]",
      "partitioned_by divides a DataFrame, and values takes none: take DataFrame[...], or take partitioned_by out",
      "no DataFrame",
    ],
    [
      'E197 features.py:45:19 [User.country, User.age, User.age, User.txns, "age", 5]',
      "unique_on holds str 'age': write features, such as unique_on=[User.id]",
      "no feature",
    ],
    [
      'E197 features.py:45:19 [User.country, User.age, User.age, User.txns, "age", 5]',
      "unique_on holds int 5: write features, such as unique_on=[User.id]",
      "no feature",
    ],
    [
      "E197 features.py:45:20 User.country",
      "User.country is no output of everyone, so its rows cannot be told apart by it",
      "not an output",
    ],
    ["E197 features.py:45:34 User.age", "User.age stands twice", "listed twice"],
    ["E197 features.py:45:54 User.txns", "User.txns is a relation: name a feature that holds a value", "a relation"],
    ["E197 features.py:50:20 []", "unique_on is empty: write features, such as unique_on=[User.id]", "no feature"],
    ["E198 features.py:50:39 []", "partitioned_by is empty: write features, such as partitioned_by=[User.id]", "no feature"],
    [
      'E198 features.py:55:25 [User.age, User.bank.tier, User.id, User.id, User.txns, "country"]',
      "partitioned_by holds str 'country': write features, such as partitioned_by=[User.id]",
      "no feature",
    ],
    ["E198 features.py:55:26 User.age", "User.age is no column of the DataFrame that divided takes: add it to the columns", "not a column"],
    [
      "E198 features.py:55:36 User.bank.tier",
      "User.bank.tier belongs to a row that a relation leads to: rows are divided by features of their own",
      "of another row",
    ],
    ["E198 features.py:55:52 User.id", "User.id stands twice", "listed twice"],
    ["E198 features.py:55:70 User.txns", "User.txns is a relation: name a feature that holds a value", "a relation"],
    [
      'E146 features.py:60:24 "soon"',
      "max_staleness is str 'soon', which is not a duration: write a duration such as '90s', '5m', '1h30m', '7d' or 'infinity'",
      "bad value",
    ],
  ],
};
