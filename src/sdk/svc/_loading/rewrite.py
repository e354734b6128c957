"""The rewriting that makes `and`, `or`, `not`, `in` and `is` visible in brackets.

Python lets no class overload these operators, yet filters use them: `User.txns[Txn.flag is True and
Txn.kind in ("a", "b")]`. Project modules are compiled through this rewriting, which turns them, in
brackets and in `when=` only, into calls of `ops`. For ordinary values these do what Python does.
"""

from __future__ import annotations

import ast
from typing import Iterable, Optional, Union, cast

from .._diagnostics.source import all_nodes
from . import OPERATIONS

_SYMBOLS: dict[type, str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}
#: Syntax that is rewritten, beside chains of comparisons.
_WORK = (ast.BoolOp, ast.Not, ast.Is, ast.IsNot, ast.In, ast.NotIn)
#: Syntax without children to visit.
_LEAVES = (ast.Name, ast.Constant)
#: Functions that inspect their caller's frame, so a call of them cannot move into another function.
_FRAME_BOUND = {"super", "locals", "vars", "dir", "eval", "exec", "globals"}
_ARGUMENTS = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)

Tree = Union[ast.Module, ast.Expression]


class _Rewriter(ast.NodeTransformer):
    def __init__(self, texts: bool) -> None:
        self.count = 0
        self._depth = 0
        #: Whether annotations are kept as text, to be rewritten when they are evaluated.
        self._texts = texts
        #: Names that the body of the class around binds, which functions within cannot see; None
        #: outside of class bodies.
        self._class_names: Optional[set[str]] = None

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        outer = self._class_names
        node.decorator_list = [self.visit(item) for item in node.decorator_list]
        node.bases = [self.visit(item) for item in node.bases]
        node.keywords = [self.visit(item) for item in node.keywords]
        self._class_names = _bound_names(node)
        depth, self._depth = self._depth, 0
        body: list[ast.stmt] = []
        for statement in node.body:
            body.append(self.visit(statement))
        node.body = body
        self._class_names, self._depth = outer, depth
        return node

    def _visit_function(self, node: ast.AST) -> ast.AST:
        for field, value in ast.iter_fields(node):
            if field == "body" or (field == "returns" and self._texts):
                continue
            self._visit_value(node, field, value)
        outer, self._class_names = self._class_names, None
        depth = self._depth
        if not isinstance(node, ast.Lambda):
            self._depth = 0
        self._visit_value(node, "body", node.body)  # type: ignore[attr-defined]
        self._class_names, self._depth = outer, depth
        return node

    visit_FunctionDef = _visit_function
    visit_AsyncFunctionDef = _visit_function
    visit_Lambda = _visit_function

    def _visit_value(self, node: ast.AST, field: str, value: object) -> None:
        if isinstance(value, ast.AST):
            setattr(node, field, self.visit(value))
        elif isinstance(value, list):
            setattr(node, field, [self.visit(item) if isinstance(item, ast.AST) else item for item in value])

    def visit_arg(self, node: ast.arg) -> ast.AST:
        return node if self._texts else self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.target = self.visit(node.target)
        node.annotation = node.annotation if self._texts else self.visit(node.annotation)
        node.value = self.visit(node.value) if node.value is not None else None
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        node.value = self.visit(node.value)
        self._depth += 1
        node.slice = self.visit(node.slice)
        self._depth -= 1
        return node

    def visit_keyword(self, node: ast.keyword) -> ast.AST:
        inside = node.arg == "when"
        self._depth += inside
        node.value = self.visit(node.value)
        self._depth -= inside
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        eligible = self._depth > 0 and self._can_move(node.values[1:])
        self.generic_visit(node)
        if not eligible:
            return node
        name = "and_" if isinstance(node.op, ast.And) else "or_"
        return self._call(node, name, [node.values[0], *(_thunk(value) for value in node.values[1:])])

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        if self._depth == 0 or not isinstance(node.op, ast.Not):
            return node
        return self._call(node, "not_", [node.operand])

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        special = len(node.ops) > 1 or isinstance(node.ops[0], (ast.Is, ast.IsNot, ast.In, ast.NotIn))
        eligible = self._depth > 0 and special and self._can_move(node.comparators[1:])
        self.generic_visit(node)
        if not eligible:
            return node
        symbols = [ast.Constant(_SYMBOLS[type(item)]) for item in node.ops]
        operators = ast.Tuple(cast("list[ast.expr]", symbols), ast.Load())
        later = [_thunk(value) for value in node.comparators[1:]]
        return self._call(node, "compare", [operators, node.left, node.comparators[0], *later])

    def _call(self, node: ast.expr, name: str, arguments: list[ast.expr]) -> ast.expr:
        self.count += 1
        function = ast.Attribute(ast.Name(OPERATIONS, ast.Load()), name, ast.Load())
        for made in (function, function.value):
            made.lineno = made.end_lineno = node.lineno
            made.col_offset = made.end_col_offset = node.col_offset
        call = ast.copy_location(ast.Call(function, arguments, []), node)
        return ast.fix_missing_locations(call)

    def _can_move(self, operands: list[ast.expr]) -> bool:
        """Whether operands mean the same inside a function: no `await`, `yield` or `:=`, and no
        name that only the class body binds.
        """
        for operand in operands:
            for inner in ast.walk(operand):
                if isinstance(inner, (ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr)):
                    return False
                if isinstance(inner, ast.comprehension) and inner.is_async:
                    return False
                if isinstance(inner, ast.Name) and (inner.id in _FRAME_BOUND or (self._class_names is not None and inner.id in self._class_names)):
                    return False
        return True


def _thunk(value: ast.expr) -> ast.expr:
    return ast.copy_location(ast.Lambda(_ARGUMENTS, value), value)


def _bound_names(node: ast.ClassDef) -> set[str]:
    """The names that a class's body binds, at any depth except within its functions and classes."""
    names: set[str] = set()
    waiting: list[ast.AST] = list(node.body)
    while waiting:
        item = waiting.pop()
        if isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(item.name)
        elif isinstance(item, ast.Name) and not isinstance(item.ctx, ast.Load):
            names.add(item.id)
        elif isinstance(item, ast.alias):
            names.add(item.asname or item.name.partition(".")[0])
        elif isinstance(item, ast.ExceptHandler) and item.name:
            names.add(item.name)
        elif isinstance(item, (ast.MatchAs, ast.MatchStar)) and item.name:
            names.add(item.name)
        elif isinstance(item, ast.MatchMapping) and item.rest:
            names.add(item.rest)
        if not isinstance(item, (*_SCOPES, ast.ClassDef)):
            waiting.extend(ast.iter_child_nodes(item))
    return names


def has_work(subscripts: Iterable[ast.Subscript], keywords: Iterable[ast.keyword]) -> bool:
    """Whether one of the operators occurs in a tree's brackets or `when=` arguments."""
    insides = [*(node.slice for node in subscripts), *(node.value for node in keywords if node.arg == "when")]
    for inside in insides:
        if isinstance(inside, _LEAVES):
            continue
        for inner in all_nodes(inside):
            if isinstance(inner, _WORK) or (isinstance(inner, ast.Compare) and len(inner.ops) > 1):
                return True
    return False


def _has_work(tree: ast.AST) -> bool:
    nodes = all_nodes(tree)
    return has_work((node for node in nodes if isinstance(node, ast.Subscript)), (node for node in nodes if isinstance(node, ast.keyword)))


def _keeps_annotations(tree: ast.AST) -> bool:
    """Whether a module has `from __future__ import annotations`."""
    statements = tree.body if isinstance(tree, ast.Module) else []
    imports = [item for item in statements if isinstance(item, ast.ImportFrom) and item.module == "__future__"]
    return any(alias.name == "annotations" for item in imports for alias in item.names)


def rewrite(tree: Tree) -> bool:
    """Rewrites a tree in place; true when there was anything to rewrite. Lines and columns stay
    those of the source.

    Raises RecursionError for a tree that is too deep, which is then half rewritten.
    """
    if not _has_work(tree):
        return False
    rewriter = _Rewriter(_keeps_annotations(tree))
    rewriter.visit(tree)
    return rewriter.count > 0
