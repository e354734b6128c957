"""Bulk queries whose inputs are a table: where pyarrow is installed they go as a stream of Arrow, and
so do their answers.
"""

from __future__ import annotations

import importlib.util
import json
from typing import TYPE_CHECKING, Any, Callable, Mapping, Optional, Sequence

from .._model.feature_class import FeatureClass
from .frames import kind_of
from .result import BulkQueryResult, ErrorDetail, QueryMeta, error_of, meta_of
from .values import decode_field, encode, fields_along

if TYPE_CHECKING:
    import polars
    import pyarrow

#: Names of texts that schemas carry: the query beside a table of inputs, and what an answer says
#: beside its columns.
_QUERY, _META, _ERRORS = b"svc.query", b"svc.meta", b"svc.errors"
#: Longest text of a schema that the server takes, in bytes.
_LONGEST_TEXT = 1024 * 1024


def stream_of(given: Any, query: Mapping[str, Any]) -> Optional[bytes]:
    """A table of inputs as a stream, with the rest of its query. None when it cannot go so: it is no
    table, pyarrow is not installed, or a column has a type that the server takes as JSON alone.
    """
    text = json.dumps(query).encode()
    if len(text) > _LONGEST_TEXT or kind_of(given)[0] not in ("pandas", "polars", "pyarrow") or importlib.util.find_spec("pyarrow") is None:
        return None
    import pyarrow

    table = _arrow_of(pyarrow, given)
    if table is None or len(set(table.column_names)) < table.num_columns or not all(_is_taken(pyarrow.types, field.type) for field in table.schema):
        return None
    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, table.schema.with_metadata({_QUERY: text})) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def arrow_result(content: bytes, known: Mapping[str, FeatureClass]) -> BulkQueryResult:
    """The answer of ``/v1/query/bulk`` as a stream."""
    import pyarrow

    table = pyarrow.ipc.open_stream(content).read_all()
    said = {name: json.loads(text) for name, text in (table.schema.metadata or {}).items() if name in (_META, _ERRORS)}
    errors = [error_of(error) for error in said.get(_ERRORS, ())]
    return TableResult(table.replace_schema_metadata(), errors, meta_of(said.get(_META)), known)


class TableResult(BulkQueryResult):
    """An answer that came as a table. Its values are taken out of it when they are asked for."""

    def __init__(self, table: pyarrow.Table, errors: list[ErrorDetail], meta: QueryMeta, known: Mapping[str, FeatureClass]) -> None:
        super().__init__({}, errors, meta)
        self._table = table
        self._known = known

    @property
    def data(self) -> dict[str, list[Any]]:
        if not self._data:
            self._data = {name: self._values(name) for name in self._table.column_names}
        return self._data

    def __len__(self) -> int:
        rows: int = self._table.num_rows
        return rows

    def to_arrow(self) -> pyarrow.Table:
        return self._table if self._is_plain() else super().to_arrow()

    def to_polars(self) -> polars.DataFrame:
        if not self._is_plain():
            return super().to_polars()
        import polars

        made = polars.from_arrow(self._table)
        assert isinstance(made, polars.DataFrame)
        return made

    def _values(self, name: str) -> list[Any]:
        kind, fields = self.meta.types.get(name), fields_along(name, self._known)
        return [decode_field(_api_form(value, kind), fields, kind) for value in self._table[name].to_pylist()]

    def _is_plain(self) -> bool:
        """Whether the table has the types that tables made of values have."""
        return all(_is_plain(self.meta.types.get(name)) for name in self._table.column_names)


def _is_plain(kind: Any) -> bool:
    """Whether the server's column of a type is what `frames` makes of its values: decimals, sets, JSON
    and vectors are not.
    """
    if isinstance(kind, Mapping):
        parts = [kind["items"]] if kind["type"] == "list" else [field["type"] for field in kind.get("fields", ())]
        return kind["type"] in ("list", "struct") and all(_is_plain(part) for part in parts)
    return kind in ("int64", "float64", "string", "bool", "bytes", "date", "timestamp", "duration")


def _api_form(value: Any, kind: Any) -> Any:
    """A value of a column as the API's JSON has it."""
    if value is None:
        return None
    if kind == "json":
        return json.loads(value)
    if isinstance(kind, Mapping) and kind["type"] == "struct":
        return {field["name"]: _api_form(value[field["name"]], field["type"]) for field in kind["fields"]}
    if isinstance(kind, Mapping) and kind["type"] in ("list", "set"):
        return [_api_form(item, kind["items"]) for item in value]
    return encode(value)


def _arrow_of(pyarrow: Any, given: Any) -> Optional[pyarrow.Table]:
    """A table as one of pyarrow; None when it is none, or holds what pyarrow has no type for."""
    maker, kind = kind_of(given)
    try:
        if maker == "pyarrow" and kind == "Table":
            return given
        if maker == "pyarrow" and kind == "RecordBatch":
            return pyarrow.Table.from_batches([given])
        if maker == "polars" and kind == "DataFrame":
            return given.to_arrow()
        if maker == "pandas" and kind == "DataFrame" and all(isinstance(name, str) for name in given.columns):
            return pyarrow.Table.from_pandas(given, preserve_index=False)
    except (pyarrow.ArrowException, TypeError, ValueError):
        return None
    return None


def _is_taken(types: Any, type: Any) -> bool:
    """Whether the server takes columns of a type."""
    if types.is_struct(type):
        return all(_is_taken(types, field.type) for field in type)
    if types.is_list(type) or types.is_large_list(type) or types.is_fixed_size_list(type) or types.is_dictionary(type):
        return _is_taken(types, type.value_type)
    basic: Sequence[Callable[[Any], bool]] = (
        *(types.is_null, types.is_integer, types.is_floating, types.is_boolean, types.is_date, types.is_timestamp, types.is_duration),
        *(types.is_string, types.is_large_string, types.is_binary, types.is_large_binary, types.is_decimal128),
    )
    return any(is_one(type) for is_one in basic)
