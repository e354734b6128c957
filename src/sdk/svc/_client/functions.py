"""Calls of functions of a project: those that are answered at once, and those that the server keeps."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any, Callable, Mapping, Optional, Sequence, Union

from .._types.data_type import PRIMITIVES
from .blocking import Blocking
from .errors import ClientError
from .frames import columns_of_table, plain_column
from .result import ExceptionDetail
from .session import Call
from .steps import Steps
from .tables import optional_time
from .values import decoder, encode
from .waiting import wait_for_end

_SERVICE = "/svc.v1.FunctionService"
_OPEN = ("queued", "running")
#: Python types by the names of types in answers.
_PYTHON_TYPES = {f"PRIMITIVE_TYPE_{name}": python_type for python_type, name in PRIMITIVES.items() if name != "JSON"}

#: Rows of arguments: lists of values by parameter, a table, or a list of rows by parameter.
Arguments = Union[Mapping[str, Sequence[Any]], Sequence[Mapping[str, Any]], Any]


class FunctionFailed(ClientError):
    """A call whose function raised, took too long or returned something else than it states.

    `exception`: what it raised, with its trace; None when it raised nothing.
    """

    def __init__(self, message: str, exception: Optional[ExceptionDetail]) -> None:
        super().__init__(message)
        self.exception = exception


def call_function(call: Call, name: str, arguments: Arguments, version: Optional[int]) -> Steps[list[Any]]:
    """Runs a function and returns a value for each row. Raises ClientError and FunctionFailed."""
    answer = yield from call("POST", f"{_SERVICE}/CallFunction", _request(name, arguments, version))
    if "error" in answer:
        raise _failed(answer["error"])
    return _values(answer)


def submit_call(call: Call, name: str, arguments: Arguments, version: Optional[int]) -> Steps[CallState]:
    """Has the server keep a call. Raises ClientError."""
    answer = yield from call("POST", f"{_SERVICE}/SubmitFunctionCall", _request(name, arguments, version))
    return CallState(call, answer)


def find_call(call: Call, id: str) -> Steps[CallState]:
    """The kept call of an id. Raises ClientError and ValueError."""
    if not isinstance(id, str) or not id:
        raise ValueError(f"a call is named by its id, not {id!r}")
    return CallState(call, (yield from _found(call, id)))


class CallState:
    """What is known of a kept call, and the steps to know more."""

    def __init__(self, call: Call, answer: Mapping[str, Any]) -> None:
        self._call = call
        self._answer = answer

    @property
    def said(self) -> Mapping[str, Any]:
        """The call as the server last said it, and its state in a word as ``status``."""
        said: Mapping[str, Any] = self._answer["call"]
        return {**said, "status": str(said["state"]).rpartition("_")[2].lower()}

    def refreshed(self) -> Steps[Mapping[str, Any]]:
        """What the server says now."""
        if self.said["status"] in _OPEN:
            self._answer = yield from _found(self._call, str(self.said["id"]))
        return self.said

    def cancelled(self) -> Steps[None]:
        """Ends the call."""
        self._answer = yield from self._call("POST", f"{_SERVICE}/CancelFunctionCall", {"id": self.said["id"]})

    def result(self, timeout: Optional[float]) -> Steps[list[Any]]:
        """Waits for the end. Raises TimeoutError, FunctionFailed, and ClientError for a call that was
        cancelled, or whose result is not kept any more.
        """
        what = f"the call {self.said['id']} of {self.said['name']}"
        said = yield from wait_for_end(self.refreshed, _OPEN, what, timeout)
        if said["status"] == "failed":
            raise _failed(said.get("error", {}))
        if said["status"] == "cancelled":
            raise ClientError(f"{what} was cancelled")
        if "result" not in self._answer:
            self._answer = yield from _found(self._call, str(said["id"]))
        if "result" not in self._answer:
            raise ClientError(f"the result of {what} is not kept any more")
        return _values(self._answer)


class FunctionCallFacts:
    """The facts of a kept call."""

    def __init__(self, state: CallState) -> None:
        self._state = state

    def _latest(self) -> Mapping[str, Any]:
        return self._state.said

    @property
    def id(self) -> str:
        """Its id."""
        return str(self._state.said["id"])

    @property
    def name(self) -> str:
        """The function's name."""
        return str(self._state.said["name"])

    @property
    def version(self) -> int:
        """The version that it runs."""
        return int(self._state.said["version"])

    @property
    def trace_id(self) -> str:
        """The id of its trace."""
        return str(self._state.said["traceId"])

    @property
    def status(self) -> str:
        """``queued``, ``running``, ``succeeded``, ``failed`` or ``cancelled``."""
        return str(self._latest()["status"])

    @property
    def error(self) -> str:
        """Why it failed; empty when it did not."""
        return str(self._latest().get("error", {}).get("message", ""))

    @property
    def enqueued_at(self) -> datetime:
        """When the server kept it."""
        made: datetime = optional_time(self._state.said["enqueuedAt"])
        return made

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.id!r}, name={self.name!r}, status={self._state.said['status']!r})"


class FunctionCall(FunctionCallFacts):
    """A call that the server keeps, and goes on with whatever becomes of this object; what it says
    here is what the server says now.
    """

    def __init__(self, run: Blocking, state: CallState) -> None:
        super().__init__(state)
        self._run = run

    def result(self, timeout: Optional[float] = None) -> list[Any]:
        """Waits for the end and returns a value for each row of the arguments.

        timeout: seconds; without it there is no limit. Raises TimeoutError; the call goes on.
        Raises FunctionFailed when the function failed, and ClientError when the call was cancelled or
        ended more than a day ago.
        """
        return self._run(self._state.result(timeout))

    def cancel(self) -> None:
        """Ends the call. Raises ClientError when it has ended."""
        self._run(self._state.cancelled())

    def _latest(self) -> Mapping[str, Any]:
        return self._run(self._state.refreshed())


def _found(call: Call, id: str) -> Steps[Mapping[str, Any]]:
    return call("POST", f"{_SERVICE}/GetFunctionCall", {"id": id})


def _request(name: str, arguments: Arguments, version: Optional[int]) -> dict[str, Any]:
    if not isinstance(name, str) or not name:
        raise TypeError(f"a function is given by its name, not as {name!r}")
    if version is not None and (isinstance(version, bool) or not isinstance(version, int) or version < 1):
        raise ValueError(f"a version is a number from 1 on, not {version!r}")
    columns = _columns(arguments)
    text = "" if columns is None else json.dumps(columns, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return {"name": name, "version": version or 0, "arguments": {"columnsJson": text}}


def _columns(arguments: Arguments) -> Optional[dict[str, list[Any]]]:
    """The arguments as columns; None for one row without any."""
    if arguments is None:
        return None
    table = columns_of_table(arguments)
    if table is None and isinstance(arguments, (list, tuple)):
        rows = [row for row in arguments if isinstance(row, Mapping)]
        if len(rows) < len(arguments) or not rows or any(row.keys() != rows[0].keys() for row in rows):
            raise TypeError("rows of arguments are dicts by parameter, at least one, that all have the same parameters")
        table = {name: [row[name] for row in rows] for name in rows[0]}
    if table is None and not isinstance(arguments, Mapping):
        raise TypeError(f"arguments are lists by parameter, a list of rows, or a table, not {type(arguments).__name__}")
    return {str(name): [encode(value) for value in _column(name, values)] for name, values in (arguments if table is None else table).items()}


def _column(name: Any, values: Any) -> list[Any]:
    if isinstance(values, (str, bytes, dict)) or not hasattr(values, "__iter__"):
        raise TypeError(f"a parameter is given a list, with a value for each row; {name} has {values!r}")
    return plain_column(values)


def _values(answer: Mapping[str, Any]) -> list[Any]:
    result = answer["result"]
    decode = _decoder(result.get("resultType", {}))
    return [decode(value) for value in json.loads(result["columnsJson"])["result"]]


def _decoder(dtype: Mapping[str, Any]) -> Callable[[Any], Any]:
    """A reader of the values of a type: structs are dicts, and an enum is its value. None stays None."""
    if "list" in dtype:
        element = _decoder(dtype["list"]["element"])
        return lambda value: None if value is None else [element(item) for item in value]
    if "struct" in dtype:
        fields = {field["name"]: _decoder(field["dtype"]) for field in dtype["struct"].get("fields", ())}
        return lambda value: None if value is None else {name: read(value.get(name)) for name, read in fields.items()}
    python_type = _PYTHON_TYPES.get(dtype.get("primitive", dtype.get("enum", {}).get("base", "")))
    return _as_it_is if python_type is None else decoder(python_type)


def _as_it_is(value: Any) -> Any:
    return value


def _failed(error: Mapping[str, Any]) -> FunctionFailed:
    said = error.get("exception")
    exception = None
    if said is not None:
        exception = ExceptionDetail(said.get("kind", ""), said.get("message", ""), said.get("stacktrace", ""), said.get("file"), said.get("line"))
    return FunctionFailed(str(error.get("message", "the server gives no reason")), exception)
