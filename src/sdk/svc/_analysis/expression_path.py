"""Paths of expressions, followed through the classes, and the names that messages about them need.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any, Optional

from .._diagnostics.findings import DefinitionError
from .._frames.conditions import Condition
from .._model.feature_class import FeatureClass
from .._model.field import Field
from .._model.reference import FeatureReference
from .._types.data_type import DataType


@dataclass
class Steps:
    """A path followed from a class: its fields, and the position of the has-many relation in it."""

    fields: list[Field]
    many: Optional[int] = None
    #: Names of fields read from the last feature's value, which is then a struct.
    inside: tuple[str, ...] = ()

    @property
    def last(self) -> Field:
        return self.fields[-1]

    @property
    def names(self) -> list[str]:
        return [*(field.name for field in self.fields), *self.inside]


def innermost(node: Optional[ast.AST]) -> Optional[ast.AST]:
    """The path that brackets are attached to."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return node


def field_of_struct(dtype: Optional[DataType], name: str) -> Optional[DataType]:
    for field in (dtype or {}).get("struct", {}).get("fields", ()):
        if field["name"] == name:
            found: DataType = field["dtype"]
            return found
    return None


def a_number(child: FeatureClass) -> str:
    """The name of a feature that an example may sum."""
    for field in child.fields.values():
        try:
            if field.type.target is None and field not in child.primary_keys and field.type.references is None:
                if field.type.dtype.get("primitive") in ("PRIMITIVE_TYPE_FLOAT64", "PRIMITIVE_TYPE_INT64", "PRIMITIVE_TYPE_DECIMAL"):
                    return field.attribute
        except DefinitionError:
            continue
    return "amount"


def first_name(item: Any) -> str:
    if isinstance(item, FeatureReference):
        return ".".join(item._svc_names)
    for operand in item.operands():
        if isinstance(operand, (FeatureReference, Condition)):
            return first_name(operand)
    return "amount"
