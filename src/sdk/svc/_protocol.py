"""Frames between the server and a worker: four bytes of length, big-endian, then one JSON object in UTF-8.

A worker opens two connections to the server's Unix socket. On ``data`` the server sends CALL frames and the main thread answers each with a RESULT,
in order. On ``control`` a second thread takes what must not wait behind a running resolver: CANCEL, and the calls of ``async def`` resolvers; their
results and LOG frames go back on it.

=========  ==========  ===============================================================================================
frame      from        fields
=========  ==========  ===============================================================================================
HELLO      worker      role (``data``, ``control``), pid, python
READY      worker      resolvers: by FQN isAsync, usesNow, file, line
FAILED     worker      diagnostics: findings of the import
CALL       server      id, resolver, rows, columns by parameter, now (a datetime per row), context (queryId, traceId, tags, queryContext);
                       groups: rows of has-many relations by parameter, as offsets and columns by path; tables: columns by path, by parameter
RESULT     worker      id, columns by output FQN, errors (row, kind, message, stack, file, line), ranMs; groups: offsets and columns by FQN of a
                       resolver that gives rows; or id, cancelled, and leftovers when the interrupted call has left processes running
CANCEL     server      id, interrupt: whether a call that runs is to be interrupted
LOG        worker      level, text, logger, resolver, queryId, timestampMs
DRAIN      server      none: the worker ends after the calls before it
=========  ==========  ===============================================================================================

Either side has gone when its connections are closed; a worker whose server has gone ends at once.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
from typing import Any, Dict, Optional

#: Longest frame that is read, in bytes.
MAX_FRAME = 256 * 1024 * 1024

_LENGTH = struct.Struct(">I")
_RECEIVE = 256 * 1024

_scan = json.JSONDecoder().scan_once
_encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False, check_circular=False).encode

Message = Dict[str, Any]


def encode_frame(message: Message) -> bytes:
    """The bytes of a frame. Raises ValueError or TypeError when a value is not JSON, or the frame is longer than is read."""
    body = _encode(message).encode("ascii")
    if len(body) > MAX_FRAME:
        raise ValueError(f"the result takes {len(body)} bytes; a call may give {MAX_FRAME}: return fewer rows or columns")
    return _LENGTH.pack(len(body)) + body


class Connection:
    """One connection to the server. One thread may receive; any may send."""

    def __init__(self, path: str) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.connect(path)
        self._buffer = b""
        self._sending = threading.Lock()

    def send(self, message: Message) -> None:
        """Sends a frame and waits until the system has taken it."""
        self.send_frame(encode_frame(message))

    def send_frame(self, frame: bytes) -> None:
        """Sends a frame made by ``encode_frame``."""
        with self._sending:
            self._socket.sendall(frame)

    def close(self) -> None:
        """Gives up this process's end; that of other processes stays."""
        self._socket.close()

    def receive(self) -> Optional[Message]:
        """The next message; None when the server has gone."""
        buffer = self._buffer
        while True:
            if len(buffer) >= 4:
                end = _LENGTH.unpack_from(buffer)[0] + 4
                if end > MAX_FRAME:
                    raise ValueError(f"a frame of {end} bytes is too long")
                if len(buffer) >= end:
                    self._buffer = buffer[end:]
                    return _scan(buffer[4:end].decode("utf-8"), 0)[0]
                if end > _RECEIVE:
                    buffer = self._receive_long(buffer, end)
                    if len(buffer) < end:
                        return None
                    continue
            chunk = self._read(_RECEIVE)
            if not chunk:
                return None
            buffer = buffer + chunk if buffer else chunk

    def _receive_long(self, start: bytes, size: int) -> bytes:
        whole = bytearray(start)
        while len(whole) < size:
            chunk = self._read(min(size - len(whole), 1 << 20))
            if not chunk:
                return bytes(whole)
            whole += chunk
        return bytes(whole)

    def _read(self, size: int) -> bytes:
        try:
            return self._socket.recv(size)
        except ConnectionResetError:
            return b""
