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


def distinct(values: Column) -> int:
    """The number of different values; NaN equals itself."""
    return len({_token(value) for value in _known(values)})


def percentile(values: Column, quantile: float) -> Any:
    """The least value that at least a share of all values do not exceed."""
    if isinstance(quantile, bool) or not isinstance(quantile, (int, float)) or not 0 <= quantile <= 1:
        raise ValueError(f"the quantile must be a number from 0 to 1, such as 0.95, not {quantile!r}")
    known = sorted(_known(values), key=order_key)
    if not known:
        return None
    if isinstance(known[-1], float) and math.isnan(known[-1]):
        return known[-1]
    from fractions import Fraction

    found = known[max(0, math.ceil(Fraction(repr(quantile)) * len(known)) - 1)]
    return float(found) if isinstance(found, int) else found


def most_frequent(values: Column, k: int) -> Column:
    """The values that occur most often, of equally frequent ones the least first."""
    counts: dict[Any, int] = {}
    first: dict[Any, Any] = {}
    for value in _known(values):
        token = _token(value)
        counts[token] = counts.get(token, 0) + 1
        first.setdefault(token, value)
    ordered = _in_order([(value, token) for token, value in first.items()])
    return [value for value, _ in sorted(ordered, key=lambda pair: -counts[pair[1]])][: _whole("k", k, 100)]


def by_key(values: Column, keys: Column, n: int, greatest_first: bool) -> Column:
    """The values of the rows with the greatest or least keys; of equal keys the lesser value comes
    first, and rows without a value or a key are left out.
    """
    known = [(value, key) for value, key in zip(values, keys) if value is not None and key is not None]
    ordered = sorted(_in_order(known), key=lambda pair: order_key(pair[1]), reverse=greatest_first)
    return [value for value, _ in ordered[: _whole("n", n, 1000)]]


def _whole(name: str, value: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        raise ValueError(f"{name} must be a whole number from 1 to {most}, not {value!r}")
    return value


def _in_order(pairs: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """Pairs in the order of their first parts; those of types without an order by their text."""
    try:
        return sorted(pairs, key=lambda pair: order_key(pair[0]))
    except TypeError:
        return sorted(pairs, key=lambda pair: repr(pair[0]))


def _token(value: Any) -> Any:
    """What is equal for equal values, and can be a key of a dict."""
    if isinstance(value, float) and math.isnan(value):
        return "nan", None
    try:
        hash(value)
    except TypeError:
        return repr(value), None
    return value


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
    "approx_count_distinct": distinct,
}

#: Aggregations that take a constant, by name.
OF_CONSTANT: dict[str, Callable[[Column, Any], Any]] = {"approx_percentile": percentile, "approx_top_k": most_frequent}

#: Whether aggregations by a key take the greatest keys, by name; those that end with _n take a
#: number of rows.
BY_KEY = {"min_by": False, "max_by": True, "min_by_n": False, "max_by_n": True}
