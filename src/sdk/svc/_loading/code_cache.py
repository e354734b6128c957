"""Compiled modules of a project, kept in a file between processes by the hash of their source.

A module's code is a function of its source, of this interpreter and of this package; the file is of
no use to any other, and is then taken to be empty. So is one that is damaged: `marshal` must never
be given what it did not write.
"""

from __future__ import annotations

import hashlib
import marshal
import os
import sys
from types import CodeType
from typing import Optional

_IDENTITY = f"{sys.version}\0{os.path.dirname(os.path.dirname(os.path.abspath(__file__)))}\0".encode("utf-8", "surrogateescape")
_DIGEST_BYTES = 32


class CodeCache:
    """The compiled modules of a file. Without a path there are none, and none are kept."""

    def __init__(self, path: Optional[str] = None) -> None:
        self._path = path
        self._known = _read(path) if path else {}
        #: What this process asked for, which is all that is kept: the file is never larger than one
        #: project.
        self._used: dict[bytes, bytes] = {}

    def find(self, source: bytes, filename: str) -> Optional[CodeType]:
        """The code of a module as if it had been compiled from this file; None when it is not
        known.
        """
        digest = _digest(source)
        found = self._known.get(digest)
        if found is None:
            return None
        self._used[digest] = found
        return _placed(marshal.loads(found), filename)

    def holds(self, source: bytes) -> bool:
        """Whether the code of a module is known."""
        return _digest(source) in self._known

    def keep(self, source: bytes, code: CodeType) -> None:
        """Remembers the code of a module."""
        if self._path:
            self._used[_digest(source)] = marshal.dumps(code)

    def save(self) -> None:
        """Writes what was used, as a whole or not at all. That it cannot be written costs the next
        process its time, and nothing else.
        """
        if not self._path or self._used.keys() == self._known.keys():
            return
        content = marshal.dumps(self._used)
        beside = f"{self._path}.{os.getpid()}"
        try:
            with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
                stream.write(_digest(_IDENTITY + content) + content)
            os.replace(beside, self._path)
        except OSError:
            try:
                os.unlink(beside)
            except OSError:
                pass


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()


def _read(path: str) -> dict[bytes, bytes]:
    try:
        with open(path, "rb") as stream:
            content = stream.read()
    except OSError:
        return {}
    payload = content[_DIGEST_BYTES:]
    if _digest(_IDENTITY + payload) != content[:_DIGEST_BYTES]:
        return {}
    known: dict[bytes, bytes] = marshal.loads(payload)
    return known


def _placed(code: CodeType, filename: str) -> CodeType:
    """The code with that file as the place of all that is in it."""
    inner = tuple(_placed(item, filename) if isinstance(item, CodeType) else item for item in code.co_consts)
    return code.replace(co_filename=filename, co_consts=inner)


#: The cache of this process.
_current = CodeCache()


def use_code_cache(path: Optional[str]) -> None:
    """Takes compiled modules from a file, and gives them to it, from here on."""
    global _current
    _current = CodeCache(path)


def code_cache() -> CodeCache:
    """The cache of this process."""
    return _current
