"""Types of features as JSON Schema, by which a model is told what to answer."""

from __future__ import annotations

from typing import Any, Optional

from .._types.data_type import DataType, type_name

_PRIMITIVES: dict[str, dict[str, Any]] = {
    "INT64": {"type": "integer"},
    "FLOAT64": {"type": "number"},
    "STRING": {"type": "string"},
    "BOOL": {"type": "boolean"},
    "DATE": {"type": "string", "format": "date"},
    "DATETIME": {"type": "string", "format": "date-time"},
    "DECIMAL": {"type": "string"},
}


class NoSchema(Exception):
    """A type that a model cannot be asked for; its text is the type."""


def json_schema(dtype: DataType, nullable: bool = False) -> dict[str, Any]:
    """The schema of a type's values. Raises NoSchema."""
    schema = _schema(dtype)
    return {"anyOf": [schema, {"type": "null"}]} if nullable else schema


def _schema(dtype: DataType) -> dict[str, Any]:
    if "primitive" in dtype:
        found: Optional[dict[str, Any]] = _PRIMITIVES.get(dtype["primitive"][len("PRIMITIVE_TYPE_") :])
        if found is None:
            raise NoSchema(type_name(dtype))
        return found
    if "enum" in dtype:
        values = [next(iter(member["value"].values())) for member in dtype["enum"]["members"]]
        is_int = dtype["enum"]["base"] == "PRIMITIVE_TYPE_INT64"
        return {"enum": [int(value) if is_int else value for value in values]}
    if "list" in dtype:
        listed = dtype["list"]
        return {"type": "array", "items": json_schema(listed["element"], listed.get("elementNullable", False))}
    fields = dtype["struct"]["fields"]
    return {
        "type": "object",
        "properties": {field["name"]: json_schema(field["dtype"], field.get("nullable", False)) for field in fields},
        "required": [field["name"] for field in fields],
        "additionalProperties": False,
    }
