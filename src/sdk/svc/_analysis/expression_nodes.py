"""The syntax of each part of an expression, found by matching the expression's tree with the
source's.
"""

from __future__ import annotations

import ast
import inspect
from typing import Optional

from .. import functions
from .._diagnostics.findings import Span
from .._diagnostics.source import Source
from .._model.expression import Bracketed, Call, Literal, Operand

_COMPARISONS = {ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge"}
_MIRRORED = {"eq": "eq", "ne": "ne", "lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
_BINARY = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "div",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
    ast.Pow: "pow",
    ast.BitAnd: "and",
    ast.BitOr: "or",
    ast.BitXor: "xor",
}
_UNARY = {ast.USub: "neg", ast.Invert: "not", ast.Not: "not"}
_BOOLEAN = {ast.And: "and", ast.Or: "or"}

Node = Optional[ast.AST]


def arguments_of(item: Call, node: Node) -> list[Node]:
    """The syntax of every argument; that of the whole call where the arguments cannot be told
    apart.
    """
    found = _matched(item, node)
    return found if found is not None else [node] * len(item.arguments)


def _matched(item: Call, node: Node) -> Optional[list[Node]]:
    count = len(item.arguments)
    if isinstance(node, ast.BinOp) and _BINARY.get(type(node.op)) == item.function and count == 2:
        return [node.left, node.right]
    if isinstance(node, ast.UnaryOp) and _UNARY.get(type(node.op)) == item.function and count == 1:
        return [node.operand]
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and count == 2:
        written, left, right = _COMPARISONS.get(type(node.ops[0])), node.left, node.comparators[0]
        if written == item.function and not (_is_constant(left) and not _is_literal(item.arguments[0])):
            return [left, right]
        return [right, left] if written is not None and _MIRRORED[written] == item.function else None
    if isinstance(node, ast.BoolOp) and _BOOLEAN.get(type(node.op)) == item.function and count == 2:
        *before, last = node.values
        if len(before) == 1:
            return [before[0], last]
        rest = ast.BoolOp(op=node.op, values=before)
        rest.lineno, rest.col_offset = before[0].lineno, before[0].col_offset
        rest.end_lineno, rest.end_col_offset = before[-1].end_lineno, before[-1].end_col_offset
        return [rest, last]
    if isinstance(node, ast.Call):
        return _called(item, node)
    return None


def _called(item: Call, node: ast.Call) -> Optional[list[Node]]:
    if item.function == "when":
        found = _chained(node)
        if found is not None and len(found) == len(item.arguments):
            return found
    given = _given(node)
    if given is None:
        return None
    if isinstance(node.func, ast.Attribute) and node.func.attr in ("isin", "cast") and len(given) == 1:
        return [node.func.value, given[0]][: len(item.arguments)]
    name = _name_of(node)
    if name == "cast" and len(given) == 2:
        return given[: len(item.arguments)]
    is_same = name.rstrip("_") == item.function or (isinstance(node.func, ast.Name) and len(given) == len(item.arguments))
    return given if is_same and len(given) == len(item.arguments) else None


def _name_of(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id if isinstance(node.func, ast.Name) else ""


def _given(node: ast.Call) -> Optional[list[Node]]:
    """The arguments in the order of the function's parameters; None when stars hide them."""
    if any(isinstance(argument, ast.Starred) for argument in node.args) or any(keyword.arg is None for keyword in node.keywords):
        return None
    named = {str(keyword.arg): keyword.value for keyword in node.keywords}
    function = getattr(functions, _name_of(node), None) if named else None
    if function is None:
        return [*node.args, *named.values()]
    try:
        bound = inspect.signature(function).bind(*node.args, **named).arguments
    except TypeError:
        return None
    return [each for value in bound.values() for each in (value if isinstance(value, tuple) else (value,))]


def _chained(node: ast.Call) -> Optional[list[Node]]:
    """The arguments of a chain such as `F.when(a).then(b).otherwise(c)`, in order."""
    parts: list[Node] = []
    at: ast.AST = node
    while isinstance(at, ast.Call) and _name_of(at) in ("when", "then", "otherwise"):
        own = _given(at)
        if own is None:
            return None
        parts[:0] = own
        at = at.func.value if isinstance(at.func, ast.Attribute) else at.func
    return parts


def _is_literal(item: Operand) -> bool:
    return isinstance(item, Literal)


def _is_constant(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) or (isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant))


def prefix_of(node: Node) -> Node:
    """`_.a` of `_.a.b` and of `_.a[...]`."""
    return node.value if isinstance(node, (ast.Attribute, ast.Subscript)) else node


def receiver_of(node: Node) -> Node:
    """`_.a` of `_.a.count()`."""
    return node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else node


def items_of(item: Bracketed, node: Node) -> list[Node]:
    """The syntax of each item in brackets."""
    found: list[Node] = []
    at = node
    while isinstance(at, ast.Subscript):
        inner = at.slice.elts if isinstance(at.slice, ast.Tuple) else [at.slice]
        found[:0] = inner
        at = at.value
    return found if len(found) == len(item._svc_items) else [node] * len(item._svc_items)


def name_span(node: Node, name: str, source: Source) -> Optional[Span]:
    """The last name of an attribute."""
    if isinstance(node, ast.Attribute) and node.attr == name:
        whole = source.span(node)
        return Span(whole.file, whole.end_line, whole.end_column - len(name), whole.end_line, whole.end_column)
    return None


def method_of(node: Node, source: Source) -> Optional[Span]:
    """The name of the method that is called."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return name_span(node.func, node.func.attr, source)
    return None


def given_nodes(node: Node, names: tuple[str, ...], count: int) -> list[Node]:
    """The syntax of each of the arguments of a method, which are given by position or by name; that
    of the whole call where they cannot be told apart.
    """
    if isinstance(node, ast.Call):
        named = {keyword.arg: keyword.value for keyword in node.keywords}
        found = [*node.args, *(named[name] for name in names[len(node.args) :] if name in named)]
        if len(found) == count and not any(isinstance(each, ast.Starred) for each in found):
            return list(found)
    return [node] * count
