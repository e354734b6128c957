"""Compiled modules of a project, kept in a file between processes by the hash of their source.

A module's code is a function of its source, of this interpreter and of this package; for any other
interpreter or package the file counts as empty. So does a damaged one: `marshal` must never read
bytes that it did not write.
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
    """A file of compiled modules. Without a path it is empty and keeps none."""

    def __init__(self, path: Optional[str] = None) -> None:
        self._path = path
        self._known = _read(path) if path else {}
        #: The modules that this process used, which are all that is kept: the file never outgrows
        #: one project.
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
        return _with_filename(marshal.loads(found), filename)

    def holds(self, source: bytes) -> bool:
        """Whether the code of a module is known."""
        return _digest(source) in self._known

    def keep(self, source: bytes, code: CodeType) -> None:
        """Remembers the code of a module."""
        if self._path:
            self._used[_digest(source)] = marshal.dumps(code)

    def save(self) -> None:
        """Writes the used modules, atomically. A failure is ignored: the next process only has to
        compile again.
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


def _with_filename(code: CodeType, filename: str) -> CodeType:
    """The code with `filename` as the file of it and of all code within."""
    inner = tuple(_with_filename(item, filename) if isinstance(item, CodeType) else item for item in code.co_consts)
    return code.replace(co_filename=filename, co_consts=inner)


#: The cache of this process.
_current = CodeCache()


def use_code_cache(path: Optional[str]) -> None:
    """Makes a file this process's cache of compiled modules."""
    global _current
    _current = CodeCache(path)


def code_cache() -> CodeCache:
    """The cache of this process."""
    return _current
