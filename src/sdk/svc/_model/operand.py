"""Operators and functions of expressions, and their constants.

Nothing is computed here, so an expression has no truth value, no length and no items.
"""

from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, Optional

#: Operators as written, by their names in the function table.
OPERATORS = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "div": "/",
    "floordiv": "//",
    "mod": "%",
    "pow": "**",
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "and": "&",
    "or": "|",
    "xor": "^",
}

#: Names of the functions that convert a value, by the target type.
_CASTS = {int: "to_int", float: "to_float", str: "to_string", date: "to_date", datetime: "to_datetime"}

#: Python types whose values can be constants in an expression.
LITERALS = (str, int, float, bytes, date, timedelta, Decimal, Enum, list, tuple, set, frozenset)


def shown(value: object) -> str:
    """A value as it is written in code; its type's name when it cannot be shown."""
    try:
        return repr(value)
    except RecursionError:
        raise
    except Exception:
        return type(value).__name__


class Operand:
    """An operand of operators."""

    __slots__ = ()

    #: Marks objects whose values are known only when a query runs.
    __svc_node__ = True
    #: Makes NumPy's numbers leave operators with such operands to the operands.
    __array_ufunc__ = None

    def __add__(self, other: object) -> Any:
        return _binary("add", self, other)

    def __radd__(self, other: object) -> Any:
        return _binary("add", other, self)

    def __sub__(self, other: object) -> Any:
        return _binary("sub", self, other)

    def __rsub__(self, other: object) -> Any:
        return _binary("sub", other, self)

    def __mul__(self, other: object) -> Any:
        return _binary("mul", self, other)

    def __rmul__(self, other: object) -> Any:
        return _binary("mul", other, self)

    def __truediv__(self, other: object) -> Any:
        return _binary("div", self, other)

    def __rtruediv__(self, other: object) -> Any:
        return _binary("div", other, self)

    def __floordiv__(self, other: object) -> Any:
        return _binary("floordiv", self, other)

    def __rfloordiv__(self, other: object) -> Any:
        return _binary("floordiv", other, self)

    def __mod__(self, other: object) -> Any:
        return _binary("mod", self, other)

    def __rmod__(self, other: object) -> Any:
        return _binary("mod", other, self)

    def __pow__(self, other: object) -> Any:
        return _binary("pow", self, other)

    def __rpow__(self, other: object) -> Any:
        return _binary("pow", other, self)

    def __lt__(self, other: object) -> Any:
        return _binary("lt", self, other)

    def __le__(self, other: object) -> Any:
        return _binary("le", self, other)

    def __gt__(self, other: object) -> Any:
        return _binary("gt", self, other)

    def __ge__(self, other: object) -> Any:
        return _binary("ge", self, other)

    def __eq__(self, other: object) -> Any:
        return _binary("eq", self, other)

    def __ne__(self, other: object) -> Any:
        return _binary("ne", self, other)

    def __and__(self, other: object) -> Any:
        return _binary("and", self, other)

    def __rand__(self, other: object) -> Any:
        return _binary("and", other, self)

    def __or__(self, other: object) -> Any:
        return _binary("or", self, other)

    def __ror__(self, other: object) -> Any:
        return _binary("or", other, self)

    def __xor__(self, other: object) -> Any:
        return _binary("xor", self, other)

    def __rxor__(self, other: object) -> Any:
        return _binary("xor", other, self)

    def __round__(self, digits: Optional[int] = None) -> Call:
        return call("round", self) if digits is None else call("round", self, digits)

    def __floor__(self) -> Call:
        return Call("floor", (self,))

    def __ceil__(self) -> Call:
        return Call("ceil", (self,))

    def __neg__(self) -> Call:
        return Call("neg", (self,))

    def __pos__(self) -> Operand:
        return self

    def __invert__(self) -> Call:
        return Call("not", (self,))

    def __abs__(self) -> Call:
        return Call("abs", (self,))

    def __hash__(self) -> int:
        return id(self)

    def __iter__(self) -> Any:
        raise TypeError(f"{self!r} is computed when a query runs: it has no items here")

    def __contains__(self, item: object) -> bool:
        raise TypeError(f"{self!r} is computed when a query runs, so 'in' has no answer here: write F.contains({self!r}, {item!r})")

    def __bool__(self) -> bool:
        raise TypeError(
            f"{self!r} is computed when a query runs, so it is neither true nor false here: "
            "write & for 'and', | for 'or', ~ for 'not' and .isin([...]) for 'in', with each comparison in parentheses"
        )


class Expression(Operand):
    """An expression, computed when a query runs."""

    __slots__ = ()

    def __deepcopy__(self, _: object) -> Expression:
        return self

    def __copy__(self) -> Expression:
        return self


class Literal(Expression):
    """A constant."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        return shown(self.value)


class Computed(Expression):
    """An expression that is no path, so that its methods cannot be taken for features."""

    __slots__ = ()

    def isin(self, values: Any) -> Call:
        """Whether the value is one of `values`."""
        return is_in(self, values)

    def cast(self, python_type: type) -> Call:
        """The value as an int, float, str, date or datetime."""
        return cast_call(self, python_type)


class Call(Computed):
    """An operator or a function applied to arguments."""

    __slots__ = ("function", "arguments")

    def __init__(self, function: str, arguments: tuple[Operand, ...]) -> None:
        self.function = function
        self.arguments = arguments

    def __repr__(self) -> str:
        operator = OPERATORS.get(self.function)
        if operator and len(self.arguments) == 2:
            left, right = (f"({item!r})" if _is_infix(item) else repr(item) for item in self.arguments)
            return f"{left} {operator} {right}"
        prefix = {"neg": "-", "not": "~"}.get(self.function)
        if prefix:
            inner = self.arguments[0]
            return f"{prefix}({inner!r})" if _is_infix(inner) else f"{prefix}{inner!r}"
        return f"F.{self.function}({', '.join(map(repr, self.arguments))})"


def _is_infix(item: object) -> bool:
    return isinstance(item, Call) and item.function in OPERATORS


def is_in(item: Operand, values: Any) -> Call:
    """Whether a value is one of several."""
    if isinstance(values, (str, bytes)) or not isinstance(values, (list, tuple, set, frozenset, Operand)):
        raise TypeError(f"isin takes a list of values: {item!r}.isin([...])")
    return Call("is_in", (item, as_operand(values)))


def cast_call(item: Operand, python_type: Any) -> Call:
    """The expression that converts a value to another type."""
    function = _CASTS.get(python_type) if isinstance(python_type, type) else None
    if function is None:
        raise TypeError(f"a value is cast to {', '.join(known.__name__ for known in _CASTS)}: {item!r}.cast(int)")
    return Call(function, (item,))


#: Methods of values, beside aggregations.
METHODS: dict[str, Any] = {"isin": is_in, "cast": cast_call}


def as_operand(value: Any) -> Any:
    """The expression of a value. Raises TypeError for a value that cannot be a constant."""
    if isinstance(value, Operand):
        return value
    if value is None or isinstance(value, LITERALS):
        return Literal(value)
    _refuse_reference(value)
    raise TypeError(f"{type(value).__name__} cannot be part of an expression")


def _refuse_reference(value: object) -> None:
    if hasattr(type(value), "_svc_root"):
        raise TypeError(f"{value!r} names a feature by its class: in expressions _ is the row, such as _.{str(value).partition('.')[2]}")


def call(name: str, *arguments: Any) -> Call:
    """A function of the table applied to arguments, as every function in `svc.functions` returns
    it.
    """
    return Call(name, tuple(as_operand(argument) for argument in arguments))


class LeftOut:
    """The type of `LEFT_OUT`: an argument that was not given, where None would be null."""

    def __repr__(self) -> str:
        return "LEFT_OUT"


LEFT_OUT = LeftOut()


def given(*optional: Any) -> tuple[Any, ...]:
    """The arguments of a call that were not left out."""
    return tuple(value for value in optional if value is not LEFT_OUT)


class When(Computed):
    """The chain `F.when(condition)`, which has no value until `.then(value)` is called."""

    __slots__ = ("parts",)

    def __init__(self, parts: tuple[Operand, ...]) -> None:
        self.parts = parts

    def then(self, value: Any) -> Branches:
        """The value when the condition is true."""
        return Branches((*self.parts, as_operand(value)))

    def __repr__(self) -> str:
        *before, condition = self.parts
        return f"{Branches(tuple(before))!r}.when({condition!r})" if before else f"F.when({condition!r})"


class Branches(Call):
    """The chain `F.when(condition).then(value)`: null when no condition is true."""

    __slots__ = ()

    def __init__(self, parts: tuple[Operand, ...]) -> None:
        super().__init__("when", parts)

    def when(self, condition: Any) -> When:
        """Adds a condition, tested when none before is true."""
        return When((*self.arguments, as_operand(condition)))

    def otherwise(self, value: Any) -> Call:
        """The value when no condition is true."""
        return Call("when", (*self.arguments, as_operand(value)))


def when_call(condition: Any, then: Any, more: tuple[Any, ...]) -> Any:
    """The result of `F.when`: a chain until it has the value for the case that no condition is
    true.
    """
    parts = tuple(as_operand(part) for part in (condition, *given(then), *more))
    if len(parts) == 1:
        return When(parts)
    return Branches(parts) if len(parts) % 2 == 0 else Call("when", parts)


def _binary(function: str, left: object, right: object) -> Any:
    for side in (left, right):
        if not isinstance(side, Operand) and side is not None and not isinstance(side, LITERALS):
            _refuse_reference(side)
            return NotImplemented
    return Call(function, (as_operand(left), as_operand(right)))
