"""Rules about scheduled queries: 146, 170, 171 and 172."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any, Callable, Optional

from .._codec.wire import describe
from .._diagnostics import rules
from .._diagnostics.findings import BrokenReference, DefinitionError, Finding
from .._model.feature_class import FeatureClass
from .._model.scheduled_query import ScheduledQuery
from .._surface.options import Check, check_flag, check_group, check_options, check_schedule, check_tags, check_text
from .query_rules import paths_of
from .spans import call_span

Report = Callable[[Finding], None]

_MOST_SAMPLES = 10_000_000


def _check_samples(option: str, value: Any) -> Optional[str]:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= _MOST_SAMPLES:
        return f"{option} is {describe(value)}: write a number from 1 to {_MOST_SAMPLES}"
    return None


def _check_time(option: str, value: Any) -> Optional[str]:
    return None if time_text(value) else f"{option} is {describe(value)}: write a datetime, or a text such as '2026-01-31T00:00:00Z'"


_CHECKS: dict[str, Check] = {
    "name": check_text,
    "max_samples": _check_samples,
    "lower_bound": _check_time,
    "upper_bound": _check_time,
    "store_online": check_flag,
    "store_offline": check_flag,
    "tags": check_tags,
    "resource_group": check_group,
    "owner": check_text,
    "description": check_text,
}


@dataclass
class ResolvedSchedule:
    """A scheduled query whose features and resolvers are known."""

    query: ScheduledQuery
    outputs: list[str] = field(default_factory=list)
    #: None = all outputs are computed.
    recompute: Optional[list[str]] = None
    #: FQNs, or names of SQL files, which the analyzer does not know.
    incremental: list[str] = field(default_factory=list)


def time_text(value: Any) -> Optional[str]:
    """A time as ISO 8601 in UTC; a naive one is UTC. None when it is none."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.strip().replace("Z", "+00:00"))
        except ValueError:
            return None
    if not isinstance(value, datetime):
        return None
    aware = value.replace(tzinfo=timezone.utc) if value.tzinfo is None else value
    try:
        return aware.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%f") + "Z"
    except OverflowError:
        return None


def check_scheduled_queries(
    queries: list[ScheduledQuery], classes: list[FeatureClass], report: Report
) -> list[ResolvedSchedule]:
    """The scheduled queries that make sense; findings for the others. Whether there are the resolvers
    that they name is known once SQL files are read.
    """
    namespaces = {item.namespace: item for item in classes}
    seen: dict[str, ScheduledQuery] = {}
    resolved = []
    for query in queries:
        problems = check_options(_CHECKS, query)
        if not query.computes and (query.store_online or query.store_offline):
            option = "store_online" if query.store_online else "store_offline"
            problems.setdefault(option, f"{option} stores what is computed, and nothing is: recompute_features says what to compute")
        for option, text in problems.items():
            report(rules.BadValue.option(problem=text).at(call_span(query, option)))
        schedule = check_schedule("schedule", query.schedule)
        if schedule:
            report(rules.BadSchedule.schedule(query=query.name, problem=schedule).at(call_span(query, "schedule")))
        if problems or schedule:
            continue
        first = seen.setdefault(query.name, query)
        if first is not query:
            related = ((call_span(first, "name"), "first defined here"),)
            report(rules.BadSchedule.twice(query=query.name).at(call_span(query, "name"), related=related))
            continue
        result = _resolve(query, namespaces, report)
        if result is not None:
            resolved.append(result)
    return resolved


def _resolve(query: ScheduledQuery, namespaces: dict[str, FeatureClass], report: Report) -> Optional[ResolvedSchedule]:
    result = ResolvedSchedule(query)
    recompute = query.recompute_features
    wanted: list[tuple[str, list[Any], list[str]]] = [("output", query.output, result.outputs)]
    if recompute is not True:
        result.recompute = []
        wanted.append(("recompute_features", list(recompute or ()), result.recompute))
    sound = True
    for option, items, into in wanted:
        for index, item in enumerate(items):
            try:
                into.extend(path for path in paths_of(item, query.scope, namespaces) if path not in into)
            except BrokenReference:
                sound = False
            except DefinitionError as error:
                sound = False
                span = call_span(query, option, index, error.token)
                report(rules.BadNamedQuery.asks(query=query.name, error=error, label=error.label).at(span))
    roots = list(dict.fromkeys(path.partition(".")[0] for path in result.outputs))
    if sound and len(roots) > 1:
        report(rules.BadNamedQuery.two_classes(query=query.name, roots=" and ".join(roots)).at(call_span(query, "name")))
        return None
    if sound and not roots:
        report(rules.BadNamedQuery.no_output(query=query.name).at(call_span(query, "name")))
        return None
    names = query.incremental_resolvers
    listed = [names] if isinstance(names, str) else list(names or ())
    for index, name in enumerate(listed):
        if not isinstance(name, str) or not name.strip():
            sound = False
            problem = f"incremental_resolvers holds {describe(name)}: write names of resolvers"
            report(rules.BadValue.option(problem=problem).at(call_span(query, "incremental_resolvers", index)))
    result.incremental = [str(name) for name in listed]
    return result if sound else None
