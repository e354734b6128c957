"""The comparison of a query's result with expected values."""

from __future__ import annotations

import base64
import math
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal, InvalidOperation
from enum import Enum
from typing import Any, Mapping

from .._codec.structs import is_struct_value, struct_hints
from .result import QueryResult
from .values import result_name, to_datetime, to_timedelta

_NUMBERS = (int, float, Decimal)


@dataclass(frozen=True)
class Tolerance:
    """The tolerance for floats, as in `math.isclose`."""

    relative: float
    absolute: float


def checked(result: QueryResult, assertions: Mapping[Any, Any], tolerance: Tolerance) -> QueryResult:
    """The result, when it is as expected. Raises AssertionError with everything that is not."""
    problem = mismatches(result, assertions, tolerance)
    if problem:
        raise AssertionError(problem)
    return result


def expected_outputs(assertions: Mapping[Any, Any]) -> list[Any]:
    """The outputs of a check. Raises ValueError when nothing is expected."""
    if not assertions:
        raise ValueError("check needs the values that are expected, by feature: assertions={User.name: 'Ann'}")
    return list(assertions)


def mismatches(result: QueryResult, assertions: Mapping[Any, Any], tolerance: Tolerance) -> str:
    """The differences, in words; empty when there are none."""
    found: list[str] = []
    for feature, expected in assertions.items():
        name = result_name(feature)
        got = result.get_feature(name)
        if got.error is not None:
            found.append(f"  {name}\n    expected: {expected!r}\n    failed:   {got.error}")
        elif not same(expected, got.value, tolerance):
            found.append(f"  {name}\n    expected: {expected!r}\n    got:      {got.value!r}")
    if not found:
        return ""
    many = len(assertions)
    return "\n".join([f"{len(found)} of {many} feature{'s' if many != 1 else ''} not as expected:", *found])


def same(expected: Any, got: Any, tolerance: Tolerance) -> bool:
    """Whether a value is the expected one. Values whose class is not known came as plain JSON: text
    of a time equals that time.
    """
    if isinstance(expected, Enum) and not isinstance(got, Enum):
        return same(expected.value, got, tolerance)
    if isinstance(got, Enum) and not isinstance(expected, Enum):
        return same(expected, got.value, tolerance)
    if expected is None or got is None or isinstance(expected, bool) or isinstance(got, bool):
        return type(expected) is type(got) and expected == got
    try:
        return _same(expected, _like(expected, got), tolerance)
    except (ValueError, TypeError, InvalidOperation):
        return False


def _like(expected: Any, got: Any) -> Any:
    """Plain JSON converted to the type of the expected value."""
    if isinstance(got, str):
        if isinstance(expected, datetime):
            return to_datetime(got)
        if isinstance(expected, date):
            return date.fromisoformat(got)
        if isinstance(expected, (int, Decimal)):
            return type(expected)(got)
        if isinstance(expected, timedelta):
            return to_timedelta(got)
        if isinstance(expected, bytes):
            return base64.b64decode(got)
    if isinstance(expected, timedelta) and isinstance(got, (int, float)):
        return to_timedelta(got)
    return got


def _same(expected: Any, got: Any, tolerance: Tolerance) -> bool:
    if isinstance(expected, _NUMBERS) and isinstance(got, _NUMBERS):
        if isinstance(expected, float) or isinstance(got, float):
            both_nan = math.isnan(expected) and math.isnan(got)
            return both_nan or math.isclose(expected, got, rel_tol=tolerance.relative, abs_tol=tolerance.absolute)
        return expected == got
    if isinstance(expected, datetime) and isinstance(got, datetime):
        return _aware(expected) == _aware(got)
    if isinstance(expected, (set, frozenset)) or isinstance(got, (set, frozenset)):
        return _same_members(list(expected), list(got), tolerance)
    if isinstance(expected, (list, tuple)) and isinstance(got, (list, tuple)):
        return len(expected) == len(got) and all(same(*pair, tolerance) for pair in zip(expected, got))
    left, right = _fields(expected), _fields(got)
    if left is not None and right is not None:
        return left.keys() == right.keys() and all(same(left[name], right[name], tolerance) for name in left)
    return bool(expected == got)


def _same_members(expected: list[Any], got: list[Any], tolerance: Tolerance) -> bool:
    if len(expected) != len(got):
        return False
    rest = list(got)
    for item in expected:
        at = next((index for index, other in enumerate(rest) if same(item, other, tolerance)), None)
        if at is None:
            return False
        del rest[at]
    return True


def _fields(value: Any) -> Any:
    if isinstance(value, dict):
        return value
    if is_struct_value(value):
        return {name: getattr(value, name) for name, _ in struct_hints(type(value))}
    return None


def _aware(value: datetime) -> datetime:
    return value.replace(tzinfo=timezone.utc) if value.tzinfo is None else value
