"""Aggregations of columns. Nulls are left out: the sum of nothing is 0; mean, least and greatest of
nothing are null; a spread needs two values.
"""

from __future__ import annotations

import math
from datetime import date, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, Callable

Column = list[Any]


def _known(values: Column) -> Column:
    return [value for value in values if value is not None]


def total(values: Column) -> Any:
    """The sum."""
    known = _known(values)
    if known and isinstance(known[0], timedelta):
        return sum(known, timedelta(0))
    if any(isinstance(value, float) for value in known):
        return math.fsum(known) if all(map(math.isfinite, known)) else sum(known)
    return sum(known)


def mean(values: Column) -> Any:
    """The average."""
    known = _known(values)
    return total(known) / len(known) if known else None


def least(values: Column) -> Any:
    """The least value; NaN when there is one."""
    return _extreme(values, min)


def greatest(values: Column) -> Any:
    """The greatest value; NaN when there is one."""
    return _extreme(values, max)


def _extreme(values: Column, choose: Callable[..., Any]) -> Any:
    known = _known(values)
    nan = next((value for value in known if isinstance(value, float) and math.isnan(value)), None)
    return nan if nan is not None else choose(known, key=order_key) if known else None


def order_key(value: Any) -> Any:
    """The sort key of a value: NaN after all numbers, null last."""
    if value is None:
        return (1, 0, 0)
    if isinstance(value, Enum):
        value = value.value
    if isinstance(value, float) and math.isnan(value):
        return (0, 1, 0)
    return (0, 0, value)


def variance(values: Column) -> Any:
    """The sample variance."""
    known = _known(values)
    if len(known) < 2:
        return None
    if any(isinstance(value, (date, timedelta)) for value in known):
        raise TypeError("var and std are of numbers")
    middle = mean(known)
    squares = [(value - middle) ** 2 for value in known]
    return (sum(squares) if isinstance(middle, Decimal) else total(squares)) / (len(known) - 1)


def deviation(values: Column) -> Any:
    """The sample standard deviation."""
    spread = variance(values)
    return None if spread is None else spread.sqrt() if isinstance(spread, Decimal) else math.sqrt(spread)


def some(values: Column) -> bool:
    """Whether a value is true."""
    return any(_known(values))


def every(values: Column) -> bool:
    """Whether no value is false."""
    return all(_known(values))


#: The aggregations of one column by name; `count` counts rows.
AGGREGATIONS: dict[str, Callable[[Column], Any]] = {
    "sum": total,
    "mean": mean,
    "min": least,
    "max": greatest,
    "std": deviation,
    "var": variance,
    "any": some,
    "all": every,
}
