"""The import hook: project modules are compiled through `rewrite`.

    from svc._loading.hook import install
    install("/path/of/the/project")

The loader of deployments, notebook kernels and the pytest plugin install it. Modules of packages,
and those that have nothing to rewrite, are compiled as ever.
"""

from __future__ import annotations

import ast
import builtins
import os
import sys
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType
from typing import Any, Optional, Sequence

from .._diagnostics.source import source_of
from . import OPERATIONS, ops
from .code_cache import code_cache
from .rewrite import has_work, rewrite

_NO_PROJECT = ("site-packages", "dist-packages", "node_modules")


def offer_operations() -> None:
    """Makes the operations of rewritten code known to all modules."""
    setattr(builtins, OPERATIONS, ops)


def compile_rewritten(source: Any, filename: str, mode: str = "exec") -> CodeType:
    """Compiles a module (`exec`) or an expression (`eval`) with its operators in brackets made
    visible. Raises SyntaxError as `compile` does.
    """
    tree: Any = ast.parse(source, filename, mode)
    try:
        rewritten = rewrite(tree)
    except RecursionError:
        rewritten = False
    if rewritten:
        offer_operations()
    code: CodeType = compile(tree if rewritten else source, filename, mode, dont_inherit=True)
    return code


class Loader(SourceFileLoader):
    """The loader of a project's modules. Python's own compiled files are neither read nor written,
    because they do not show whether they were rewritten.
    """

    def get_code(self, fullname: str) -> Optional[CodeType]:
        path = self.get_filename(fullname)
        data, cache = self.get_data(path), code_cache()
        code = cache.find(data, path)
        if code is None:
            code = self.source_to_code(data, path)
            cache.keep(data, code)
        return code

    def source_to_code(self, data: Any, path: Any, *, _optimize: int = -1) -> CodeType:  # type: ignore[override]
        source = source_of(os.fsdecode(path))
        if source is None or source.raw != data or has_work(source.nodes(ast.Subscript), source.nodes(ast.keyword)):
            return compile_rewritten(data, os.fsdecode(path))
        code: CodeType = compile(data, os.fsdecode(path), "exec", dont_inherit=True)
        return code


class Finder:
    """A finder of a project's modules as Python's own, which has them loaded by `Loader`.

    It is no `importlib.abc.MetaPathFinder`: importing that takes as long as a tenth of the SDK.
    """

    def __init__(self, root: str) -> None:
        self.root = os.path.realpath(root)

    def find_spec(self, fullname: str, path: Optional[Sequence[str]] = None, target: Optional[ModuleType] = None) -> Optional[ModuleSpec]:
        if fullname == "svc" or fullname.startswith("svc."):
            return None
        if path is not None and not any(entry.startswith(self.root) or os.path.realpath(entry).startswith(self.root) for entry in path):
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is None or type(spec.loader) is not SourceFileLoader or not spec.origin or not self._is_inside(spec.origin):
            return None
        spec.loader = Loader(spec.loader.name, spec.loader.path)
        spec.cached = None
        return spec

    def _is_inside(self, filename: str) -> bool:
        inside = os.path.realpath(filename)
        return inside.startswith(self.root + os.sep) and not any(part in inside[len(self.root) :] for part in _NO_PROJECT)


def install(root: str) -> Finder:
    """Has modules below a folder rewritten that are imported from now on. A second call for the
    folder has no effect.
    """
    offer_operations()
    for finder in sys.meta_path:
        if isinstance(finder, Finder) and finder.root == os.path.realpath(root):
            return finder
    added = Finder(root)
    at = next((at for at, item in enumerate(sys.meta_path) if item is PathFinder), len(sys.meta_path))
    sys.meta_path.insert(at, added)  # type: ignore[arg-type]
    return added


def uninstall(finder: Finder) -> None:
    """Takes a finder away again; modules that are imported stay as they are."""
    if finder in sys.meta_path:
        sys.meta_path.remove(finder)
