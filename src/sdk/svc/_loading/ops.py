"""The operators `and`, `or`, `not`, `in` and `is` in brackets after `rewrite`: for ordinary values
they do what Python does; for features and `_`, known only when a query runs, they build the
condition.

The operands that Python would not always evaluate come as functions without parameters.
"""

from __future__ import annotations

from typing import Any, Callable

from .._frames.conditions import OPERATORS, Condition, Membership, NullTest, as_condition, is_reference
from .._model.expression import Call, Literal, is_in

Thunk = Callable[[], Any]


def is_node(value: Any) -> bool:
    """Whether an object stands for a value that is known only when a query runs."""
    return hasattr(type(value), "__svc_node__") or is_reference(value)


def and_(value: Any, *rest: Thunk) -> Any:
    """`value and a and b`."""
    for thunk in rest:
        if is_node(value):
            value = _operand(value) & _operand(thunk())
        elif not value:
            return value
        else:
            value = thunk()
    return value


def or_(value: Any, *rest: Thunk) -> Any:
    """`value or a or b`."""
    for thunk in rest:
        if is_node(value):
            value = _operand(value) | _operand(thunk())
        elif value:
            return value
        else:
            value = thunk()
    return value


def not_(value: Any) -> Any:
    """`not value`."""
    return ~_operand(value) if is_node(value) else not value


def compare(operators: tuple[str, ...], left: Any, right: Any, *rest: Thunk) -> Any:
    """`left < right < a`: every operand is evaluated once, and none after a comparison that is
    false.
    """
    result = _compare(operators[0], left, right)
    for symbol, thunk in zip(operators[1:], rest):
        if not is_node(result) and not result:
            return result
        left, right = right, thunk()
        following = _compare(symbol, left, right)
        result = result & _operand(following) if is_node(result) else following
    return result


def _operand(value: Any) -> Any:
    """A feature as the condition that it is true."""
    return as_condition(value) if is_reference(value) else value


def _compare(symbol: str, left: Any, right: Any) -> Any:
    plain = OPERATORS.get(symbol)
    if plain is not None:
        return plain(left, right)
    if symbol in ("is", "is not"):
        return _identity(left, right, symbol == "is")
    if not _is_membership(left, right):
        return left in right if symbol == "in" else left not in right
    values = list(right) if isinstance(right, (dict, range)) else right
    found = Membership(left, values) if isinstance(left, Condition) or is_reference(left) else is_in(left, values)
    return found if symbol == "in" else ~found


def _identity(left: Any, right: Any, same: bool) -> Any:
    if is_node(right) and not is_node(left):
        left, right = right, left
    if not is_node(left) or not (right is None or isinstance(right, bool)):
        return left is right if same else left is not right
    is_feature = isinstance(left, Condition) or is_reference(left)
    null: Any = NullTest(left) if is_feature else Call("is_null", (left,))
    if right is None:
        return null if same else ~null
    equal: Any = Call("eq", (left, Literal(right)))
    if is_feature:
        equal = left == right if is_reference(left) else left if right else ~left
    return ~null & equal if same else null | ~equal


def _is_membership(left: Any, right: Any) -> bool:
    """Whether `left in right` is known only when a query runs. A feature among features is found by
    Python's own `in`, because features are keys of dicts.
    """
    if not is_node(left):
        return False
    if is_node(right) or isinstance(right, (str, bytes)):
        return True
    return isinstance(right, (list, tuple, set, frozenset, dict, range)) and not any(is_node(item) for item in right)
