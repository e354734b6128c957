"""Cells as Python: each is compiled by the import hook's rewriting, so that filters may use ``and``,
``or``, ``not``, ``in`` and ``is``; its last expression is its value.
"""

from __future__ import annotations

import ast
import linecache
import os
import re
import traceback
from types import CodeType
from typing import List, NamedTuple, Optional

from .._loading.hook import offer_operations
from .._loading.rewrite import rewrite

_MAGIC = re.compile(r"^\s*(?:%{1,2}|!|\?)\s*(\w*)")
_HERE = os.path.dirname(os.path.abspath(__file__))
#: Most frames of a traceback, innermost last.
FRAMES = 50


class Compiled(NamedTuple):
    """A cell as code: its statements, and the expression at its end."""

    statements: CodeType
    value: Optional[CodeType]


def compile_cell(source: str, filename: str) -> Compiled:
    """Compiles a cell. Raises SyntaxError, ValueError or RecursionError as ``compile`` does. An
    expression whose cell ends with ``;`` is a statement.
    """
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    try:
        tree: ast.Module = compile(source, filename, "exec", flags | ast.PyCF_ONLY_AST, True)
    except SyntaxError as error:
        raise _explained(error, source) from None
    if rewrite(tree):
        offer_operations()
    value: Optional[CodeType] = None
    last = tree.body[-1] if tree.body else None
    if isinstance(last, ast.Expr) and not source.rstrip().endswith(";"):
        tree.body.pop()
        value = compile(ast.Expression(last.value), filename, "eval", flags, True)
    return Compiled(compile(tree, filename, "exec", flags, True), value)


def _explained(error: SyntaxError, source: str) -> SyntaxError:
    lines = source.split("\n")
    line = lines[error.lineno - 1] if error.lineno and error.lineno <= len(lines) else ""
    magic = _MAGIC.match(line)
    if magic is None:
        return error
    error.msg = f"{line.strip()[:60]!r} is a command of IPython, which a kernel of svc does not have; cells are Python alone"
    return error


class CellFiles:
    """The files of the cells that ran, from which tracebacks and the SDK read their sources."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def write(self, number: int, source: str) -> str:
        """Writes the source of the run with a number, and returns the file's path."""
        path = self.path(number)
        with open(path, "w", encoding="utf-8", errors="backslashreplace", newline="") as stream:
            stream.write(source if source.endswith("\n") else f"{source}\n")
        linecache.checkcache(path)
        return path

    def path(self, number: int) -> str:
        """Path of the file of a run."""
        return os.path.join(self._folder, f"cell_{number}.py")

    def traceback(self, error: BaseException) -> str:
        """The traceback of what a cell raised, without the kernel's own frames; files of cells are
        called by their number.
        """
        shown = traceback.TracebackException.from_exception(error, compact=True)
        self._trim(shown, set())
        lines: List[str] = list(shown.format())
        text = "".join(lines).rstrip("\n")
        return re.sub(re.escape(os.path.join(self._folder, "cell_")) + r"(\d+)\.py", r"cell \1", text)

    def _trim(self, shown: traceback.TracebackException, seen: set[int]) -> None:
        """Leaves the kernel's frames out, and of many frames the outer ones, of all that led to it."""
        if id(shown) in seen:
            return
        seen.add(id(shown))
        frames = [frame for frame in shown.stack if os.path.dirname(frame.filename) != _HERE]
        shown.stack[:] = frames[-FRAMES:]
        for other in (shown.__cause__, shown.__context__):
            if other is not None:
                self._trim(other, seen)
