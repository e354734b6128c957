"""Rules about monitors that need no knowledge of metrics: 146 and 173. What an expression means, and
whether a bound goes with it, is known to the checks of the graph.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any, Callable, Optional

from .._codec.wire import describe
from .._diagnostics import rules
from .._diagnostics.findings import Finding
from .._model.monitor import Monitor
from .._surface.names import parse_duration
from .._surface.options import Check, check_options, check_text
from .spans import call_span

Report = Callable[[Finding], None]

#: Longest name of a monitor, in characters.
_MAX_NAME = 100
_MAX_NOTIFIED = 20
_MAX_FOR_MICROS = 7 * 86_400_000_000
_SEVERITIES = ("critical", "warning", "info")
#: `webhook:` and a name, as the server takes names of webhooks.
_WEBHOOK = re.compile(r"webhook:\S(?:.*\S)?")


@dataclass(frozen=True)
class ResolvedMonitor:
    """A monitor whose options make sense."""

    monitor: Monitor
    #: The bound as text, and whether values below it break it.
    bound: str
    is_below: bool
    for_micros: float
    #: Names of webhooks.
    webhooks: list[str]


def _check_name(option: str, value: Any) -> Optional[str]:
    problem = check_text(option, value)
    if problem is None and (len(value) > _MAX_NAME or value != value.strip() or not value.isprintable()):
        return f"{option} is {describe(value)}: write up to {_MAX_NAME} characters on one line"
    return problem


def _check_bound(option: str, value: Any) -> Optional[str]:
    if isinstance(value, str) and value.strip():
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return f"{option} is {describe(value)}: write a number, or a text such as '80ms', '1GiB' or '5%'"
    return None


def _check_for(option: str, value: Any) -> Optional[str]:
    micros = parse_duration(value)
    if micros is None or micros > _MAX_FOR_MICROS:
        return f"{option} is {describe(value)}: write a duration of at most 7d, such as '10m'"
    return None


def _check_notify(option: str, value: Any) -> Optional[str]:
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, (list, tuple)) or not listed or len(listed) > _MAX_NOTIFIED:
        return f"{option} is {describe(value)}: write a list of 1 to {_MAX_NOTIFIED} texts such as ['webhook:ops']"
    for item in listed:
        if not isinstance(item, str) or not _WEBHOOK.fullmatch(item):
            return f"{option} holds {describe(item)}: write 'webhook:' and the name of a webhook, such as 'webhook:ops'"
    return None


def _check_severity(option: str, value: Any) -> Optional[str]:
    if value not in _SEVERITIES:
        return f"{option} is {describe(value)}: write 'critical', 'warning' or 'info'"
    return None


_CHECKS: dict[str, Check] = {
    "name": _check_name,
    "query": check_text,
    "above": _check_bound,
    "below": _check_bound,
    "for_": _check_for,
    "notify": _check_notify,
    "severity": _check_severity,
    "owner": check_text,
    "description": check_text,
}


def check_monitors(monitors: list[Monitor], report: Report) -> list[ResolvedMonitor]:
    """The monitors that make sense; findings for the others."""
    seen: dict[str, Monitor] = {}
    resolved = []
    for monitor in monitors:
        problems = check_options(_CHECKS, monitor)
        for option in ("name", "query"):
            if getattr(monitor, option) is None:
                problems[option] = f"{option} is None: write a text"
        for option, text in problems.items():
            report(rules.BadValue.option(problem=text).at(call_span(monitor, option)))
        if problems:
            continue
        if (monitor.above is None) == (monitor.below is None):
            said = rules.BadMonitor.no_bound if monitor.above is None else rules.BadMonitor.two_bounds
            report(said(monitor=monitor.name).at(call_span(monitor, "" if monitor.above is None else "below")))
            continue
        first = seen.setdefault(monitor.name, monitor)
        if first is not monitor:
            related = ((call_span(first, "name"), "first defined here"),)
            report(rules.BadMonitor.twice(monitor=monitor.name).at(call_span(monitor, "name"), related=related))
            continue
        resolved.append(_resolved(monitor))
    return resolved


def _resolved(monitor: Monitor) -> ResolvedMonitor:
    bound = monitor.below if monitor.above is None else monitor.above
    listed = [monitor.notify] if isinstance(monitor.notify, str) else list(monitor.notify or ())
    return ResolvedMonitor(
        monitor,
        bound=bound.strip() if isinstance(bound, str) else repr(bound),
        is_below=monitor.above is None,
        for_micros=parse_duration(monitor.for_) or 0,
        webhooks=list(dict.fromkeys(item[len("webhook:") :] for item in listed)),
    )
