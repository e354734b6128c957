"""Compiled modules of a project, kept in a file between processes (`kept_file.py`)."""

from __future__ import annotations

import marshal
from types import CodeType
from typing import Optional

from .kept_file import KeptFile


class CodeCache:
    """A file of compiled modules. Without a path it is empty and keeps none."""

    def __init__(self, path: Optional[str] = None) -> None:
        self._file = KeptFile(path)

    def find(self, source: bytes, filename: str) -> Optional[CodeType]:
        """The code of a module as if it had been compiled from this file; None when it is not
        known.
        """
        found = self._file.find(source)
        return None if found is None else _with_filename(marshal.loads(found), filename)

    def holds(self, source: bytes) -> bool:
        """Whether the code of a module is known."""
        return self._file.holds(source)

    def keep(self, source: bytes, code: CodeType) -> None:
        """Remembers the code of a module."""
        if self._file.keeps:
            self._file.keep(source, marshal.dumps(code))

    def save(self) -> None:
        """Writes the used modules, atomically; a failure is ignored."""
        self._file.save()


def _with_filename(code: CodeType, filename: str) -> CodeType:
    """The code with `filename` as the file of it and of all code within."""
    if code.co_filename == filename:
        return code
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
