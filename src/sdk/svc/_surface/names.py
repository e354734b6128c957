"""Names and lengths of time: namespaces, closest names, durations, cron expressions."""

from __future__ import annotations

import math
import re
from datetime import timedelta
from functools import lru_cache
from typing import Iterable, Optional, Union

DURATION_GRAMMAR = "a duration such as '90s', '5m', '1h30m', '7d' or 'infinity'"
CRON_GRAMMAR = "a duration such as '1d', or five cron fields such as '*/15 * * * *'"
ENVIRONMENT_GRAMMAR = "an environment's name: letters, digits, '.', '_' and '-'"

#: The protobuf Duration that stands for "never expires", in seconds.
NEVER_EXPIRES_SECONDS = 315_576_000_000

_UNIT_MICROS = {
    "w": 604_800_000_000,
    "d": 86_400_000_000,
    "h": 3_600_000_000,
    "m": 60_000_000,
    "s": 1_000_000,
    "ms": 1_000,
    "us": 1,
}
_PART = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|us|w|d|h|m|s)\s*")
_ENVIRONMENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*\Z")
_FEATURE_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*\Z")


def namespace_of(class_name: str) -> str:
    """``snake_case`` of a class name without a trailing ``Features``: ``MNISTDataPoint`` is
    ``mnist_data_point``.
    """
    base = class_name[:-8] if len(class_name) > 8 and class_name.endswith("Features") else class_name
    base = re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", base)
    return re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", base).lower()


def is_feature_name(name: str) -> bool:
    """Whether a name can stand between the dots of a fully qualified name."""
    return bool(_FEATURE_NAME.match(name)) and not re.search(r"__\d+__\Z", name)


def is_environment_name(name: object) -> bool:
    """Whether a value can be the name of an environment."""
    return isinstance(name, str) and bool(_ENVIRONMENT.match(name))


def parse_duration(value: Union[str, timedelta, object]) -> Optional[float]:
    """Microseconds of a duration given as text or timedelta; ``math.inf`` for ``infinity``, None
    when it is no duration.
    """
    if isinstance(value, timedelta):
        return None if value < timedelta(0) else value // timedelta(microseconds=1)
    return _micros(value) if isinstance(value, str) else None


@lru_cache(1_000)
def _micros(value: str) -> Optional[float]:
    text = value.strip().lower()
    if text in ("infinity", "inf"):
        return math.inf
    if text == "0":
        return 0
    total, at = 0.0, 0
    while at < len(text):
        match = _PART.match(text, at)
        if match is None:
            return None
        number, unit = match.group(1), _UNIT_MICROS[match.group(2)]
        total += int(number) * unit if number.isdigit() else float(number) * unit
        at = match.end()
    return round(total) if text else None


@lru_cache(1_000)
def duration_json(micros: float) -> str:
    """A duration as proto3 JSON writes it; everything beyond the largest Duration means "never
    expires".
    """
    if micros >= NEVER_EXPIRES_SECONDS * 1_000_000:
        return f"{NEVER_EXPIRES_SECONDS}s"
    whole = int(micros)
    sign = "-" if whole < 0 else ""
    seconds, rest = divmod(abs(whole), 1_000_000)
    fraction = f".{rest:06d}" if rest else ""
    return f"{sign}{seconds}{fraction}s"


def format_duration(micros: float) -> str:
    """A duration as a user writes it: ``7d``, ``1h30m``, ``250ms``, ``0s``, ``infinity``."""
    if micros == math.inf:
        return "infinity"
    rest, text = int(micros), ""
    for unit in ("d", "h", "m", "s", "ms", "us"):
        count, rest = divmod(rest, _UNIT_MICROS[unit])
        text += f"{count}{unit}" if count else ""
    return text or "0s"


_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_CRON_FIELDS = (
    ("minute", 0, 59, ()),
    ("hour", 0, 23, ()),
    ("day of month", 1, 31, ()),
    ("month", 1, 12, _MONTHS),
    ("day of week", 0, 7, _DAYS),
)
_CRON_WORDS = ("@hourly", "@daily", "@midnight", "@weekly", "@monthly", "@yearly", "@annually")


def cron_problem(text: str) -> Optional[str]:
    """The fault of a cron expression; None when it has none."""
    if text.strip().lower() in _CRON_WORDS:
        return None
    parts = text.split()
    if len(parts) != 5:
        return f"a cron expression has 5 fields, this one has {len(parts)}"
    for part, (name, low, high, words) in zip(parts, _CRON_FIELDS):
        for item in part.lower().split(","):
            span, slash, step = item.partition("/")
            if slash and not (step.isdigit() and int(step) > 0):
                return f"'{part}' is no {name}: the step after '/' is a positive number"
            if span == "*":
                continue
            ends = []
            for end in span.split("-"):
                if end in words:
                    ends.append(words.index(end) + (1 if words is _MONTHS else 0))
                elif end.isdigit() and low <= int(end) <= high:
                    ends.append(int(end))
                else:
                    return f"'{part}' is no {name}, which goes from {low} to {high}"
            if len(ends) > 2 or (len(ends) == 2 and ends[0] > ends[1]):
                return f"'{part}' is no range of {name}s"
    return None


def edit_distance(a: str, b: str) -> int:
    """Damerau-Levenshtein distance (optimal string alignment)."""
    before: list[int] = []
    previous = list(range(len(b) + 1))
    for i, left in enumerate(a, 1):
        row = [i]
        for j, right in enumerate(b, 1):
            best = min(previous[j] + 1, row[j - 1] + 1, previous[j - 1] + (left != right))
            if i > 1 and j > 1 and left == b[j - 2] and a[i - 2] == right:
                best = min(best, before[j - 2] + 1)
            row.append(best)
        before, previous = previous, row
    return previous[-1]


def closest_names(wanted: str, names: Iterable[str], limit: int = 3) -> list[str]:
    """At most `limit` names close to `wanted`, best first.

    Within max(2, length / 3) edits (one for the shortest names), then those that begin it or that
    it begins, then those that contain it.
    """
    target = wanted.lower()
    reach = max(2, len(target) // 3) if len(target) > 3 else 1
    scored: list[tuple[int, str]] = []
    for name in set(names):
        candidate = name.lower()
        distance = edit_distance(target, candidate) if abs(len(candidate) - len(target)) <= reach else reach + 1
        if distance <= reach:
            scored.append((distance, name))
        elif candidate.startswith(target) or target.startswith(candidate):
            scored.append((100 + len(candidate), name))
        elif len(target) > 2 and target in candidate:
            scored.append((200 + len(candidate), name))
    return [name for _, name in sorted(scored)[:limit]]


def typo_suggestion(wanted: str, names: Iterable[str]) -> str:
    """The suggestion that `did_you_mean` makes, but only for typing errors and truncated names: a
    name that is merely similar means something else.
    """
    reach = 1 if len(wanted) < 8 else 2
    scored = []
    for name in names:
        distance = edit_distance(wanted.lower(), name.lower())
        if distance <= reach:
            scored.append((distance, edit_distance(wanted, name), name))
        elif len(wanted) * 3 >= len(name) * 2 and name.lower().startswith(wanted.lower()):
            scored.append((reach + 1, 0, name))
    best = min((item[:2] for item in scored), default=None)
    return _or([item[2] for item in sorted(scored) if item[:2] == best][:3])


def did_you_mean(wanted: str, names: Iterable[str]) -> str:
    """``"; did you mean 'a', 'b' or 'c'?"``, or nothing when no name is close, or none was wanted."""
    return _or(closest_names(wanted, names) if wanted else [])


def _or(names: list[str]) -> str:
    if not names:
        return ""
    *first, last = [f"'{name}'" for name in names]
    return f"; did you mean {' or '.join(filter(None, [', '.join(first), last]))}?"
