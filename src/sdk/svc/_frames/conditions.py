"""Conditions on features, such as `Txn.amount > 100` in brackets and joins.

A condition has no truth value. It is evaluated by columns, with the three-valued logic of SQL: a
comparison with null is null, and a filter keeps the rows for which it is true. `== None`, `is None`
and `is_null()` ask for null itself.
"""

from __future__ import annotations

import operator
from datetime import datetime, timedelta, timezone
from enum import Enum
from typing import TYPE_CHECKING, Any, Callable, Iterable, Optional, Union

if TYPE_CHECKING:
    from .dataframe import DataFrame

Column = list[Any]

#: Comparisons by operator.
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def is_reference(value: Any) -> bool:
    """Whether a value is a reference to a feature."""
    return hasattr(type(value), "_svc_root")


#: Advice on what to write instead; the plugin is for tests, whose modules no deployment loads.
_CURE = (
    "join conditions with & and | instead of 'and' and 'or', negate with ~ and test with .isin(); "
    "in tests, `pytest -p svc._pytest_plugin` reads the words in brackets"
)


class Condition:
    """A condition on features, for filters and for `has_one(lambda: ...)`. Conditions are joined
    with `&`, `|` and `~`.
    """

    #: Marks objects whose values are known only when a query runs.
    __svc_node__ = True

    #: The number of times a condition was asked for its truth value, which `and`, `or` and `not` do
    #: where they cannot be captured.
    truth_tests = 0

    def __and__(self, other: Any) -> Any:
        right = as_condition(other)
        return NotImplemented if right is None else Conjunction(self, right)

    def __rand__(self, other: Any) -> Any:
        left = as_condition(other)
        return NotImplemented if left is None else Conjunction(left, self)

    def __or__(self, other: Any) -> Any:
        right = as_condition(other)
        return NotImplemented if right is None else Disjunction(self, right)

    def __ror__(self, other: Any) -> Any:
        left = as_condition(other)
        return NotImplemented if left is None else Disjunction(left, self)

    def __invert__(self) -> Condition:
        return Negation(self)

    def __bool__(self) -> bool:
        Condition.truth_tests += 1
        raise TypeError(f"a condition on features has no truth value: {_CURE}")

    def operands(self) -> tuple[Any, ...]:
        """Its operands: references, conditions and plain values."""
        raise NotImplementedError

    def evaluate(self, frame: DataFrame) -> Column:
        """True, False or None for every row."""
        raise NotImplementedError


class Comparison(Condition):
    """`left == right`, `left < right` and so on. Between two references `==` and `!=` have a truth
    value: whether they are the same feature.
    """

    def __init__(self, left: Any, right: Any, operator: str = "==") -> None:
        self.left = left
        self.right = right
        self.operator = operator

    def operands(self) -> tuple[Any, ...]:
        return (self.left, self.right)

    def __bool__(self) -> bool:
        Condition.truth_tests += 1
        if self.operator in ("==", "!=") and is_reference(self.left) and is_reference(self.right):
            left, right = self.left, self.right
            same = left is right or (left._svc_root.namespace == right._svc_root.namespace and left._svc_names == right._svc_names)
            return same is (self.operator == "==")
        raise TypeError(f"the condition {self!r} has no truth value: {_CURE}")

    def evaluate(self, frame: DataFrame) -> Column:
        if self.right is None and self.operator in ("==", "!="):
            return [(value is None) is (self.operator == "==") for value in column_of(self.left, frame)]
        compare = OPERATORS[self.operator]
        left = column_of(self.left, frame)
        try:
            if not isinstance(self.right, Condition) and not is_reference(self.right) and self.right is not None:
                constant = plain_value(self.right)
                return [None if value is None else compare(value, constant) for value in left]
            return [None if a is None or b is None else compare(a, b) for a, b in zip(left, column_of(self.right, frame))]
        except TypeError as error:
            raise TypeError(f"the filter {self!r} cannot be evaluated: {error}") from None

    def __repr__(self) -> str:
        return f"{_shown(self.left)} {self.operator} {_shown(self.right)}"


class _Pair(Condition):
    """Two conditions, joined by an operator."""

    def __init__(self, left: Condition, right: Condition) -> None:
        self.left = left
        self.right = right

    def operands(self) -> tuple[Any, ...]:
        return (self.left, self.right)


class Conjunction(_Pair):
    """`left & right`."""

    def evaluate(self, frame: DataFrame) -> Column:
        return [
            False if a is False or b is False else None if a is None or b is None else True
            for a, b in zip(self.left.evaluate(frame), self.right.evaluate(frame))
        ]

    def __repr__(self) -> str:
        return f"({self.left!r}) & ({self.right!r})"


class Disjunction(_Pair):
    """`left | right`."""

    def evaluate(self, frame: DataFrame) -> Column:
        return [
            True if a is True or b is True else None if a is None or b is None else False
            for a, b in zip(self.left.evaluate(frame), self.right.evaluate(frame))
        ]

    def __repr__(self) -> str:
        return f"({self.left!r}) | ({self.right!r})"


class Negation(Condition):
    """`~condition`."""

    def __init__(self, condition: Condition) -> None:
        self.condition = condition

    def operands(self) -> tuple[Any, ...]:
        return (self.condition,)

    def evaluate(self, frame: DataFrame) -> Column:
        return [None if value is None else not value for value in self.condition.evaluate(frame)]

    def __repr__(self) -> str:
        return f"~({self.condition!r})"


class Truth(Condition):
    """A feature of type bool as a condition: `Txn.flag & (Txn.amount > 100)`."""

    def __init__(self, operand: Any) -> None:
        self.operand = operand

    def operands(self) -> tuple[Any, ...]:
        return (self.operand,)

    def evaluate(self, frame: DataFrame) -> Column:
        values = column_of(self.operand, frame)
        for value in values:
            if value is not None and type(value) is not bool:
                raise TypeError(f"{self.operand!r} is {type(value).__name__}, not bool: compare it, such as {self.operand!r} > 0")
        return values

    def __repr__(self) -> str:
        return repr(self.operand)


class Membership(Condition):
    """`feature.isin(values)`."""

    def __init__(self, left: Any, values: Iterable[Any]) -> None:
        if isinstance(values, (str, bytes)) or not hasattr(type(values), "__iter__") or hasattr(type(values), "__svc_node__"):
            raise TypeError(f"isin takes a list of values: {left!r}.isin([...])")
        self.left = left
        self.values = tuple(values)

    def operands(self) -> tuple[Any, ...]:
        return (self.left, *self.values)

    def evaluate(self, frame: DataFrame) -> Column:
        plain = [plain_value(value) for value in self.values]
        try:
            known: Any = frozenset(plain)
        except TypeError:
            known = plain
        return [None if value is None else value in known for value in column_of(self.left, frame)]

    def __repr__(self) -> str:
        return f"{_shown(self.left)}.isin([{', '.join(repr(value) for value in self.values)}])"


class Containment(Condition):
    """`feature.contains(text)`: whether a text has another one in it, letter by letter."""

    def __init__(self, left: Any, right: Any) -> None:
        if not isinstance(right, str) and not is_reference(right):
            raise TypeError(f'contains takes a text: {left!r}.contains("word")')
        self.left = left
        self.right = right

    def operands(self) -> tuple[Any, ...]:
        return (self.left, self.right)

    def evaluate(self, frame: DataFrame) -> Column:
        pairs = zip(column_of(self.left, frame), column_of(self.right, frame))
        try:
            return [None if value is None or part is None else part in value for value, part in pairs]
        except TypeError as error:
            raise TypeError(f"the filter {self!r} cannot be evaluated: {error}") from None

    def __repr__(self) -> str:
        return f"{_shown(self.left)}.contains({_shown(self.right)})"


class Nearness(Condition):
    """`Search.emb.is_near(Doc.emb, k=10)`: the part of a join that chooses the nearest rows.

    k: number of rows. metric: what is small for near vectors. distance: the feature of the other
    class that is given the distance. What is wrong with them is a finding of the relation.
    """

    def __init__(self, left: Any, right: Any, *, k: Any = 10, metric: Any = "cosine", distance: Any = None) -> None:
        self.left = left
        self.right = right
        self.k = k
        self.metric = metric
        self.distance = distance

    def operands(self) -> tuple[Any, ...]:
        return (self.left, self.right)

    def evaluate(self, frame: DataFrame) -> Column:
        raise TypeError(f"{self!r} is no filter: it stands in has_many(lambda: ...)")

    def __repr__(self) -> str:
        return f"{_shown(self.left)}.is_near({_shown(self.right)})"


class NullTest(Condition):
    """`feature.is_null()`: true or false, never null itself."""

    def __init__(self, operand: Any) -> None:
        self.operand = operand

    def operands(self) -> tuple[Any, ...]:
        return (self.operand,)

    def evaluate(self, frame: DataFrame) -> Column:
        return [value is None for value in column_of(self.operand, frame)]

    def __repr__(self) -> str:
        return f"{_shown(self.operand)}.is_null()"


class Constant(Condition):
    """True or False for every row."""

    def __init__(self, value: bool) -> None:
        self.value = value

    def operands(self) -> tuple[Any, ...]:
        return (self.value,)

    def evaluate(self, frame: DataFrame) -> Column:
        return [self.value] * len(frame)

    def __repr__(self) -> str:
        return repr(self.value)


class TimeBound(Condition):
    """`before(days_ago=7)` or `after(days_ago=7)`: compares the feature time of the rows with a
    time, by default one that lies before now.
    """

    def __init__(self, name: str, at: Union[datetime, timedelta]) -> None:
        self.name = name
        self.at = at

    @property
    def operator(self) -> str:
        """The comparison of the feature time with the bound."""
        return "<=" if self.name == "before" else ">"

    def operands(self) -> tuple[Any, ...]:
        return ()

    def evaluate(self, frame: DataFrame) -> Column:
        bound = plain_value(self.at) if isinstance(self.at, datetime) else frame.now - self.at
        compare = OPERATORS[self.operator]
        return [None if time is None else compare(plain_value(time), bound) for time in frame.times(self.name)]

    def __repr__(self) -> str:
        return f"{self.name}({'' if isinstance(self.at, datetime) else 'now - '}{self.at})"


_UNITS = ("weeks_ago", "days_ago", "hours_ago", "minutes_ago", "seconds_ago")


def time_bound(name: str, at: Optional[datetime], ago: dict[str, float]) -> TimeBound:
    """The condition `before` or `after` with its arguments. Raises TypeError for arguments that
    give no time.
    """
    for unit in ago:
        if unit not in _UNITS:
            raise TypeError(f"{name}() takes {', '.join(_UNITS)}, not '{unit}'")
    if (at is None) is (not ago) or (at is not None and not isinstance(at, datetime)):
        raise TypeError(f"{name}() takes a datetime or how long ago: {name}(days_ago=7)")
    return TimeBound(name, at if at is not None else timedelta(**{unit[:-4]: amount for unit, amount in ago.items()}))


def before(at: Optional[datetime] = None, /, **ago: float) -> Condition:
    """A filter: rows whose feature time is not after a time, given as datetime or as `days_ago=`
    (also weeks, hours, minutes, seconds) from now.

        User.txns[before(days_ago=30), Txn.amount]

    `before` and `after` the same time have no row in common and, but for rows without a time, leave
    none out.
    """
    return time_bound("before", at, ago)


def after(at: Optional[datetime] = None, /, **ago: float) -> Condition:
    """A filter: rows whose feature time is after a time, given as datetime or as `days_ago=` (also
    weeks, hours, minutes, seconds) from now.
    """
    return time_bound("after", at, ago)


def as_condition(value: Any) -> Optional[Condition]:
    """A condition, a feature of type bool or a bool as a condition; None for anything else."""
    if isinstance(value, Condition):
        return value
    if is_reference(value):
        return Truth(value)
    return Constant(value) if isinstance(value, bool) else None


def column_of(operand: Any, frame: DataFrame) -> Column:
    """The values of an operand, one for each row of a frame, ready to be compared."""
    if isinstance(operand, Condition):
        return operand.evaluate(frame)
    if is_reference(operand):
        values = frame.values_of(operand)
        if any(issubclass(kind, (Enum, datetime)) for kind in set(map(type, values))):
            return [plain_value(value) for value in values]
        return values
    return [plain_value(operand)] * len(frame)


def references_in(operand: Any) -> list[Any]:
    """The references in a condition, in the order in which they are written."""
    if isinstance(operand, Condition):
        return [reference for inner in operand.operands() for reference in references_in(inner)]
    return [operand] if is_reference(operand) else []


def plain_value(value: Any) -> Any:
    """A value ready to be compared: of an enum's member its value, a time with its zone."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, datetime) and value.tzinfo is None:
        return value.replace(tzinfo=timezone.utc)
    return value


def _shown(operand: Any) -> str:
    return f"({operand!r})" if isinstance(operand, Condition) else repr(operand)
