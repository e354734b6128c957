"""DataFrames in resolvers' signatures: columns, filters, and the number of rows."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING, Any, Iterable, Optional

from .._codec.coded import CodedType
from .._codec.literal import literal_json
from .._codec.wire import describe
from .._diagnostics import rules
from .._diagnostics.findings import DefinitionError
from .._model.reference import FeatureReference, crosses_many, field_of, fields_of, path_of, type_of
from .._types.data_type import DataType, primitive, type_name
from .arithmetic import ARITHMETIC, Arithmetic
from .conditions import (
    Comparison,
    Condition,
    Conjunction,
    Constant,
    Containment,
    Disjunction,
    Membership,
    Nearness,
    Negation,
    NullTest,
    TimeBound,
    Truth,
    is_reference,
)

if TYPE_CHECKING:
    from .._model.feature_class import FeatureClass

Json = dict[str, Any]

_NUMBERS = (int, float, Decimal)
#: Types of the constants that values of a type can be compared with.
_KINDS: dict[str, tuple[type, ...]] = {
    "INT64": _NUMBERS,
    "FLOAT64": _NUMBERS,
    "DECIMAL": _NUMBERS,
    "STRING": (str,),
    "BOOL": (bool,),
    "BYTES": (bytes,),
    "DATE": (date,),
    "DATETIME": (datetime,),
    "TIMEDELTA": (timedelta,),
}
_FUNCTIONS = {"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}


@dataclass(frozen=True)
class ColumnSpec:
    """A column of a DataFrame that a resolver takes or returns."""

    #: Path from the root class of the frame, for example "txn.user.name".
    path: str
    reference: FeatureReference
    #: The type to decode a value to.
    python_type: Any
    dtype: DataType


@dataclass(frozen=True)
class RowsSpec:
    """`User.txns[Txn.amount > 100, Txn.amount]`: rows of a has-many relation."""

    #: The relation from the root class.
    path: str
    child: FeatureClass
    #: The columns that were named; empty = all that are available.
    columns: tuple[ColumnSpec, ...] = ()
    filters: tuple[Condition, ...] = ()
    #: Rows at most; 0 = all.
    limit: int = 0
    #: Whether the resolver is given the one column as a list: `User.txns.amount`.
    is_list: bool = False

    def known_columns(self) -> dict[str, ColumnSpec]:
        """Every column that may come, by path."""
        return {column.path: column for column in (self.columns or columns_of_class(self.child))}

    def json(self) -> Json:
        """Proto3 JSON of `svc.v1.RowsInput`."""
        document: Json = {"path": self.path}
        if self.columns:
            document["columns"] = [column.path for column in self.columns]
        if self.filters:
            document["filters"] = [condition_json(item, self.child) for item in self.filters]
        if self.limit:
            document["limit"] = self.limit
        return document


@dataclass(frozen=True)
class TableSpec:
    """`DataFrame[User.id, User.name]` as a parameter."""

    columns: tuple[ColumnSpec, ...]

    def json(self) -> Json:
        """Proto3 JSON of `svc.v1.TableInput`."""
        return {"columns": [column.path for column in self.columns]}


def column_spec(reference: FeatureReference) -> ColumnSpec:
    """The column of a feature. Raises DefinitionError when the feature is no single value."""
    kind, token = type_of(field_of(reference)), repr(reference)
    if kind.target is not None:
        first = next(iter(kind.target.fields), "id")
        raise DefinitionError(rules.BadInput.column_is_relation(token=token, first=first), token=token)
    if crosses_many(reference):
        raise DefinitionError(rules.BadInput.many_values(token=token), token=token)
    if kind.windowed:
        raise DefinitionError(rules.BadInput.which_window(token=token), token=token)
    return ColumnSpec(path_of(reference), reference, kind.python_type, kind.dtype)


def columns_of_class(owner: FeatureClass) -> list[ColumnSpec]:
    """All features of a class that hold a value."""
    return [column_spec(owner.reference(field.attribute)) for field in owner.values()]


def rows_spec(relation: FeatureReference, child: FeatureClass, items: Iterable[Any]) -> RowsSpec:
    """The rows that the brackets of `User.txns[...]` select. Raises DefinitionError 140."""
    columns: list[ColumnSpec] = []
    filters: list[Condition] = []
    limit = 0
    for item in items:
        if isinstance(item, Condition):
            condition_json(item, child)
            filters.append(item)
        elif is_reference(item):
            _check_root(item, child)
            columns.append(column_spec(item))
        elif isinstance(item, type) and "__svc_features__" in item.__dict__ and item.__svc_features__ is child:  # type: ignore[attr-defined]
            columns.extend(columns_of_class(child))
        elif isinstance(item, slice):
            limit = _limit(item)
        else:
            raise _no_part(item, child)
    unique = {column.path: column for column in columns}
    return RowsSpec(path_of(relation), child, tuple(unique.values()), tuple(filters), limit)


def list_spec(reference: FeatureReference) -> Optional[RowsSpec]:
    """The rows of which `User.txns.amount` is a column; None when it goes through two has-many
    relations. Raises DefinitionError.
    """
    fields = fields_of(reference)
    at = next(index for index, item in enumerate(fields) if type_of(item).many)
    child = type_of(fields[at]).target
    if child is None or any(type_of(item).many for item in fields[at + 1 :]):
        return None
    relation: FeatureReference = reference
    for _ in fields[at + 1 :]:
        assert relation._svc_parent is not None
        relation = relation._svc_parent
    first, *names = reference._svc_names[at + 1 :]
    column = child.reference(first)
    for name in names:
        column = getattr(column, name)
    return RowsSpec(path_of(relation), child, (column_spec(column),), is_list=True)


def table_spec(references: Iterable[FeatureReference]) -> TableSpec:
    """The columns of a parameter `DataFrame[...]`. Raises DefinitionError 140."""
    return TableSpec(tuple({str(reference): column_spec(reference) for reference in references}.values()))


def _limit(item: slice) -> int:
    if item.start not in (None, 0) or item.step not in (None, 1) or not isinstance(item.stop, int) or item.stop <= 0:
        raise DefinitionError(rules.BadInput.no_limit())
    return item.stop


def _no_part(item: Any, child: FeatureClass) -> DefinitionError:
    name = child.cls.__name__
    example = next(iter(child.fields), "id")
    if isinstance(item, bool):
        return DefinitionError(rules.DecidedAtOnce.frame_filter(item=item))
    if hasattr(type(item), "__svc_node__"):
        return DefinitionError(rules.BadInput.expression(item=repr(item), child=name, example=example))
    shown = item.__name__ if isinstance(item, type) else repr(item)
    advice = f"write a condition such as {name}.{example} == 1, a feature such as {name}.{example}, or [:100]"
    return DefinitionError(rules.BadInput.no_filter_or_column(shown=shown, advice=advice))


def _check_root(reference: FeatureReference, child: FeatureClass) -> None:
    if reference._svc_root is not child:
        name = child.cls.__name__
        raise DefinitionError(rules.BadInput.of_other_class(reference=repr(reference), child=name), token=repr(reference))


def condition_json(condition: Condition, child: FeatureClass) -> Json:
    """A condition on the rows of a class as proto3 JSON of `svc.v1.Expression`. Raises
    DefinitionError.
    """
    if isinstance(condition, Constant):
        return _literal(condition.value)
    if isinstance(condition, Truth):
        return _operand(condition.operand, child, must_be_bool=True)
    if isinstance(condition, NullTest):
        return _call("is_null", _operand(condition.operand, child))
    if isinstance(condition, Negation):
        return _call("not", condition_json(condition.condition, child))
    if isinstance(condition, (Conjunction, Disjunction)):
        name = "and" if isinstance(condition, Conjunction) else "or"
        return _call(name, condition_json(condition.left, child), condition_json(condition.right, child))
    if isinstance(condition, Membership):
        values = [value for value in condition.values if value is not None]
        for value in values:
            _check_type(condition.left, value)
        return _call("is_in", _operand(condition.left, child), _literal(values))
    if isinstance(condition, Containment):
        _check_text(condition.left, child)
        if is_reference(condition.right):
            _check_text(condition.right, child)
        place = _call("strpos", _operand(condition.left, child), _operand(condition.right, child))
        return _call("ge", place, _literal(0))
    if isinstance(condition, Nearness):
        raise DefinitionError(rules.BadNearness.no_filter(condition=repr(condition)), token="is_near")
    if isinstance(condition, Comparison):
        if condition.right is None and condition.operator in ("==", "!="):
            null = _call("is_null", _operand(condition.left, child))
            return null if condition.operator == "==" else _call("not", null)
        left, right = _operand(condition.left, child), _operand(condition.right, child)
        _check_type(condition.left, condition.right)
        return _call(_FUNCTIONS[condition.operator], left, right)
    if isinstance(condition, TimeBound):
        return _time_bound(condition, child)
    if isinstance(condition, Arithmetic):
        raise DefinitionError(rules.BadInput.number(condition=repr(condition)))
    raise DefinitionError(rules.BadInput.no_filter(condition=repr(condition)))


def _check_text(operand: Any, child: FeatureClass) -> None:
    """Raises DefinitionError 140 for a feature that holds no text."""
    _check_root(operand, child)
    dtype = column_spec(operand).dtype
    if dtype != primitive("STRING"):
        raise DefinitionError(rules.BadInput.no_text(operand=repr(operand), type=type_name(dtype)), token=repr(operand))


def _time_bound(condition: TimeBound, child: FeatureClass) -> Json:
    times = child.feature_times
    if len(times) != 1:
        name = child.cls.__name__
        raise DefinitionError(rules.BadInput.no_feature_time(method=condition.name, owner=name), token=condition.name)
    bound = _call("sub", {"queryNow": {}}, _literal(condition.at)) if isinstance(condition.at, timedelta) else _literal(condition.at)
    return _call(_FUNCTIONS[condition.operator], {"feature": {"path": [times[0].name]}}, bound)


def _operand(operand: Any, child: FeatureClass, must_be_bool: bool = False) -> Json:
    if isinstance(operand, Arithmetic):
        return _call(ARITHMETIC[operand.symbol][0], *(_number(item, child) for item in operand.operands()))
    if isinstance(operand, Condition):
        return condition_json(operand, child)
    if not is_reference(operand):
        return _literal(operand)
    _check_root(operand, child)
    column = column_spec(operand)
    if isinstance(column.python_type, CodedType):
        raise DefinitionError(rules.BadCoding.read(feature=field_of(operand).fqn), token=repr(operand))
    if must_be_bool and column.dtype.get("primitive") != "PRIMITIVE_TYPE_BOOL":
        raise DefinitionError(rules.BadInput.not_bool(operand=repr(operand)), token=repr(operand))
    return {"feature": {"path": column.path.split(".")[1:]}}


def _number(operand: Any, child: FeatureClass) -> Json:
    """An operand of arithmetic: a number, or a feature whose values are numbers."""
    if is_reference(operand):
        _check_root(operand, child)
        dtype = column_spec(operand).dtype
        if dtype.get("primitive") not in ("PRIMITIVE_TYPE_INT64", "PRIMITIVE_TYPE_FLOAT64"):
            raise DefinitionError(rules.BadInput.no_number(operand=repr(operand), type=type_name(dtype)), token=repr(operand))
    return _operand(operand, child)


def _check_type(operand: Any, value: Any) -> None:
    """Raises DefinitionError 140 when a feature is compared with a constant of a type that its
    values never have.
    """
    if isinstance(operand, Arithmetic) and not isinstance(value, Condition) and not is_reference(value):
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            raise DefinitionError(rules.BadInput.number_and_other(operand=repr(operand), value=describe(value)))
        return
    if not is_reference(operand) or is_reference(value) or isinstance(value, Condition) or value is None:
        return
    dtype = column_spec(operand).dtype
    base = dtype["enum"]["base"] if "enum" in dtype else dtype.get("primitive", "")
    kinds = _KINDS.get(base[len("PRIMITIVE_TYPE_") :])
    plain = value.value if isinstance(value, Enum) else value
    if kinds is not None and (not isinstance(plain, kinds) or (isinstance(plain, bool) and bool not in kinds)):
        raise DefinitionError(
            rules.BadInput.types_differ(operand=repr(operand), type=type_name(dtype), value=describe(plain)), token=repr(operand)
        )


def _literal(value: Any) -> Json:
    try:
        return {"literal": literal_json(value)}
    except DefinitionError as error:
        raise DefinitionError(rules.BadInput.no_constant(error=error)) from None


def _call(function: str, *arguments: Json) -> Json:
    return {"call": {"function": function, "arguments": list(arguments)}}
