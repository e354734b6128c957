"""The import of a project: every module once, in a fixed order, whatever the modules do."""

from __future__ import annotations

import gc
import importlib
import os
import sys
from contextlib import contextmanager
from typing import Iterator, Sequence

from .._analysis.import_errors import explain, explain_all
from .._diagnostics import rules
from .._diagnostics.findings import Finding, Span
from .._diagnostics.source import display_path, read_source, set_project_root
from .._model.registry import registry
from .code_cache import code_cache
from .hook import install

#: Folders whose modules are not part of a deployment.
_SKIPPED_FOLDERS = {"tests", "__pycache__", "node_modules", "site-packages"}
_SKIPPED_FILES = {"__main__.py", "conftest.py"}
#: Thresholds of the garbage collector during an import. Definitions live as long as the process,
#: and with the default thresholds collections take a third of the import.
_FEW_COLLECTIONS = (200_000, 20, 50)


def is_imported(path: str) -> bool:
    """Whether a file of a project is imported: Python, and no test, script or hidden file."""
    *folders, name = path.split("/")
    hidden = any(part.startswith(".") for part in (*folders, name))
    skipped = name in _SKIPPED_FILES or path == "setup.py" or path.startswith("test/") or bool(_SKIPPED_FOLDERS.intersection(folders))
    return name.endswith(".py") and not hidden and not skipped


def module_name(path: str) -> str:
    """The dotted module of a path relative to the root: `pkg/mod.py` is `pkg.mod`,
    `pkg/__init__.py` is `pkg`.
    """
    parts = path[:-3].split("/")
    if parts[-1] == "__init__" and len(parts) > 1:
        parts.pop()
    return ".".join(parts)


@contextmanager
def few_collections() -> Iterator[None]:
    """Makes garbage collections rare while most new objects are kept. Thresholds that the project's
    own code sets stay.
    """
    thresholds = gc.get_threshold()
    gc.set_threshold(*_FEW_COLLECTIONS)
    try:
        yield
    finally:
        if gc.get_threshold() == _FEW_COLLECTIONS:
            gc.set_threshold(*thresholds)


@contextmanager
def no_collections() -> Iterator[None]:
    """Has no garbage collected."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def load_project(root: str, files: Sequence[str]) -> list[Finding]:
    """Imports the Python files (paths relative to the root) and returns a finding for each that
    cannot be imported.

    The root must be on `sys.path`. The modules are compiled by the import hook, which makes `and`,
    `or`, `not`, `in` and `is` visible in filters. What the modules define is in `registry`
    afterwards. Nothing that a module does at import is raised from here: exceptions and
    `SystemExit` become findings 101, 102 and 103.
    """
    root = os.path.realpath(root)
    set_project_root(root)
    install(root)
    findings: dict[tuple[object, ...], Finding] = {}
    registry.collects = True
    try:
        with few_collections():
            for path in sorted(set(files)):
                if is_imported(path):
                    for key, finding in _load(root, path):
                        findings.setdefault(key, finding)
    finally:
        registry.collects = False
    return list(findings.values())


def _load(root: str, path: str) -> list[tuple[tuple[object, ...], Finding]]:
    filename = os.path.join(root, *path.split("/"))
    try:
        _check_syntax(filename)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OSError) as error:
        return [explain(error, path, root)]
    name = module_name(path)
    if path.count(".") > 1:
        return [_unreachable(path, path, "a dot in its path cannot be part of a module's name; rename it, or list it in .svcignore")]
    top = name.partition(".")[0]
    if top == "svc" or top in sys.stdlib_module_names:
        owner = "the SDK" if top == "svc" else "Python's standard library"
        return [_unreachable(path, top, f"it would hide the module '{top}' of {owner} from every package; rename it")]
    try:
        module = importlib.import_module(name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return explain_all(error, path, root)
    loaded = getattr(module, "__file__", None)
    if not loaded or loaded == filename or os.path.realpath(loaded) == os.path.realpath(filename):
        return []
    return [_unreachable(path, name, f"another module is called '{name}' ({display_path(loaded)}); rename it")]


def _check_syntax(filename: str) -> None:
    """Raises what `read_source` raises. A file whose code is in the cache has no syntax errors and
    is not parsed.
    """
    with open(filename, "rb") as stream:
        is_known = code_cache().holds(stream.read())
    if not is_known:
        read_source(filename)


def _unreachable(path: str, key: str, why: str) -> tuple[tuple[object, ...], Finding]:
    return (rules.ImportFailed.code, key), rules.ImportFailed.unreachable(path=path, why=why).at(Span(path, 1, 1, 1, 1))
