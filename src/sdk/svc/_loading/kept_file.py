"""A file that keeps, between processes, what is a function of a source text, by the text's hash.

What is kept is a function of the text, of this interpreter and of this package; for any other
interpreter or package the file counts as empty. So does a damaged one: `marshal` must never read
bytes that it did not write.
"""

from __future__ import annotations

import hashlib
import marshal
import os
import sys
from typing import Optional

_IDENTITY = f"{sys.version}\0{os.path.dirname(os.path.dirname(os.path.abspath(__file__)))}\0".encode("utf-8", "surrogateescape")
_DIGEST_BYTES = 32
#: Most bytes of a file that is written.
_MAX_BYTES = 128 * 1024 * 1024


class KeptFile:
    """Marshalled values by the hash of the text that each is of. Without a path it is empty and
    keeps none.
    """

    def __init__(self, path: Optional[str] = None) -> None:
        self._path = path
        self._known = _read(path) if path else {}
        #: What this process used, which is all that is kept: the file never outgrows one project.
        self._used: dict[bytes, bytes] = {}
        self._is_changed = False

    @property
    def keeps(self) -> bool:
        """Whether there is a file."""
        return self._path is not None

    def find(self, source: bytes) -> Optional[bytes]:
        """The value of a text; None when it is not known."""
        digest = _digest(source)
        found = self._known.get(digest)
        if found is not None:
            self._used[digest] = found
        return found

    def holds(self, source: bytes) -> bool:
        """Whether the value of a text is known."""
        return _digest(source) in self._known

    def keep(self, source: bytes, value: bytes) -> None:
        """Remembers the value of a text."""
        if self.keeps:
            self._used[_digest(source)] = value
            self._is_changed = True

    def save(self) -> None:
        """Writes what was used, atomically. A failure is ignored: the next process only has to
        compute it again.
        """
        if not self._path or not (self._is_changed or self._used.keys() != self._known.keys()):
            return
        if sum(map(len, self._used.values())) > _MAX_BYTES:
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
