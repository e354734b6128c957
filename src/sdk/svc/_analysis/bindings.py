"""The meanings of a module's names, where nothing in the project can change them."""

from __future__ import annotations

import ast
import builtins
import importlib.util
import math
import sys
import types
from typing import Any, Iterable, Iterator, Optional

from .._diagnostics.source import Source, project_path, source_of

#: Names whose use can change other modules or builtins in ways that the code does not show.
_HIDDEN_NAMES = {"exec", "eval", "globals", "locals", "vars", "builtins", "__builtins__", "__import__"}
_HIDDEN_ATTRIBUTES = {"__dict__", "__globals__", "__code__", "__builtins__", "__setattr__", "__delattr__"}
_SETTERS = {"setattr", "delattr"}
#: Builtins as they were before any project was imported.
_BUILTINS = {name: getattr(builtins, name) for name in ("abs", "bool", "float", "int", "len", "max", "min", "round", "str")}


class ProjectCode:
    """The code of a project: the attributes that it assigns, which may be names of other modules.
    """

    def __init__(self, filenames: Iterable[str]) -> None:
        self._sources = [source for source in map(source_of, filenames) if source is not None]
        self._writes: Optional[set[str]] = None
        self._hidden = ""
        self._modules: dict[str, dict[str, list[ast.AST]]] = {}

    def obstacle(self, name: str) -> str:
        """The reason why a name of a module, or a builtin, may be rebound; empty = it cannot be."""
        if self._writes is None:
            self._writes = set()
            for source in self._sources:
                self._scan(source, self._writes)
        if self._hidden:
            return f"the project uses '{self._hidden}', which can change any name"
        return f"the project assigns an attribute called '{name}'" if name in self._writes else ""

    def _scan(self, source: Source, writes: set[str]) -> None:
        self._hidden = self._hidden or _rebinding_name(source)
        writes.update(node.attr for node in source.nodes(ast.Attribute) if not isinstance(node.ctx, ast.Load))
        writes.update(_set_attributes(source).values())

    def bindings(self, filename: str) -> dict[str, list[ast.AST]]:
        """The syntax that binds names of a file's module, by name."""
        found = self._modules.get(filename)
        if found is None:
            found = self._modules[filename] = {}
            source = source_of(filename)
            for name, node in _bindings_of(source.tree.body if source else []):
                found.setdefault(name, []).append(node)
            for declared in source.nodes(ast.Global) if source else []:
                for name in declared.names:
                    found.setdefault(name, []).append(declared)
        return found

    def builtin(self, module: types.ModuleType, name: str) -> Optional[Any]:
        """The builtin that a name of a module always means; None when it is no builtin or may be
        rebound.
        """
        own = _BUILTINS.get(name)
        is_own = own is not None and getattr(builtins, name, None) is own and name not in vars(module)
        return own if is_own and name not in self.bindings(_file_of(module)) and not self.obstacle(name) else None

    def only_binding(self, module: types.ModuleType, name: str) -> Optional[ast.AST]:
        """The only binding of a name of a module; None when there are several or the name may be
        rebound.
        """
        bindings = self.bindings(_file_of(module))
        found = bindings.get(name, [])
        is_plain = len(found) == 1 and "*" not in bindings and name in vars(module)
        return found[0] if is_plain and not self.obstacle(name) else None

    def constant(self, module: types.ModuleType, name: str) -> Optional[tuple[types.ModuleType, ast.expr]]:
        """The expression that a name is given at the top of a module, and that module; imports are
        followed.
        """
        for _ in range(8):
            node = self.only_binding(module, name)
            source = source_of(_file_of(module))
            if source is None or project_path(_file_of(module)) is None or not any(node is item for item in source.tree.body):
                return None
            if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                return module, node.value
            if isinstance(node, ast.AnnAssign) and node.value is not None:
                return module, node.value
            if not isinstance(node, ast.ImportFrom):
                return None
            origin = importlib.util.resolve_name("." * node.level + (node.module or ""), module.__package__ or "")
            names = [alias.name for alias in node.names if (alias.asname or alias.name) == name]
            target = sys.modules.get(origin)
            if target is None or len(names) != 1:
                return None
            module, name = target, names[0]
        return None

    def math_name(self, module: types.ModuleType, node: ast.expr) -> str:
        """The name in `math` that `math.floor`, or `floor` imported from there, always means; empty
        when it may mean something else.
        """
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            holder = node.value.id
            if vars(module).get(holder) is math and isinstance(self.only_binding(module, holder), ast.Import) and not self.obstacle(node.attr):
                return node.attr
        if isinstance(node, ast.Name):
            binding = self.only_binding(module, node.id)
            if isinstance(binding, ast.ImportFrom) and binding.module == "math" and binding.level == 0:
                for alias in binding.names:
                    if (alias.asname or alias.name) == node.id and vars(module)[node.id] is getattr(math, alias.name, None):
                        return "" if self.obstacle(alias.name) else alias.name
        return ""


def _set_attributes(source: Source) -> dict[int, str]:
    """The attributes that `setattr` and `delattr` are called with as a text, by the id of the node
    that names the function.
    """
    found: dict[int, str] = {}
    for node in source.nodes(ast.Call):
        if isinstance(node.func, ast.Name) and node.func.id in _SETTERS and len(node.args) > 1:
            target = node.args[1]
            if isinstance(target, ast.Constant) and isinstance(target.value, str):
                found[id(node.func)] = target.value
    return found


def _rebinding_name(source: Source) -> str:
    """The first name in a file whose use can change any binding; empty when there is none."""
    plain = _set_attributes(source)
    systems = {alias.asname or "sys" for item in source.nodes(ast.Import) for alias in item.names if alias.name == "sys"}
    for node in source.nodes(ast.Attribute):
        if node.attr in _HIDDEN_ATTRIBUTES:
            return node.attr
        if node.attr == "modules" and isinstance(node.value, ast.Name) and node.value.id in systems:
            return "sys.modules"
    for name in source.nodes(ast.Name):
        if name.id in _HIDDEN_NAMES or (name.id in _SETTERS and id(name) not in plain):
            return name.id
    for imported in source.nodes(ast.ImportFrom):
        for alias in imported.names:
            if alias.name in _HIDDEN_NAMES or alias.name in _SETTERS or alias.name in _HIDDEN_ATTRIBUTES:
                return alias.name
            if imported.module == "sys" and alias.name in ("modules", "*"):
                return "sys.modules"
    for item in source.nodes(ast.alias):
        if item.name in _HIDDEN_NAMES:
            return item.name
    texts = (node.value for node in source.nodes(ast.Constant))
    return next((text for text in texts if isinstance(text, str) and text in _HIDDEN_ATTRIBUTES), "")


def _file_of(module: types.ModuleType) -> str:
    return getattr(module, "__file__", None) or ""


def _bindings_of(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, ast.AST]]:
    """The names that code binds in its own scope, each with its syntax; those that functions
    declare global are not among them.
    """
    for node in nodes:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node.name, node
            yield from _bindings_of(node.decorator_list)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                yield alias.asname or (alias.name if isinstance(node, ast.ImportFrom) else alias.name.partition(".")[0]), node
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                for inner in ast.walk(target):
                    if isinstance(inner, ast.Name) and not isinstance(inner.ctx, ast.Load):
                        yield inner.id, node
            yield from _bindings_of([node.value] if node.value is not None else [])
        elif not isinstance(node, ast.Lambda):
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                yield node.id, node
            for name in (getattr(node, field, None) for field in ("name", "rest")):
                if isinstance(name, str):
                    yield name, node
            yield from _bindings_of(ast.iter_child_nodes(node))
