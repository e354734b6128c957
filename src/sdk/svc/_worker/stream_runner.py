"""Runners of streams, called with batches of messages.

The column `message` of a CALL frame holds messages: as text where their bytes are UTF-8, else as
bytes. A RESULT frame has a value per message and output, or the rows that a batch gives; `skipped`
are the messages that were left out on purpose, and an error's `stage` is ``parse`` when the message
could not be read. A function of a batch that raises is an error of each message that it got.
"""

from __future__ import annotations

import time
from typing import Any, Callable, Dict, Iterator, List, Tuple

from .._codec.message import field_names, reader_of
from .._codec.values import untag
from .._frames.columns import key_of
from .._frames.dataframe import DataFrame
from .._model.stream import StreamSpec
from .blocks import packed
from .frame_runner import RowsRunner
from .raised import Project
from .runner import CallCancelled, Errors, Runner


def _message_reader(spec: StreamSpec) -> Callable[[Any], Any]:
    """The function that makes a message of what a CALL frame holds of it; None leaves it out."""
    parse = spec.parse or reader_of(spec.message_type)
    wanted = spec.message_type if spec.parse is not None and isinstance(spec.message_type, type) else None

    def read(raw: Any) -> Any:
        given = parse(raw.encode("utf-8") if type(raw) is str else untag(raw))
        if given is not None and wanted is not None and not isinstance(given, wanted):
            raise TypeError(f"parse returned {type(given).__name__}, and the message is {wanted.__name__}")
        return given

    return read


class StreamRunner(Runner):
    """The runner of a stream of single messages."""

    takes_statements = False

    def __init__(self, spec: StreamSpec, project: Project) -> None:
        super().__init__(spec, project)
        self._reader = _message_reader(spec)

    def run(self, message: Dict[str, Any]) -> Dict[str, Any]:
        """Reads the messages and calls the function once for each. A message that raises is an
        error of its row. Raises CallCancelled alone.
        """
        started = time.perf_counter()
        function, read = self._function, self._reader
        returned: List[Any] = []
        skipped: List[int] = []
        errors: Errors = []
        for row, raw in enumerate(message["columns"]["message"]):
            given = result = None
            is_read = False
            try:
                given = read(raw)
                is_read = True
                if given is not None:
                    result = function(given)
                if result is None:
                    skipped.append(row)
            except CallCancelled:
                raise
            except BaseException as error:
                self._failed(errors, row, error)
                if not is_read:
                    errors[-1]["stage"] = "parse"
            returned.append(result)
        answer = self._result(message, returned, errors, started)
        if skipped:
            answer["skipped"] = skipped
        return answer


class BatchRunner(RowsRunner):
    """The runner of a stream whose function takes the messages of a call as a DataFrame."""

    takes_statements = False

    def __init__(self, spec: StreamSpec, project: Project) -> None:
        super().__init__(spec, project)
        self._reader = _message_reader(spec)
        self._fields = field_names(spec.message_type)

    def run(self, message: Dict[str, Any]) -> Dict[str, Any]:
        """Reads the messages and calls the function once with those that could be read. Raises
        CallCancelled alone.
        """
        started = time.perf_counter()
        errors: Errors = []
        skipped: List[int] = []
        read = list(self._read_messages(message["columns"]["message"], errors, skipped))
        size, columns = 0, {name: [] for name in self._names}
        if read:
            frame = DataFrame._of({key_of(name): [getattr(given, name) for _, given in read] for name in self._fields}, len(read))
            try:
                size, columns = self._encode(self._function(frame))
            except CallCancelled:
                raise
            except BaseException as error:
                self._failed(errors, read[0][0], error)
                errors.extend([{**errors[-1], "row": row, "stack": ""} for row, _ in read[1:]])
        result: Dict[str, Any] = {
            "type": "RESULT",
            "id": message["id"],
            "columns": {},
            "groups": {"offsets": [0, size], "columns": {name: packed(values) for name, values in columns.items()}},
            "ranMs": (time.perf_counter() - started) * 1000,
        }
        self._checks.add_to(result, columns)
        if errors:
            result["errors"] = errors
        if skipped:
            result["skipped"] = skipped
        return result

    def _read_messages(self, raw: List[Any], errors: Errors, skipped: List[int]) -> Iterator[Tuple[int, Any]]:
        """The messages that could be read, with their rows."""
        for row, one in enumerate(raw):
            try:
                given = self._reader(one)
            except CallCancelled:
                raise
            except BaseException as error:
                self._failed(errors, row, error)
                errors[-1]["stage"] = "parse"
                continue
            if given is None:
                skipped.append(row)
            else:
                yield row, given
