"""Tables of pandas, polars and pyarrow: their columns as values of features, and columns of answers
as such tables.
"""

from __future__ import annotations

import base64
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING, Any, Mapping, Optional, Sequence

from .._codec.structs import is_struct_value, struct_hints
from .values import to_datetime, to_timedelta

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow


def columns_of_table(given: Any) -> Optional[dict[Any, list[Any]]]:
    """The columns of a table by name, None for what is missing; None when it is no table of pandas,
    polars or pyarrow. Raises TypeError for a lazy one.
    """
    maker, kind = kind_of(given)
    if maker == "pandas" and kind == "DataFrame":
        return {name: plain_column(given.iloc[:, at]) for at, name in enumerate(given.columns)}
    if maker == "polars" and kind == "DataFrame":
        return dict(given.to_dict(as_series=False))
    if maker == "pyarrow" and kind in ("Table", "RecordBatch"):
        return dict(given.to_pydict())
    if maker == "polars" and kind == "LazyFrame":
        raise TypeError("a LazyFrame has no rows yet: give lazy.collect()")
    return None


def plain_column(column: Any) -> list[Any]:
    """The values of a column as a list, None for what is missing in one of pandas."""
    maker, kind = kind_of(column)
    if maker == "pandas" and hasattr(column, "notna"):
        known = column.notna().tolist()
        return [value if is_known else None for value, is_known in zip(column.astype(object).tolist(), known)]
    for way in ("to_pylist", "to_list", "tolist"):
        convert = getattr(column, way, None)
        if convert is not None:
            return list(convert())
    return list(column)


def to_arrow(columns: Mapping[str, Sequence[Any]], types: Mapping[str, Any]) -> pyarrow.Table:
    """The table of columns, by pyarrow. `types` are those of `QueryMeta.types`; a column without one
    has the type that its values have.
    """
    import pyarrow

    arrays = {name: pyarrow.array(_typed(values, types.get(name)), _arrow_type(pyarrow, types.get(name))) for name, values in columns.items()}
    return pyarrow.table(arrays)


def to_polars(columns: Mapping[str, Sequence[Any]], types: Mapping[str, Any]) -> polars.DataFrame:
    """The same as a DataFrame of polars."""
    import polars

    return polars.DataFrame(
        [polars.Series(name, _typed(values, types.get(name)), _polars_type(polars, types.get(name))) for name, values in columns.items()]
    )


def to_pandas(columns: Mapping[str, Sequence[Any]], types: Mapping[str, Any]) -> pandas.DataFrame:
    """The same as a DataFrame of pandas. Integers and booleans stay such where some are missing:
    their columns are ``Int64`` and ``boolean`` then.
    """
    import pandas

    found: dict[str, Any] = {}
    for name, values in columns.items():
        typed = _typed(values, types.get(name))
        found[name] = pandas.Series(typed, dtype=_pandas_type(types.get(name), any(value is None for value in typed)))
    return pandas.DataFrame(found)


def kind_of(given: Any) -> tuple[str, str]:
    """The package and the name of a value's class."""
    return type(given).__module__.partition(".")[0], type(given).__name__


def _typed(values: Sequence[Any], kind: Any) -> list[Any]:
    return [_value(value, kind) for value in values]


def _value(value: Any, kind: Any) -> Any:
    """A value as tables have it: structs and rows are dicts; what came as plain JSON, because its
    class is not known here, has the type that the answer states.
    """
    if isinstance(value, Enum):
        value = value.value
    if value is None or kind is None:
        return value
    if isinstance(kind, Mapping):
        if kind["type"] in ("list", "set"):
            members = sorted(value, key=repr) if isinstance(value, (set, frozenset)) else value
            return [_value(item, kind["items"]) for item in members]
        if kind["type"] == "struct":
            given = _fields(value)
            return {field["name"]: _value(given.get(field["name"].rpartition(".")[2]), field["type"]) for field in kind["fields"]}
        return list(value)
    if kind == "json":
        import json

        return json.dumps(value, ensure_ascii=False)
    convert = _FROM_JSON.get(kind)
    return convert(value) if convert else value


_FROM_JSON: Mapping[str, Any] = {
    "timestamp": lambda value: value if isinstance(value, datetime) else to_datetime(value),
    "duration": lambda value: value if isinstance(value, timedelta) else to_timedelta(value),
    "date": lambda value: value if isinstance(value, date) else date.fromisoformat(value),
    "bytes": lambda value: value if isinstance(value, bytes) else base64.b64decode(value),
    "decimal": lambda value: value if isinstance(value, Decimal) else Decimal(str(value)),
}


def _fields(value: Any) -> Mapping[str, Any]:
    """The fields of a struct, or of a row of a relation by the names that answers have for them."""
    if isinstance(value, Mapping):
        return {str(name).rpartition(".")[2]: item for name, item in value.items()}
    if is_struct_value(value):
        return {name: getattr(value, name) for name, _ in struct_hints(type(value))}
    definition = type(value).__svc_features__
    known = [(definition.field(name), item) for name, item in vars(value).items()]
    return {field.name: item for field, item in known if field is not None}


def _arrow_type(pyarrow: Any, kind: Any) -> Any:
    if isinstance(kind, Mapping):
        if kind["type"] in ("list", "set"):
            item = _arrow_type(pyarrow, kind["items"])
            return pyarrow.list_(item) if item is not None else None
        if kind["type"] == "struct":
            fields = [(field["name"], _arrow_type(pyarrow, field["type"])) for field in kind["fields"]]
            return pyarrow.struct(fields) if all(type is not None for _, type in fields) else None
        return pyarrow.list_(pyarrow.float64())
    makers = {
        "int64": pyarrow.int64,
        "float64": pyarrow.float64,
        "string": pyarrow.string,
        "bool": pyarrow.bool_,
        "bytes": pyarrow.binary,
        "date": pyarrow.date32,
        "timestamp": lambda: pyarrow.timestamp("us", "UTC"),
        "duration": lambda: pyarrow.duration("us"),
        "json": pyarrow.string,
    }
    # Digits of decimals are as many as the values have.
    return makers[kind]() if kind in makers else None


def _polars_type(polars: Any, kind: Any) -> Any:
    if isinstance(kind, Mapping):
        if kind["type"] in ("list", "set"):
            item = _polars_type(polars, kind["items"])
            return polars.List(item) if item is not None else None
        if kind["type"] == "struct":
            fields = [(field["name"], _polars_type(polars, field["type"])) for field in kind["fields"]]
            return polars.Struct([polars.Field(*field) for field in fields]) if all(type is not None for _, type in fields) else None
        return polars.List(polars.Float64)
    types = {
        "int64": polars.Int64,
        "float64": polars.Float64,
        "string": polars.String,
        "bool": polars.Boolean,
        "bytes": polars.Binary,
        "date": polars.Date,
        "timestamp": polars.Datetime("us", "UTC"),
        "duration": polars.Duration("us"),
        "json": polars.String,
    }
    return types.get(kind)


def _pandas_type(kind: Any, has_missing: bool) -> Any:
    if kind == "int64":
        return "Int64" if has_missing else "int64"
    if kind == "bool":
        return "boolean" if has_missing else "bool"
    return {"float64": "float64", "timestamp": "datetime64[us, UTC]", "duration": "timedelta64[us]"}.get(kind, "object") if isinstance(kind, str) else "object"
