"""Python expressions as expressions of the graph, in the functions of the server's evaluator
(`src/server/expressions/python`).
"""

from __future__ import annotations

import ast
import math
from typing import Any, Callable, Mapping, NamedTuple, Optional, Sequence

from .._codec.wire import describe

#: Largest translation of a function in nodes, and its deepest nesting.
MAX_NODES = 1_000
MAX_DEPTH = 40

_BINARY: Mapping[type, str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "truediv",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
    ast.Pow: "pow",
}
_UNARY: Mapping[type, str] = {ast.USub: "neg", ast.UAdd: "pos", ast.Not: "not"}
_COMPARISONS: Mapping[type, str] = {ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge"}
#: The least and greatest number of arguments, by builtin.
_BUILTINS: Mapping[str, tuple[int, int]] = {
    "abs": (1, 1),
    "bool": (1, 1),
    "float": (1, 1),
    "int": (1, 1),
    "len": (1, 1),
    "max": (2, 20),
    "min": (2, 20),
    "round": (1, 2),
    "str": (1, 1),
}
_METHODS: Mapping[str, tuple[int, int]] = {
    "lower": (0, 0),
    "upper": (0, 0),
    "strip": (0, 1),
    "lstrip": (0, 1),
    "rstrip": (0, 1),
    "startswith": (1, 1),
    "endswith": (1, 1),
    "replace": (2, 2),
    "total_seconds": (0, 0),
    "weekday": (0, 0),
    "isoweekday": (0, 0),
}
_ATTRIBUTES = ("year", "month", "day", "hour", "minute", "second", "microsecond", "days", "seconds", "microseconds")
#: Functions of `math` with the same result on every machine, bit for bit, and their number of
#: arguments.
_MATH: Mapping[str, int] = {
    "ceil": 1,
    "copysign": 2,
    "degrees": 1,
    "fabs": 1,
    "floor": 1,
    "fmod": 2,
    "isfinite": 1,
    "isinf": 1,
    "isnan": 1,
    "radians": 1,
    "sqrt": 1,
    "trunc": 1,
}
_MATH_CONSTANTS = ("e", "inf", "nan", "pi", "tau")


class Untranslatable(Exception):
    """The reason why a function stays in Python, in a few words: `it loops`."""

    def __init__(self, reason: str, node: Optional[ast.AST] = None, line: int = 0) -> None:
        super().__init__(reason)
        #: The line that is at fault; 0 = no one line.
        self.line: int = getattr(node, "lineno", line)


class Node(NamedTuple):
    """A translated expression as proto3 JSON of `svc.v1.Expression`."""

    document: Mapping[str, Any]
    size: int
    depth: int
    #: Whether it is sure to have a value, as parameters and constants have.
    is_plain: bool = False


def call(function: str, *arguments: Node) -> Node:
    """A function of the evaluator applied to arguments."""
    size, depth = 1 + sum(item.size for item in arguments), 1 + max((item.depth for item in arguments), default=0)
    if size > MAX_NODES or depth > MAX_DEPTH:
        raise Untranslatable("it is too long")
    return Node({"call": {"function": function, "arguments": [item.document for item in arguments]}}, size, depth)


def parameter(path: Sequence[str]) -> Node:
    """The value of a parameter, by the path of its feature."""
    return Node({"feature": {"path": list(path)}}, 1, 1, True)


def literal(value: object, node: Optional[ast.AST] = None) -> Node:
    """A constant."""
    if value is None:
        return Node({"literal": {"nullValue": "NULL_VALUE_UNSPECIFIED"}}, 1, 1, True)
    if type(value) is bool:
        return Node({"literal": {"boolValue": value}}, 1, 1, True)
    if type(value) is int and -(2**63) <= value < 2**63:
        return Node({"literal": {"int64Value": str(value)}}, 1, 1, True)
    if type(value) is float:
        if value == 0 and math.copysign(1, value) < 0:
            return call("neg", literal(0.0))
        said = value if math.isfinite(value) else "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        return Node({"literal": {"doubleValue": said}}, 1, 1, True)
    if type(value) is str and (value.isascii() or not any("\ud800" <= character <= "\udfff" for character in value)):
        return Node({"literal": {"stringValue": value}}, 1, 1, True)
    raise Untranslatable(f"it has the constant {describe(value)}, which the server does not compute with", node)


NOTHING = literal(None)
#: The expression that leaves a row to Python.
PYTHON = call("python")


#: Asks what a name means; the questions are those of `meanings.Meanings`.
Ask = Callable[..., Any]


class Expressions:
    """The translator of a function's expressions."""

    def __init__(self, ask: Ask, local_names: set[str]) -> None:
        self.ask = ask
        self.local_names = local_names

    def translate(self, node: ast.expr, names: Mapping[str, Node]) -> Node:
        """The expression; `names` are the locals. Raises Untranslatable."""
        if isinstance(node, ast.Constant):
            return literal(node.value, node)
        if isinstance(node, ast.Name):
            return self._name(node, names)
        if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
            return call(_BINARY[type(node.op)], self.translate(node.left, names), self.translate(node.right, names))
        if isinstance(node, ast.UnaryOp) and type(node.op) in _UNARY:
            return call(_UNARY[type(node.op)], self.translate(node.operand, names))
        if isinstance(node, ast.BoolOp):
            return call("and" if isinstance(node.op, ast.And) else "or", *(self.translate(value, names) for value in node.values))
        if isinstance(node, ast.IfExp):
            return call("if", *(self.translate(part, names) for part in (node.test, node.body, node.orelse)))
        if isinstance(node, ast.Compare):
            return self._compare(node, names)
        if isinstance(node, ast.JoinedStr):
            return call("text", *(self._part(part, names) for part in node.values))
        if isinstance(node, ast.Subscript):
            return self._subscript(node, names)
        if isinstance(node, ast.Attribute):
            return self._attribute(node, names)
        if isinstance(node, ast.Call):
            return self._call(node, names)
        raise Untranslatable(_REFUSED.get(type(node), f"it has an expression of kind {type(node).__name__}"), node)

    def _name(self, node: ast.Name, names: Mapping[str, Node]) -> Node:
        if node.id in names:
            return names[node.id]
        if node.id in self.local_names:
            raise Untranslatable(f"'{node.id}' may have no value when it is read", node)
        name = self.ask("math", "", node.id)
        if name in _MATH_CONSTANTS:
            return literal(getattr(math, name))
        return _said(self.ask("constant", "", node.id), node)

    def _compare(self, node: ast.Compare, names: Mapping[str, Node]) -> Node:
        parts: list[Node] = []
        left = node.left
        for operator, right in zip(node.ops, node.comparators):
            parts.append(self._comparison(operator, left, right, names))
            left = right
        return parts[0] if len(parts) == 1 else call("and", *parts)

    def _comparison(self, operator: ast.cmpop, left: ast.expr, right: ast.expr, names: Mapping[str, Node]) -> Node:
        known = _COMPARISONS.get(type(operator))
        if known is not None:
            return call(known, self.translate(left, names), self.translate(right, names))
        if isinstance(operator, (ast.Is, ast.IsNot)):
            if not isinstance(right, ast.Constant) or (right.value is not None and type(right.value) is not bool):
                raise Untranslatable("it compares identities with 'is'", right)
            found = call("is", self.translate(left, names), self.translate(right, names))
        elif isinstance(right, (ast.Tuple, ast.Set, ast.List)):
            items = [self.translate(item, names) for item in right.elts]
            if isinstance(right, ast.Set) and not all(isinstance(item, ast.Constant) for item in right.elts):
                raise Untranslatable("it makes a set of values that are not constants", right)
            found = call("among", self.translate(left, names), *items)
        else:
            found = self._in_named(left, right, names)
        return call("not", found) if isinstance(operator, (ast.IsNot, ast.NotIn)) else found

    def _in_named(self, left: ast.expr, right: ast.expr, names: Mapping[str, Node]) -> Node:
        """`x in TUPLE` with a constant of a module, or `x in text`."""
        if isinstance(right, ast.Name) and right.id not in names and right.id not in self.local_names:
            members = self.ask("members", right.id)
            if members is not None:
                items = [_said(item, right) for item in members]
                return call("among", self.translate(left, names), *items)
        return call("contains", self.translate(left, names), self.translate(right, names))

    def _part(self, node: ast.expr, names: Mapping[str, Node]) -> Node:
        if not isinstance(node, ast.FormattedValue):
            return self.translate(node, names)
        if node.format_spec is not None or node.conversion not in (-1, ord("s")):
            raise Untranslatable("it formats values with a specification", node)
        return self.translate(node.value, names)

    def _subscript(self, node: ast.Subscript, names: Mapping[str, Node]) -> Node:
        value = self.translate(node.value, names)
        if not isinstance(node.slice, ast.Slice):
            return call("item", value, self.translate(node.slice, names))
        if node.slice.step is not None:
            raise Untranslatable("it slices with a step", node)
        bounds = (node.slice.lower, node.slice.upper)
        return call("slice", value, *(NOTHING if bound is None else self.translate(bound, names) for bound in bounds))

    def _attribute(self, node: ast.Attribute, names: Mapping[str, Node]) -> Node:
        holder = node.value
        if isinstance(holder, ast.Name) and holder.id not in names and holder.id not in self.local_names:
            if self.ask("math", holder.id, node.attr) in _MATH_CONSTANTS:
                return literal(getattr(math, node.attr))
            if self.ask("is module", holder.id):
                return _said(self.ask("constant", holder.id, node.attr), node)
        if node.attr not in _ATTRIBUTES:
            raise Untranslatable(f"it reads the attribute '{node.attr}'", node)
        return call(node.attr, self.translate(holder, names))

    def _call(self, node: ast.Call, names: Mapping[str, Node]) -> Node:
        function, count = node.func, len(node.args)
        shown = ast.unparse(function)
        if node.keywords or any(isinstance(item, ast.Starred) for item in node.args):
            raise Untranslatable(f"it calls '{shown}' with keywords or stars", node)
        known: Optional[str] = None
        limits = (0, 0)
        before: list[Node] = []
        is_local = isinstance(function, ast.Name) and (function.id in names or function.id in self.local_names)
        holder = function.value if isinstance(function, ast.Attribute) else None
        is_shadowed = isinstance(holder, ast.Name) and (holder.id in names or holder.id in self.local_names)
        name = "" if is_local or is_shadowed else self._math_name(function)
        if name:
            known, limits = (f"math.{name}", (_MATH[name], _MATH[name])) if name in _MATH else (None, limits)
        elif isinstance(function, ast.Name) and not is_local and function.id in _BUILTINS:
            reason = self.ask("builtin", function.id)
            if reason:
                raise Untranslatable(f"'{function.id}' may not be Python's own: {reason}", node)
            known, limits = function.id, _BUILTINS[function.id]
        elif isinstance(function, ast.Attribute) and function.attr in _METHODS:
            known, limits = function.attr, _METHODS[function.attr]
            before.append(self.translate(function.value, names))
        if known is None or not limits[0] <= count <= limits[1]:
            raise Untranslatable(f"it calls '{shown}'", node)
        return call(known, *before, *(self.translate(item, names) for item in node.args))


    def _math_name(self, function: ast.expr) -> str:
        """The name in `math` of a function that is called; empty when it may be another."""
        found = ""
        if isinstance(function, ast.Name):
            found = self.ask("math", "", function.id)
        elif isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
            found = self.ask("math", function.value.id, function.attr)
        return found


def _said(answer: Any, node: ast.AST) -> Node:
    """The constant of an answer. Raises Untranslatable when the answer is why there is none."""
    if isinstance(answer, str):
        raise Untranslatable(answer, node)
    return Node(*answer)


_REFUSED: Mapping[type, str] = {
    ast.Await: "it awaits",
    ast.Dict: "it makes a dict",
    ast.DictComp: "it loops",
    ast.GeneratorExp: "it loops",
    ast.Lambda: "it defines a function",
    ast.List: "it makes a list",
    ast.ListComp: "it loops",
    ast.NamedExpr: "it assigns within an expression",
    ast.Set: "it makes a set",
    ast.SetComp: "it loops",
    ast.Tuple: "it makes a tuple",
    ast.Yield: "it yields",
    ast.YieldFrom: "it yields",
}
