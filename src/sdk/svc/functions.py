"""Functions of expressions: what the server computes by columns, without Python.

    import svc.functions as F

    similarity: float = F.jaccard_similarity(F.lower(_.name), F.lower(_.email))

Unless a function says otherwise: a null argument gives null, int is widened to float or decimal where one is wanted, and an error in an argument is
the error of the result. Division by zero, and what lies outside of a function's domain, is an error of the row; NaN and infinities are values.

Generated from the function table by `bun src/domain/expressions/generate-python.ts`; changes belong there.
"""

from __future__ import annotations

from typing import Any

from ._model.operand import LEFT_OUT, as_operand, call, cast_call, given, when_call
from ._model.template import JinjaTemplate

__all__ = [
    "abs",
    "add",
    "and_",
    "array_distinct",
    "array_join",
    "array_max",
    "array_mean",
    "array_min",
    "array_remove",
    "array_reverse",
    "array_sort",
    "array_sum",
    "between",
    "cardinality",
    "cast",
    "ceil",
    "clip",
    "coalesce",
    "concat",
    "contains",
    "cosine_similarity",
    "date_diff",
    "date_trunc",
    "day",
    "day_of_week",
    "day_of_year",
    "days_between",
    "div",
    "dot_product",
    "element_at",
    "ends_with",
    "eq",
    "exp",
    "floor",
    "floordiv",
    "from_unix_milliseconds",
    "from_unix_seconds",
    "ge",
    "greatest",
    "gt",
    "haversine",
    "head",
    "hour",
    "if_null",
    "if_then_else",
    "is_finite",
    "is_in",
    "is_nan",
    "is_not_null",
    "is_null",
    "jaccard_similarity",
    "jaro_winkler",
    "jinja",
    "json_extract_array",
    "json_value",
    "l2_distance",
    "le",
    "least",
    "length",
    "levenshtein",
    "like",
    "ln",
    "log10",
    "log2",
    "lower",
    "lt",
    "ltrim",
    "minute",
    "mod",
    "month",
    "mul",
    "ne",
    "neg",
    "not_",
    "null_if",
    "or_",
    "partial_ratio",
    "pow",
    "recover",
    "regexp_extract",
    "regexp_extract_all",
    "regexp_like",
    "regexp_replace",
    "remove_nulls",
    "replace",
    "round",
    "rtrim",
    "second",
    "seconds",
    "sigmoid",
    "sign",
    "split",
    "split_part",
    "sqrt",
    "starts_with",
    "strpos",
    "sub",
    "substr",
    "to_date",
    "to_datetime",
    "to_float",
    "to_int",
    "to_string",
    "total_seconds",
    "trim",
    "unix_milliseconds",
    "unix_seconds",
    "upper",
    "url_extract_fragment",
    "url_extract_host",
    "url_extract_parameter",
    "url_extract_path",
    "url_extract_port",
    "url_extract_protocol",
    "url_extract_query",
    "when",
    "xor",
    "year",
]


# arithmetic


def add(left: Any, right: Any) -> Any:
    """The sum; text and lists are put one behind the other, and a length of time moves an instant or a date. An int beyond 64 bits is an
    error.

        _.subtotal + _.tax

    Types: int, int -> int; float, float -> float; decimal, decimal -> decimal; str, str -> str; datetime, timedelta -> datetime; timedelta,
    datetime -> datetime; date, timedelta -> date; timedelta, timedelta -> timedelta; list[T], list[T] -> list[T].
    """
    return call("add", left, right)


def sub(left: Any, right: Any) -> Any:
    """The difference; of two instants or dates it is the length of time between them.

        _.total - _.tax

    Types: int, int -> int; float, float -> float; decimal, decimal -> decimal; datetime, datetime -> timedelta; datetime, timedelta ->
    datetime; date, date -> timedelta; date, timedelta -> date; timedelta, timedelta -> timedelta.
    """
    return call("sub", left, right)


def mul(left: Any, right: Any) -> Any:
    """The product.

        _.price * _.count

    Types: int, int -> int; float, float -> float; decimal, decimal -> decimal; timedelta, int -> timedelta; int, timedelta -> timedelta;
    timedelta, float -> timedelta; float, timedelta -> timedelta.
    """
    return call("mul", left, right)


def div(left: Any, right: Any) -> Any:
    """The quotient as a float, of ints too; of a length of time and a number a length of time. Division by zero is an error of the row.

        _.fails / _.tries

    Types: int, int -> float; float, float -> float; timedelta, timedelta -> float; timedelta, float -> timedelta.
    """
    return call("div", left, right)


def floordiv(left: Any, right: Any) -> Any:
    """The quotient rounded towards minus infinity. Division by zero is an error of the row.

        _.seconds // 60

    Types: int, int -> int; float, float -> float.
    """
    return call("floordiv", left, right)


def mod(left: Any, right: Any) -> Any:
    """The rest of `//`, with the sign of the divisor. Division by zero is an error of the row.

        _.seconds % 60

    Types: int, int -> int; float, float -> float.
    """
    return call("mod", left, right)


def pow(base: Any, exponent: Any) -> Any:
    """The power. Of two ints it is an int, and a negative exponent is an error; so is a power that is not a real number.

        _.side ** 2

    Types: int, int -> int; float, float -> float.
    """
    return call("pow", base, exponent)


def neg(value: Any) -> Any:
    """The negated number.

        -_.balance

    Types: int -> int; float -> float; decimal -> decimal; timedelta -> timedelta.
    """
    return call("neg", value)


# comparison


def eq(left: Any, right: Any) -> Any:
    """Whether both are equal; NaN equals nothing. To ask for null use `is_null`.

        _.kind == "card"

    Types: decimal, decimal -> bool; int, float -> bool; float, int -> bool; T, T -> bool.
    """
    return call("eq", left, right)


def ne(left: Any, right: Any) -> Any:
    """Whether both differ; NaN differs from everything. To ask for null use `is_not_null`.

        _.kind != "card"

    Types: decimal, decimal -> bool; int, float -> bool; float, int -> bool; T, T -> bool.
    """
    return call("ne", left, right)


def lt(left: Any, right: Any) -> Any:
    """Whether the first is less than the second. Text is ordered by code points; comparisons with NaN are false.

        _.amount < 1000

    Types: int, int -> bool; float, float -> bool; int, float -> bool; float, int -> bool; str, str -> bool; datetime, datetime -> bool;
    date, date -> bool; timedelta, timedelta -> bool; decimal, decimal -> bool.
    """
    return call("lt", left, right)


def le(left: Any, right: Any) -> Any:
    """Whether the first is less than or equal to the second. Text is ordered by code points; comparisons with NaN are false.

        _.amount <= 1000

    Types: int, int -> bool; float, float -> bool; int, float -> bool; float, int -> bool; str, str -> bool; datetime, datetime -> bool;
    date, date -> bool; timedelta, timedelta -> bool; decimal, decimal -> bool.
    """
    return call("le", left, right)


def gt(left: Any, right: Any) -> Any:
    """Whether the first is greater than the second. Text is ordered by code points; comparisons with NaN are false.

        _.amount > 1000

    Types: int, int -> bool; float, float -> bool; int, float -> bool; float, int -> bool; str, str -> bool; datetime, datetime -> bool;
    date, date -> bool; timedelta, timedelta -> bool; decimal, decimal -> bool.
    """
    return call("gt", left, right)


def ge(left: Any, right: Any) -> Any:
    """Whether the first is greater than or equal to the second. Text is ordered by code points; comparisons with NaN are false.

        _.amount >= 1000

    Types: int, int -> bool; float, float -> bool; int, float -> bool; float, int -> bool; str, str -> bool; datetime, datetime -> bool;
    date, date -> bool; timedelta, timedelta -> bool; decimal, decimal -> bool.
    """
    return call("ge", left, right)


def between(value: Any, low: Any, high: Any) -> Any:
    """Whether a value is not below the second and not above the third.

        F.between(_.age, 18, 65)

    Types: int, int, int -> bool; float, float, float -> bool; str, str, str -> bool; datetime, datetime, datetime -> bool; date, date, date
    -> bool.
    """
    return call("between", value, low, high)


def is_in(value: Any, options: Any) -> Any:
    """Whether a list has an element that equals the value.

        F.is_in(_.kind, ["card", "cash"])

    Types: decimal, list[decimal] -> bool; T, list[T] -> bool.
    """
    return call("is_in", value, options)


# boolean


def and_(left: Any, right: Any) -> Any:
    """Whether both are true: false when one is false, else null when one is null.

        _.active & (_.age >= 18)

    Null: false with null is false, true with null is null.

    Types: bool, bool -> bool.
    """
    return call("and", left, right)


def or_(left: Any, right: Any) -> Any:
    """Whether one is true: true when one is true, else null when one is null.

        (_.kind == "card") | _.trusted

    Null: true with null is true, false with null is null.

    Types: bool, bool -> bool.
    """
    return call("or", left, right)


def not_(value: Any) -> Any:
    """Whether it is false.

        ~_.active

    Types: bool -> bool.
    """
    return call("not", value)


def xor(left: Any, right: Any) -> Any:
    """Whether exactly one of both is true.

        F.xor(_.by_mail, _.by_phone)

    Types: bool, bool -> bool.
    """
    return call("xor", left, right)


# conditionals


def if_then_else(condition: Any, then: Any, otherwise: Any) -> Any:
    """The second value when the condition is true, else the third. A null condition is not true.

        F.if_then_else(_.tries == 0, 0.0, _.fails / _.tries)

    Null: a null condition chooses the third; a chosen null is null.

    Types: bool, T, T -> T.
    """
    return call("if_then_else", condition, then, otherwise)


def when(condition: Any, then: Any = LEFT_OUT, *more: Any) -> Any:
    """The value behind the first condition that is true; the last argument when none is, or null when there is no last one. With a
    condition alone it is a chain: `.then(value)` says what is given, `.when(condition)` asks for another and `.otherwise(value)` ends it.

        F.when(_.age < 18).then("minor").when(_.age < 65).then("adult").otherwise("senior")

    Null: a null condition is not true; a chosen null is null.

    Types: bool, T -> T; bool, T, T -> T; bool, T, bool, T -> T; bool, T, bool, T, T -> T; bool, T, bool, T, bool, T -> T; and so on.
    """
    return when_call(condition, then, more)


# null


def is_null(value: Any) -> Any:
    """Whether it is null.

        F.is_null(_.email)

    Null: never null.

    Types: any -> bool.
    """
    return call("is_null", value)


def is_not_null(value: Any) -> Any:
    """Whether it is not null.

        F.is_not_null(_.email)

    Null: never null.

    Types: any -> bool.
    """
    return call("is_not_null", value)


def coalesce(*values: Any) -> Any:
    """The first value that is not null.

        F.coalesce(_.nickname, _.name, 'nobody')

    Null: null when all are null.

    Types: T, T... -> T.
    """
    return call("coalesce", *values)


def if_null(value: Any, otherwise: Any) -> Any:
    """The value, or the second one when it is null.

        F.if_null(_.score, 0.0)

    Null: null when both are null.

    Types: T, T -> T.
    """
    return call("if_null", value, otherwise)


def recover(value: Any, otherwise: Any = LEFT_OUT) -> Any:
    """The value, or the second one where computing it is an error, such as a division by zero or a text that is no number; null when there
    is no second one.

        F.recover(F.to_int(_.code), 0)

    Null: a null value is null.

    Types: T -> T?; T, T -> T.
    """
    return call("recover", value, *given(otherwise))


def null_if(value: Any, unwanted: Any) -> Any:
    """Null when the value equals the second one, else the value.

        F.null_if(_.tries, 0)

    Null: a null value is null; a null second argument changes nothing.

    Types: decimal, decimal -> decimal; T, T -> T.
    """
    return call("null_if", value, unwanted)


# math


def abs(value: Any) -> Any:
    """The number without its sign.

        F.abs(_.balance)

    Types: int -> int; float -> float; decimal -> decimal; timedelta -> timedelta.
    """
    return call("abs", value)


def sign(value: Any) -> Any:
    """-1, 0 or 1.

        F.sign(_.balance)

    Types: int -> int; float -> float.
    """
    return call("sign", value)


def ceil(value: Any) -> Any:
    """The least int that is not below the number.

        F.ceil(_.hours)

    Types: int -> int; float -> int.
    """
    return call("ceil", value)


def floor(value: Any) -> Any:
    """The greatest int that is not above the number.

        F.floor(_.hours)

    Types: int -> int; float -> int.
    """
    return call("floor", value)


def round(value: Any, digits: Any = LEFT_OUT) -> Any:
    """The nearest int, halves to the even one; with a second argument the nearest float with so many digits behind the point.

        F.round(_.score, 2)

    Types: int -> int; float -> int; float, int -> float.
    """
    return call("round", value, *given(digits))


def sqrt(value: Any) -> Any:
    """The square root; of a negative number an error.

        F.sqrt(_.area)

    Types: float -> float.
    """
    return call("sqrt", value)


def ln(value: Any) -> Any:
    """The natural logarithm; of zero or a negative number an error.

        F.ln(1 + _.count)

    Types: float -> float.
    """
    return call("ln", value)


def log10(value: Any) -> Any:
    """The logarithm to base 10; of zero or a negative number an error.

        F.log10(_.amount)

    Types: float -> float.
    """
    return call("log10", value)


def log2(value: Any) -> Any:
    """The logarithm to base 2; of zero or a negative number an error.

        F.log2(_.amount)

    Types: float -> float.
    """
    return call("log2", value)


def exp(value: Any) -> Any:
    """e to the power of the number; infinity when that is too large for a float.

        F.exp(-_.age)

    Types: float -> float.
    """
    return call("exp", value)


def greatest(*values: Any) -> Any:
    """The greatest of the arguments; NaN when one is NaN.

        F.greatest(_.bid, _.ask)

    Types: int, int... -> int; float, float... -> float; str, str... -> str; datetime, datetime... -> datetime; date, date... -> date;
    timedelta, timedelta... -> timedelta.
    """
    return call("greatest", *values)


def least(*values: Any) -> Any:
    """The least of the arguments; NaN when one is NaN.

        F.least(_.bid, _.ask)

    Types: int, int... -> int; float, float... -> float; str, str... -> str; datetime, datetime... -> datetime; date, date... -> date;
    timedelta, timedelta... -> timedelta.
    """
    return call("least", *values)


def clip(value: Any, low: Any, high: Any) -> Any:
    """The value, or the bound that it lies beyond. A lower bound above the upper one is an error.

        F.clip(_.score, 0.0, 1.0)

    Types: int, int, int -> int; float, float, float -> float.
    """
    return call("clip", value, low, high)


def sigmoid(value: Any) -> Any:
    """1 / (1 + e ** -x).

        F.sigmoid(_.logit)

    Types: float -> float.
    """
    return call("sigmoid", value)


def haversine(lat1: Any, lon1: Any, lat2: Any, lon2: Any) -> Any:
    """Kilometres over the surface of the earth between two points given as latitude and longitude in degrees.

        F.haversine(_.home_lat, _.home_lon, _.shop_lat, _.shop_lon)

    Types: float, float, float, float -> float.
    """
    return call("haversine", lat1, lon1, lat2, lon2)


def is_nan(value: Any) -> Any:
    """Whether it is NaN.

        F.is_nan(_.score)

    Types: float -> bool.
    """
    return call("is_nan", value)


def is_finite(value: Any) -> Any:
    """Whether it is neither NaN nor infinite.

        F.is_finite(_.score)

    Types: float -> bool.
    """
    return call("is_finite", value)


# strings


def lower(text: Any) -> Any:
    """The text in lower case.

        F.lower(_.email)

    Types: str -> str.
    """
    return call("lower", text)


def upper(text: Any) -> Any:
    """The text in upper case.

        F.upper(_.code)

    Types: str -> str.
    """
    return call("upper", text)


def trim(text: Any) -> Any:
    """The text without white space at both ends.

        F.trim(_.name)

    Types: str -> str.
    """
    return call("trim", text)


def ltrim(text: Any) -> Any:
    """The text without white space at its beginning.

        F.ltrim(_.name)

    Types: str -> str.
    """
    return call("ltrim", text)


def rtrim(text: Any) -> Any:
    """The text without white space at its end.

        F.rtrim(_.name)

    Types: str -> str.
    """
    return call("rtrim", text)


def concat(*texts: Any) -> Any:
    """The texts one behind the other.

        F.concat(_.first, " ", _.last)

    Types: str, str... -> str.
    """
    return call("concat", *texts)


def substr(text: Any, start: Any, length: Any = LEFT_OUT) -> Any:
    """The part of a text from a position on, 0 being the first; with a third argument at most so many characters. A negative position
    counts from the end.

        F.substr(_.phone, 0, 3)

    Types: str, int -> str; str, int, int -> str.
    """
    return call("substr", text, start, *given(length))


def replace(text: Any, old: Any, new: Any) -> Any:
    """The text with every occurrence of the second replaced by the third.

        F.replace(_.phone, "-", "")

    Types: str, str, str -> str.
    """
    return call("replace", text, old, new)


def starts_with(text: Any, prefix: Any) -> Any:
    """Whether the text begins with the second.

        F.starts_with(_.phone, "+49")

    Types: str, str -> bool.
    """
    return call("starts_with", text, prefix)


def ends_with(text: Any, suffix: Any) -> Any:
    """Whether the text ends with the second.

        F.ends_with(_.email, ".org")

    Types: str, str -> bool.
    """
    return call("ends_with", text, suffix)


def strpos(text: Any, part: Any) -> Any:
    """The position of the second in the text, 0 being the first character; -1 when it is not in it.

        F.strpos(_.email, "@")

    Types: str, str -> int.
    """
    return call("strpos", text, part)


def split(text: Any, separator: Any) -> Any:
    """The parts of a text between the separators.

        F.split(_.tags, ",")

    Types: str, str -> list[str].
    """
    return call("split", text, separator)


def split_part(text: Any, separator: Any, index: Any) -> Any:
    """One of the parts of a text between the separators, 0 being the first and -1 the last; null when there is none.

        F.split_part(_.email, "@", 1)

    Types: str, str, int -> str?.
    """
    return call("split_part", text, separator, index)


def like(text: Any, pattern: Any) -> Any:
    """Whether the whole text has the form of a pattern: `%` stands for any text, `_` for one character, `\\` takes their meaning away.

        F.like(_.email, "%@%.org")

    Types: str, str -> bool.
    """
    return call("like", text, pattern)


def regexp_like(text: Any, pattern: Any) -> Any:
    """Whether a regular expression is found in the text. Time grows with the text only: there are no back-references and no look-around.

        F.regexp_like(_.phone, "^[+]?[0-9 ]{6,}$")

    Types: str, str -> bool.
    """
    return call("regexp_like", text, pattern)


def regexp_extract(text: Any, pattern: Any, group: Any = LEFT_OUT) -> Any:
    """The first match of a regular expression in the text, or what a group of it took; null where there is none. What may be empty cannot
    be repeated in it.

        F.regexp_extract(_.email, "@([^@]+)$", 1)

    Types: str, str -> str?; str, str, int -> str?.
    """
    return call("regexp_extract", text, pattern, *given(group))


def regexp_extract_all(text: Any, pattern: Any, group: Any = LEFT_OUT) -> Any:
    """All matches of a regular expression in the text, from the left, or what a group of it took, an empty text where that took no part.
    What may be empty cannot be repeated in it.

        F.regexp_extract_all(_.note, "#([a-z]+)", 1)

    Types: str, str -> list[str]; str, str, int -> list[str].
    """
    return call("regexp_extract_all", text, pattern, *given(group))


def regexp_replace(text: Any, pattern: Any, replacement: Any = LEFT_OUT) -> Any:
    """The text with every match of a regular expression replaced; `\\1` or `\\g<1>` in the replacement is what a group took. Without a
    replacement matches are taken out. What may be empty cannot be repeated in it.

        F.regexp_replace(_.phone, "[^0-9]+")

    Types: str, str -> str; str, str, str -> str.
    """
    return call("regexp_replace", text, pattern, *given(replacement))


def to_string(value: Any) -> Any:
    """The value as text: digits of a number as Python writes them, `true` or `false`, ISO 8601 of a date or an instant.

        F.to_string(_.id)

    Types: str -> str; int -> str; float -> str; bool -> str; date -> str; datetime -> str; decimal -> str.
    """
    return call("to_string", value)


def to_int(value: Any) -> Any:
    """The value as an int: a float loses what is behind the point, text must be digits, true is 1.

        F.to_int(_.code)

    Types: int -> int; float -> int; bool -> int; str -> int.
    """
    return call("to_int", value)


def to_float(value: Any) -> Any:
    """The value as a float; text must be a number, `nan` or `inf`.

        F.to_float(_.price)

    Types: float -> float; bool -> float; decimal -> float; timedelta -> float; str -> float.
    """
    return call("to_float", value)


def cast(value: Any, type: type) -> Any:
    """The value as one of another type: what `to_int`, `to_float`, `to_string`, `to_date` and `to_datetime` give. The type is written as
    int, float, str, date or datetime.

        F.cast(_.code, int)

    Types: any that the function of the type takes.
    """
    return cast_call(as_operand(value), type)


def jinja(template: str) -> Any:
    """A template of Jinja, whose names are features of the row, as the whole expression of a str feature or as the content of a prompt. A
    worker renders it, by the package jinja2 of the project's requirements: in its sandbox, in 100,000 steps and to 100,000 characters at
    most. A null value is None.

        F.jinja("Dear {{ User.name }}{% if User.vip %}, welcome back{% endif %}")

    Types: a text, as Python has it.
    """
    return JinjaTemplate(template)


# similarity


def levenshtein(left: Any, right: Any) -> Any:
    """How many insertions, deletions and substitutions of a character make one text of the other.

        F.levenshtein(_.name, _.other_name)

    Types: str, str -> int.
    """
    return call("levenshtein", left, right)


def jaro_winkler(left: Any, right: Any) -> Any:
    """Jaro-Winkler similarity, 0 to 1; an equal beginning counts more.

        F.jaro_winkler(_.name, _.other_name)

    Types: str, str -> float.
    """
    return call("jaro_winkler", left, right)


def jaccard_similarity(left: Any, right: Any) -> Any:
    """Distinct elements that both have by those that one has, 0 to 1; the elements of a text are its characters. Two that have none are
    alike: 1.

        F.jaccard_similarity(F.lower(_.name), F.lower(_.email))

    Types: str, str -> float; list[T], list[T] -> float.
    """
    return call("jaccard_similarity", left, right)


def partial_ratio(left: Any, right: Any) -> Any:
    """Best likeness, 0 to 100, of the shorter text with a part of the longer one that is as long, or shorter at its ends.

        F.partial_ratio(_.name, _.title)

    Types: str, str -> float.
    """
    return call("partial_ratio", left, right)


def cosine_similarity(left: Any, right: Any) -> Any:
    """Cosine of the angle between two lists of numbers of one length, -1 to 1; null when one of them is all zeros.

        F.cosine_similarity(_.embedding, _.other_embedding)

    Types: list[float], list[float] -> float?.
    """
    return call("cosine_similarity", left, right)


def dot_product(left: Any, right: Any) -> Any:
    """Sum of the products of two lists of numbers of one length.

        F.dot_product(_.embedding, _.other_embedding)

    Types: list[float], list[float] -> float?.
    """
    return call("dot_product", left, right)


def l2_distance(left: Any, right: Any) -> Any:
    """Distance of two points whose coordinates are lists of numbers of one length: the root of the sum of the squares of their differences.

        F.l2_distance(_.embedding, _.other_embedding)

    Types: list[float], list[float] -> float?.
    """
    return call("l2_distance", left, right)


# dates


def from_unix_seconds(seconds: Any) -> Any:
    """The instant so many seconds after 1970-01-01 00:00 UTC.

        F.from_unix_seconds(_.created)

    Types: int -> datetime; float -> datetime.
    """
    return call("from_unix_seconds", seconds)


def from_unix_milliseconds(milliseconds: Any) -> Any:
    """The instant so many milliseconds after 1970-01-01 00:00 UTC.

        F.from_unix_milliseconds(_.created)

    Types: int -> datetime.
    """
    return call("from_unix_milliseconds", milliseconds)


def unix_seconds(at: Any) -> Any:
    """Seconds from 1970-01-01 00:00 UTC to the instant, with a fraction.

        F.unix_seconds(_.at)

    Types: datetime -> float.
    """
    return call("unix_seconds", at)


def unix_milliseconds(at: Any) -> Any:
    """Whole milliseconds from 1970-01-01 00:00 UTC to the instant, rounded down.

        F.unix_milliseconds(_.at)

    Types: datetime -> int.
    """
    return call("unix_milliseconds", at)


def year(at: Any) -> Any:
    """The year.

        F.year(_.at)

    Types: datetime -> int; date -> int.
    """
    return call("year", at)


def month(at: Any) -> Any:
    """The month, 1 to 12.

        F.month(_.at)

    Types: datetime -> int; date -> int.
    """
    return call("month", at)


def day(at: Any) -> Any:
    """The day of the month, 1 to 31.

        F.day(_.at)

    Types: datetime -> int; date -> int.
    """
    return call("day", at)


def hour(at: Any) -> Any:
    """The hour, 0 to 23.

        F.hour(_.at)

    Types: datetime -> int.
    """
    return call("hour", at)


def minute(at: Any) -> Any:
    """The minute, 0 to 59.

        F.minute(_.at)

    Types: datetime -> int.
    """
    return call("minute", at)


def second(at: Any) -> Any:
    """The second, 0 to 59.

        F.second(_.at)

    Types: datetime -> int.
    """
    return call("second", at)


def day_of_week(at: Any) -> Any:
    """The day of the week: Monday is 1, Sunday is 7.

        F.day_of_week(_.at)

    Types: datetime -> int; date -> int.
    """
    return call("day_of_week", at)


def day_of_year(at: Any) -> Any:
    """The day of the year, 1 to 366.

        F.day_of_year(_.at)

    Types: datetime -> int; date -> int.
    """
    return call("day_of_year", at)


def to_date(at: Any) -> Any:
    """The date of an instant.

        F.to_date(_.at)

    Types: datetime -> date.
    """
    return call("to_date", at)


def to_datetime(day: Any) -> Any:
    """The first instant of a date.

        F.to_datetime(_.birthday)

    Types: date -> datetime.
    """
    return call("to_datetime", day)


def date_trunc(unit: Any, at: Any) -> Any:
    """The beginning of the year, quarter, month, week (Monday), day, hour, minute or second that an instant or a date is in.

        F.date_trunc("hour", _.at)

    Types: str, datetime -> datetime; str, date -> date.
    """
    return call("date_trunc", unit, at)


def date_diff(unit: Any, start: Any, end: Any) -> Any:
    """How many whole units lie between two instants or dates; negative when the second is the earlier one.

        F.date_diff("day", _.created, _.closed)

    Types: str, datetime, datetime -> int; str, date, date -> int.
    """
    return call("date_diff", unit, start, end)


def days_between(start: Any, end: Any) -> Any:
    """Days from one date to another.

        F.days_between(_.born, F.to_date(_.at))

    Types: date, date -> int.
    """
    return call("days_between", start, end)


def total_seconds(length: Any) -> Any:
    """A length of time in seconds, with a fraction.

        F.total_seconds(_.closed - _.created)

    Types: timedelta -> float.
    """
    return call("total_seconds", length)


def seconds(count: Any) -> Any:
    """A length of time from seconds.

        _.at + F.seconds(_.delay)

    Types: float -> timedelta.
    """
    return call("seconds", count)


# lists, and what they share with text


def length(value: Any) -> Any:
    """How many elements a list has, characters a text has, bytes there are.

        F.length(_.name)

    Types: str -> int; bytes -> int; list[T] -> int.
    """
    return call("length", value)


def cardinality(list: Any) -> Any:
    """How many elements a list has, those that are null too.

        F.cardinality(_.tags)

    Types: list[T] -> int.
    """
    return call("cardinality", list)


def element_at(list: Any, index: Any) -> Any:
    """The element at a position, 0 being the first and -1 the last; null when there is none.

        F.element_at(_.scores, 0)

    Types: list[T], int -> T?.
    """
    return call("element_at", list, index)


def contains(value: Any, part: Any) -> Any:
    """Whether a list has an element that equals the second argument, or a text has it in it.

        F.contains(_.tags, "new")

    Types: str, str -> bool; list[decimal], decimal -> bool; list[T], T -> bool.
    """
    return call("contains", value, part)


def array_distinct(list: Any) -> Any:
    """The elements without repetitions, in the order of their first appearance. NaN equals itself here.

        F.array_distinct(_.tags)

    Types: list[T] -> list[T].
    """
    return call("array_distinct", list)


def array_remove(list: Any, unwanted: Any) -> Any:
    """The elements that do not equal the second argument.

        F.array_remove(_.tags, "")

    Types: list[T], T -> list[T].
    """
    return call("array_remove", list, unwanted)


def remove_nulls(list: Any) -> Any:
    """The elements that are not null.

        F.remove_nulls(_.scores)

    Types: list[T] -> list[T].
    """
    return call("remove_nulls", list)


def head(list: Any, count: Any) -> Any:
    """The first elements, at most so many.

        F.head(_.scores, 3)

    Types: list[T], int -> list[T].
    """
    return call("head", list, count)


def array_sort(list: Any) -> Any:
    """The elements in ascending order; NaN and then null at the end.

        F.array_sort(_.scores)

    Types: list[int] -> list[int]; list[float] -> list[float]; list[str] -> list[str]; list[date] -> list[date]; list[datetime] ->
    list[datetime]; list[timedelta] -> list[timedelta]; list[bool] -> list[bool].
    """
    return call("array_sort", list)


def array_reverse(list: Any) -> Any:
    """The elements from the last to the first.

        F.array_reverse(_.scores)

    Types: list[T] -> list[T].
    """
    return call("array_reverse", list)


def array_join(list: Any, separator: Any) -> Any:
    """The texts of a list with a separator between them.

        F.array_join(_.tags, ", ")

    Types: list[str], str -> str.
    """
    return call("array_join", list, separator)


def array_sum(list: Any) -> Any:
    """The sum of the elements; 0 for an empty list.

        F.array_sum(_.amounts)

    Types: list[int] -> int; list[float] -> float.
    """
    return call("array_sum", list)


def array_min(list: Any) -> Any:
    """The least element, NaN when there is a NaN; null for an empty list.

        F.array_min(_.amounts)

    Types: list[int] -> int?; list[float] -> float?; list[str] -> str?; list[date] -> date?; list[datetime] -> datetime?; list[timedelta] ->
    timedelta?.
    """
    return call("array_min", list)


def array_max(list: Any) -> Any:
    """The greatest element, NaN when there is a NaN; null for an empty list.

        F.array_max(_.amounts)

    Types: list[int] -> int?; list[float] -> float?; list[str] -> str?; list[date] -> date?; list[datetime] -> datetime?; list[timedelta] ->
    timedelta?.
    """
    return call("array_max", list)


def array_mean(list: Any) -> Any:
    """The mean of the elements; null for an empty list.

        F.array_mean(_.amounts)

    Types: list[int] -> float?; list[float] -> float?.
    """
    return call("array_mean", list)


# json


def json_value(json: Any, path: Any) -> Any:
    """The text, number or truth value at a place of JSON, as text; null where there is no such place, or null, a list or an object. A text
    that is no JSON is an error. Places are named `$.user.tags[0]['a b']`; `[-1]` is the last.

        F.json_value(_.payload, "$.user.name")

    Types: json, str -> str?; str, str -> str?.
    """
    return call("json_value", json, path)


def json_extract_array(json: Any, path: Any) -> Any:
    """The elements of the array at a place of JSON as texts, without those that are null; lists and objects in it are compact JSON. Null
    where there is no such place, or null; anything else there is an error.

        F.json_extract_array(_.payload, "$.tags")

    Types: json, str -> list[str]?; str, str -> list[str]?.
    """
    return call("json_extract_array", json, path)


# urls


def url_extract_protocol(url: Any) -> Any:
    """The protocol of a URL in lower case, such as `https`; null where there is none, or where the text is no URL.

        F.url_extract_protocol(_.link)

    Types: str -> str?.
    """
    return call("url_extract_protocol", url)


def url_extract_host(url: Any) -> Any:
    """The host of a URL in lower case, without user and port; null where there is none, or where the text is no URL.

        F.url_extract_host(_.link)

    Types: str -> str?.
    """
    return call("url_extract_host", url)


def url_extract_port(url: Any) -> Any:
    """The port that a URL names; null where there is none, or where the text is no URL.

        F.url_extract_port(_.link)

    Types: str -> int?.
    """
    return call("url_extract_port", url)


def url_extract_path(url: Any) -> Any:
    """The path of a URL as it is written, empty when it has none; null where there is none, or where the text is no URL.

        F.url_extract_path(_.link)

    Types: str -> str?.
    """
    return call("url_extract_path", url)


def url_extract_query(url: Any) -> Any:
    """What stands between `?` and `#` in a URL, as it is written; null where there is none, or where the text is no URL.

        F.url_extract_query(_.link)

    Types: str -> str?.
    """
    return call("url_extract_query", url)


def url_extract_fragment(url: Any) -> Any:
    """What stands behind `#` in a URL, as it is written; null where there is none, or where the text is no URL.

        F.url_extract_fragment(_.link)

    Types: str -> str?.
    """
    return call("url_extract_fragment", url)


def url_extract_parameter(url: Any, name: Any) -> Any:
    """The first value of a parameter in the query of a URL, decoded; empty where the parameter has no value, null where it is not there.

        F.url_extract_parameter(_.link, "utm_source")

    Types: str, str -> str?.
    """
    return call("url_extract_parameter", url, name)
