"""Frames between the server and a worker: four bytes of length, big-endian, then one JSON object in
UTF-8.

When the first bit of the length is set, blocks of doubles follow the object (see ``blocks.py``):
the body is then the length of the JSON in four bytes, the JSON, whose field ``blocks`` says how
many values each has, and the blocks.

A worker opens two connections to the server's Unix socket. On ``data`` the server sends CALL frames
and the main thread answers each with a RESULT, in order. On ``control`` a second thread takes what
must not wait behind a running resolver: CANCEL, and the calls of ``async def`` resolvers; their
results, LOG and PROFILE frames go back on it.

Frames from the worker:

HELLO   role (``data``, ``control``), launcher: pid of the process that the server started, python
READY   resolvers: by FQN isAsync, usesNow, file, line; hasAfterHooks: whether hooks run after the
        last call
FAILED  diagnostics: findings of the import, or of a hook that failed
RESULT  id, columns by output FQN, errors (row, kind, message, stack, file, line), ranMs;
        groups: offsets and columns by FQN of a resolver that gives rows; skipped: rows that a
        stream left out, and stage of an error (see ``stream_runner.py``); usage: model, requests,
        failures, inputTokens and outputTokens of a resolver that asks a model; or
        id, cancelled, and leftovers when the interrupted call has left processes running
LOG     level, text, logger, resolver, queryId, timestampMs
PROFILE stacks: FQN of the resolver, functions from it inwards, samples; dropped: samples that are
        in no stack

Frames from the server:

CALL    id, resolver, rows, columns by parameter, now (a datetime per row), context (queryId,
        traceId, tags, queryContext, traceparent, tracestate, baggage);
        groups: rows of has-many relations by parameter, as offsets and columns by path;
        tables: columns by path, by parameter
CANCEL  id, interrupt: whether a call that runs is to be interrupted
DRAIN   no fields: the worker ends after the calls before it

Either side has gone when its connections are closed; a worker whose server has gone ends at once.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
from array import array
from select import select
from typing import Any, Dict, Optional

from .blocks import attach, detach

#: Longest frame that is read, in bytes.
MAX_FRAME = 256 * 1024 * 1024

_LENGTH = struct.Struct(">I")
_WITH_BLOCKS = 1 << 31
_RECEIVE = 256 * 1024

_scan = json.JSONDecoder().scan_once
_encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False, check_circular=False).encode

Message = Dict[str, Any]


def encode_frame(message: Message) -> bytes:
    """The bytes of a frame. Raises ValueError or TypeError when a value is not JSON, or the frame
    is longer than is read.
    """
    blocks = detach(message)
    if blocks:
        head = _encode({**message, "blocks": [len(block) for block in blocks]}).encode("ascii")
        body = b"".join([_LENGTH.pack(len(head)), head, *blocks])
    else:
        body = _encode(message).encode("ascii")
    if len(body) > MAX_FRAME:
        raise ValueError(f"the result takes {len(body)} bytes; a call may give {MAX_FRAME}: return fewer rows or columns")
    return _LENGTH.pack(len(body) | _WITH_BLOCKS if blocks else len(body)) + body


def _decode(body: bytes, has_blocks: bool) -> Message:
    if not has_blocks:
        return _scan(body.decode("utf-8"), 0)[0]
    at = 4 + _LENGTH.unpack_from(body)[0]
    message: Message = _scan(body[4:at].decode("utf-8"), 0)[0]
    blocks = []
    for length in message["blocks"]:
        block = array("d")
        block.frombytes(memoryview(body)[at : at + 8 * length])
        blocks.append(block)
        at += 8 * length
    attach(message, blocks)
    return message


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

    def is_readable(self, timeout: float) -> bool:
        """Whether `receive` has something to return, or has it within some seconds."""
        return bool(self._buffer) or bool(select([self._socket], [], [], timeout)[0])

    def close(self) -> None:
        """Closes this process's end; the ends that other processes hold stay open."""
        self._socket.close()

    def receive(self) -> Optional[Message]:
        """The next message; None when the server has gone."""
        buffer = self._buffer
        while True:
            if len(buffer) >= 4:
                length = _LENGTH.unpack_from(buffer)[0]
                end = (length & ~_WITH_BLOCKS) + 4
                if end > MAX_FRAME:
                    raise ValueError(f"a frame of {end} bytes is too long")
                if len(buffer) >= end:
                    self._buffer = buffer[end:]
                    return _decode(buffer[4:end], length >= _WITH_BLOCKS)
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
