"""Rules of lint: their numbers, and the sentences that the analyzer's findings say.

    report(rules.NoPrimaryKey.none(name="User", fields="name").at(span))

Generated from `src/domain/rules` by `bun src/domain/rules/generate-python.ts`; changes belong there.
"""

from __future__ import annotations

from .findings import WARNING, Message


#: What to write instead of an operator that Python decides at once.
OPERATOR_CURES = {
    "and": "write & and put each comparison in parentheses: (_.a > 1) & (_.b < 2)",
    "or": "write | and put each comparison in parentheses: (_.a > 1) | (_.b < 2)",
    "not": "write ~ and put the comparison in parentheses: ~(_.a > 1)",
    "in": "write .isin([...])",
    "not in": "write ~ and .isin([...])",
    "is": "write == for a value, and F.is_null(...) for None",
    "is not": "write != for a value, and F.is_not_null(...) for None",
    "if": "write F.if_then_else(condition, value, other)",
    "contains": "write F.contains(_.tags, value)",
    "not contains": "write ~F.contains(_.tags, value)",
}
CHAIN_CURE = "write two comparisons joined by &: (1 < _.a) & (_.a < 9)"


class InvalidSyntax:
    """A file is not Python."""

    code = 101
    not_python = Message(code, "{path} cannot be read as Python: {problem}", "not Python")
    syntax = Message(code, "{problem} ({runtime})", "syntax error")


class ImportFailed:
    """A module could not be imported, or a package not installed."""

    code = 102
    hook = Message(code, "{problem}", "raised here")
    module = Message(code, "{file} cannot be imported: {said} ({place}){frames}", "{label}")
    unreachable = Message(code, "{path} cannot be imported: {why}", "cannot be imported")
    install = Message(code, "{problem}", "not installed")
    requirements = Message(code, "{problem}", "cannot be read")
    no_folder = Message(
        code,
        "the workers need a temporary folder, and none can be made in {folder}: {problem}; start the server with TMPDIR set to another folder",
        "not started",
    )
    missing_resolver = Message(code, "the project was imported, but it defines no resolver '{resolvers}' in a worker", "not defined")


class ImportUnfinished:
    """Importing the project did not come to its end."""

    code = 103
    exits = Message(code, "importing {file} exits the interpreter: {said} ({place})", "exits here")
    unfinished = Message(code, "{problem}", "import did not finish")


class UnknownSdkName:
    """The SDK has no such module or name."""

    code = 105
    no_module = Message(code, "{problem}", "no such module")
    no_name = Message(code, "{problem}", "no such name")


class UnknownOption:
    """A decorator, function or class of the SDK has no such option."""

    code = 106
    no_option = Message(code, "{problem}", "no such option")


class NoPrimaryKey:
    """A feature class has no primary key."""

    code = 110
    none = Message(
        code,
        "{name} has no primary key: name it 'id', or annotate it 'Primary[...]'; its features are: {fields}",
        "no primary key",
    )


class NamespaceInTwoFiles:
    """Two files define the same namespace."""

    code = 111
    second = Message(code, "the namespace '{namespace}' is defined in two files: rename one class, or give it 'name='", "defined twice")


class TwoPrimaryKeys:
    """A feature class has two primary keys."""

    code = 113
    second = Message(
        code,
        "{name} has two primary keys, '{first}' and '{second}': a row is identified by one; unmark the other",
        "second primary key",
    )


class UnsupportedType:
    """An annotation is no type that a feature can have."""

    code = 114
    class_in_container = Message(
        code,
        "'{name}' is a feature class, not a type of values: any number of its rows is DataFrame[{name}]",
        "unsupported type",
    )
    class_inside = Message(code, "'{name}' is a feature class, not a type of values: it stands alone, as a relation", "unsupported type")
    computed_key = Message(
        code,
        "'{feature}' is the primary key, which says what row it is: it is given, not computed by an expression",
        "a key",
    )
    computed_relation = Message(code, "'{feature}' is a relation: its rows are found by a join, not by an expression", "a relation")
    contains_itself = Message(code, "the class {name} contains itself: a struct has a fixed depth", "contains itself")
    in_dataclass = Message(code, "field '{field}' of the class {name}: {error}", "{label}")
    mixed_enum = Message(
        code,
        "the members of {name} need values of one type, all str, all int or all float; they have: {have}",
        "unsupported enum",
    )
    no_attribute = Message(code, "{problem}", "no such attribute")
    no_rows_of_class = Message(
        code,
        "'{feature}' is a relation to the rows of one class: write DataFrame[Txn] with the name of a feature class",
        "no feature class",
    )
    none = Message(code, "None is no type of a feature: write the type of its values, such as 'str | None'", "no type")
    not_windowed = Message(code, "'{feature}' has windows, but not by its type: write '{attribute}: Windowed[{type}]'", "not windowed")
    nullable_rows = Message(code, "'{feature}' may have no rows, but is never None: write DataFrame[{target}]", "never None")
    other_multiplicity = Message(code, "'{feature}' {leads}: write '{attribute}: \"{written}\"'", "not what the join says")
    raises = Message(code, 'the annotation "{annotation}" cannot be evaluated: {kind}: {error}', "no type")
    reference_in_dataclass = Message(code, "a reference to a feature stands in feature classes only")
    refers_to_itself = Message(
        code,
        "the type of '{feature}' refers back to itself: write the type of the values in one place",
        "refers to itself",
    )
    refers_to_relation = Message(code, "'{reference}' is a relation: refer to one of its features, such as its primary key", "a relation")
    relates_no_class = Message(
        code,
        "'{feature}' is of type {type}, which is no feature class: {relation} relates two feature classes",
        "no feature class",
    )
    several_types = Message(code, "'{type}' is more than one type: a feature has one, optionally with '| None'", "more than one type")
    unannotated = Message(code, "'{attribute}' has no type: a feature is annotated, such as '{attribute}: str = feature(...)'", "no type")
    unfit_key = Message(
        code,
        "'{feature}' is the primary key and {what}: a key is an int, str, date, datetime, Decimal, bytes or an Enum, never None",
        "no key",
    )
    unreadable = Message(code, "the annotation cannot be read: {kind} was raised by what it holds", "no type")
    unreadable_dataclass = Message(code, "the fields of the class {name} cannot be read: {error}", "unsupported type")
    unsupported = Message(code, "'{type}' cannot be the type of a feature: {advice}", "unsupported type")
    windowed_relation = Message(
        code,
        "'{feature}' is a relation, which has no windows: give them to a feature that aggregates its rows",
        "a relation",
    )


class BadDefault:
    """A default does not fit."""

    code = 115
    breaks_rule = Message(code, "the default of '{feature}' is {value}, which breaks its validation {rule}", "breaks {rule}")
    mutable = Message(
        code,
        "the default of '{feature}' is a {mutable}, which could be changed by whoever reads it: {advice}",
        "mutable default",
    )
    none = Message(
        code,
        "the default of '{feature}' is None, but its type is {type}: write '{attribute}: {type} | None = None'",
        "None is no value of it",
    )
    not_encoded = Message(code, "the encoder fails for {value}: {kind}: {error}", "not encoded")
    not_json = Message(code, "{value} is nothing that JSON can say", "not JSON")
    of_frame = Message(
        code,
        "the default of parameter '{parameter}' is not used: where there are no rows a DataFrame without rows is passed",
        "not used",
    )
    of_parameter = Message(code, "the default of parameter '{parameter}' does not fit '{feature}': {error}", "{label}")
    of_relation = Message(code, "'{feature}' is a relation and takes no default: {cure}", "no default")
    out_of_range = Message(code, "{value} does not fit into 64 bits", "out of range")
    unfit = Message(code, "the default of '{feature}' does not fit its type: {error}", "{label}")
    unknown_value = Message(code, "{value} is no value of the engine")
    wrong_type = Message(code, "{value} is not of type {wanted}", "wrong type")


class NameTaken:
    """Two features, classes or sources have one name."""

    code = 116
    feature = Message(code, "'{first}' and '{second}' both have the name '{fqn}': choose another 'name='", "same name")
    namespace = Message(code, "{names} both have the namespace '{namespace}': rename one, or give it 'name='", "same namespace")
    source = Message(code, "the source '{source}' is declared twice: give one of them another name", "same name")


class TwoFeatureTimes:
    """A feature class has two feature times."""

    code = 117
    second = Message(
        code,
        "{name} has two feature times, '{first}' and '{second}': a row is observed at one; write datetime for the other",
        "second feature time",
    )


class BadVersion:
    """The versions of a feature make no sense."""

    code = 118
    alone = Message(code, "{option} of '{feature}' says nothing without version=: add version=2, or take it out", "no versions")
    no_number = Message(code, "version of '{feature}' is {value}: write the number of its versions, 1 to {most}", "no number")
    not_among = Message(code, "{option} of '{feature}' is {value}, and its versions are 1 to {count}", "no such version")
    no_options = Message(code, "version {number} of '{feature}' is {value}: write feature(...), or an expression", "no options")
    of_options = Message(
        code,
        "version {number} of '{feature}' has {option}, which all versions share: give it to the feature",
        "of all versions",
    )
    unfit = Message(code, "'{feature}' is {what}, which has one version", "one version")


class NoJoin:
    """No join can be inferred for a relation."""

    code = 120
    none = Message(
        code,
        "no join can be inferred from {owner} to {other} for '{feature}': {listed}; add '{added}, or spell the join out",
        "no join",
    )


class AmbiguousJoin:
    """Several joins are possible for a relation."""

    code = 121
    either_way = Message(
        code,
        "the join of '{feature}' compares two features of {cls}, and either may be the foreign key: '{left}' and '{right}'; say which one refers to the other by its type",
        "either way",
    )
    several = Message(code, "several joins lead from {owner} to {other} for '{feature}': {joins}: say which one is meant", "ambiguous join")


class BadJoin:
    """A join does not compare features of its two classes."""

    code = 122
    another_class = Message(
        code,
        "the join of '{feature}' uses {side}, a feature of neither {owner} nor {target}: {names}",
        "another class",
    )
    decided_at_once = Message(
        code,
        "the join of '{feature}' uses 'and', 'or' or 'not', which Python decides at once: write (a == b) & (c == d)",
        "not a join",
    )
    no_comparison = Message(
        code,
        "the join of '{feature}' compares nothing: compare a feature of {names}, several comparisons joined by '&'",
        "no comparison",
    )
    no_feature = Message(code, "the join of '{feature}' compares {comparison}: {names}", "no feature")
    not_a_join = Message(code, "'{condition}' is no part of a join: write comparisons with '==', joined by '&'", "not a join")
    raises = Message(code, "the join of '{feature}' cannot be evaluated: {kind}: {error}", "no join")
    relation = Message(code, "{side} is a relation: compare its key instead", "a relation")
    same_class = Message(code, "the join of '{feature}' compares {comparison}: {names}, with '=='", "not between the classes")
    through_relation = Message(code, "the join of '{feature}' goes through a relation with {side}: {names}, directly", "through a relation")


class JoinTypesDiffer:
    """A join compares features of different types."""

    code = 123
    differ = Message(
        code,
        "the join of '{feature}' compares {local_type} ('{local}') with {foreign_type} ('{foreign}'): the two never match; give both the same type",
        "types differ",
    )


class UndefinedName:
    """An annotation or a join uses a name that nothing defines."""

    code = 124
    in_annotation = Message(code, "'{name}' in this annotation is never defined{near}", "never defined")
    in_join = Message(code, "'{name}' in the join of '{feature}' is never defined", "never defined")


class NullableKey:
    """A required relation has a key that may be None."""

    code = 126
    required = Message(
        code,
        "'{feature}' is required, but its key '{key}' may be None: write '{attribute}: \"{target} | None\"'",
        "required",
        WARNING,
    )


class BadNearness:
    """The nearest rows cannot be found so."""

    code = 127
    differ = Message(
        code,
        "'{local}' is {local_type} and '{foreign}' is {foreign_type}: vectors of the same size and precision have a distance",
        "another size or precision",
    )
    distance = Message(
        code,
        "the distance of '{feature}' goes to {given}: name a feature of {target} of type float | None, such as distance={target}.distance",
        "no feature for a distance",
    )
    limit = Message(code, "'{feature}' asks for {given} rows: k is a number from 1 to {most}", "out of bounds")
    metric = Message(code, "'{feature}' has the metric {given}: write one of {known}", "no metric")
    no_filter = Message(
        code,
        "{condition} is no filter: it chooses the rows of a relation, so it stands in has_many(lambda: {condition})",
        "outside of has_many",
    )
    no_size = Message(code, "{side} has vectors of any length: state their size, such as Vector[768]", "no size")
    no_text = Message(
        code,
        "'{feature}' has the condition {condition}: a text of {target} contains another text, Doc.body.contains(Search.word)",
        "no texts",
    )
    not_stored = Message(
        code,
        "'{feature}' looks for rows by '{stored}', which is never stored online: give it a max_staleness, such as feature(max_staleness=\"infinity\")",
        "not stored",
    )
    no_vector = Message(code, "{side} is {type}: is_near compares vectors, such as Vector[768]", "no vector")
    one_row = Message(code, "'{feature}' leads to one row, and is_near to several: write DataFrame[...] and has_many", "several rows")
    sides = Message(
        code,
        "'{feature}' has the condition {given}: a vector of {owner} is compared with one of {target}, {owner}.emb.is_near({target}.emb)",
        "not between the classes",
    )
    through_relation = Message(
        code,
        "'{feature}' has a condition on {side}: the nearest rows are chosen by features of their own",
        "through a relation",
    )
    twice = Message(
        code,
        "'{feature}' has is_near twice: the rows that are nearest to one vector can be filtered by another distance",
        "twice",
    )


class BadCoding:
    """Values of a feature cannot be encoded or decoded."""

    code = 128
    asked = Message(
        code,
        "'{feature}' is made of '{input}', whose values only Python code sees: give the model a feature with the text",
        "encoded",
    )
    computed = Message(
        code,
        "'{feature}' is computed by an expression, which knows no encoder: let a resolver give its values",
        "not computed so",
    )
    option = Message(code, "{option} of '{feature}' cannot be used: {problem}", "{option}")
    read = Message(code, "'{feature}' is encoded by a function, and only Python code reads its values: take it in a resolver", "encoded")
    unfit = Message(
        code,
        "'{feature}' is {what}, whose values are of a type that the server knows: take encoder= and decoder= out",
        "not encoded",
    )


class BadExpression:
    """An expression uses what its row does not have, or what is no value."""

    code = 130
    brackets = Message(
        code,
        "{path} has neither windows nor rows: brackets choose a window, or rows and a column of a has-many relation",
        "nothing to choose from",
    )
    class_name = Message(code, "{item} names features by their class: in expressions _ is the row of {child}, so write _.{name}", "write _")
    many_rows = Message(code, "{item} is any number of rows, not a value: aggregate them, such as {item}.count()", "no value")
    no_condition = Message(code, "{value} is neither a condition nor a column: write _.amount > 100 or _.amount", "no condition")
    no_constant = Message(code, "{error}: it cannot be a constant of an expression", "no constant")
    no_expression = Message(code, "{value} cannot be part of an expression", "no expression")
    no_rows = Message(code, "_ alone is a row: {method}() takes the rows of a has-many relation", "no rows")
    no_such_feature = Message(code, "{owner} has no feature '{name}'{near}", "no such feature")
    no_such_window = Message(code, "{path} has no window {shown}; its windows are: {windows}", "no such window")
    not_a_relation = Message(code, "{before} is a value, not a relation: it has no feature '{name}'", "not a relation")
    not_windowed = Message(code, "'{feature}' has no windows, so that {written} has no meaning", "no window")
    one_row = Message(code, "{item} is a row, not a value: name a feature of it, such as {item}.{first}", "no value")
    one_value = Message(code, "{path} is one value: {method}() aggregates the rows of a has-many relation", "one value")
    row_itself = Message(code, "_ alone is a row, not a value: name a feature of it", "no value")
    too_deep = Message(
        code,
        "the expression of '{feature}' is nested more than {limit} deep: compute a part of it in a feature of its own",
        "nested too deeply",
    )
    two_relations = Message(
        code,
        "{item} goes through two has-many relations: aggregate in the class of the inner one, and then here",
        "two has-many relations",
    )
    unfinished = Message(code, "{item} has no value yet: write .then(value) behind it", "no value")
    which_window = Message(code, "{item} has one value per window: write {example}", "which window?")
    window_start = Message(
        code,
        "'{feature}' has no windows, so that {item} has no meaning: write 'Windowed[...] = windowed(\"1d\", expression=...)'",
        "no window",
    )
    window_start_here = Message(code, "_.svc_window is known in windowed features only", "no window")
    outer_row = Message(code, "_.{path} is said of a row that lies outside of all brackets", "no such row")
    value_per_window = Message(code, "{owner}.{name} has one value per window: {windows}", "which window?")
    row_alone = Message(code, "`_` alone is a row, not a value: name a feature of it", "no value")
    rows_as_value = Message(code, "{path} is any number of rows, not a value: aggregate them, such as _.{name}.count()", "no value")
    row_as_value = Message(code, "{path} is a row, not a value: name a feature of it", "no value")
    no_such_field = Message(code, "{feature} has no field '{name}'{near}", "no such field")
    value_as_relation = Message(code, "{feature} is a value, not a relation: it has no feature '{name}'", "no such field")
    nothing_to_aggregate = Message(code, "_.{path} is no has-many relation, so there is nothing to aggregate", "no rows")


class BadAggregation:
    """An aggregation needs exactly one column, and constants for the rest."""

    code = 132
    many_rows = Message(code, "{item} is any number of rows, not a value: aggregate them, such as {item}.count()", "no value")
    many_values = Message(code, "{item} is any number of values: aggregate them, such as {item}.sum()", "no single value")
    no_constant = Message(code, "{method}() takes constants, and {argument} is none: project in the brackets instead", "no constant")
    not_called = Message(code, "{item} is not called: write {item}()", "not called")
    one_column = Message(code, "{method}() needs exactly one column, and these are named: {named}; write {example}", "exactly one column")
    no_column = Message(code, "{method}() needs exactly one column, and none is named; write {example}", "exactly one column")
    no_key = Message(code, "{method}() needs what rows are ordered by as its first argument; write {example}", "ordered by what?")


class UnknownFunction:
    """There is no such function or aggregation."""

    code = 133
    function = Message(code, "there is no {what} '{name}'{near}", "unknown {what}")
    no_method = Message(
        code,
        "values have no method '{method}': functions are written F.{method}({path}), with 'import svc.functions as F'",
        "no method",
    )
    no_such_function = Message(code, "there is no function '{name}'{near}", "no such function")
    no_such_aggregation = Message(code, "there is no aggregation '{name}'{near}", "no such aggregation")


class DecidedAtOnce:
    """Python decides an operator at once, before any query runs."""

    code = 134
    constant_filter = Message(
        code,
        "this filter is {item} for every row: Python decides 'is', 'in', 'and', 'or' and 'not' at once; write == & | ~ .isin([...])",
        "decided at once",
    )
    frame_filter = Message(
        code,
        "a filter is {item} for every row: Python decided 'and', 'or', 'not', 'in' or 'is' at once; write & | ~ .isin([...]), with each comparison in parentheses",
        "decided at once",
    )
    operator = Message(code, "'{word}' makes Python decide at once what is known only when a query runs: {cure}", "decided at once")
    raised = Message(code, "{problem}", "decided at once")


class BadModelCall:
    """A model cannot compute the feature."""

    code = 137
    no_answer = Message(
        code,
        "'{feature}' is {type}: a completion is a str, a PromptResponse, or a @dataclass that says what to answer",
        "no answer",
    )
    no_schema = Message(
        code,
        "'{feature}' has values of type {type}, which a model cannot be asked for: write str, int, float, bool or an Enum",
        "no such answer",
    )
    no_structure = Message(code, "output_structure is {structure}: write a @dataclass", "no structure")
    no_text = Message(code, "'{feature}' is made of '{input}', which is {type}: a model embeds a str", "no text")
    no_vector = Message(
        code,
        "'{feature}' is {type}, and a model gives a vector: write Vector[768], with the model's number of dimensions",
        "no vector",
    )
    two_structures = Message(
        code,
        "'{feature}' is {type}: output_structure is of a PromptResponse; take it out, or annotate PromptResponse",
        "not of this type",
    )


class BadInput:
    """A parameter of a resolver names no feature that it could be given."""

    code = 140
    bare_frame = Message(
        code,
        "parameter '{parameter}' does not say which rows: write '{parameter}: User.txns' for a relation's, or '{parameter}: DataFrame[User.id, User.name]'",
        "no feature",
    )
    column_is_relation = Message(code, "{token} is a relation: name a feature of it, such as {token}.{first}", "a relation")
    expression = Message(
        code,
        "{item} is an expression: in a resolver's parameter features are named by their class, {child}.{example}",
        "no feature",
    )
    list_of_two_relations = Message(
        code,
        "'{path}' goes through two has-many relations: a list has the values of the rows of one",
        "two relations",
    )
    many_values = Message(code, "{token} goes through a has-many relation: a column has one value for each row", "many values")
    no_constant = Message(code, "{error}: it cannot stand in a filter", "no constant")
    no_feature_time = Message(
        code,
        "{method}() compares the feature time, and {owner} has none: annotate a feature 'FeatureTime'",
        "no feature time",
    )
    no_filter = Message(code, "{condition} is no filter", "no filter")
    no_filter_or_column = Message(code, "'{shown}' is neither a filter nor a column: {advice}", "no filter or column")
    no_limit = Message(code, "a slice in brackets says how many rows at most, newest first: write [:100]", "no limit")
    no_number = Message(code, "{operand} is {type}: in a filter one can calculate with int and float", "no number")
    no_rows = Message(code, "'{path}' has no rows: brackets choose rows and columns of a has-many relation", "no has-many relation")
    not_bool = Message(code, "{operand} is not bool, so it is no filter by itself: compare it", "not bool")
    no_text = Message(code, "{operand} is {type}: a text contains another text", "no text")
    number = Message(code, "{condition} is a number, so it is no filter by itself: compare it", "not bool")
    number_and_other = Message(code, "{operand} is a number and is compared with {value}: the two are never alike", "types differ")
    of_hook = Message(
        code,
        "'{hook}' runs before or after all resolver calls and is given nothing: take the parameter '{parameter}' out",
        "no value",
    )
    of_one_row = Message(code, "parameter '{parameter}' is of one row, but {why}{advice}", "of one row")
    of_other_class = Message(
        code,
        "{reference} is no feature of {child}: filters and columns of these rows start from {child}",
        "not from {child}",
    )
    relation = Message(code, "parameter '{parameter}' is a relation: take a feature of it, such as '{written}.{first}'", "a relation")
    starred = Message(
        code,
        "'{stars}{parameter}' names no features: write one parameter per feature, such as 'name: User.name'",
        "no feature",
    )
    two_relations = Message(code, "'{path}' goes through two has-many relations: a DataFrame has the rows of one", "two relations")
    types_differ = Message(code, "{operand} is {type} and is compared with {value}: the two are never alike", "types differ")
    unannotated = Message(
        code,
        "parameter '{parameter}' names no feature: annotate it, such as '{parameter}: User.{parameter}'",
        "no feature annotation",
    )
    value = Message(
        code,
        "parameter '{parameter}' has the type '{written}', which names no feature: write '{parameter}: User.{parameter}' instead",
        "no feature",
    )
    which_window = Message(code, '{token} has one value for each window: name one, such as {token}["1d"]', "which window?")
    whole_class = Message(
        code,
        "parameter '{parameter}' is the class {owner}: take its features one by one, such as '{parameter}: {owner}.{first}'",
        "no feature",
    )
    no_column = Message(code, "'{type}' is no column: write DataFrame[User.id, User.name], or DataFrame[User] for all of it", "no column")


class TwoInputClasses:
    """The parameters of a resolver start from two classes."""

    code = 141
    in_columns = Message(code, "the columns start from {name} and from {other}: a table has rows of one class", "not from {name}")
    in_parameters = Message(
        code,
        "the parameters start from {name} and from {other}: a resolver starts from one class{advice}",
        "not from {name}",
    )


class UnknownFeature:
    """A feature does not exist."""

    code = 142
    no_such_feature = Message(code, "{owner} has no feature '{name}'{near}", "no such feature")
    no_such_window = Message(code, "{owner}.{name} has no window '{window}'; its windows are: {windows}", "no such window")
    not_a_relation = Message(code, "'{feature}' is a value, not a relation: it has no feature '{attribute}'", "not a relation")
    raised = Message(code, "{problem}", "{label}")


class BadOutput:
    """A resolver does not say which features it produces."""

    code = 143
    bare_frame = Message(code, "'DataFrame' does not say which features: write '-> {example}'", "not a feature")
    filter = Message(code, "{rows} chooses rows: an output names columns only; choose the rows in '{resolver}'", "a filter")
    generator = Message(code, "'{resolver}' yields: a resolver returns its result", "a generator")
    listed_twice = Message(code, "'{feature}' stands twice among the outputs", "listed twice")
    no_frame = Message(
        code,
        "'{resolver}' runs once for all rows of its DataFrame, so it returns a DataFrame: write '{example}'",
        "no DataFrame",
    )
    no_rows = Message(code, "'{path}' has no rows: brackets choose the columns of a has-many relation", "no has-many relation")
    not_an_output = Message(code, "{reference} is not among the outputs, so it cannot be left out", "not an output")
    nothing_left = Message(code, "nothing is left in {written}: name the features that '{resolver}' produces", "no output")
    optional = Message(code, "write '-> {written}': whether it may be None is said where the feature is defined", "not a feature")
    relation = Message(code, "'{feature}' is a relation, found by its join: {advice}", "a relation")
    unannotated = Message(code, "'{resolver}' does not say what it produces: {advice}", "no return annotation")
    value = Message(code, "'{written}' names no feature: {advice}", "not a feature")
    whole_class = Message(code, "'{owner}' is a class: {advice}", "not a feature")
    no_column = Message(code, "'{type}' is no column: write DataFrame[User.id, User.name], or DataFrame[User] for all of it", "no column")


class OutputIsInput:
    """A resolver produces what it needs."""

    code = 144
    also_input = Message(
        code,
        "'{feature}' is an output and the input '{parameter}': a resolver cannot produce what it needs",
        "also an input",
    )


class ForeignOutput:
    """A resolver produces features of another class than it starts from."""

    code = 145
    another_class = Message(
        code,
        "'{path}' is a feature of {owner}, but the parameters start from {root}: a resolver produces features of the class it starts from{advice}",
        "another class",
    )
    rows = Message(
        code,
        "'{path}' is reached through a relation: a resolver gives the rows of a relation of the class it starts from",
        "not its own relation",
    )
    several_classes = Message(
        code,
        "the outputs belong to {names}: a resolver produces features of one class; write a resolver for each",
        "another class",
    )
    through_relation = Message(
        code,
        "'{path}' is a feature of {owner}, reached through a relation: a resolver produces features of the class it starts from; write one from {owner} to '{owner}.{attribute}'",
        "not its own feature",
    )


class BadValue:
    """An option has a value that it cannot have."""

    code = 146
    async_cpu = Message(
        code,
        "an async def runs on one event loop with all others, so one that computes for long keeps them waiting: write a plain def for resource_hint='cpu'",
        "async",
    )
    of_relation = Message(
        code,
        "'{feature}' is a relation and takes no {option}: its rows are stored if it has a max_staleness",
        "a relation",
    )
    option = Message(code, "{problem}", "bad value")
    total_with_inputs = Message(
        code,
        "total=True says that a DataFrame has all rows of its class: a resolver that is given features is asked for some of them",
        "has inputs",
    )
    total_without_frame = Message(code, "total=True says that a DataFrame has all rows of its class: return DataFrame[...]", "no DataFrame")
    written = Message(code, "{option} of {owner} is {written}: {problem}", "bad value")
    header = Message(code, "{problem}", "{label}")


class MissingColumn:
    """A resolver reads a column that its own annotation leaves out."""

    code = 147
    left_out = Message(
        code,
        "'{parameter}' has no column {reference}: the columns that its annotation names leave it out; add {reference} to them",
        "left out",
    )


class DuplicateResolver:
    """Two resolvers have one name."""

    code = 148
    in_python = Message(code, "two resolvers have the name '{resolver}': rename one function, or give it another 'name='", "same name")
    sql_file = Message(
        code,
        "resolver name '{resolver}' is taken: a SQL file's name without folder and ending must be unique in the project",
        "second resolver of this name",
    )


class RowsWithoutKey:
    """The rows of a resolver lack their primary key."""

    code = 149
    of_frame = Message(
        code,
        "the rows lack the primary key, {key}, so that they cannot be told apart or stored: add it to the columns",
        "no primary key",
        WARNING,
    )
    sql_file = Message(
        code,
        "the query returns no '{key}', the primary key of {owner}: its rows cannot be matched to keys",
        "no primary key",
    )


class BadNamedQuery:
    """A named query asks for what does not exist."""

    code = 170
    asks = Message(code, "the named query '{query}' asks for what does not exist: {error}", "{label}")
    no_feature = Message(code, "{item} is no feature: write User.name or 'user.name'", "no feature")
    no_output = Message(code, "the named query '{query}' has no output: write output=[User.name]", "no output")
    no_such_feature = Message(code, "{owner} has no feature '{name}'{near}", "no such feature")
    no_such_namespace = Message(code, "there is no namespace '{namespace}'{near}", "no such namespace")
    no_such_window = Message(code, "{owner}.{name} has no window '{window}'; its windows are: {windows}", "no such window")
    not_a_relation = Message(code, "'{path}' goes through a value, not a relation", "not a relation")
    staleness = Message(code, "the staleness of the named query '{query}' names what does not exist: {error}", "{label}")
    two_classes = Message(
        code,
        "the named query '{query}' starts from {roots}: inputs and outputs start from one class",
        "two root classes",
    )
    planner_option = Message(code, "named query '{query}': {problem}", "cannot be planned")


class DuplicateNamedQuery:
    """A named query is defined twice."""

    code = 171
    second = Message(code, "the named query '{query}' is defined twice{version}: give one of them another version", "defined twice")


class BadSchedule:
    """A scheduled query cannot run by what it says."""

    code = 172
    schedule = Message(code, "the scheduled query '{query}' has no schedule: {problem}", "not a schedule")
    twice = Message(code, "the scheduled query '{query}' is defined twice: give one of them another name", "defined twice")
    no_such_resolver = Message(
        code,
        "the scheduled query '{query}' names the resolver '{resolver}', which there is not{near}",
        "no such resolver",
    )


class BadMonitor:
    """A monitor does not say what should be kept."""

    code = 173
    no_bound = Message(code, "the monitor '{monitor}' has no bound: write above= or below=", "no bound")
    two_bounds = Message(code, "the monitor '{monitor}' has two bounds: leave above= or below= out", "a second bound")
    twice = Message(code, "the monitor '{monitor}' is defined twice: give one of them another name", "defined twice")
    of_server = Message(
        code,
        "the monitor '{monitor}' watches {metric}, which is about the server and not about an environment",
        "about the server",
    )
    too_many = Message(code, "the project has {count} monitors, and {most} are the most", "one too many")
    period = Message(code, "the monitor '{monitor}' has no possible period: {problem}", "not a period of whole minutes")


class BadEvaluation:
    """An evaluation does not say what is evaluated."""

    code = 177
    twice = Message(code, "the evaluation '{evaluation}' is defined twice: give one of them another name", "defined twice")
    dataset = Message(code, "the evaluation '{evaluation}' names no dataset: {problem}", "no dataset")
    task = Message(code, "the task of the evaluation '{evaluation}' is {given}, which is no function", "no function")
    too_many = Message(code, "the project has {count} evaluations, and {most} are the most", "one too many")


class BadScorer:
    """An evaluation has a scorer that cannot score."""

    code = 178
    count = Message(
        code,
        "the evaluation '{evaluation}' has {count} scorers: write 1 to {most}, such as scorers=[exact_match('expected')]",
        "{label}",
    )
    not_a_scorer = Message(
        code,
        "the evaluation '{evaluation}' has {given} among its scorers, which is no scorer and no function",
        "no scorer",
    )
    twice = Message(code, "the evaluation '{evaluation}' has two scorers of the name '{scorer}': give one another name=", "same name")
    option = Message(code, "the evaluation '{evaluation}' has a scorer that cannot score: {problem}", "cannot score")
    arguments = Message(
        code,
        "the scorer '{scorer}' of the evaluation '{evaluation}' takes neither the output alone nor the output and the row",
        "not its arguments",
    )


class BadEvaluationInputs:
    """An evaluated function does not take its inputs."""

    code = 179
    not_taken = Message(code, "the task of the evaluation '{evaluation}' does not take its inputs: {problem}", "not taken")


class BadWindow:
    """A windowed feature has no windows, or one that is none."""

    code = 180
    no_value = Message(code, "'{feature}' names no windows: write '{example}'", "no windows")
    no_window = Message(
        code,
        "{written} is no window of '{feature}': write a length of whole seconds such as '10m', '1h30m' or '7d', or 'all'",
        "no window",
    )
    no_windows = Message(
        code,
        "'{feature}' names no windows: write a length of whole seconds such as '10m', '1h30m' or '7d', or 'all'",
        "no windows",
    )
    same_window = Message(code, "'{feature}' has the window {window} twice, as {first} and {second}: take one out", "the same window")


class BadGrouping:
    """The groups of a window make no sense."""

    code = 183
    column = Message(
        code,
        "group_by has values of type {type}, by which rows are not told apart: name one of int, str, bool, date or an Enum",
        "no group",
    )
    field = Message(code, "'{feature}' has {type} for '{field}', and its class says {annotation}: change one of the two", "wrong type")
    fields = Message(
        code,
        "'{feature}' has rows of {wanted}, and {struct} has the fields {have}: give it one for each, in this order",
        "other fields",
    )
    no_aggregate = Message(code, "the expression of '{feature}' is not one aggregation of rows, such as {example}", "no aggregation")
    no_columns = Message(
        code,
        "group_by of '{feature}' is {value}: write a feature of the rows such as _.kind, or a list of up to {most}",
        "no column",
    )
    no_rows = Message(code, "'{feature}' is {type}, and groups are several values: write Windowed[list[...]] of a @dataclass", "no rows")
    nullable = Message(
        code,
        "'{feature}' may have null for '{field}': annotate the field of its class '{annotation} | None'",
        "may be null",
    )


class BadCondition:
    """The condition of a resolver cannot be tested for a row."""

    code = 195
    decided = Message(
        code,
        "when= is {value} for every row: Python decides at once what does not begin with a feature; compare a feature, such as {owner}.{example} == 1",
        "decided at once",
    )
    no_condition = Message(code, "when= is {value}: write a condition such as {owner}.{example} == 1", "no condition")
    not_of_class = Message(
        code,
        "when= is {value}, and '_' is the row of an expression: begin with the class, such as {owner}.{example} == 1",
        "no condition",
    )
    not_of_row = Message(code, "the condition cannot be tested for a row: {error}", "no condition")
    of_rows = Message(
        code,
        "when= is tested for the row that a resolver computes: one that returns a DataFrame finds the rows itself; leave out there what does not count",
        "no row yet",
    )
    other_class = Message(
        code,
        "{reference} is no feature of {owner}: the condition is on the row that the resolver computes",
        "not from {owner}",
    )


class UnknownVenv:
    """A venv is not in the project file, or nobody uses it."""

    code = 196
    unknown = Message(code, "{what} runs in venv '{venv}', which svc.yaml does not have for this environment: {advice}", "no such venv")
    unused = Message(
        code,
        "no resolver, function or evaluation runs in venv '{venv}', and so no hook: only `svc task run --venv` could use it",
        "not used",
    )


class BadUniqueOn:
    """`unique_on` names no columns that the rows of a resolver have."""

    code = 197
    no_feature = Message(code, "{option} holds {value}: write features, such as {option}=[{example}]", "no feature")
    nothing = Message(code, "{option} is empty: write features, such as {option}=[{example}]", "no feature")
    relation = Message(code, "{feature} is a relation: name a feature that holds a value", "a relation")
    twice = Message(code, "{feature} stands twice", "listed twice")
    not_returned = Message(code, "{feature} is no output of {resolver}, so its rows cannot be told apart by it", "not an output")
    of_values = Message(
        code,
        "unique_on compares the rows of a result, and {resolver} gives values of one row: return DataFrame[...], or take unique_on out",
        "no rows",
    )
    one_row = Message(
        code,
        "`unique_on` compares the rows of a result, and with `count: {count}` there is one at most: take one of them out",
        "one row",
    )
    unknown_column = Message(code, "`unique_on` names '{column}', which the query does not return; {near}", "not an output")


class BadPartitionedBy:
    """`partitioned_by` names no columns that a resolver is given."""

    code = 198
    no_feature = Message(code, "{option} holds {value}: write features, such as {option}=[{example}]", "no feature")
    nothing = Message(code, "{option} is empty: write features, such as {option}=[{example}]", "no feature")
    relation = Message(code, "{feature} is a relation: name a feature that holds a value", "a relation")
    twice = Message(code, "{feature} stands twice", "listed twice")
    not_given = Message(code, "{feature} is no column of the DataFrame that {resolver} takes: add it to the columns", "not a column")
    of_other_row = Message(
        code,
        "{feature} belongs to a row that a relation leads to: rows are divided by features of their own",
        "of another row",
    )
    of_statement = Message(
        code,
        "`partitioned_by` divides the rows that a function is called with, and a statement is called with none: it runs once for each set of values that it binds, or for up to 1,000 keys. For a table with partitions bind the column, such as `where country = ${{user.country}}`, so that the database reads those alone",
        "without effect",
    )
    of_values = Message(
        code,
        "partitioned_by divides a DataFrame, and {resolver} takes none: take DataFrame[...], or take partitioned_by out",
        "no DataFrame",
    )


class UnreadableMessage:
    """Nothing says how the messages of a stream are read."""

    code = 200
    unannotated = Message(
        code,
        "the parameter '{parameter}' has no type: write a dataclass, a pydantic model, dict, str or bytes, such as '{parameter}: TxnMsg'",
        "no type",
    )
    no_schema = Message(
        code,
        "messages of type {type} have no fixed schema: write a dataclass, a pydantic model, dict, str or bytes, or give parse= a function that makes them of the bytes",
        "no fixed schema",
    )
    no_fields = Message(
        code,
        "make_stream_resolver reads the fields of a dataclass, and {type} is none: use @stream, which runs Python",
        "no fixed schema",
    )
    field = Message(code, "messages of type {type} cannot be read from JSON: {error}", "{label}")
    inner_default = Message(
        code,
        "{type}.{field} has a default, which a message read without Python knows of its own fields alone: use @stream with a function of Python, or write '| None = None'",
        "a default",
    )


class StreamWithoutKey:
    """A stream gives rows that cannot be stored."""

    code = 201
    no_key = Message(code, "the outputs lack {key}, the primary key: rows of {owner} are stored by it", "no key")
    key_alone = Message(code, "the key {key} is the only output: there is nothing to store", "key alone")


class NoTopic:
    """A stream does not name a source that has a topic."""

    code = 202
    bare = Message(
        code,
        '@stream is written without its source: write @stream(source=TopicSource(name="...")) or @stream(source=KafkaSource(name="..."))',
        "no source",
    )
    absent = Message(code, "source is missing: write source=, a KafkaSource(...) or a TopicSource(...)", "no source")
    other = Message(code, "source is {value}: write a KafkaSource(...) or a TopicSource(...)", "no topic")


class BadParse:
    """`parse=` of a stream is no function of the message's bytes."""

    code = 203
    no_function = Message(code, "parse is {value}: write a function that takes the bytes of a message and returns it", "no function")
    parameters = Message(code, "parse takes {count} parameters: it is called with one, the bytes of a message", "one parameter")
    is_async = Message(code, "parse is async: it is called for each message in turn, so write a plain function", "async")


class BadMessageExpression:
    """An output of make_stream_resolver cannot be computed from a message."""

    code = 204
    no_features = Message(code, "output_features is {value}: write a dict from features to expressions, such as {example}", "no outputs")
    no_feature = Message(code, "{value} is no feature: write one such as Txn.amount", "no feature")
    no_value = Message(code, "{feature} holds no value of its own row: name a feature that does", "no value")
    no_expression = Message(
        code,
        "{feature} is computed from {value}: write an expression of the message's fields, such as _.amount",
        "no expression",
    )
    aggregation = Message(code, "{item} is of rows: a message has fields alone", "of rows")
    unknown_field = Message(code, "{type} has no field '{field}'{near}", "no such field")
    type = Message(code, "{feature}: {problem}", "type")


class BadStream:
    """A stream's function is not one of messages."""

    code = 205
    parameters = Message(code, "'{resolver}' takes {count} parameters: a stream's function takes one, the message", "one message")
    frame = Message(
        code,
        "'{parameter}' is {written}: messages that came together are a DataFrame of one dataclass or pydantic model, whose fields are the columns, such as '{parameter}: DataFrame[TxnMsg]'",
        "no fields",
    )
    no_rows = Message(
        code,
        "'{resolver}' takes messages as a DataFrame, so it returns rows, such as DataFrame[Txn.id, Txn.amount]",
        "no rows",
    )
    rows = Message(
        code,
        "a stream of one message gives one row: return Features[...], not {written}, or take the messages as a DataFrame",
        "one row",
    )
    is_async = Message(
        code,
        "'{resolver}' is async: messages of a partition are computed in their order, so write a plain function",
        "async",
    )


class BadStreamStatement:
    """The statement of a stream cannot be computed."""

    code = 206
    several_returns = Message(
        code,
        "'{resolver}' returns a statement in one place of several: write one return, as it is called once",
        "SQL",
    )
    raised = Message(
        code,
        "the statement of '{resolver}' is not known: called with the name of its table, the function {problem}. Its text names the table as {table}, and hangs on nothing else",
        "SQL",
    )
    message = Message(code, "'{parameter}' is {written}: the fields of messages of a statement are those of a dataclass", "no dataclass")
    parse = Message(
        code,
        "a statement's messages are read as JSON, without Python: leave out parse=, or compute the rows in Python",
        "parse",
    )
    here = Message(code, "the statement cannot be computed: {problem}", "here")
    somewhere = Message(code, "the statement cannot be computed: {problem}", "in this statement")


class BadSink:
    """A sink is not a function of rows."""

    code = 207
    parameters = Message(
        code,
        "'{sink}' takes {count} parameters: a sink takes one, rows of a class, such as 'rows: DataFrame[User.id, User.score]'",
        "one parameter",
    )
    unannotated = Message(
        code,
        "the parameter '{parameter}' has no type: write rows of a class, such as '{parameter}: DataFrame[User.id, User.score]'",
        "no type",
    )
    no_rows = Message(code, "'{parameter}' is {written}: a sink takes rows of a class, such as DataFrame[User.id, User.score]", "no rows")
    no_key = Message(code, "the columns lack {key}, the primary key: rows of {owner} are told apart by it", "no key")
    key_alone = Message(code, "the key {key} is the only column: name a feature that becomes known", "key alone")
    related = Message(code, "{reference} is of a related row: a sink's columns are {owner}'s own features", "of a related row")
    returns = Message(code, "'{sink}' returns {written}, which goes nowhere: write '-> None'", "goes nowhere")
    generator = Message(code, "'{sink}' yields values: a sink is a plain function, whose rows it is given", "yields")
    delays = Message(
        code,
        "debounce is {debounce}, and max_delay {longest}: rows wait at most max_delay, so write a shorter debounce",
        "too long",
    )


class BadFunction:
    """A function that callers run does not say what it takes and returns."""

    code = 208
    starred = Message(
        code,
        "'{function}' takes {stars}{parameter}: each column of the arguments is a parameter with a name",
        "name the parameters",
    )
    positional = Message(
        code,
        "'{function}' takes '{parameter}' by its place alone: arguments come by name, so leave out the '/'",
        "by place",
    )
    unannotated = Message(code, "the parameter '{parameter}' has no type: write one, such as '{parameter}: float'", "no type")
    no_result = Message(code, "'{function}' does not say what it returns: write a type, such as '-> float'", "returns what?")
    nothing = Message(
        code,
        "'{function}' returns None: a function that callers run returns a value, and one without news returns True",
        "nothing",
    )
    table = Message(code, "{written} is no value: take columns, each a parameter, and return one value for each row", "no value")
    no_list = Message(code, "'{parameter}' is {written}: with batch=True it is a list of all rows' values, such as list[float]", "one list")
    result_no_list = Message(code, "'{function}' returns {written}: with batch=True it returns a list, such as list[float]", "one list")
    generator = Message(code, "'{function}' yields values: it returns one for each row", "yields")
    duplicate = Message(code, "two functions are called '{function}': give one of them another name=", "the same name")


class PythonStatement:
    """A statement that a resolver returns cannot be run."""

    code = 210
    refused = Message(code, "{problem}", "no statement")
    no_argument = Message(code, "placeholder :{name} has no value: give it in args=", "no value")
    unused_argument = Message(
        code,
        "args= has '{name}', which is no placeholder of the statement: it has {placeholders}",
        "no such placeholder",
    )
    not_returned = Message(code, "column '{column}' fills {feature}, which {resolver} does not return", "not returned")
    no_column = Message(code, "{resolver} returns {feature}, and the statement has no column for it", "no column")
    not_returned_field = Message(code, "fields= has {feature}, which {resolver} does not return", "not returned")
    hidden_read = Message(
        code,
        "{resolver} has .incremental(...), which is seen only where the body is a single `return` of a statement whose text, args= and fields= stand there, without arguments of features",
        "cannot be seen",
    )
