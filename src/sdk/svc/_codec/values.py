"""Values between Python and the engine.

The engine's form is JSON with tags where JSON falls short:

=============  ==================================================================
Python         engine
=============  ==================================================================
int            number; beyond 2**53 - 1 ``{"$int": "9007199254740993"}``
float          number; ``{"$float": "NaN" | "Infinity" | "-Infinity" | "-0"}``
bytes          ``{"$bytes": <base64>}``
datetime       ``YYYY-MM-DDTHH:MM:SS.ffffffZ``; naive means UTC, read back as UTC
date           ``YYYY-MM-DD``
timedelta      integer microseconds, written as ``{"$micros": n}``, n as text beyond
               2**53 - 1
Decimal        text of the digits
Enum           the member's value
struct         object with the fields in order (dataclass, attrs, pydantic)
list, set      array
dict, Any      the same, with the tags above inside; the single name of an object
               that looks like a tag gets one more ``$`` in front
=============  ==================================================================
"""

from __future__ import annotations

import base64
import math
import re
import types
import typing
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from functools import lru_cache
from typing import Any, Callable

from .coded import CodedType
from .structs import is_model, is_struct, is_struct_value, maker, struct_hints

_SAFE_INTEGER = 2**53 - 1
_TAG_LIKE = re.compile(r"\$+(?:int|float|bytes)\Z")
_ESCAPED = re.compile(r"\$\$+(?:int|float|bytes)\Z")
Decoder = Callable[[Any], Any]
Encoder = Callable[[Any], Any]


class ValueMismatch(TypeError):
    """A value whose engine form would pass for another type than it has in Python, or that has no
    engine form at all.
    """


def decode(python_type: Any, value: Any) -> Any:
    """The Python value of the engine's `value`, by the declared type. None stays None."""
    return decoder(python_type)(value)


def encode(value: Any, python_type: Any = Any) -> Any:
    """The engine's form of a Python value. With a declared type, a value that JSON would disguise
    (a datetime for a str, a whole float for an int, a list for a dict) raises ValueMismatch; every
    other mismatch is left to the engine, which compares with the feature's type.
    """
    return encoder(python_type)(value)


def untag(value: Any) -> Any:
    """A JSON value with its tags replaced by the values that they mean, at every depth."""
    if isinstance(value, list):
        return [untag(item) for item in value]
    if isinstance(value, dict):
        if len(value) == 1:
            ((tag, body),) = value.items()
            if tag == "$int":
                return int(body)
            if tag == "$float":
                return float(body)
            if tag == "$bytes":
                return base64.b64decode(body)
            if _ESCAPED.match(tag):
                return {tag[1:]: untag(body)}
            if tag == "$micros":
                return timedelta(microseconds=int(body))
        return {name: untag(item) for name, item in value.items()}
    return value


def _to_datetime(value: str) -> datetime:
    text = value[:-1] + "+00:00" if value.endswith(("Z", "z")) else value
    parsed = datetime.fromisoformat(text)
    if parsed.tzinfo is timezone.utc:
        return parsed
    return parsed.replace(tzinfo=timezone.utc) if parsed.tzinfo is None else parsed.astimezone(timezone.utc)


def _to_timedelta(value: Any) -> timedelta:
    plain = untag(value)
    return plain if isinstance(plain, timedelta) else timedelta(microseconds=int(plain))


def _to_bytes(value: Any) -> bytes:
    plain = untag(value)
    return plain if isinstance(plain, bytes) else base64.b64decode(plain)


_DECODERS: dict[Any, Decoder] = {
    int: lambda value: value if type(value) is int else int(untag(value)),
    float: lambda value: value if type(value) is float else float(untag(value)),
    str: str,
    bool: bool,
    bytes: _to_bytes,
    date: date.fromisoformat,
    datetime: _to_datetime,
    timedelta: _to_timedelta,
    Decimal: lambda value: Decimal(str(untag(value))),
}


def plain_type(python_type: Any) -> Any:
    """A declared type without ``| None`` and without the name that a NewType gives it."""
    while hasattr(python_type, "__supertype__"):
        python_type = python_type.__supertype__
    if typing.get_origin(python_type) in (typing.Union, types.UnionType):
        rest = [item for item in typing.get_args(python_type) if item is not type(None)]
        return plain_type(rest[0]) if len(rest) == 1 else Any
    return python_type


@lru_cache(maxsize=4096)
def decoder(python_type: Any) -> Decoder:
    """The function that takes the engine's form to a declared type, made once per type."""
    convert = decoder_of(plain_type(python_type), _DECODERS, decoder, untag)
    return lambda value: None if value is None else convert(value)


def decoder_of(wanted: Any, scalars: dict[Any, Decoder], of: Callable[[Any], Decoder], otherwise: Decoder) -> Decoder:
    """The function that takes a wire form to a type: ``scalars`` has those of single values, ``of``
    makes those of elements and fields, and ``otherwise`` serves what has no declared form.
    """
    if wanted in scalars:
        return scalars[wanted]
    if isinstance(wanted, CodedType):
        stored, decode = of(wanted.stored), wanted.decode
        return lambda value: decode(stored(value))
    origin, arguments = typing.get_origin(wanted), typing.get_args(wanted)
    if origin in (list, set, frozenset):
        element = of(arguments[0])
        return lambda value: origin(element(item) for item in value)
    if isinstance(wanted, type) and issubclass(wanted, Enum):
        base_type: Any = type(next(iter(wanted)).value)
        base = of(base_type)
        return lambda value: wanted(base(value))
    if is_struct(wanted):
        fields = [(name, of(hint)) for name, hint in struct_hints(wanted)]
        make = maker(wanted)
        return lambda value: make({name: convert(value[name]) for name, convert in fields if name in value})
    return otherwise


def _encode_float(value: float) -> Any:
    if math.isfinite(value):
        return {"$float": "-0"} if value == 0 and math.copysign(1, value) < 0 else float(value)
    return {"$float": "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"}


def datetime_text(value: datetime) -> str:
    """Canonical text of an instant; naive means UTC."""
    utc = value.astimezone(timezone.utc) if value.tzinfo is not None else value
    return utc.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def encode_any(value: Any) -> Any:
    """The engine's form of a value by its Python type, without a declared type."""
    if value is None or value is True or value is False:
        return value
    if isinstance(value, Enum):
        return encode_any(value.value)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int):
        return int(value) if -_SAFE_INTEGER <= value <= _SAFE_INTEGER else {"$int": str(int(value))}
    if isinstance(value, float):
        return _encode_float(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return {"$bytes": base64.b64encode(bytes(value)).decode("ascii")}
    if isinstance(value, datetime):
        return datetime_text(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, timedelta):
        micros = value // timedelta(microseconds=1)
        return {"$micros": micros if -_SAFE_INTEGER <= micros <= _SAFE_INTEGER else str(micros)}
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, (list, tuple, set, frozenset)):
        return [encode_any(item) for item in value]
    if isinstance(value, dict):
        if len(value) == 1:
            ((name, item),) = value.items()
            return {f"${name}" if _TAG_LIKE.match(str(name)) else str(name): encode_any(item)}
        return {str(name): encode_any(item) for name, item in value.items()}
    if is_struct_value(value):
        return {name: encode_any(getattr(value, name)) for name, _ in struct_hints(type(value))}
    to_list = getattr(value, "tolist", None)
    if type(value).__module__.partition(".")[0] == "numpy" and to_list is not None:
        return encode_any(to_list())
    raise ValueMismatch(f"a value of type {type(value).__qualname__} cannot be a feature's value")


def _encode_text(value: Any) -> Any:
    plain = value.value if isinstance(value, Enum) else value
    if isinstance(plain, (date, Decimal)):
        raise ValueMismatch(f"expected str, got {type(plain).__name__} {plain}")
    return encode_any(plain)


def _encode_integer(value: Any) -> Any:
    encoded = encode_any(value)
    if isinstance(encoded, float) and encoded.is_integer():
        raise ValueMismatch(f"expected int, got float {value!r}: convert it, such as int(x) or round(x)")
    return encoded


def _encode_dict(value: Any) -> Any:
    if value is None or isinstance(value, dict):
        return encode_any(value)
    raise ValueMismatch(f"expected dict, got {type(value).__qualname__}")


@lru_cache(maxsize=4096)
def encoder(python_type: Any) -> Encoder:
    """The function that takes values of a declared type to the engine's form, made once per type.
    """
    wanted = plain_type(python_type)
    if isinstance(wanted, CodedType):
        stored, make = encoder(wanted.stored), wanted.encode
        return lambda value: None if value is None else stored(make(value))
    if wanted is str:
        return _encode_text
    if wanted is int:
        return _encode_integer
    if wanted is dict or typing.get_origin(wanted) is dict:
        return _encode_dict
    origin = typing.get_origin(wanted)
    if origin in (list, set, frozenset):
        element = encoder(typing.get_args(wanted)[0])

        def encode_items(value: Any) -> Any:
            if isinstance(value, (list, tuple, set, frozenset)):
                return [element(item) for item in value]
            return encode_any(value)

        return encode_items
    if is_struct(wanted):
        fields = [(name, encoder(hint)) for name, hint in struct_hints(wanted)]
        validate: Any = wanted.model_validate if is_model(wanted) else None

        def encode_struct(value: Any) -> Any:
            if validate is not None and isinstance(value, dict):
                value = validate(value)
            if isinstance(value, wanted):
                return {name: convert(getattr(value, name)) for name, convert in fields}
            return encode_any(value)

        return encode_struct
    return encode_any
