"""Runners of resolvers, called with batches: parameters are decoded and outputs encoded by their
declared types.
"""

from __future__ import annotations

import time
from datetime import datetime
from typing import Any, Callable, Dict, Iterator, List, Tuple

from .._codec.values import decoder, untag
from .._model.context import NO_CONTEXT, CallInfo, frozen
from .._model.resolver import InputSpec, ResolverSpec
from .._model.statement import SQLStatement
from .blocks import Column
from .checks import Checks
from .column_codec import Unreadable, attempt, column_decoder, packing_encoder
from .raised import Project
from .statements import Statements

#: The number of rows whose errors carry a traceback; the others have kind, message, file and line
#: only.
_STACKS = 10

Row = Tuple[Any, ...]
Errors = List[Dict[str, Any]]


class CallCancelled(BaseException):
    """The exception raised into a running resolver whose time is up. Not an Exception, so that
    ``except Exception`` does not catch it.
    """


def call_info(message: Dict[str, Any]) -> CallInfo:
    """The context of a CALL frame."""
    context = message["context"]
    values = context["queryContext"]
    return CallInfo(
        message["resolver"],
        context["queryId"],
        context["traceId"],
        tuple(context["tags"]),
        frozen(untag(values)) if values else NO_CONTEXT,
        context.get("traceparent", ""),
        {name: context[name] for name in ("tracestate", "baggage") if name in context},
    )


class Runner:
    """The runner of a resolver of values. `run` answers a CALL frame on the calling thread,
    `run_async` on an event loop.
    """

    #: Whether the server runs the statements that it returns.
    takes_statements = True

    def __init__(self, spec: ResolverSpec, project: Project) -> None:
        self.fqn = spec.fqn
        self.is_async = spec.is_async
        self._project = project
        self._unpack = spec.unpack
        self._several = spec.returns_several
        self._output_class = spec.output_class
        self._attributes = [item.attribute for item in spec.outputs]
        keys = spec.output_class.__svc_features__.primary_keys  # type: ignore[attr-defined]
        self._allowed = frozenset((*self._attributes, *(key.attribute for key in keys)))
        self._function = spec.fn
        self._inputs = [Input(item) for item in spec.inputs]
        self._names = [item.fqn for item in spec.outputs]
        self._encoders = [packing_encoder(item.python_type) for item in spec.outputs]
        self._checks = Checks(spec.outputs)
        self._is_rows = bool(spec.shape)
        self._keys = [key.attribute for key in keys]

    def run(self, message: Dict[str, Any]) -> Dict[str, Any]:
        """Calls the resolver once a row. A row that raises is an error of that row. Raises
        CallCancelled alone.
        """
        started = time.perf_counter()
        function, rows = self._prepare(message)
        returned: List[Any] = []
        errors: Errors = []
        for index, row in enumerate(rows):
            try:
                returned.append(function(*row))
            except CallCancelled:
                raise
            except BaseException as error:
                returned.append(None)
                self._failed(errors, index, error)
        return self._result(message, returned, errors, started)

    async def run_async(self, message: Dict[str, Any]) -> Dict[str, Any]:
        """Awaits the resolver for all rows at once. Raises asyncio.CancelledError alone."""
        import asyncio

        started = time.perf_counter()
        function, prepared = self._prepare(message)
        rows = list(prepared)
        returned: List[Any] = [None] * len(rows)
        errors: Errors = []

        async def run_row(index: int, row: Row) -> None:
            try:
                returned[index] = await function(*row)
            except asyncio.CancelledError:
                raise
            except BaseException as error:
                self._failed(errors, index, error)

        if len(rows) == 1:
            await run_row(0, rows[0])
        else:
            await asyncio.gather(*(run_row(index, row) for index, row in enumerate(rows)))
        return self._result(message, returned, errors, started)

    def _prepare(self, message: Dict[str, Any]) -> Tuple[Callable[..., Any], Iterator[Row]]:
        """The function to call and its arguments, row by row."""
        if not self._inputs:
            return self._function, iter([()] * message["rows"])
        given, now = message["columns"], message["now"]
        columns, readable = [], True
        for item in self._inputs:
            column, clean = self._read(item, message, now if item.is_now else given.get(item.name))
            columns.append(column)
            readable = readable and clean
        return (self._function if readable else self._guarded), zip(*columns)

    def _read(self, item: Input, _message: Dict[str, Any], values: Any) -> Tuple[List[Any], bool]:
        """A parameter's values, one for each call, and whether all of them could be read."""
        return item.read(values)

    def _guarded(self, *row: Any) -> Any:
        for value in row:
            if type(value) is Unreadable:
                raise value.error
        return self._function(*row)

    def _failed(self, errors: Errors, index: int, error: BaseException) -> None:
        described = self._project.describe(error, with_stack=len(errors) < _STACKS)
        described["row"] = index
        errors.append(described)

    def _result(self, message: Dict[str, Any], returned: List[Any], errors: Errors, started: float) -> Dict[str, Any]:
        statements = self._statements_of(returned, errors)
        try:
            columns = self._columns(returned)
        except Exception:
            columns = self._columns([self._checked(index, value, errors) for index, value in enumerate(returned)])
        result: Dict[str, Any] = {"type": "RESULT", "id": message["id"], "columns": columns, "ranMs": (time.perf_counter() - started) * 1000}
        self._checks.add_to(result, columns)
        statements.add_to(result)
        if errors:
            errors.sort(key=lambda error: error["row"])
            result["errors"] = errors
        return result

    def _statements_of(self, returned: List[Any], errors: Errors) -> Statements:
        """The statements among the results, which are None there afterwards: the server runs them."""
        statements = Statements(self._names, self._keys, self._is_rows)
        for index, value in enumerate(returned):
            if type(value) is not SQLStatement:
                continue
            returned[index] = None
            try:
                if not self.takes_statements:
                    raise TypeError("what a stream's function returns is not run: it returns values, and no statement")
                statements.add(index, value)
            except Exception as error:
                self._failed(errors, index, error)
        return statements

    def _columns(self, returned: List[Any]) -> Dict[str, Column]:
        if not self._several and not any(type(value) is self._output_class for value in returned):
            return {self._names[0]: self._encoders[0](returned)}
        rows = [self._spread(value) for value in returned]
        return {
            name: encode([row[position] for row in rows]) for position, (name, encode) in enumerate(zip(self._names, self._encoders))
        }

    def _spread(self, returned: Any) -> Tuple[Any, ...]:
        if type(returned) is self._output_class:
            values = vars(returned)
            if values.keys() <= self._allowed:
                return tuple([values.get(attribute) for attribute in self._attributes])
        return self._unpack(returned)

    def _checked(self, index: int, value: Any, errors: Errors) -> Any:
        """The value if it can be encoded, else None and an error of its row."""
        try:
            self._columns([value])
        except Exception as error:
            self._failed(errors, index, error)
            return None
        return value


class Input:
    """A parameter with the decoder of its column."""

    def __init__(self, spec: InputSpec) -> None:
        self.name = spec.name
        self.is_now = spec.is_now
        self._decode = decoder(datetime if spec.is_now else spec.python_type)
        self._decode_column = column_decoder(datetime if spec.is_now else spec.python_type)
        self._default = spec.default

    def read(self, values: List[Any]) -> Tuple[List[Any], bool]:
        """The column decoded, and whether all of it could be."""
        clean = True
        try:
            column = self._decode_column(values)
        except Exception:
            column, clean = [attempt(self._decode, value) for value in values], False
        return (column if self._default is None else [self._default if value is None else value for value in column]), clean
