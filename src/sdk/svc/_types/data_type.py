"""Types of the engine, as the proto3 JSON of `svc.v1.DataType`."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, Mapping

from .vector import vector_name

DataType = Mapping[str, Any]

#: Names of types without parameters, by the Python type.
PRIMITIVES: dict[Any, str] = {
    int: "INT64",
    float: "FLOAT64",
    str: "STRING",
    bool: "BOOL",
    bytes: "BYTES",
    date: "DATE",
    datetime: "DATETIME",
    timedelta: "TIMEDELTA",
    Decimal: "DECIMAL",
    Any: "JSON",
    dict: "JSON",
}
_NAMES = {value: "json" if value == "JSON" else key.__name__ for key, value in PRIMITIVES.items()}


def primitive(name: str) -> DataType:
    """The type without parameters of a name such as `INT64`."""
    return {"primitive": f"PRIMITIVE_TYPE_{name}"}


def type_name(dtype: DataType) -> str:
    """A type as a user writes it: `int`, `list[str]`, `Address`."""
    if "primitive" in dtype:
        return _NAMES[dtype["primitive"][len("PRIMITIVE_TYPE_") :]]
    if "list" in dtype:
        if "vector" in dtype["list"]:
            return vector_name(dtype["list"]["vector"])
        return f"{'set' if dtype['list'].get('set') else 'list'}[{type_name(dtype['list']['element'])}]"
    return str((dtype.get("struct") or dtype["enum"])["name"])


def comparable(left: DataType, right: DataType) -> bool:
    """Whether values of two types can be equal: the same type, an enum counting as the type of its
    members.
    """

    def key(dtype: DataType) -> DataType:
        return {"primitive": dtype["enum"]["base"]} if "enum" in dtype else dtype

    return key(left) == key(right)
