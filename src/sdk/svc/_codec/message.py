"""Messages of topics as values of Python.

A message is the bytes of a JSON object, for a dataclass, a pydantic model or a dict; text, for str;
or the bytes themselves. What JSON says is taken at its word: a text is no number, and a number with
a fraction is no int. Members that a type does not know are left out, so that a producer may add
some.

=============  ==================================================================
Python         JSON
=============  ==================================================================
int, float     number; for a float an integer too
str, bool      the same
bytes          text in base64
datetime       text in ISO 8601, naive means UTC
date           text, ``YYYY-MM-DD``
timedelta      number of seconds
Decimal        number, or text of the digits
Enum           the member's value
dataclass      object with the fields, of which those with a default may be left out
list, set      array
dict, Any      the same
=============  ==================================================================
"""

from __future__ import annotations

import base64
import dataclasses
import json
import typing
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from functools import lru_cache
from typing import Any, Callable

from .values import plain_type

Reader = Callable[[bytes], Any]


class BadMessage(ValueError):
    """A message that is not what its type says."""


def is_pydantic(message_type: Any) -> bool:
    """Whether a type is a model of pydantic."""
    return isinstance(message_type, type) and callable(getattr(message_type, "model_validate_json", getattr(message_type, "parse_raw", None)))


def field_names(message_type: type) -> list[str]:
    """The names of the fields of a dataclass, or of a model of pydantic."""
    if not is_pydantic(message_type):
        return [field.name for field in dataclasses.fields(message_type)]
    # Version 1 of pydantic names them otherwise.
    return list(getattr(message_type, "model_fields", None) or getattr(message_type, "__fields__"))


def reader_of(message_type: Any) -> Reader:
    """The function that makes messages of a type of their bytes."""
    if message_type is bytes:
        return lambda raw: raw
    if message_type is str:
        return lambda raw: raw.decode("utf-8")
    if is_pydantic(message_type):
        validate: Reader = getattr(message_type, "model_validate_json", None) or message_type.parse_raw
        return validate
    if dataclasses.is_dataclass(message_type):
        convert = _converter(message_type)
        return lambda raw: convert(_json(raw))
    return _json_object


def _json(raw: bytes) -> Any:
    return json.loads(raw, parse_constant=_no_constant)


def _no_constant(name: str) -> Any:
    raise BadMessage(f"{name} is not JSON")


def _json_object(raw: bytes) -> Any:
    value = _json(raw)
    if type(value) is not dict:
        raise BadMessage(f"a JSON object is expected, and this is {_named(value)}")
    return value


_KINDS = {bool: "true or false", int: "a number", float: "a number", str: "a text", list: "an array", dict: "an object"}


def _named(value: Any) -> str:
    return "null" if value is None else _KINDS.get(type(value), type(value).__name__)


def _refused(value: Any, wanted: str) -> BadMessage:
    text = repr(value)
    return BadMessage(f"{wanted} is expected, and this is {_named(value)}: {text if len(text) <= 60 else text[:57] + '...'}")


def _plain(wanted: type, words: str) -> Callable[[Any], Any]:
    def convert(value: Any) -> Any:
        if type(value) is wanted:
            return value
        raise _refused(value, words)

    return convert


def _float(value: Any) -> float:
    if type(value) is float:
        return value
    if type(value) is int:
        return float(value)
    raise _refused(value, "a number")


def _of_text(words: str, make: Callable[[str], Any]) -> Callable[[Any], Any]:
    def convert(value: Any) -> Any:
        if type(value) is not str:
            raise _refused(value, words)
        try:
            return make(value)
        except ValueError as error:
            raise BadMessage(f"{words} is expected: {error}") from None

    return convert


def _datetime(text: str) -> datetime:
    parsed = datetime.fromisoformat(text[:-1] + "+00:00" if text.endswith(("Z", "z")) else text)
    return parsed.replace(tzinfo=timezone.utc) if parsed.tzinfo is None else parsed.astimezone(timezone.utc)


def _seconds(value: Any) -> timedelta:
    return timedelta(seconds=_float(value))


def _decimal(value: Any) -> Decimal:
    if type(value) in (int, float, str):
        try:
            found = Decimal(str(value))
            if found.is_finite():
                return found
        except ArithmeticError:
            pass
    raise _refused(value, "a decimal number")


_SCALARS: dict[Any, Callable[[Any], Any]] = {
    int: _plain(int, "an integer"),
    float: _float,
    str: _plain(str, "a text"),
    bool: _plain(bool, "true or false"),
    bytes: _of_text("base64", lambda text: base64.b64decode(text, validate=True)),
    datetime: _of_text("a time in ISO 8601", _datetime),
    date: _of_text("a date", date.fromisoformat),
    timedelta: _seconds,
    Decimal: _decimal,
    Any: lambda value: value,
}


@lru_cache(maxsize=4096)
def _converter(python_type: Any) -> Callable[[Any], Any]:
    """The function that takes a value of JSON to a type, made once per type."""
    wanted = plain_type(python_type)
    convert = _required(wanted)
    if wanted is Any or not _is_optional(python_type):
        return convert
    return lambda value: None if value is None else convert(value)


def _is_optional(python_type: Any) -> bool:
    return type(None) in typing.get_args(python_type)


def _required(wanted: Any) -> Callable[[Any], Any]:
    if wanted in _SCALARS:
        return _SCALARS[wanted]
    origin, arguments = typing.get_origin(wanted) or wanted, typing.get_args(wanted)
    if origin in (list, set, frozenset):
        return _items(origin, _converter(arguments[0]) if arguments else _SCALARS[Any])
    if isinstance(wanted, type) and issubclass(wanted, Enum):
        return _member(wanted)
    if dataclasses.is_dataclass(wanted) and isinstance(wanted, type):
        return _object(wanted)
    return _plain(dict, "an object")


def _items(origin: Any, element: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def convert(value: Any) -> Any:
        if type(value) is not list:
            raise _refused(value, "an array")
        return origin(element(item) for item in value)

    return convert


def _member(wanted: type[Enum]) -> Callable[[Any], Any]:
    def convert(value: Any) -> Any:
        try:
            found = wanted(value)
        except ValueError:
            raise _refused(value, f"a value of {wanted.__name__}") from None
        if type(found.value) is not type(value):
            raise _refused(value, f"a value of {wanted.__name__}")
        return found

    return convert


def _object(wanted: type) -> Callable[[Any], Any]:
    hints = typing.get_type_hints(wanted)
    listed = [field for field in dataclasses.fields(wanted) if field.init]
    converters = [(field.name, _converter(hints[field.name])) for field in listed]
    missing = dataclasses.MISSING
    required = {field.name for field in listed if field.default is missing and field.default_factory is missing}

    def convert(value: Any) -> Any:
        if type(value) is not dict:
            raise _refused(value, f"an object with the fields of {wanted.__name__}")
        given = {}
        for name, read in converters:
            if name in value:
                try:
                    given[name] = read(value[name])
                except BadMessage as error:
                    raise BadMessage(f"{wanted.__name__}.{name}: {error}") from None
            elif name in required:
                raise BadMessage(f"{wanted.__name__}.{name} is missing")
        return wanted(**given)

    return convert
