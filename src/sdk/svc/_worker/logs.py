"""Output and log records of user code, sent to the server with the resolver and the query that they
belong to.
"""

from __future__ import annotations

import io
import logging
import os
import sys
import time
from typing import Any, Callable, Dict, Optional, TextIO

from .._model.context import current_call

#: Longest line in characters; the rest is cut off.
LINE_LENGTH = 8_192
#: Lines and characters sent per second; what exceeds them is counted and dropped.
LINES_PER_SECOND = 1_000
CHARACTERS_PER_SECOND = 1_048_576

Send = Callable[[Dict[str, Any]], None]


class LogSink:
    """A sender of lines as LOG frames, at a bounded rate."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._second = 0
        self._lines = 0
        self._characters = 0
        self._dropped = 0

    def redirect(self, send: Send) -> None:
        """Replaces the function that sends lines."""
        self._send = send

    def emit(self, level: str, text: str, logger: str) -> None:
        """Sends a line, unless this second's limit is reached."""
        second = int(time.monotonic())
        if second != self._second:
            dropped, self._dropped = self._dropped, 0
            self._second, self._lines, self._characters = second, 0, 0
            if dropped:
                self._frame("warning", f"[{dropped} lines within a second were dropped]", logger)
        self._lines += 1
        self._characters += min(len(text), LINE_LENGTH)
        if self._lines > LINES_PER_SECOND or self._characters > CHARACTERS_PER_SECOND:
            self._dropped += 1
            return
        self._frame(level, text if len(text) <= LINE_LENGTH else text[: LINE_LENGTH - 1] + "\u2026", logger)

    def report_dropped(self, at_end: bool = False) -> None:
        """Sends the number of dropped lines, once the second in which they were dropped is over, or
        when no more lines come.
        """
        if self._dropped and (at_end or int(time.monotonic()) != self._second):
            dropped, self._dropped = self._dropped, 0
            self._frame("warning", f"[{dropped} lines within a second were dropped]", "svc")

    def _frame(self, level: str, text: str, logger: str) -> None:
        call = current_call.get()
        self._send(
            {
                "type": "LOG",
                "level": level,
                "text": text,
                "logger": logger,
                "resolver": call.resolver if call else "",
                "queryId": call.query_id if call else "",
                "timestampMs": time.time() * 1000,
            }
        )


class LogStream(io.TextIOBase):
    """A replacement of ``sys.stdout`` or ``sys.stderr``. Bytes written to its ``buffer`` or its
    file descriptor bypass it and go into the pipe.
    """

    def __init__(self, sink: LogSink, level: str, name: str, raw: TextIO) -> None:
        super().__init__()
        self._sink = sink
        self._level = level
        self._name = name
        self._raw = raw
        self._partial: Dict[int, str] = {}

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return "utf-8"

    @property
    def errors(self) -> str:  # type: ignore[override]
        return "backslashreplace"

    @property
    def name(self) -> str:
        return f"<{self._name}>"

    @property
    def buffer(self) -> Any:
        return self._raw.buffer

    def fileno(self) -> int:
        return self._raw.fileno()

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        key = id(current_call.get())
        *lines, rest = (self._partial.pop(key, "") + text).split("\n")
        for line in lines:
            self._sink.emit(self._level, line, self._name)
        if len(rest) > LINE_LENGTH:
            self._sink.emit(self._level, rest, self._name)
        elif rest:
            self._partial[key] = rest
        return len(text)

    def end_call(self) -> None:
        """Sends the unfinished line of the current call."""
        if self._partial:
            rest = self._partial.pop(id(current_call.get()), "")
            if rest:
                self._sink.emit(self._level, rest, self._name)


class LogHandler(logging.Handler):
    """A log handler that sends the records of every logger without a handler of its own among its
    ancestors.
    """

    def __init__(self, sink: LogSink) -> None:
        super().__init__()
        self._sink = sink
        self.setFormatter(logging.Formatter("%(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._sink.emit(_level_of(record.levelno), self.format(record), record.name)
        except Exception:
            self._sink.emit("error", f"a log record of {record.pathname}:{record.lineno} could not be formatted", record.name)


def take_over(sink: LogSink, stdout: LogStream, stderr: LogStream) -> None:
    """Has the output, the log records and the warnings of this process sent as lines."""
    sys.stdout, sys.stderr = stdout, stderr  # type: ignore[assignment]
    logging.getLogger().addHandler(LogHandler(sink))
    logging.getLogger().setLevel(level_from(os.environ.get("SVC_LOG_LEVEL")))
    logging.captureWarnings(True)


def write_line(message: Dict[str, Any]) -> None:
    """Writes a LOG frame's text to the file descriptor of its stream, for a process that has no
    connection of its own.
    """
    os.write(1 if message["logger"] == "stdout" else 2, (message["text"] + "\n").encode("utf-8", "backslashreplace"))


def _level_of(number: int) -> str:
    if number >= logging.ERROR:
        return "error"
    if number >= logging.WARNING:
        return "warning"
    return "info" if number >= logging.INFO else "debug"


def level_from(name: Optional[str]) -> int:
    """The level of ``SVC_LOG_LEVEL``; INFO when it is not set or names none."""
    number = logging.getLevelName((name or "").upper())
    return number if isinstance(number, int) else logging.INFO
