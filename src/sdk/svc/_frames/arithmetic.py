"""Arithmetic on features in filters: what `Txn.amount * 2` is in `User.txns[Txn.amount * 2 > 100]`.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Callable

from .conditions import Column, Comparison, Condition, column_of, is_reference

if TYPE_CHECKING:
    from .dataframe import DataFrame

#: By operator: the name in the function table, and Python's function.
ARITHMETIC: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "+": ("add", operator.add),
    "-": ("sub", operator.sub),
    "*": ("mul", operator.mul),
    "/": ("div", operator.truediv),
    "//": ("floordiv", operator.floordiv),
    "%": ("mod", operator.mod),
}


class ArithmeticOperators:
    """Operators `+ - * / // %` with numbers and features, and unary `-`."""

    __slots__ = ()

    def __add__(self, other: object) -> Any:
        return _made("+", self, other)

    def __radd__(self, other: object) -> Any:
        return _made("+", other, self)

    def __sub__(self, other: object) -> Any:
        return _made("-", self, other)

    def __rsub__(self, other: object) -> Any:
        return _made("-", other, self)

    def __mul__(self, other: object) -> Any:
        return _made("*", self, other)

    def __rmul__(self, other: object) -> Any:
        return _made("*", other, self)

    def __truediv__(self, other: object) -> Any:
        return _made("/", self, other)

    def __rtruediv__(self, other: object) -> Any:
        return _made("/", other, self)

    def __floordiv__(self, other: object) -> Any:
        return _made("//", self, other)

    def __rfloordiv__(self, other: object) -> Any:
        return _made("//", other, self)

    def __mod__(self, other: object) -> Any:
        return _made("%", self, other)

    def __rmod__(self, other: object) -> Any:
        return _made("%", other, self)

    def __neg__(self) -> Any:
        return _made("-", 0, self)


class Arithmetic(ArithmeticOperators, Condition):
    """Arithmetic on features and numbers, to be compared in a filter. It is null where an operand
    is.
    """

    def __init__(self, symbol: str, left: Any, right: Any) -> None:
        self.symbol = symbol
        self.left = left
        self.right = right

    def operands(self) -> tuple[Any, ...]:
        return (self.left, self.right)

    def evaluate(self, frame: DataFrame) -> Column:
        compute = ARITHMETIC[self.symbol][1]
        try:
            return [None if a is None or b is None else compute(a, b) for a, b in zip(column_of(self.left, frame), column_of(self.right, frame))]
        except TypeError as error:
            raise TypeError(f"the filter {self!r} cannot be evaluated: {error}") from None

    def __eq__(self, other: object) -> Any:
        return Comparison(self, other, "==")

    def __ne__(self, other: object) -> Any:
        return Comparison(self, other, "!=")

    def __lt__(self, other: object) -> Any:
        return Comparison(self, other, "<")

    def __le__(self, other: object) -> Any:
        return Comparison(self, other, "<=")

    def __gt__(self, other: object) -> Any:
        return Comparison(self, other, ">")

    def __ge__(self, other: object) -> Any:
        return Comparison(self, other, ">=")

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        left, right = (f"({item!r})" if isinstance(item, Arithmetic) else repr(item) for item in (self.left, self.right))
        return f"{left} {self.symbol} {right}"


def _made(symbol: str, left: object, right: object) -> Any:
    for item in (left, right):
        if not is_reference(item) and not isinstance(item, Arithmetic) and (not isinstance(item, (int, float)) or isinstance(item, bool)):
            return NotImplemented
    return Arithmetic(symbol, left, right)
