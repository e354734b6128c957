"""What cells define, as the text of a module: feature classes, resolvers and whatever else is
decorated, with the names that they need. What cells do beside that is left out.
"""

from __future__ import annotations

import ast
from typing import Dict, List, NamedTuple, Set


class Statement(NamedTuple):
    """A statement of a cell that binds names, with its text and the names that it reads."""

    text: str
    binds: frozenset[str]
    reads: frozenset[str]
    is_root: bool


class Definitions:
    """The statements that bound names in a notebook, of which the last one of each name counts."""

    def __init__(self) -> None:
        self._statements: List[Statement] = []

    def add(self, source: str) -> None:
        """Adds the statements of a cell that has run well."""
        for node in ast.parse(source).body:
            statement = _statement(node, source)
            if statement is not None:
                self._statements.append(statement)

    def module(self, title: str) -> str:
        """The text of a module of what is decorated and what that needs; empty = nothing is."""
        last: Dict[str, int] = {name: at for at, statement in enumerate(self._statements) for name in statement.binds}
        chosen: Set[int] = set()
        waiting = [at for at in set(last.values()) if self._statements[at].is_root]
        while waiting:
            at = waiting.pop()
            if at not in chosen:
                chosen.add(at)
                waiting.extend(last[name] for name in self._statements[at].reads if name in last)
        if not chosen:
            return ""
        texts = [self._statements[at].text for at in sorted(chosen)]
        return f"# Of the notebook {title!r}; `svc apply --branch=<name> --reset` drops it.\n" + "\n\n".join(texts) + "\n"


def _statement(node: ast.stmt, source: str) -> Statement | None:
    binds = _bound(node)
    if not binds:
        return None
    decorators = getattr(node, "decorator_list", [])
    text = ast.get_source_segment(source, node) or ""
    if decorators:
        text = "\n".join([*source.split("\n")[decorators[0].lineno - 1 : node.lineno - 1], text])
    reads = frozenset(inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Load))
    return Statement(text, frozenset(binds), reads | _in_annotations(node), bool(decorators))


def _bound(node: ast.stmt) -> Set[str]:
    """The names that a statement binds, where it does nothing else."""
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return {alias.asname or alias.name.partition(".")[0] for alias in node.names}
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return {node.name}
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return {inner.id for target in targets for inner in ast.walk(target) if isinstance(inner, ast.Name)}


def _in_annotations(node: ast.stmt) -> Set[str]:
    """The names in annotations that are texts."""
    names: Set[str] = set()
    for inner in ast.walk(node):
        annotation = getattr(inner, "annotation", None) or getattr(inner, "returns", None)
        if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
            try:
                names.update(part.id for part in ast.walk(ast.parse(annotation.value, mode="eval")) if isinstance(part, ast.Name))
            except SyntaxError:
                pass
    return names
