/** Rules about feature classes and their features: 110 to 119, and 128. */

import { message, rule } from "./rule.ts";

export const NO_PRIMARY_KEY = rule(
  {
    code: 110,
    id: "no-primary-key",
    title: "A feature class has no primary key",
    severity: "error",
    foundBy: ["text", "analyzer"],
    yields: "to-sound-analysis",
    means: "Every feature class has one feature that says which row it is: the one called `id`, or the one annotated `Primary[...]`.",
    why: "Without it a row cannot be asked for, stored or joined.",
    example: {
      broken: { "features.py": '@features\nclass User:\n    name: str = ""\n' },
      mended: { "features.py": '@features\nclass User:\n    id: int\n    name: str = ""\n' },
    },
  },
  {
    none: message("{name} has no primary key: name it 'id', or annotate it 'Primary[...]'; its features are: {fields}", "no primary key"),
  },
);

export const NAMESPACE_IN_TWO_FILES = rule(
  {
    code: 111,
    id: "namespace-in-two-files",
    title: "Two files define the same namespace",
    severity: "error",
    foundBy: ["text", "analyzer"],
    yields: "to-sound-analysis",
    means:
      "A class's namespace is its name in snake case, or its `name=`. Two classes of different files have the same one: rename one of them.",
    why: "`user.name` would mean two things.",
    example: {
      broken: {
        "features.py": "@features\nclass User:\n    id: int\n",
        "people.py": '@features(name="user")\nclass Person:\n    id: int\n',
      },
      mended: {
        "features.py": "@features\nclass User:\n    id: int\n",
        "people.py": '@features(name="person")\nclass Person:\n    id: int\n',
      },
    },
  },
  {
    second: message("the namespace '{namespace}' is defined in two files: rename one class, or give it 'name='", "defined twice"),
  },
);

export const REDEFINED = rule(
  {
    code: 112,
    id: "redefined",
    title: "A class or resolver is defined again in the same file",
    severity: "warning",
    foundBy: ["text"],
    means: "Two feature classes or two resolvers of a file have one name. As always in Python, the last one counts.",
    why: "The first is dead code, often a copy that was meant to get another name.",
    example: {
      broken: { "features.py": "@features\nclass User:\n    id: int\n\n\n@features\nclass User:\n    id: int\n" },
      mended: { "features.py": "@features\nclass User:\n    id: int\n\n\n@features\nclass Order:\n    id: int\n" },
    },
  },
  { again: message("the {what} '{name}' is defined again in this file: the last one counts", "defined again") },
);

export const TWO_PRIMARY_KEYS = rule(
  {
    code: 113,
    id: "two-primary-keys",
    title: "A feature class has two primary keys",
    severity: "error",
    foundBy: ["text", "analyzer"],
    yields: "to-sound-analysis",
    means: "Two features are marked as primary keys. Take the mark from one of them.",
    why: "A row is identified by one value.",
    example: {
      broken: { "features.py": "@features\nclass User:\n    email: Primary[str]\n    number: int = feature(primary=True)\n" },
      mended: { "features.py": "@features\nclass User:\n    email: Primary[str]\n    number: int = 0\n" },
    },
  },
  {
    second: message(
      "{name} has two primary keys, '{first}' and '{second}': a row is identified by one; unmark the other",
      "second primary key",
    ),
  },
);

export const UNSUPPORTED_TYPE = rule(
  {
    code: 114,
    id: "unsupported-type",
    title: "An annotation is no type that a feature can have",
    severity: "error",
    foundBy: ["analyzer"],
    means:
      "A feature is an int, float, str, bool, bytes, date, datetime, timedelta, Decimal, an Enum, a dataclass, a list or set of these, a dict or Any; a " +
      "relation is a feature class or `DataFrame[...]` of one. The message names the nearest type that fits.",
    why: "Values of other types can be neither stored nor compared.",
    example: {
      broken: { "features.py": "@features\nclass User:\n    id: int\n    size: complex\n" },
      mended: { "features.py": "@features\nclass User:\n    id: int\n    size: float = 0.0\n" },
    },
  },
  {
    classInContainer: message(
      "'{name}' is a feature class, not a type of values: any number of its rows is DataFrame[{name}]",
      "unsupported type",
    ),
    classInside: message("'{name}' is a feature class, not a type of values: it stands alone, as a relation", "unsupported type"),
    computedKey: message("'{feature}' is the primary key, which says what row it is: it is given, not computed by an expression", "a key"),
    computedRelation: message("'{feature}' is a relation: its rows are found by a join, not by an expression", "a relation"),
    containsItself: message("the class {name} contains itself: a struct has a fixed depth", "contains itself"),
    inDataclass: message("field '{field}' of the class {name}: {error}", "{label}"),
    mixedEnum: message(
      "the members of {name} need values of one type, all str, all int or all float; they have: {have}",
      "unsupported enum",
    ),
    noAttribute: message("{problem}", "no such attribute"),
    noRowsOfClass: message(
      "'{feature}' is a relation to the rows of one class: write DataFrame[Txn] with the name of a feature class",
      "no feature class",
    ),
    none: message("None is no type of a feature: write the type of its values, such as 'str | None'", "no type"),
    notWindowed: message("'{feature}' has windows, but not by its type: write '{attribute}: Windowed[{type}]'", "not windowed"),
    nullableRows: message("'{feature}' may have no rows, but is never None: write DataFrame[{target}]", "never None"),
    otherMultiplicity: message("'{feature}' {leads}: write '{attribute}: \"{written}\"'", "not what the join says"),
    raises: message('the annotation "{annotation}" cannot be evaluated: {kind}: {error}', "no type"),
    referenceInDataclass: message("a reference to a feature stands in feature classes only"),
    refersToItself: message("the type of '{feature}' refers back to itself: write the type of the values in one place", "refers to itself"),
    refersToRelation: message("'{reference}' is a relation: refer to one of its features, such as its primary key", "a relation"),
    relatesNoClass: message(
      "'{feature}' is of type {type}, which is no feature class: {relation} relates two feature classes",
      "no feature class",
    ),
    severalTypes: message("'{type}' is more than one type: a feature has one, optionally with '| None'", "more than one type"),
    unannotated: message("'{attribute}' has no type: a feature is annotated, such as '{attribute}: str = feature(...)'", "no type"),
    unfitKey: message(
      "'{feature}' is the primary key and {what}: a key is an int, str, date, datetime, Decimal, bytes or an Enum, never None",
      "no key",
    ),
    unreadable: message("the annotation cannot be read: {kind} was raised by what it holds", "no type"),
    unreadableDataclass: message("the fields of the class {name} cannot be read: {error}", "unsupported type"),
    unsupported: message("'{type}' cannot be the type of a feature: {advice}", "unsupported type"),
    windowedRelation: message(
      "'{feature}' is a relation, which has no windows: give them to a feature that aggregates its rows",
      "a relation",
    ),
  },
);

export const BAD_DEFAULT = rule(
  {
    code: 115,
    id: "bad-default",
    title: "A default does not fit",
    severity: "error",
    foundBy: ["analyzer"],
    means: "A default must be a value of the feature's type that nobody can change afterwards. Relations and DataFrames take none.",
    why: "The default stands for a value that is missing, so whoever reads it expects one of the feature's type.",
    example: {
      broken: { "features.py": '@features\nclass User:\n    id: int\n    age: int = "old"\n' },
      mended: { "features.py": "@features\nclass User:\n    id: int\n    age: int = 0\n" },
    },
  },
  {
    breaksRule: message("the default of '{feature}' is {value}, which breaks its validation {rule}", "breaks {rule}"),
    mutable: message("the default of '{feature}' is a {mutable}, which could be changed by whoever reads it: {advice}", "mutable default"),
    none: message(
      "the default of '{feature}' is None, but its type is {type}: write '{attribute}: {type} | None = None'",
      "None is no value of it",
    ),
    notEncoded: message("the encoder fails for {value}: {kind}: {error}", "not encoded"),
    notJson: message("{value} is nothing that JSON can say", "not JSON"),
    ofFrame: message(
      "the default of parameter '{parameter}' is not used: where there are no rows a DataFrame without rows is passed",
      "not used",
    ),
    ofParameter: message("the default of parameter '{parameter}' does not fit '{feature}': {error}", "{label}"),
    ofRelation: message("'{feature}' is a relation and takes no default: {cure}", "no default"),
    outOfRange: message("{value} does not fit into 64 bits", "out of range"),
    unfit: message("the default of '{feature}' does not fit its type: {error}", "{label}"),
    unknownValue: message("{value} is no value of the engine"),
    wrongType: message("{value} is not of type {wanted}", "wrong type"),
  },
);

export const NAME_TAKEN = rule(
  {
    code: 116,
    id: "name-taken",
    title: "Two features, classes or sources have one name",
    severity: "error",
    foundBy: ["analyzer"],
    means: "Names are compared after `name=` and snake case. Give one of the two another name.",
    why: "Whoever asks by the name would not know which is meant.",
    example: {
      broken: {
        "features.py": '@features\nclass User:\n    id: int\n    name: str = ""\n    label: str = feature(name="name", default="")\n',
      },
      mended: {
        "features.py": '@features\nclass User:\n    id: int\n    name: str = ""\n    label: str = feature(name="title", default="")\n',
      },
    },
  },
  {
    feature: message("'{first}' and '{second}' both have the name '{fqn}': choose another 'name='", "same name"),
    namespace: message("{names} both have the namespace '{namespace}': rename one, or give it 'name='", "same namespace"),
    source: message("the source '{source}' is declared twice: give one of them another name", "same name"),
  },
);

export const TWO_FEATURE_TIMES = rule(
  {
    code: 117,
    id: "two-feature-times",
    title: "A feature class has two feature times",
    severity: "error",
    foundBy: ["text", "analyzer"],
    yields: "to-sound-analysis",
    means: "Two features are annotated `FeatureTime`. Keep it for the time at which the row was observed; the other is a datetime.",
    why: "A query as of a time compares it with one time of the row.",
    example: {
      broken: { "features.py": "@features\nclass Login:\n    id: int\n    at: FeatureTime\n    seen: FeatureTime\n" },
      mended: { "features.py": "@features\nclass Login:\n    id: int\n    at: FeatureTime\n    seen: datetime | None = None\n" },
    },
  },
  {
    second: message(
      "{name} has two feature times, '{first}' and '{second}': a row is observed at one; write datetime for the other",
      "second feature time",
    ),
  },
);

export const BAD_VERSION = rule(
  {
    code: 118,
    id: "bad-version",
    title: "The versions of a feature make no sense",
    severity: "error",
    foundBy: ["analyzer"],
    means:
      "`version=` says how many versions a feature has, 1 to 100; `default_version=` and the keys of `versions=` are among them. Relations, windows, primary " +
      "keys and feature times have one.",
    why: "Nobody could ask for such a version.",
    example: {
      broken: { "features.py": "@features\nclass Trial:\n    id: int\n    code: int = feature(version=2, default_version=3, default=0)\n" },
      mended: { "features.py": "@features\nclass Trial:\n    id: int\n    code: int = feature(version=2, default_version=2, default=0)\n" },
    },
  },
  {
    alone: message("{option} of '{feature}' says nothing without version=: add version=2, or take it out", "no versions"),
    noNumber: message("version of '{feature}' is {value}: write the number of its versions, 1 to {most}", "no number"),
    notAmong: message("{option} of '{feature}' is {value}, and its versions are 1 to {count}", "no such version"),
    noOptions: message("version {number} of '{feature}' is {value}: write feature(...), or an expression", "no options"),
    ofOptions: message("version {number} of '{feature}' has {option}, which all versions share: give it to the feature", "of all versions"),
    unfit: message("'{feature}' is {what}, which has one version", "one version"),
  },
);

export const ANNOTATED_TWICE = rule(
  {
    code: 119,
    id: "annotated-twice",
    title: "A feature is annotated twice in one class",
    severity: "warning",
    foundBy: ["text"],
    means: "The class has two lines for one feature. As always in Python, the last one counts.",
    why: "The first line has no effect, though it looks as if it had.",
    example: {
      broken: { "features.py": '@features\nclass User:\n    id: int\n    name: int = 0\n    name: str = ""\n' },
      mended: { "features.py": '@features\nclass User:\n    id: int\n    name: str = ""\n' },
    },
  },
  { again: message("'{feature}' is annotated twice in {owner}: the last one counts", "annotated again") },
);

const coded = (annotation: string): string =>
  `class Point:
    def __init__(self, text: str) -> None:
        self.text = text


def write(point: Point)${annotation}:
    return point.text


@features
class Shop:
    id: int
    place: Point | None = feature(default=None, encoder=write, decoder=Point)
`;

export const BAD_CODING = rule(
  {
    code: 128,
    id: "bad-coding",
    title: "Values of a feature cannot be encoded or decoded",
    severity: "error",
    foundBy: ["analyzer"],
    means:
      "`encoder=` and `decoder=` stand together: functions of one value, between a class of the project's own and what is stored of it. The encoder's return " +
      "annotation says which type that is. Only Python code sees such values: expressions, filters, conditions and models do not.",
    why: "Without both functions and the type, nothing could be stored, or what was stored could not be read; and the server cannot call them.",
    example: { broken: { "features.py": coded("") }, mended: { "features.py": coded(" -> str") } },
  },
  {
    asked: message(
      "'{feature}' is made of '{input}', whose values only Python code sees: give the model a feature with the text",
      "encoded",
    ),
    computed: message(
      "'{feature}' is computed by an expression, which knows no encoder: let a resolver give its values",
      "not computed so",
    ),
    option: message("{option} of '{feature}' cannot be used: {problem}", "{option}"),
    read: message("'{feature}' is encoded by a function, and only Python code reads its values: take it in a resolver", "encoded"),
    unfit: message(
      "'{feature}' is {what}, whose values are of a type that the server knows: take encoder= and decoder= out",
      "not encoded",
    ),
  },
);
