"""Filters that Python decided itself: `Txn.ok is True` is False wherever the import hook did not rewrite
it, and would choose no rows, or all of them, without a word.
"""

from __future__ import annotations

import ast
import sys
from typing import TYPE_CHECKING, Any, Callable, Iterable

from .._diagnostics.source import source_of
from .._loading import is_rewritten
from .._model.reference import RowSelection
from .conditions import Condition, Constant, is_reference

if TYPE_CHECKING:
    from .._model.resolver import ResolverDefinition

Lookup = Callable[[str], Any]


def refuse_decided(items: Iterable[Any], depth: int) -> None:
    """Raises TypeError when Python decided an `is` in brackets, whose items are given; bools that
    come from anything else are let through.

    depth: how many calls lie between the brackets and this function.
    """
    if not _is_decided(items):
        return
    frame = sys._getframe(depth)
    source = None if is_rewritten(frame.f_code) else source_of(frame.f_code.co_filename)
    for node in source.nodes(ast.Subscript) if source else ():
        if node.lineno <= frame.f_lineno <= (node.end_lineno or node.lineno):
            _refuse_identity(node.slice, lambda name: frame.f_locals.get(name, frame.f_globals.get(name)))


def refuse_decided_parameters(definition: ResolverDefinition) -> None:
    """Raises TypeError when Python decided an `is` in the brackets of a resolver's parameters."""
    decided = {
        name
        for name, parameter in definition.parameters.items()
        for annotation in (parameter.annotation, *getattr(parameter.annotation, "__args__", ()))
        if isinstance(annotation, RowSelection) and _is_decided(annotation.items)
    }
    node = definition.node if decided and not definition.is_rewritten else None
    if node is None:
        return

    def value_of(name: str) -> Any:
        try:
            return definition.scope.lookup(name)
        except KeyError:
            return None

    for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
        if argument.arg in decided and argument.annotation is not None:
            _refuse_identity(argument.annotation, value_of)


def _is_decided(items: Iterable[Any]) -> bool:
    """Whether a filter among the items is a bool, or has one as a part."""
    return any(isinstance(item, bool) or _has_constant(item) for item in items)


def _has_constant(item: Any) -> bool:
    return isinstance(item, Constant) or (isinstance(item, Condition) and any(map(_has_constant, item.operands())))


def _refuse_identity(brackets: ast.AST, value_of: Lookup) -> None:
    for node in ast.walk(brackets):
        if not isinstance(node, ast.Compare) or not any(isinstance(operator, (ast.Is, ast.IsNot)) for operator in node.ops):
            continue
        if any(_is_feature(operand, value_of) for operand in (node.left, *node.comparators)):
            raise TypeError(
                f"Python decides '{ast.unparse(node)}' at once, for every row alike: write == or != for a value and .is_null() for None; "
                "in tests, `pytest -p svc._pytest_plugin` reads 'is' in brackets"
            )


def _is_feature(node: ast.AST, value_of: Lookup) -> bool:
    """Whether a path of attributes stands for a feature."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.insert(0, node.attr)
        node = node.value
    found = value_of(node.id) if isinstance(node, ast.Name) else None
    for name in names:
        found = getattr(found, name, None)
    return is_reference(found)
