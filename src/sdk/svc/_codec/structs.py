"""Classes whose instances are structs: dataclasses, attrs classes and pydantic models (version 2).

Nothing is imported for them: what a class is, it says itself.
"""

from __future__ import annotations

import dataclasses
import typing
from functools import lru_cache
from typing import Any, Callable, Mapping, NamedTuple

Maker = Callable[[Mapping[str, Any]], Any]


class StructField(NamedTuple):
    """A field that the constructor takes."""

    name: str
    #: Its annotation, with what `Annotated` adds; None when it has none.
    annotation: Any
    #: The constructor's name for it.
    argument: str


def is_struct(cls: Any) -> bool:
    """Whether instances of a class are structs."""
    return isinstance(cls, type) and (dataclasses.is_dataclass(cls) or _is_attrs(cls) or is_model(cls))


def is_model(cls: type) -> bool:
    """Whether a class is a pydantic model, which checks what it is made of."""
    return isinstance(getattr(cls, "__pydantic_fields__", None), dict) and hasattr(cls, "model_validate")


def _is_attrs(cls: type) -> bool:
    return isinstance(getattr(cls, "__attrs_attrs__", None), tuple)


def struct_fields(cls: type) -> list[StructField]:
    """The fields of a struct that its constructor takes, in order. Raises what its annotations
    raise when they are evaluated.
    """
    hints = typing.get_type_hints(cls, include_extras=True)
    if is_model(cls):
        models: dict[str, Any] = cls.__pydantic_fields__  # type: ignore[attr-defined]
        by_name = bool(cls.model_config.get("populate_by_name") or cls.model_config.get("validate_by_name"))  # type: ignore[attr-defined]
        return [StructField(name, hints.get(name, field.annotation), name if by_name else _alias(field, name)) for name, field in models.items()]
    if _is_attrs(cls):
        attributes: tuple[Any, ...] = cls.__attrs_attrs__  # type: ignore[attr-defined]
        return [
            StructField(item.name, hints.get(item.name, item.type), getattr(item, "alias", None) or item.name.lstrip("_"))
            for item in attributes
            if item.init
        ]
    return [StructField(item.name, hints[item.name], item.name) for item in dataclasses.fields(cls) if item.init]


def _alias(field: Any, name: str) -> str:
    """The name by which a model is given a field."""
    for alias in (field.validation_alias, field.alias):
        if isinstance(alias, str):
            return alias
    return name


@lru_cache(maxsize=1024)
def struct_hints(cls: type) -> list[tuple[str, Any]]:
    """Names and types of the fields that a struct's constructor takes, in order."""
    plain = {name: hint for name, hint in typing.get_type_hints(cls).items()}
    return [(field.name, plain.get(field.name, field.annotation)) for field in struct_fields(cls)]


@lru_cache(maxsize=1024)
def maker(cls: type) -> Maker:
    """The function that makes an instance of the values by field; those left out have their
    defaults. A model raises pydantic's ValidationError for values that it refuses.
    """
    arguments = {field.name: field.argument for field in struct_fields(cls)}
    if is_model(cls):
        validate: Callable[[Any], Any] = cls.model_validate  # type: ignore[attr-defined]
        return lambda values: validate({arguments[name]: value for name, value in values.items()})
    return lambda values: cls(**{arguments[name]: value for name, value in values.items()})


def is_struct_value(value: Any) -> bool:
    """Whether a value is an instance of a struct."""
    return not isinstance(value, type) and is_struct(type(value))
