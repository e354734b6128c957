"""What a cell gives, sent to the server in pieces while it runs, within a bound."""

from __future__ import annotations

import io
import os
import threading
import time
from typing import Any, Callable, Dict, List, TextIO

from .rich import well_formed

Send = Callable[[Dict[str, Any]], None]
Piece = Dict[str, Any]

#: Seconds between two frames of a cell that prints, and characters that are sent at once.
PAUSE = 0.05
ENOUGH = 64 * 1024


class Output:
    """The output of the cell that runs. Text that follows other text closely is gathered for a moment;
    what is shown is sent at once, after the text before it.
    """

    def __init__(self, send: Send) -> None:
        self._send = send
        self._lock = threading.Lock()
        self._pieces: List[Piece] = []
        self._gathered = 0
        self._run = ""
        self._left = 0
        self._is_cut = False
        self._wake = threading.Event()
        self._is_child = False
        self._sent_at = 0.0
        os.register_at_fork(after_in_child=self._in_child)
        threading.Thread(target=self._send_in_time, name="svc-output", daemon=True).start()

    def begin(self, run: str, limit: int) -> None:
        """Says what follows is of a run, which may give so many characters."""
        with self._lock:
            self._run, self._left, self._is_cut, self._sent_at = run, limit, False, 0.0

    def end(self) -> None:
        """Sends what is gathered. What comes until the next run has no place."""
        with self._lock:
            self._flush()
            self._run = ""

    def write(self, stream: str, text: str, descriptor: int) -> None:
        """Adds text of a stream; in a child process it goes to its file descriptor, and so to the log."""
        if self._is_child or not self._run:
            _write_all(descriptor, text)
            return
        text = well_formed(text)
        with self._lock:
            if self._is_cut:
                return
            if len(text) > self._left:
                self._cut(stream, text)
                return
            self._left -= len(text)
            self._gathered += len(text)
            last = self._pieces[-1] if self._pieces else None
            if last is not None and last["stream"] == stream:
                last["texts"].append(text)
            else:
                self._pieces.append({"kind": "stream", "stream": stream, "texts": [text]})
            if self._gathered >= ENOUGH or time.monotonic() - self._sent_at > PAUSE:
                self._flush()
            else:
                self._wake.set()

    def add(self, output: Piece, length: int) -> None:
        """Adds an output that is no text of a stream."""
        if self._is_child:
            return
        with self._lock:
            self._flush()
            if self._is_cut and output["kind"] != "error":
                return
            if length > self._left and output["kind"] != "error":
                self._cut("stderr", "")
                return
            self._left = max(0, self._left - length)
            self._send({"type": "OUTPUT", "run": self._run, "outputs": [output]})

    def _cut(self, stream: str, text: str) -> None:
        if text and self._left:
            self._pieces.append({"kind": "stream", "stream": stream, "texts": [text[: self._left]]})
        note = "\n[the rest was left out: this is all that the cell, or its notebook, may keep]\n"
        self._pieces.append({"kind": "stream", "stream": "stderr", "texts": [note]})
        self._is_cut = True
        self._left = 0
        self._flush()

    def _flush(self) -> None:
        pieces, self._pieces, self._gathered = self._pieces, [], 0
        self._sent_at = time.monotonic()
        if pieces:
            outputs = [{"kind": "stream", "stream": piece["stream"], "text": "".join(piece["texts"])} for piece in pieces]
            self._send({"type": "OUTPUT", "run": self._run, "outputs": outputs})

    def _send_in_time(self) -> None:
        pause = threading.Event()
        while True:
            self._wake.wait()
            pause.wait(PAUSE)
            self._wake.clear()
            with self._lock:
                self._flush()

    def _in_child(self) -> None:
        self._is_child = True
        self._lock = threading.Lock()
        self._pieces = []


class Stream(io.TextIOBase):
    """A replacement of ``sys.stdout`` or ``sys.stderr``. What is written to its ``buffer`` or its file
    descriptor goes past it, to the server's end of the pipe.
    """

    def __init__(self, output: Output, name: str, raw: TextIO) -> None:
        super().__init__()
        self._output = output
        self._name = name
        self._raw = raw

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
        if text:
            self._output.write(self._name, text, self._raw.fileno())
        return len(text)


def _write_all(descriptor: int, text: str) -> None:
    data = text.encode("utf-8", "backslashreplace")
    while data:
        data = data[os.write(descriptor, data) :]
