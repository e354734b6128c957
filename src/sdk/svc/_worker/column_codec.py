"""Columns of values, as frames have them, decoded and encoded by their type."""

from __future__ import annotations

from array import array
from typing import Any, Callable, List

from .._codec.values import decoder, encoder, plain_type
from .blocks import Column, packed_floats, packed_integers

_SAFE_INTEGER = 2**53 - 1
_HUGE = 1.7976931348623157e308


class Unreadable:
    """A marker in a row for an input that could not be decoded."""

    def __init__(self, error: Exception) -> None:
        self.error = error


def attempt(decode: Callable[[Any], Any], value: Any) -> Any:
    """The decoded value, or Unreadable for one that cannot be decoded."""
    try:
        return decode(value)
    except Exception as error:
        return Unreadable(error)


def column_decoder(python_type: Any) -> Callable[[Column], List[Any]]:
    """A decoder of columns; values that JSON or a block holds as they are pass through unchanged.
    """
    slow = decoder(python_type)
    wanted = plain_type(python_type)

    if wanted not in (float, int, str, bool):
        return lambda values: [slow(value) for value in values]

    def decode(values: Column) -> List[Any]:
        if type(values) is not array:
            return [value if type(value) is wanted else slow(value) for value in values]
        if wanted is float:
            return values.tolist()
        return [int(value) if wanted is int and value.is_integer() else slow(value) for value in values]

    return decode


def column_encoder(python_type: Any) -> Callable[[List[Any]], List[Any]]:
    """An encoder of columns; values that JSON holds as they are pass through unchanged."""
    slow = encoder(python_type)
    wanted = plain_type(python_type)
    if wanted is float:
        return lambda values: [
            value if type(value) is float and (0.0 < value <= _HUGE or -_HUGE <= value < 0.0) else slow(value) for value in values
        ]
    if wanted is int:
        return lambda values: [value if type(value) is int and -_SAFE_INTEGER <= value <= _SAFE_INTEGER else slow(value) for value in values]
    if wanted is str or wanted is bool:
        return lambda values: [value if type(value) is wanted else slow(value) for value in values]
    return lambda values: [slow(value) for value in values]


def packing_encoder(python_type: Any) -> Callable[[List[Any]], Column]:
    """An encoder of columns, as a block where possible."""
    encode = column_encoder(python_type)
    wanted = plain_type(python_type)
    if wanted is float:
        return lambda values: packed_floats(values) or encode(values)
    if wanted is int:
        return lambda values: packed_integers(values) or encode(values)
    return encode
