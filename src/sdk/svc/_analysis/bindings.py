"""The meanings of a module's names, where nothing in the project can change them."""

from __future__ import annotations

import builtins
import importlib.util
import math
import sys
import types
from typing import Any, Iterable, Mapping, Optional

from .._diagnostics.outline import Binding
from .._diagnostics.source import project_path, source_of

#: Builtins as they were before any project was imported.
_BUILTINS = {name: getattr(builtins, name) for name in ("abs", "bool", "float", "int", "len", "max", "min", "round", "str")}


class ProjectCode:
    """The code of a project: the attributes that it assigns, which may be names of other modules.
    """

    def __init__(self, filenames: Iterable[str]) -> None:
        self._filenames = filenames
        self._writes: Optional[set[str]] = None
        self._hidden = ""
        #: Answers about each module, by the questions of `meanings.py`.
        self.answers: dict[str, dict[Any, Any]] = {}
        #: How many constants are being looked into, each for the one before it.
        self.depth = 0

    def obstacle(self, name: str) -> str:
        """The reason why a name of a module, or a builtin, may be rebound; empty = it cannot be."""
        if self._writes is None:
            self._writes = set()
            for source in map(source_of, self._filenames):
                if source is not None:
                    self._hidden = self._hidden or source.outline.rebinding
                    self._writes.update(source.outline.assigned)
        if self._hidden:
            return f"the project uses '{self._hidden}', which can change any name"
        return f"the project assigns an attribute called '{name}'" if name in self._writes else ""

    def bindings(self, filename: str) -> Mapping[str, list[Binding]]:
        """What binds names of a file's module, by name."""
        source = source_of(filename)
        return source.outline.bindings if source else {}

    def builtin(self, module: types.ModuleType, name: str) -> Optional[Any]:
        """The builtin that a name of a module always means; None when it is no builtin or may be
        rebound.
        """
        own = _BUILTINS.get(name)
        is_own = own is not None and getattr(builtins, name, None) is own and name not in vars(module)
        return own if is_own and name not in self.bindings(file_of(module)) and not self.obstacle(name) else None

    def only_binding(self, module: types.ModuleType, name: str) -> Optional[Binding]:
        """The only binding of a name of a module; None when there are several or the name may be
        rebound.
        """
        bindings = self.bindings(file_of(module))
        found = bindings.get(name, [])
        is_plain = len(found) == 1 and "*" not in bindings and name in vars(module)
        return found[0] if is_plain and not self.obstacle(name) else None

    def constant(self, module: types.ModuleType, name: str) -> Optional[tuple[types.ModuleType, int]]:
        """The statement at the top of a module that gives a name its value: the module and the
        statement's number; imports are followed.
        """
        for _ in range(8):
            found = self.only_binding(module, name)
            if found is None or found.statement < 0 or project_path(file_of(module)) is None:
                return None
            if found.kind == "value":
                return module, found.statement
            if found.kind != "from":
                return None
            origin = importlib.util.resolve_name("." * found.level + found.module, module.__package__ or "")
            target = sys.modules.get(origin)
            if target is None or len(found.names) != 1:
                return None
            module, name = target, found.names[0]
        return None

    def math_name(self, module: types.ModuleType, holder: str, name: str) -> str:
        """The name in `math` that `holder.name`, or with an empty holder `name`, always means;
        empty when it may mean something else.
        """
        binding = self.only_binding(module, holder or name)
        if binding is None:
            return ""
        if holder:
            return name if binding.kind == "import" and vars(module).get(holder) is math and not self.obstacle(name) else ""
        if binding.kind == "from" and binding.module == "math" and binding.level == 0:
            for imported in binding.names:
                if vars(module)[name] is getattr(math, imported, None):
                    return "" if self.obstacle(imported) else imported
        return ""


def file_of(module: types.ModuleType) -> str:
    """The file of a module; empty when it has none."""
    return getattr(module, "__file__", None) or ""
