"""Columns of a DataFrame by name, read from instances, dicts, columns or another library's table,
and their assembly into rows.
"""

from __future__ import annotations

from datetime import date, datetime
from typing import TYPE_CHECKING, Any, Callable, Iterable, Mapping, Optional, Sequence

from .._codec.values import plain_type
from .._diagnostics.findings import DefinitionError
from .._model.field import MISSING
from .._model.reference import FeatureReference, field_of, fields_of
from .._model.registry import registry
from .._surface.names import did_you_mean
from .conditions import is_reference

if TYPE_CHECKING:
    from .._model.feature_class import FeatureClass


class Key:
    """A column's name, with its feature; None when it has none."""

    __slots__ = ("name", "reference")

    def __init__(self, name: str, reference: Optional[FeatureReference] = None) -> None:
        self.name = name
        self.reference = reference

    def __hash__(self) -> int:
        return hash(self.name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Key) and other.name == self.name

    def __repr__(self) -> str:
        return self.name


Columns = dict[Key, list[Any]]

#: Libraries whose tables are accepted.
_LIBRARIES = ("pandas", "polars", "pyarrow")


def key_of(item: Any, owner: Optional[FeatureClass] = None) -> Key:
    """The column of a feature, an FQN or a name; a name alone is a feature of `owner`. Raises
    TypeError for an unknown feature.
    """
    if is_reference(item):
        return Key(str(item), item)
    if not isinstance(item, str):
        raise TypeError(f"{item!r} is no column: a column is named by a feature such as Txn.amount, or by text")
    first, dot, rest = item.partition(".")
    if dot:
        named = owner if owner is not None and owner.namespace == first else None
        found = named or next((known for known in reversed(registry.classes) if known.namespace == first), None)
        return Key(item) if found is None else _key_in(found, rest.split("."), item)
    return Key(item) if owner is None else _key_in(owner, [item], item)


def _key_in(owner: FeatureClass, names: list[str], written: str) -> Key:
    reference: Any = None
    at: Optional[FeatureClass] = owner
    for name in names:
        fields = at.by_name() if at is not None else {}
        field = fields.get(name) or (at.field(name) if at is not None else None)
        if field is None:
            known = at.cls.__name__ if at is not None else written
            raise TypeError(f"'{written}' is no feature: {known} has no '{name}'{did_you_mean(name, fields)}")
        reference = owner.reference(field.attribute) if reference is None else getattr(reference, field.attribute)
        at = field.type.target
    return Key(str(reference), reference)


def columns_of(data: Any, owner: Optional[FeatureClass] = None, order: Sequence[FeatureReference] = ()) -> tuple[Columns, int]:
    """The columns of data in any of the forms that a DataFrame is made from, and the number of
    rows; `order` are the columns of rows that are tuples. Raises TypeError or ValueError.
    """
    from .dataframe import DataFrame

    if data is None:
        return {}, 0
    if isinstance(data, DataFrame):
        if owner is None:
            return dict(data._columns), len(data)
        return {key if key.reference is not None else key_of(key.name, owner): values for key, values in data._columns.items()}, len(data)
    library = type(data).__module__.partition(".")[0]
    if library in _LIBRARIES:
        return _of_pairs(_foreign_columns(data, library), owner)
    if isinstance(data, Mapping):
        return _of_pairs(data.items(), owner)
    if isinstance(data, (str, bytes)) or not isinstance(data, Iterable) or hasattr(type(data), "__svc_features__"):
        given = type(data).__name__
        raise TypeError(f"a DataFrame is made of rows or columns, not of {given}: give a list of instances or dicts, or a dict of lists")
    return _of_rows(list(data), owner, order)


def _of_pairs(data: Iterable[tuple[Any, Any]], owner: Optional[FeatureClass]) -> tuple[Columns, int]:
    columns: Columns = {}
    for name, values in data:
        key = key_of(name, owner)
        if isinstance(values, (str, bytes, Mapping, set, frozenset)) or not hasattr(values, "__iter__"):
            raise TypeError(f"column '{key.name}' is {type(values).__name__}: give a list of values, one for each row")
        if key in columns:
            raise ValueError(f"column '{key.name}' stands there twice")
        columns[key] = _values(values, key.reference)
    sizes = {len(values) for values in columns.values()}
    if len(sizes) > 1:
        listed = ", ".join(f"'{key.name}' has {len(values)}" for key, values in columns.items())
        raise ValueError(f"the columns differ in length: {listed}")
    return columns, sizes.pop() if sizes else 0


def _foreign_columns(data: Any, library: str) -> Iterable[tuple[Any, Any]]:
    """The columns of a table of pandas, polars or pyarrow. Named levels of an index of pandas are
    columns.
    """
    if library == "polars" and hasattr(data, "collect"):
        data = data.collect()
    reader = {"pandas": "iloc", "polars": "get_columns", "pyarrow": "to_pydict"}[library]
    if not hasattr(data, reader) or not hasattr(data, "columns"):
        text = f"a DataFrame is made of tables, not of {library}'s {type(data).__name__}: name its column, such as DataFrame({{Txn.amount: ...}})"
        raise TypeError(text)
    if library == "pyarrow":
        return list(zip(data.schema.names, data.columns))
    if library == "polars":
        return list(zip(data.columns, data.get_columns()))
    levels = [(name, data.index.get_level_values(at).to_series()) for at, name in enumerate(data.index.names) if name is not None]
    return [*levels, *((name, data.iloc[:, at]) for at, name in enumerate(data.columns))]


def _values(values: Any, reference: Optional[FeatureReference]) -> list[Any]:
    """The values of a column of any kind; values that pandas treats as missing are null, and ints
    and dates that it converted get the type of their feature back.
    """
    library = type(values).__module__.partition(".")[0]
    if library == "pyarrow":
        return list(values.to_pylist())
    if library == "polars":
        return list(values.to_list())
    if library == "numpy":
        return list(values.tolist())
    if library != "pandas":
        return list(values)
    wanted = _python_type(reference)
    return [None if gone else _plain(value, wanted) for value, gone in zip(values.tolist(), values.isna().tolist())]


def _python_type(reference: Optional[FeatureReference]) -> Any:
    try:
        return plain_type(field_of(reference).type.python_type) if reference is not None else None
    except DefinitionError:
        return None


def _plain(value: Any, wanted: Any) -> Any:
    for method in ("to_pydatetime", "to_pytimedelta"):
        if hasattr(value, method):
            value = getattr(value, method)()
    if wanted is int and type(value) is float and value.is_integer():
        return int(value)
    if wanted is date and isinstance(value, datetime):
        return value.date()
    return value


def _of_rows(rows: list[Any], owner: Optional[FeatureClass], order: Sequence[FeatureReference]) -> tuple[Columns, int]:
    columns: Columns = {}
    keys: dict[Any, Key] = {}

    def put(key: Key, row: int, value: Any) -> None:
        values = columns.get(key)
        if values is None:
            values = columns[key] = []
        if len(values) < row:
            values.extend([MISSING] * (row - len(values)))
        values.append(value)

    for at, row in enumerate(rows):
        if isinstance(row, Mapping):
            for name, value in row.items():
                key = keys.get(name) if isinstance(name, str) else None
                if key is None:
                    key = key_of(name, owner)
                    if isinstance(name, str):
                        keys[name] = key
                put(key, at, value)
        elif hasattr(type(row), "__svc_features__"):
            for reference, value in _values_of(row, None):
                key = keys.get(id(reference))
                if key is None:
                    key = keys[id(reference)] = Key(str(reference), reference)
                put(key, at, value)
        elif isinstance(row, (tuple, list)) and order:
            if len(row) != len(order):
                raise ValueError(f"row {at} has {len(row)} values for {len(order)} columns: {', '.join(map(str, order))}")
            for reference, value in zip(order, row):
                put(Key(str(reference), reference), at, value)
        elif isinstance(row, (tuple, list)):
            text = f"row {at} is {type(row).__name__}, whose columns have no names: write DataFrame[Txn.id, Txn.amount](rows), or give dicts"
            raise TypeError(text)
        else:
            raise TypeError(f"row {at} is {type(row).__name__}: a row is an instance of a feature class or a dict")
    for key, values in columns.items():
        values.extend([MISSING] * (len(rows) - len(values)))
        if any(value is MISSING for value in values):
            filled = missing_column(key.reference, len(rows)) if key.reference is not None else [None] * len(rows)
            columns[key] = [other if value is MISSING else value for value, other in zip(values, filled)]
    return columns, len(rows)


def _values_of(instance: Any, prefix: Any) -> Iterable[tuple[Any, Any]]:
    """The values set on an instance, with those of has-one relations as columns of their own."""
    owner: FeatureClass = type(instance).__svc_features__
    given = vars(instance)
    for field in owner.members():
        if field.attribute not in given:
            continue
        value = given[field.attribute]
        reference = owner.reference(field.attribute) if prefix is None else getattr(prefix, field.attribute)
        if hasattr(type(value), "__svc_features__"):
            yield from _values_of(value, reference)
        else:
            yield reference, value


def missing_column(reference: FeatureReference, size: int) -> list[Any]:
    """A column that was not given: the feature's default, else None."""
    default = field_of(reference).default
    return [None] * size if default is MISSING else [field_of(reference).default for _ in range(size)]


def instance_maker(keys: list[Key]) -> Callable[[tuple[Any, ...]], Any]:
    """The function that makes a row of its values: an instance of the class that all columns belong
    to, else a dict by column name.
    """
    references = [key.reference for key in keys]
    roots = {id(reference._svc_root): reference._svc_root for reference in references if reference is not None}
    names = [key.name for key in keys]
    if any(reference is None for reference in references) or len(roots) != 1:
        return lambda values: dict(zip(names, values))
    cls: Any = next(iter(roots.values())).cls
    paths = [reference._svc_names for reference in references if reference is not None]
    if all(len(path) == 1 for path in paths):
        attributes = [path[0] for path in paths]

        def make(values: tuple[Any, ...]) -> Any:
            instance = cls.__new__(cls)
            instance.__dict__ = dict(zip(attributes, values))
            return instance

        return make
    targets = [_targets_of(reference) for reference in references if reference is not None]

    def make_nested(values: tuple[Any, ...]) -> Any:
        instance = cls.__new__(cls)
        for path, through, value in zip(paths, targets, values):
            if value is not None:
                holder = vars(instance)
                for attribute, target in zip(path[:-1], through):
                    holder = vars(holder.setdefault(attribute, target.__new__(target)))
                holder[path[-1]] = value
        for path, value in zip(paths, values):
            if value is None:
                _put_none(instance, path)
        return instance

    return make_nested


def _put_none(instance: Any, path: tuple[str, ...]) -> None:
    """Sets the value at a path to None; a relation along the path that leads to no row becomes None
    itself.
    """
    for attribute in path[:-1]:
        holder = vars(instance)
        if holder.get(attribute) is None:
            holder[attribute] = None
            return
        instance = holder[attribute]
    vars(instance)[path[-1]] = None


def _targets_of(reference: FeatureReference) -> list[Any]:
    """The classes that a path goes through after the first."""
    try:
        return [field.type.target.cls for field in fields_of(reference)[:-1] if field.type.target is not None]
    except DefinitionError:
        return []
