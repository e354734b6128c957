"""Monitors: bounds that a metric should keep."""

from __future__ import annotations

import sys
from datetime import timedelta
from typing import NoReturn, Optional, Sequence, Union

from .._diagnostics.source import Origin
from .._surface.unknown_options import kept
from .registry import registry


class Monitor:
    """A bound that a metric should keep. While its deployment is live, the server looks each minute
    whether it does, and tells webhooks of the events `monitor.firing` and `monitor.resolved`.

        Monitor("slow fraud", "p99:query.latency{query_name:fraud}.rollup(5m)", above="80ms", for_="10m")

    name: unique among the monitors.
    query: a metric expression, as `svc metrics query` takes it. Its `.rollup(...)` is the time that
        a value is of, whole minutes; default: 5m. Of one with `by {...}` the series counts whose
        value is worst.
    above, below: one of the two: the monitor fires while the value is greater, or less, than this:
        a number, or a text with a unit of the metric, such as "80ms", "1GiB" or "5%".
    for_: how long the bound has to be broken before it fires; default: it fires at once.
    notify: the webhooks that are told, such as ["webhook:ops"]; default: all that subscribe to the
        events. Those named have to subscribe to them too.
    severity: "critical", "warning" or "info", which the events carry; default: "warning".
    owner, description: metadata, which the events carry too.
    """

    def __init__(
        self,
        name: str,
        query: str,
        *,
        above: Union[str, int, float, None] = None,
        below: Union[str, int, float, None] = None,
        for_: Union[str, timedelta, None] = None,
        notify: Union[str, Sequence[str], None] = None,
        severity: Optional[str] = None,
        owner: Optional[str] = None,
        description: Optional[str] = None,
        **others: NoReturn,
    ) -> None:
        frame = sys._getframe(1)
        self.name = name
        self.query = query
        self.above = above
        self.below = below
        self.for_ = for_
        self.notify = notify
        self.severity = severity
        self.owner = owner
        self.description = description
        self.others = kept("Monitor", others)
        self.origin = Origin(frame.f_code.co_filename, frame.f_lineno, type(self).__name__)
        registry.add_monitor(self)

    def __repr__(self) -> str:
        return f"Monitor(name={self.name!r}, query={self.query!r})"
