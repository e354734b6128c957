"""Values in a project's code, defaults and members of enums, as proto3 JSON of `svc.v1.Value`."""

from __future__ import annotations

import base64
import math
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, Mapping

from .._diagnostics import rules
from .._diagnostics.findings import DefinitionError
from .._surface.names import duration_json
from .._types.data_type import type_name
from .coded import CodedType
from .structs import is_struct_value
from .values import datetime_text

_INT64 = range(-(2**63), 2**63)


def describe(value: Any) -> str:
    """A value in words for a message: `str 'n/a'`, `None`."""
    if value is None:
        return "None"
    try:
        text = repr(value)
    except Exception:
        return type(value).__name__
    return f"{type(value).__name__} {text if len(text) <= 60 else text[:57] + '...'}"


def stored_json(value: Any, python_type: Any, dtype: Mapping[str, Any]) -> dict[str, Any]:
    """A value of a feature's type in Python, as what is stored of it. Raises DefinitionError 115 when
    it is of another type, or its encoder fails.
    """
    if isinstance(python_type, CodedType):
        try:
            value = python_type.encode(value)
        except Exception as error:
            raise DefinitionError(rules.BadDefault.not_encoded(value=describe(value), kind=type(error).__name__, error=error)) from None
    return value_json(value, dtype)


def value_json(value: Any, dtype: Mapping[str, Any]) -> dict[str, Any]:
    """A value of a type. Raises DefinitionError 115 when it is of another type."""
    if "primitive" in dtype:
        return _primitive_json(value, dtype)
    if "enum" in dtype:
        if isinstance(value, Enum) and type(value).__name__ == dtype["enum"]["name"]:
            return value_json(value.value, {"primitive": dtype["enum"]["base"]})
        raise _mismatch(value, dtype)
    if "list" in dtype:
        if not isinstance(value, (list, tuple, set, frozenset)):
            raise _mismatch(value, dtype)
        listed = dtype["list"]
        if "vector" in listed and not _fits(value, listed["vector"]):
            raise _mismatch(value, dtype)
        items = sorted(value, key=repr) if isinstance(value, (set, frozenset)) else value
        return {"listValue": {"values": [_nullable(item, listed["element"], listed.get("elementNullable", False)) for item in items]}}
    if not is_struct_value(value) or type(value).__name__ != dtype["struct"]["name"]:
        raise _mismatch(value, dtype)
    fields = [
        {"name": field["name"], "value": _nullable(getattr(value, field["name"]), field["dtype"], field.get("nullable", False))}
        for field in dtype["struct"]["fields"]
    ]
    return {"structValue": {"fields": fields}}


def _fits(value: Any, vector: Mapping[str, Any]) -> bool:
    if isinstance(value, (set, frozenset)) or vector.get("size", len(value)) != len(value):
        return False
    return not any(isinstance(item, float) and not math.isfinite(item) for item in value)


NULL = {"nullValue": "NULL_VALUE_UNSPECIFIED"}


def _nullable(value: Any, dtype: Mapping[str, Any], nullable: bool) -> dict[str, Any]:
    if value is None and nullable:
        return dict(NULL)
    return value_json(value, dtype)


def _primitive_json(value: Any, dtype: Mapping[str, Any]) -> dict[str, Any]:
    kind = dtype["primitive"][len("PRIMITIVE_TYPE_") :]
    number = isinstance(value, (int, float)) and not isinstance(value, (bool, Enum))
    if kind == "INT64" and number and isinstance(value, int):
        if value not in _INT64:
            raise DefinitionError(rules.BadDefault.out_of_range(value=value))
        return {"int64Value": str(value)}
    if kind == "FLOAT64" and number:
        return _double_json(float(value))
    if kind == "STRING" and isinstance(value, str) and not isinstance(value, Enum):
        return {"stringValue": str(value)}
    if kind == "BOOL" and isinstance(value, bool):
        return {"boolValue": value}
    if kind == "BYTES" and isinstance(value, bytes):
        return {"bytesValue": base64.b64encode(value).decode("ascii")}
    if kind == "DATE" and isinstance(value, date) and not isinstance(value, datetime):
        return {"dateValue": {"year": value.year, "month": value.month, "day": value.day}}
    if kind == "DATETIME" and isinstance(value, datetime):
        return {"timestampValue": datetime_text(value)}
    if kind == "TIMEDELTA" and isinstance(value, timedelta):
        return {"durationValue": duration_json(value // timedelta(microseconds=1))}
    if kind == "DECIMAL" and isinstance(value, Decimal) and value.is_finite():
        return {"decimalValue": str(value)}
    if kind == "JSON":
        return _json_value(value)
    raise _mismatch(value, dtype)


def _double_json(value: float) -> dict[str, Any]:
    if math.isfinite(value):
        return {"doubleValue": value}
    return {"doubleValue": "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"}


def _json_value(value: Any) -> dict[str, Any]:
    if value is None:
        return dict(NULL)
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int) and value in _INT64:
        return {"int64Value": str(value)}
    if isinstance(value, float):
        return _double_json(value)
    if isinstance(value, str):
        return {"stringValue": value}
    if isinstance(value, (list, tuple)):
        return {"listValue": {"values": [_json_value(item) for item in value]}}
    if isinstance(value, Mapping):
        return {"structValue": {"fields": [{"name": str(name), "value": _json_value(item)} for name, item in value.items()]}}
    raise DefinitionError(rules.BadDefault.not_json(value=describe(value)))


def _mismatch(value: Any, dtype: Mapping[str, Any]) -> DefinitionError:
    wanted = type_name(dtype)
    if "enum" in dtype:
        named = [member["name"] for member in dtype["enum"]["members"]]
        wanted = f"{wanted} (such as {wanted}.{named[0]})"
    return DefinitionError(rules.BadDefault.wrong_type(value=describe(value), wanted=wanted))
