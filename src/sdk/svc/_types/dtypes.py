"""Python types as types of the engine."""

from __future__ import annotations

import collections.abc
import typing
from dataclasses import dataclass
from datetime import date, datetime
from enum import Enum
from typing import Any, Optional

from .._codec.structs import is_struct, struct_fields
from .._codec.wire import value_json
from .._diagnostics import rules
from .._diagnostics.findings import CircularReference, DefinitionError
from .._model.reference import FeatureReference, field_of, type_of
from .annotations import Scope, annotation_text, read_annotation, unreadable
from .data_type import PRIMITIVES, DataType, primitive
from .vector import MOST, Vector, VectorType

_MAPPINGS = (dict, collections.abc.Mapping, collections.abc.MutableMapping)
_SETS = (set, frozenset)

#: Advice on what to write instead of a type that no feature can have, by the type's name.
_NEAREST = {
    "list": "list[str]",
    "set": "set[str]",
    "frozenset": "set[str]",
    "tuple": "list[...] for values of one type, or a @dataclass",
    "Sequence": "list[...]",
    "Iterable": "list[...]",
    "Collection": "list[...]",
    "deque": "list[...]",
    "complex": "float",
    "Fraction": "Decimal",
    "object": "Any",
    "time": "str or timedelta",
    "UUID": "str",
    "Path": "str",
    "bytearray": "bytes",
    "memoryview": "bytes",
    "Literal": "an Enum, or the type of the values",
    "DataFrame": "DataFrame[Txn], with the name of a feature class",
    "ndarray": "Vector[768], with its number of elements, or list[float]",
    "Timestamp": "datetime",
    "Timedelta": "timedelta",
    "Series": "list[float]",
    "str_": "str",
    "bool_": "bool",
}
SUPPORTED = "int, float, str, bool, bytes, date, datetime, timedelta, Decimal, an Enum, a @dataclass, list[...], set[...], Vector[...], dict or Any"


@dataclass(frozen=True)
class ValueType:
    """A type of values: the engine's, and Python's with all names resolved."""

    dtype: DataType
    python_type: Any
    references: Optional[FeatureReference] = None


def value_type(core: Any, scope: Scope, seen: tuple[type, ...] = ()) -> ValueType:
    """The type of values for the core of a feature's annotation. Raises DefinitionError 114 when
    there is none.
    """
    try:
        return _value_type(core, scope, seen)
    except DefinitionError:
        raise
    except Exception as error:
        raise unreadable(error) from None


def _value_type(core: Any, scope: Scope, seen: tuple[type, ...]) -> ValueType:
    if isinstance(core, FeatureReference):
        return _referenced(core)
    try:
        name = PRIMITIVES.get(core)
    except TypeError:
        name = None
    if name is not None:
        return ValueType(primitive(name), core)
    if isinstance(core, VectorType) or core is Vector:
        return ValueType(_vector(core if isinstance(core, VectorType) else VectorType()), list[float])
    if typing.get_origin(core) in _MAPPINGS or (isinstance(core, type) and core in _MAPPINGS):
        return ValueType(primitive("JSON"), dict)
    origin, arguments = typing.get_origin(core), typing.get_args(core)
    if (origin is list or origin in _SETS) and len(arguments) == 1:
        return _items(origin, arguments[0], scope, seen)
    if isinstance(core, type) and "__svc_features__" in core.__dict__:
        raise DefinitionError(rules.UnsupportedType.class_inside(name=core.__name__))
    if isinstance(core, type) and issubclass(core, Enum):
        return ValueType(_enum(core), core)
    if is_struct(core):
        return ValueType(_struct(core, scope, (*seen, core)), core)
    raise unsupported(core)


def unsupported(core: Any) -> DefinitionError:
    """Finding 114 with the nearest supported type."""
    origin = typing.get_origin(core) or core
    name = getattr(origin, "__name__", None) or getattr(origin, "_name", None) or str(origin)
    nearest = _NEAREST.get(name)
    if nearest is None and name.startswith(("int", "uint")) and name.strip("uint_c").isdigit():
        nearest = "int"
    if nearest is None and name.startswith("float") and name[5:].isdigit():
        nearest = "float"
    if nearest is None and isinstance(origin, type):
        bases = [base for base in (bool, int, float, str, bytes, datetime, date, list, dict) if issubclass(origin, base)]
        nearest = bases[0].__name__ if bases else "a @dataclass" if hasattr(origin, "__annotations__") else None
    advice = f"write {nearest}" if nearest else f"a feature is {SUPPORTED}"
    return DefinitionError(rules.UnsupportedType.unsupported(type=annotation_text(core), advice=advice))


def _referenced(reference: FeatureReference) -> ValueType:
    field = field_of(reference)
    try:
        kind = field.type
    except CircularReference:
        raise
    except DefinitionError:
        kind = type_of(field)
    if kind.target is not None:
        raise DefinitionError(rules.UnsupportedType.refers_to_relation(reference=repr(reference)), token=repr(reference))
    return ValueType(kind.dtype, kind.python_type, reference)


def _items(origin: Any, argument: Any, scope: Scope, seen: tuple[type, ...]) -> ValueType:
    reading = read_annotation(argument, scope)
    if isinstance(reading.core, type) and "__svc_features__" in reading.core.__dict__:
        name = reading.core.__name__
        raise DefinitionError(rules.UnsupportedType.class_in_container(name=name))
    element = value_type(reading.core, scope, seen)
    item: dict[str, Any] = {"element": element.dtype}
    if reading.nullable:
        item["elementNullable"] = True
    if origin in _SETS:
        item["set"] = True
    inner: Any = Optional[element.python_type] if reading.nullable else element.python_type
    container: Any = origin
    return ValueType({"list": item}, container[inner])


def _vector(core: VectorType) -> DataType:
    if not core.is_sound:
        advice = f"write Vector[768], with 1 to {MOST} elements, or Vector['f16', 768]"
        raise DefinitionError(rules.UnsupportedType.unsupported(type=repr(core), advice=advice))
    return {"list": {"element": primitive("FLOAT64"), "vector": core.json()}}


def _enum(core: type[Enum]) -> DataType:
    members = list(core)
    kinds = {type(member.value) for member in members}
    if len(kinds) != 1 or not kinds <= {str, int, float}:
        have = ", ".join(sorted(kind.__name__ for kind in kinds)) or "none"
        raise DefinitionError(rules.UnsupportedType.mixed_enum(name=core.__name__, have=have))
    base = primitive(PRIMITIVES[kinds.pop()])
    listed = [{"name": member.name, "value": value_json(member.value, base)} for member in members]
    return {"enum": {"name": core.__name__, "base": base["primitive"], "members": listed}}


def _struct(core: type, scope: Scope, seen: tuple[type, ...]) -> DataType:
    if core in seen[:-1]:
        raise DefinitionError(rules.UnsupportedType.contains_itself(name=core.__name__))
    try:
        listed = struct_fields(core)
    except Exception as error:
        raise DefinitionError(rules.UnsupportedType.unreadable_dataclass(name=core.__name__, error=error)) from None
    fields: list[dict[str, Any]] = []
    for field in listed:
        try:
            reading = read_annotation(field.annotation, scope)
            inner = value_type(reading.core, scope, seen)
            if inner.references is not None:
                raise DefinitionError(rules.UnsupportedType.reference_in_dataclass())
        except DefinitionError as error:
            raise DefinitionError(
                rules.UnsupportedType.in_dataclass(field=field.name, name=core.__name__, error=error, label=error.label)
            ) from None
        item: dict[str, Any] = {"name": field.name, "dtype": inner.dtype}
        if reading.nullable:
            item["nullable"] = True
        fields.append(item)
    return {"struct": {"name": core.__name__, "fields": fields}}


