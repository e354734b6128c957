"""Runners of resolvers that take or return DataFrames, called with batches.

In a CALL frame the rows of a has-many relation are columns, concatenated over all rows of the
batch, with the offset at which each row's part begins; a table is columns. A RESULT frame has rows
in the same form: `groups` with offsets and columns.
"""

from __future__ import annotations

import time
from datetime import datetime
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

from .._codec.values import decoder
from .._frames.columns import Key
from .._frames.dataframe import DataFrame, refuse_others
from .._frames.spec import ColumnSpec
from .._frames.unit_call import rows_returned
from .._model.function import FUNCTION
from .._model.model_call import ModelDefinition
from .._model.resolver import InputSpec, ResolverSpec
from .._model.sink import SINK
from .._model.stream import StreamSpec
from .blocks import packed
from .column_codec import Unreadable, attempt, column_decoder, column_encoder
from .raised import Project
from .runner import CallCancelled, Errors, Input, Row, Runner

_to_datetime = decoder(datetime)


def runner_for(spec: Any, project: Project) -> Any:
    """The runner of a resolver, or of a function that callers run."""
    if spec.kind == FUNCTION:
        from .function_runner import FunctionRunner

        return FunctionRunner(spec, project)
    if isinstance(spec, StreamSpec):
        from .stream_runner import BatchRunner, StreamRunner

        return BatchRunner(spec, project) if spec.batches else StreamRunner(spec, project)
    if spec.kind == SINK:
        from .sink_runner import SinkRunner

        return SinkRunner(spec, project)
    if isinstance(spec.definition, ModelDefinition):
        from .model_runner import ModelRunner

        return ModelRunner(spec, project)
    if spec.shape:
        return RowsRunner(spec, project)
    return FrameRunner(spec, project) if spec.has_frames else Runner(spec, project)


class _Columns:
    """The decoder of a frame's columns by their paths."""

    def __init__(self, known: Dict[str, ColumnSpec], is_declared: bool) -> None:
        self._is_declared = is_declared
        self._known = {path: (Key(path, item.reference), column_decoder(item.python_type), decoder(item.python_type)) for path, item in known.items()}

    def read(self, given: Dict[str, List[Any]], size: int) -> Tuple[Dict[Key, List[Any]], bool]:
        """The columns by key, and whether every value could be decoded. Columns that were not asked
        for are left out; those asked for and not given are null.
        """
        columns: Dict[Key, List[Any]] = {}
        clean = True
        for path, values in given.items():
            found = self._known.get(path)
            if found is None:
                continue
            key, decode_column, decode = found
            try:
                columns[key] = decode_column(values)
            except Exception:
                columns[key], clean = [attempt(decode, value) for value in values], False
        if self._is_declared or size == 0:
            for key, _, _ in self._known.values():
                columns.setdefault(key, [None] * size)
        return columns, clean


class FrameRunner(Runner):
    """The runner of a resolver of values that takes rows of has-many relations."""

    def __init__(self, spec: ResolverSpec, project: Project) -> None:
        super().__init__(spec, project)
        self._frames = {item.name: _Columns(_known(item), item.rows is None or bool(item.rows.columns)) for item in spec.inputs if item.is_frame}
        self._rows = {item.name: item.rows for item in spec.inputs if item.rows is not None}

    def _read(self, item: Input, message: Dict[str, Any], values: Any) -> Tuple[List[Any], bool]:
        if item.name not in self._frames:
            return item.read(values)
        if item.name in self._rows:
            return self._read_rows(item.name, message)
        columns, clean = self._frames[item.name].read(message["tables"][item.name], message["rows"])
        unreadable = None if clean else _first_unreadable(columns.values())
        return [unreadable or DataFrame._of(columns, message["rows"], _now_of(message, 0))], clean

    def _read_rows(self, name: str, message: Dict[str, Any]) -> Tuple[List[Any], bool]:
        group = message["groups"][name]
        offsets = group["offsets"]
        columns, clean = self._frames[name].read(group["columns"], offsets[-1])
        is_list = self._rows[name].is_list
        frames: List[Any] = []
        for row in range(message["rows"]):
            start, end = offsets[row], offsets[row + 1]
            own = {key: values[start:end] for key, values in columns.items()}
            unreadable = None if clean else _first_unreadable(own.values())
            if is_list:
                frames.append(unreadable or next(map(list, own.values())))
                continue
            frames.append(unreadable or DataFrame._of(own, end - start, _now_of(message, row)))
        return frames, clean


class RowsRunner(FrameRunner):
    """The runner of a resolver that returns rows: of its class, or of a has-many relation."""

    def __init__(self, spec: ResolverSpec, project: Project) -> None:
        super().__init__(spec, project)
        self._spec = spec
        self._is_relation = spec.shape == "RELATION"
        self._takes_table = spec.takes_table
        encoders = [column_encoder(item.python_type) for item in spec.outputs]
        self._columns_out = list(zip(self._names, self._attributes, encoders))

    def _prepare(self, message: Dict[str, Any]) -> Tuple[Callable[..., Any], Iterator[Row]]:
        if not self._takes_table:
            return super()._prepare(message)
        once = {**message, "now": message["now"][:1]}
        return super()._prepare(once)

    def _result(self, message: Dict[str, Any], returned: List[Any], errors: Errors, started: float) -> Dict[str, Any]:
        statements = self._statements_of(returned, errors)
        offsets = [0]
        columns: Dict[str, List[Any]] = {name: [] for name in self._names}
        failed = {error["row"] for error in errors}
        for index, value in enumerate(returned):
            size = 0
            if index not in failed:
                try:
                    size, encoded = self._encode(value)
                    for name, values in encoded.items():
                        columns[name].extend(values)
                except CallCancelled:
                    raise
                except BaseException as error:
                    self._failed(errors, index, error)
                    size = 0
            offsets.append(offsets[-1] + size)
        result: Dict[str, Any] = {
            "type": "RESULT",
            "id": message["id"],
            "columns": {},
            "groups": {"offsets": offsets, "columns": {name: packed(values) for name, values in columns.items()}},
            "ranMs": (time.perf_counter() - started) * 1000,
        }
        self._checks.add_to(result, columns)
        statements.add_to(result)
        if errors and self._takes_table:
            result["errors"] = [{**errors[0], "row": row} for row in range(message["rows"])]
        elif errors:
            errors.sort(key=lambda error: error["row"])
            result["errors"] = errors
        return result

    def _encode(self, value: Any) -> Tuple[int, Dict[str, List[Any]]]:
        """The rows that a call returned, as columns. Raises TypeError when they are none, or have
        columns that are not declared.
        """
        cls = self._output_class
        if type(value) in (list, tuple) and all(type(row) is cls for row in value):
            given = [vars(row) for row in value]
            if all(values.keys() <= self._allowed for values in given):
                return len(given), {name: encode([row.get(attribute) for row in given]) for name, attribute, encode in self._columns_out}
        frame = rows_returned(self._spec, value)
        refuse_others(frame, self._names, f"what {self.fqn} returns")
        own = {key.name: values for key, values in frame._columns.items()}
        size = len(frame)
        return size, {name: encode(own[name]) if name in own else [None] * size for name, _, encode in self._columns_out}


def _known(item: InputSpec) -> Dict[str, ColumnSpec]:
    if item.rows is not None:
        return item.rows.known_columns()
    return {column.path: column for column in item.table.columns} if item.table is not None else {}


def _now_of(message: Dict[str, Any], row: int) -> Any:
    now = message["now"]
    return _to_datetime(now[row]) if row < len(now) else None


def _first_unreadable(columns: Any) -> Optional[Unreadable]:
    return next((value for values in columns for value in values if type(value) is Unreadable), None)
