"""How the aggregates of windows are kept: the `materialization=` of `windowed(...)`."""

from __future__ import annotations

import math
from datetime import datetime, timezone
from typing import Any, Mapping, Optional

from .._codec.wire import describe
from .._diagnostics import rules
from .._diagnostics.findings import DefinitionError
from .._model.windows import ALL_SECONDS, format_window, window_seconds
from .._surface.names import duration_json, parse_duration, typo_suggestion
from .._surface.options import check_schedule, schedule_text

_DAY = 86_400
#: Lengths of buckets that are chosen among, in seconds.
_LENGTHS = (_DAY, 6 * 3_600, 3_600, 1_800, 600, 300, 60)
#: Buckets that a window has at least, where it is long enough.
_ENOUGH_BUCKETS = 100

_OPTIONS = (
    "bucket_duration",
    "bucket_durations",
    "bucket_start",
    "backfill_schedule",
    "backfill_resolver",
    "continuous_buffer_duration",
)


def materializations(written: Any, windows: tuple[int, ...]) -> dict[int, dict[str, Any]]:
    """The messages of kept windows, by their seconds; empty when nothing is kept. Raises
    DefinitionError for what makes no sense.
    """
    if written is None or written is False:
        return {}
    if written is True:
        written = {}
    if not isinstance(written, Mapping):
        raise _problem(f"materialization is {describe(written)}: write True, or a dict such as {{'bucket_duration': '1h'}}")
    for option in written:
        if option not in _OPTIONS:
            near = typo_suggestion(str(option), _OPTIONS) or f": write one of {', '.join(_OPTIONS)}"
            raise _problem(f"materialization has no option {describe(option)}{near}")
    document = _shared(written)
    by_window = _by_window(written.get("bucket_durations"), windows)
    duration = written.get("bucket_duration")
    common = None if duration is None else _seconds("bucket_duration", duration)
    found = {}
    for window in windows:
        seconds = by_window.get(window) or common or _chosen(window)
        found[window] = {"bucketDuration": f"{seconds}s", **document}
    return found


def _shared(written: Mapping[str, Any]) -> dict[str, Any]:
    """The members that all windows have."""
    document: dict[str, Any] = {}
    start = written.get("bucket_start")
    if start is not None:
        document["bucketStart"] = _time_text(start)
    schedule = written.get("backfill_schedule")
    if schedule is not None:
        problem = check_schedule("backfill_schedule of materialization", schedule)
        if problem:
            raise _problem(problem)
        document["backfillSchedule"] = schedule_text(schedule)
    resolver = written.get("backfill_resolver")
    if resolver is not None:
        document["backfillResolver"] = _resolver_name(resolver)
    buffer = written.get("continuous_buffer_duration")
    if buffer is not None:
        micros = parse_duration(buffer)
        if micros is None or micros < 0 or micros == math.inf:
            raise _problem(f"continuous_buffer_duration of materialization is {describe(buffer)}: write a duration such as '30h'")
        document["continuousBuffer"] = duration_json(micros)
    return document


def _by_window(written: Any, windows: tuple[int, ...]) -> dict[int, int]:
    """Lengths of buckets by window."""
    if written is None:
        return {}
    if not isinstance(written, Mapping):
        raise _problem(f"bucket_durations of materialization is {describe(written)}: write a dict such as {{'1d': ['30d']}}")
    found: dict[int, int] = {}
    for length, listed in written.items():
        seconds = _seconds("a key of bucket_durations", length)
        for window in [listed] if not isinstance(listed, (list, tuple, set, frozenset)) else listed:
            known = window_seconds(window)
            if known is None or known not in windows:
                names = ", ".join(format_window(one) for one in windows)
                raise _problem(f"bucket_durations of materialization names the window {describe(window)}: the windows are {names}")
            if known in found:
                raise _problem(f"bucket_durations of materialization names the window {describe(window)} twice")
            found[known] = seconds
    return found


def _seconds(option: str, written: Any) -> int:
    seconds = window_seconds(written)
    if seconds is None or seconds == ALL_SECONDS:
        raise _problem(f"{option} of materialization is {describe(written)}: write a length of whole seconds such as '10m', '1h' or '1d'")
    return seconds


def _chosen(window: int) -> int:
    """The longest bucket of which a window has enough; the shortest when none is."""
    fitting = [length for length in _LENGTHS if window % length == 0]
    return next((length for length in fitting if window // length >= _ENOUGH_BUCKETS), fitting[-1] if fitting else window)


def _time_text(written: Any) -> str:
    moment: Optional[datetime] = written if isinstance(written, datetime) else None
    if isinstance(written, str):
        try:
            moment = datetime.fromisoformat(written.replace("Z", "+00:00"))
        except ValueError:
            moment = None
    if moment is None:
        raise _problem(f"bucket_start of materialization is {describe(written)}: write a datetime, or text such as '2024-01-01T05:00:00Z'")
    zoned = moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)
    return zoned.astimezone(timezone.utc).replace(tzinfo=None).isoformat() + "Z"


def _resolver_name(written: Any) -> str:
    if isinstance(written, str) and written:
        return written
    name, module = getattr(written, "__name__", None), getattr(written, "__module__", None)
    if callable(written) and isinstance(name, str) and isinstance(module, str):
        return f"{module}.{name}"
    raise _problem(f"backfill_resolver of materialization is {describe(written)}: name a resolver")


def _problem(text: str) -> DefinitionError:
    return DefinitionError(rules.BadValue.option(problem=text))
