"""Files that importing a project read, and its other effects, as far as the interpreter's audit
events show them.

An import whose reads are the same again gives the same definitions, unless it did more than read.
The events do not show that a file was looked at and not opened, which time it is, or what an
extension module does by itself.
"""

from __future__ import annotations

import os
import sys
from typing import Any

_PACKAGE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_LISTING = {"os.listdir", "os.scandir"}
#: Prefixes of events after which another import may give other definitions, or has an effect that
#: must happen each time.
_OUTWARD = ("socket.", "subprocess.", "os.system", "os.exec", "os.spawn", "os.posix_spawn", "os.fork", "os.startfile", "sqlite3.connect")
_CHANGES = ("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.truncate", "os.link", "os.symlink", "os.chmod", "shutil.")
#: Events that are no effects and nearly all that happen.
_FREQUENT = {"object.__getattr__", "builtins.id", "code.__new__", "sys._getframe"}
#: Python's own search for modules, which lists folders whatever a module does.
_FINDER = "<frozen importlib._bootstrap_external>"


class Effects:
    """A recorder of the paths that this process reads, and of its other effects, from its creation
    until `stop`. Of `own`, a file of the recorder's process, it tells nothing.
    """

    def __init__(self, own: str) -> None:
        self._own = own
        self._paths: set[str] = set()
        self._acts = ""
        self._is_on = True
        sys.addaudithook(self._see)

    def stop(self) -> None:
        """Gathers no more."""
        self._is_on = False

    def json(self) -> dict[str, Any]:
        """The absolute paths of files and folders that were read, and the first other effect; empty
        when there is none.
        """
        return {"read": sorted(self._paths), "acted": self._acts}

    def _see(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event in _FREQUENT or not self._is_on:
            return
        if event == "open":
            self._open(*arguments)
        elif event in _LISTING:
            if sys._getframe(1).f_code.co_filename != _FINDER:
                self._read(arguments[0] if arguments[0] is not None else ".")
        elif event.startswith(_OUTWARD) or event.startswith(_CHANGES):
            self._acts = self._acts or event

    def _open(self, path: Any, mode: Any, flags: Any) -> None:
        if not isinstance(path, (str, bytes, os.PathLike)):
            return
        text = os.path.abspath(os.fsdecode(path))
        writes = (isinstance(flags, int) and flags & _WRITING) or (isinstance(mode, str) and any(letter in mode for letter in "wax+"))
        if text.startswith(_PACKAGE) or text in (os.devnull, self._own):
            return
        if writes:
            self._acts = self._acts or "open to write"
        else:
            self._paths.add(text)

    def _read(self, path: Any) -> None:
        if isinstance(path, int):
            self._acts = self._acts or "list an open folder"
        else:
            self._paths.add(os.path.abspath(os.fsdecode(path)))
