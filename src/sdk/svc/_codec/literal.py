"""Constants of expressions as proto3 JSON of `svc.v1.Value`, by their Python type."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any

from .._diagnostics import rules
from .._diagnostics.findings import DefinitionError
from .._model.operand import Literal
from .wire import NULL, describe, value_json

_KINDS: list[tuple[type, str]] = [
    (bool, "BOOL"),
    (int, "INT64"),
    (float, "FLOAT64"),
    (str, "STRING"),
    (bytes, "BYTES"),
    (datetime, "DATETIME"),
    (date, "DATE"),
    (timedelta, "TIMEDELTA"),
    (Decimal, "DECIMAL"),
]


def literal_json(value: Any) -> dict[str, Any]:
    """A constant as proto3 JSON of `svc.v1.Value`, by its Python type. Raises DefinitionError for a
    type that the engine does not know.
    """
    if value is None:
        return dict(NULL)
    if isinstance(value, Enum):
        return literal_json(value.value)
    if isinstance(value, (list, tuple, set, frozenset)):
        items = sorted(value, key=repr) if isinstance(value, (set, frozenset)) else value
        return {"listValue": {"values": [literal_json(item.value if isinstance(item, Literal) else item) for item in items]}}
    for python_type, name in _KINDS:
        if isinstance(value, python_type):
            return value_json(value, {"primitive": f"PRIMITIVE_TYPE_{name}"})
    raise DefinitionError(rules.BadDefault.unknown_value(value=describe(value)))
