"""Scores of outputs: functions of the output and the row that give a number, or None for no score."""

from __future__ import annotations

import json
import math
from datetime import datetime, timezone
from decimal import Decimal
from enum import Enum
from typing import Any, Callable, Dict, Optional

from .._analysis.evaluation_rules import scorer_name, takes_row
from .._codec.values import ValueMismatch, encode_any
from .._model.evaluation import Contains, ExactMatch, Judge, Numeric
from .judge import judge_score

Row = Dict[str, Any]
#: Largest score, so that averages have room; `MAX_SCORE` of the server.
LARGEST_SCORE = 1e100
#: Gives the score of an output in a row. Raises what the scorer raises.
Score = Callable[[Any, Row], Optional[float]]


class NoScore(Exception):
    """What a function of a project returned is no score."""


def output_text(output: Any) -> Optional[str]:
    """An output as it is kept: a text as it is, other values as JSON, None as None."""
    if output is None or isinstance(output, str):
        return output if output is None else str(output)
    try:
        return json.dumps(encode_any(output), ensure_ascii=False, allow_nan=False)
    except (ValueMismatch, TypeError, ValueError, RecursionError):
        return repr(output)


def score_of(scorer: Any, await_: Callable[[Any], Any]) -> Score:
    """The function that a scorer stands for. `await_` gives the result of a coroutine."""
    if isinstance(scorer, ExactMatch):
        return lambda output, row: float(_plain(output) == row[scorer.column])
    if isinstance(scorer, Contains):
        return lambda output, row: _contains(scorer, output, row[scorer.column])
    if isinstance(scorer, Numeric):
        return lambda output, row: _near(scorer, _plain(output), row[scorer.column])
    if isinstance(scorer, Judge):
        return lambda output, row: judge_score(scorer, output_text(output) or "", row)
    name, has_row = scorer_name(scorer), takes_row(scorer)

    def own(output: Any, row: Row) -> Optional[float]:
        return _number(name, await_(scorer(output, row) if has_row else scorer(output)))

    return own


def _plain(output: Any) -> Any:
    """An output as values of datasets are: members of enums by value, times in UTC."""
    value = output.value if isinstance(output, Enum) else output
    return value.replace(tzinfo=timezone.utc) if isinstance(value, datetime) and value.tzinfo is None else value


def _contains(scorer: Contains, output: Any, expected: Any) -> Optional[float]:
    if expected is None:
        return None
    text, wanted = output_text(output) or "", output_text(expected) or ""
    return float(wanted.casefold() in text.casefold() if scorer.ignore_case else wanted in text)


def _near(scorer: Numeric, output: Any, expected: Any) -> Optional[float]:
    wanted = _as_number(expected)
    if expected is None:
        return None
    if wanted is None:
        raise NoScore(f"the column '{scorer.column}' has {expected!r}, which is no number")
    given = _as_number(output)
    return float(given is not None and math.isclose(given, wanted, rel_tol=0, abs_tol=max(scorer.tolerance, scorer.relative * abs(wanted))))


def _as_number(value: Any) -> Optional[float]:
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal, str)):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None


def _number(name: str, value: Any) -> Optional[float]:
    if value is None:
        return None
    number = float(value) if isinstance(value, (int, float, Decimal)) else math.nan
    if not math.isfinite(number):
        raise NoScore(f"{name} returned {value!r:.200}, which is no number")
    if abs(number) > LARGEST_SCORE:
        raise NoScore(f"{name} returned {value!r:.200}, and a score is at most {LARGEST_SCORE:g}")
    return number
