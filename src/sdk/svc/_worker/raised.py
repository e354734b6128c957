"""Descriptions of user code's exceptions for the server: project frames only, paths relative to the
project.
"""

from __future__ import annotations

import os
import traceback
from types import TracebackType
from typing import Any, Dict, List, Optional, Set, Tuple

from .._diagnostics.missing_variable import missing_variable

#: Most frames of a traceback, innermost last.
FRAMES = 30
#: Longest message and longest traceback in characters.
MESSAGE_LENGTH = 4_000
STACK_LENGTH = 12_000


class Project:
    """The folder of a project's source, to tell its frames from those of libraries."""

    def __init__(self, root: str) -> None:
        self._prefix = os.path.join(os.path.realpath(root), "")

    def relative(self, filename: str) -> Optional[str]:
        """Path relative to the root with ``/``; None for a file outside the project."""
        if not filename.startswith(self._prefix):
            return None
        return filename[len(self._prefix) :].replace(os.sep, "/")

    def describe(self, error: BaseException, with_stack: bool = True) -> Dict[str, Any]:
        """Kind, message, traceback, and file and line of the innermost project frame."""
        file, line = self._innermost(error.__traceback__)
        stack = "".join(self._format(error, set())) if with_stack else ""
        return {
            "kind": type(error).__qualname__,
            "message": _well_formed((_text_of(error) + _hint(error))[:MESSAGE_LENGTH]),
            "stack": _well_formed(stack[-STACK_LENGTH:]),
            "file": file,
            "line": line,
        }

    def _innermost(self, trace: Optional[TracebackType]) -> Tuple[str, int]:
        found = ("", 0)
        while trace is not None:
            file = self.relative(trace.tb_frame.f_code.co_filename)
            if file is not None:
                found = (file, trace.tb_lineno)
            trace = trace.tb_next
        return found

    def _format(self, error: BaseException, seen: Set[int]) -> List[str]:
        seen.add(id(error))
        lines: List[str] = []
        cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
        if cause is not None and id(cause) not in seen:
            lines += self._format(cause, seen)
            lines.append("\nThe exception above led to this one:\n\n" if error.__cause__ else "\nWhile it was handled, this one came:\n\n")
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if self.relative(frame.filename) is not None]
        lines.append("Traceback (most recent call last):\n")
        if len(frames) > FRAMES:
            lines.append(f"  [{len(frames) - FRAMES} frames left out]\n")
        for frame in frames[-FRAMES:]:
            lines.append(f'  File "{self.relative(frame.filename)}", line {frame.lineno}, in {frame.name}\n')
            if frame.line:
                lines.append(f"    {frame.line}\n")
        message = _text_of(error)[:MESSAGE_LENGTH]
        lines.append(f"{type(error).__qualname__}: {message}\n" if message else f"{type(error).__qualname__}\n")
        return lines


def _hint(error: BaseException) -> str:
    name = missing_variable(error)
    if name is None:
        return ""
    return f" is not in the environment; set it with `svc secret set {name}`, or start the server with SVC_WORKER_ENV={name} to hand on its own"


def _text_of(error: BaseException) -> str:
    try:
        return str(error)
    except BaseException:
        return "(its message could not be made)"


def _well_formed(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
