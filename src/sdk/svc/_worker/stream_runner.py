"""Runners of streams, called with batches of messages.

The column `message` of a CALL frame holds messages: as text where their bytes are UTF-8, else as
bytes. A RESULT frame has a value per message and output; `skipped` are the rows that were left out
on purpose, and an error's `stage` is ``parse`` when the message could not be read.
"""

from __future__ import annotations

import time
from typing import Any, Dict, List

from .._codec.message import reader_of
from .._codec.values import untag
from .._model.stream import StreamSpec
from .raised import Project
from .runner import CallCancelled, Errors, Runner


class StreamRunner(Runner):
    """The runner of a stream."""

    def __init__(self, spec: StreamSpec, project: Project) -> None:
        super().__init__(spec, project)
        self._type = spec.message_type
        self._checked_type = spec.parse is not None and isinstance(spec.message_type, type)
        self._parse = spec.parse or reader_of(spec.message_type)

    def run(self, message: Dict[str, Any]) -> Dict[str, Any]:
        """Reads the messages and calls the function once for each. A message that raises is an
        error of its row. Raises CallCancelled alone.
        """
        started = time.perf_counter()
        function, parse, checked = self._function, self._parse, self._checked_type
        returned: List[Any] = []
        skipped: List[int] = []
        errors: Errors = []
        for row, raw in enumerate(message["columns"]["message"]):
            given = result = None
            is_read = False
            try:
                given = parse(raw.encode("utf-8") if type(raw) is str else untag(raw))
                if given is not None:
                    if checked and not isinstance(given, self._type):
                        raise TypeError(f"parse returned {type(given).__name__}, and the message is {self._type.__name__}")
                    is_read = True
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
