"""Rule 147: features that the body of a resolver reads from a DataFrame whose declared columns
leave them out.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Iterator, Sequence

from .._diagnostics.source import nodes_within

if TYPE_CHECKING:
    from .._model.feature_class import FeatureClass
    from .._model.resolver import InputSpec, ResolverDefinition

Found = tuple[str, str, ast.AST]


def removed_columns(definition: ResolverDefinition, inputs: Sequence[InputSpec]) -> list[Found]:
    """Features that are read without being a column, each once, with the parameter and the syntax.
    """
    narrow = {item.name: item for item in inputs if (item.rows is not None and item.rows.columns and not item.rows.is_list) or item.table is not None}
    node = definition.node if narrow else None
    if node is None:
        return []
    found: dict[tuple[str, str], Found] = {}
    for name, item in narrow.items():
        if any(_binds(statement, name) for statement in node.body):
            continue
        for feature, at in _read(node.body, name, item, definition):
            found.setdefault((name, feature), (feature, name, at))
    return list(found.values())


def _binds(node: ast.AST, name: str) -> bool:
    """Whether a node binds the name to something else."""
    return any(isinstance(inner, ast.Name) and inner.id == name and not isinstance(inner.ctx, ast.Load) for inner in ast.walk(node))


def _read(body: list[ast.stmt], name: str, item: InputSpec, definition: ResolverDefinition) -> Iterator[tuple[str, ast.AST]]:
    columns = item.rows.columns if item.rows is not None else item.table.columns if item.table is not None else ()
    owner = item.rows.child if item.rows is not None else columns[0].reference._svc_root
    paths = {column.path for column in columns}
    starts = {column.path.split(".")[1] for column in columns}
    known = {field.fqn: field.attribute for field in owner.values()}
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == name:
                for path, inner in _features_in(node.slice, definition, owner):
                    if path in known and path not in paths:
                        yield f"{owner.cls.__name__}.{known[path]}", inner
            for row, reads in _rows_of(node, name):
                for inner in reads:
                    for use in ast.walk(inner):
                        if isinstance(use, ast.Attribute) and isinstance(use.value, ast.Name) and use.value.id == row:
                            field = owner.field(use.attr)
                            if field is not None and field.name not in starts:
                                yield f"{owner.cls.__name__}.{use.attr}", use


def _features_in(node: ast.AST, definition: ResolverDefinition, owner: FeatureClass) -> Iterator[tuple[str, ast.AST]]:
    """The FQNs in brackets, given as `Txn.amount` or as text, with their syntax. Paths through
    relations are left out.
    """
    inner_parts = {id(inner.value) for inner in ast.walk(node) if isinstance(inner, ast.Attribute) and inner.attr not in ("isin", "is_null")}
    for inner in nodes_within(node):
        if isinstance(inner, ast.Constant) and isinstance(inner.value, str):
            yield inner.value, inner
        elif isinstance(inner, ast.Attribute) and isinstance(inner.value, ast.Name) and id(inner) not in inner_parts:
            try:
                value = definition.scope.lookup(inner.value.id)
            except KeyError:
                continue
            field = owner.field(inner.attr) if value is owner.cls else None
            if field is not None:
                yield field.fqn, inner


def _rows_of(node: ast.AST, name: str) -> Iterator[tuple[str, list[ast.AST]]]:
    """The names that rows of the DataFrame have, with the code in which they do: `for row in name`,
    `[... for row in name]`.
    """
    if isinstance(node, (ast.For, ast.AsyncFor)) and _is_name(node.iter, name) and isinstance(node.target, ast.Name):
        yield node.target.id, list(node.body)
    if isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)):
        for generator in node.generators:
            if _is_name(generator.iter, name) and isinstance(generator.target, ast.Name):
                results: list[ast.AST] = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
                yield generator.target.id, [*results, *generator.ifs]


def _is_name(node: ast.AST, name: str) -> bool:
    """`name`, also with brackets behind it."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return isinstance(node, ast.Name) and node.id == name
