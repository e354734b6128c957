"""The runner of functions that callers run: columns of arguments in, a column of results out. The
first row that fails ends the call.
"""

from __future__ import annotations

import time
from typing import Any, Dict, Iterator, List

from .._model.function import FunctionSpec
from .column_codec import column_decoder, packing_encoder
from .raised import Project

#: The rows of an `async def` that are awaited at once.
_AT_ONCE = 100
Message = Dict[str, Any]


class FunctionRunner:
    """The runner of a function. `run` answers a CALL frame on the calling thread, `run_async` on an
    event loop.
    """

    def __init__(self, spec: FunctionSpec, project: Project) -> None:
        self.fqn = spec.fqn
        self.is_async = spec.is_async
        self._name = spec.name
        self._project = project
        self._function = spec.fn
        self._batch = spec.batch
        self._decoders = {item.name: column_decoder(item.python_type) for item in spec.parameters}
        self._encode = packing_encoder(spec.python_type)

    def run(self, message: Message) -> Message:
        """Calls the function for the rows. Raises CallCancelled alone."""
        started, returned = time.perf_counter(), []
        try:
            if self._batch:
                return self._batched(message, self._function(**self._columns(message)), started)
            for row in self._rows(message):
                returned.append(self._function(**row))
        except Exception as error:
            return self._failed(message, len(returned), error, started)
        return self._result(message, returned, started)

    async def run_async(self, message: Message) -> Message:
        """Awaits the function for the rows, many at once. Raises asyncio.CancelledError alone."""
        import asyncio

        started = time.perf_counter()
        returned: List[Any] = []
        try:
            if self._batch:
                return self._batched(message, await self._function(**self._columns(message)), started)
            rows = list(self._rows(message))
            for first in range(0, len(rows), _AT_ONCE):
                part = rows[first : first + _AT_ONCE]
                results = await asyncio.gather(*(self._function(**row) for row in part), return_exceptions=True)
                for result in results:
                    if isinstance(result, BaseException):
                        raise result
                    returned.append(result)
        except Exception as error:
            return self._failed(message, len(returned), error, started)
        return self._result(message, returned, started)

    def _columns(self, message: Message) -> Dict[str, List[Any]]:
        """The columns that were given, decoded, by parameter."""
        return {name: self._decoders[name](column) for name, column in message["columns"].items()}

    def _rows(self, message: Message) -> Iterator[Dict[str, Any]]:
        columns = self._columns(message)
        if not columns:
            return iter([{} for _ in range(message["rows"])])
        return (dict(zip(columns, values)) for values in zip(*columns.values()))

    def _batched(self, message: Message, returned: Any, started: float) -> Message:
        """The answer of a function that was called once for all rows."""
        try:
            values = list(returned)
            if isinstance(returned, (str, bytes, dict)):
                raise TypeError
        except TypeError:
            error = TypeError(f"'{self._name}' returned {type(returned).__name__}: with batch=True it returns a list, a value for each row")
            return self._failed(message, 0, error, started)
        if len(values) != message["rows"]:
            error = TypeError(f"'{self._name}' returned {len(values)} values for {message['rows']} rows")
            return self._failed(message, 0, error, started)
        return self._result(message, values, started)

    def _result(self, message: Message, returned: List[Any], started: float) -> Message:
        try:
            column = self._encode(returned)
        except Exception:
            return self._unencoded(message, returned, started)
        return {"type": "RESULT", "id": message["id"], "columns": {"result": column}, "ranMs": _ms_since(started)}

    def _unencoded(self, message: Message, returned: List[Any], started: float) -> Message:
        """The answer when a value cannot be encoded: the error of the first such row."""
        for row, value in enumerate(returned):
            try:
                self._encode([value])
            except Exception as error:
                return self._failed(message, row, error, started)
        return self._failed(message, 0, TypeError(f"what '{self._name}' returned cannot be encoded"), started)

    def _failed(self, message: Message, row: int, error: BaseException, started: float) -> Message:
        described = {**self._project.describe(error), "row": row}
        return {"type": "RESULT", "id": message["id"], "columns": {}, "errors": [described], "ranMs": _ms_since(started)}


def _ms_since(started: float) -> float:
    return (time.perf_counter() - started) * 1000
