"""Rules about named queries, 146, 170 and 171, and about sources, 116 and 146."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Callable, Optional

from .._diagnostics import rules
from .._diagnostics.findings import BrokenReference, DefinitionError, Finding
from .._frames.selection import FeatureSelection
from .._model.feature_class import FeatureClass
from .._model.named_query import NamedQuery
from .._model.reference import FeatureReference, field_of, path_of, type_of
from .._model.windows import format_window, split_windowed_name, window_seconds, windowed_name
from .._surface.names import did_you_mean
from .._surface.options import Check, check_options, check_staleness, check_tags, check_text
from .._types.annotations import Scope, read_annotation
from ..sources import DataSource
from .spans import call_span

Report = Callable[[Finding], None]

_CHECKS: dict[str, Check] = {"name": check_text, "version": check_text, "tags": check_tags, "owner": check_text, "description": check_text}


@dataclass
class ResolvedQuery:
    """A named query whose features are known."""

    query: NamedQuery
    inputs: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    staleness: dict[str, Any] = field(default_factory=dict)


def check_queries(queries: list[NamedQuery], classes: list[FeatureClass], report: Report) -> list[ResolvedQuery]:
    """The named queries that make sense; findings for the others."""
    namespaces = {item.namespace: item for item in classes}
    seen: dict[tuple[str, Optional[str]], NamedQuery] = {}
    resolved = []
    for query in queries:
        problems = check_options(_CHECKS, query)
        for option, text in problems.items():
            report(rules.BadValue.option(problem=text).at(call_span(query, option)))
        if problems:
            continue
        first = seen.setdefault((query.name, query.version), query)
        if first is not query:
            version = f" in version '{query.version}'" if query.version else " without a version"
            related = ((call_span(first, "name"), "first defined here"),)
            report(rules.DuplicateNamedQuery.second(query=query.name, version=version).at(call_span(query, "name"), related=related))
            continue
        result = _resolve(query, namespaces, report)
        if result is not None:
            resolved.append(result)
    return resolved


def _resolve(query: NamedQuery, namespaces: dict[str, FeatureClass], report: Report) -> Optional[ResolvedQuery]:
    result = ResolvedQuery(query)
    sound = True
    for option, items, into in (("input", query.input, result.inputs), ("output", query.output, result.outputs)):
        for index, item in enumerate(items):
            try:
                into.extend(path for path in paths_of(item, query.scope, namespaces) if path not in into)
            except BrokenReference:
                sound = False
            except DefinitionError as error:
                sound = False
                report(
                    rules.BadNamedQuery.asks(query=query.name, error=error, label=error.label).at(
                        call_span(query, option, index, error.token)
                    )
                )
    for index, (item, value) in enumerate(query.staleness.items()):
        try:
            paths = _stored_paths(item, query, namespaces)
        except BrokenReference:
            sound = False
            continue
        except DefinitionError as error:
            sound = False
            report(
                rules.BadNamedQuery.staleness(query=query.name, error=error, label=error.label).at(
                    call_span(query, "staleness", token=error.token)
                )
            )
            continue
        problem = check_staleness(f"the staleness of '{paths[0] if paths else item}'", value)
        if problem:
            sound = False
            report(rules.BadValue.option(problem=problem).at(call_span(query, "staleness", index)))
        result.staleness.update((path, value) for path in paths)
    roots = list(dict.fromkeys(path.partition(".")[0] for path in result.inputs + result.outputs))
    if sound and len(roots) > 1:
        report(rules.BadNamedQuery.two_classes(query=query.name, roots=" and ".join(roots)).at(call_span(query, "name")))
        return None
    if sound and not result.outputs:
        report(rules.BadNamedQuery.no_output(query=query.name).at(call_span(query, "name")))
        return None
    return result if sound else None


def paths_of(item: Any, scope: Scope, namespaces: dict[str, FeatureClass]) -> list[str]:
    """The paths that an item of a query means. Raises DefinitionError."""
    if isinstance(item, str):
        item = _named(item, namespaces)
    if isinstance(item, FeatureSelection):
        left_out = [path for excluded in item.excluded for path in paths_of(excluded, scope, namespaces)]
        return [path for part in item.items for path in paths_of(part, scope, namespaces) if path not in left_out]
    core = read_annotation(item, scope).core if not isinstance(item, FeatureReference) else item
    if isinstance(core, type) and "__svc_features__" in core.__dict__:
        owner: FeatureClass = core.__svc_features__  # type: ignore[attr-defined]
        return [own.fqn for own in owner.values()]
    if not isinstance(core, FeatureReference):
        raise DefinitionError(rules.BadNamedQuery.no_feature(item=repr(item)))
    field, path = field_of(core), path_of(core)
    target = type_of(field).target
    if target is None:
        prefix = path[: len(path) - len(field.name)]
        return [prefix + own.name for own in field.values()]
    return [f"{path}.{own.name}" for own in target.values()]


def _stored_paths(item: Any, query: NamedQuery, namespaces: dict[str, FeatureClass]) -> list[str]:
    """The paths as `paths_of` gives them, except that a has-many relation means its rows, which are
    stored together. Raises DefinitionError.
    """
    found = _named(item, namespaces) if isinstance(item, str) else item
    if isinstance(found, FeatureReference) and type_of(field_of(found)).many:
        return [path_of(found)]
    return paths_of(found, query.scope, namespaces)


def _named(text: str, namespaces: dict[str, FeatureClass]) -> Any:
    """The class or reference that an FQN names. Raises DefinitionError."""
    namespace, *names = text.strip().split(".")
    owner: Optional[FeatureClass] = namespaces.get(namespace)
    if owner is None:
        raise DefinitionError(rules.BadNamedQuery.no_such_namespace(namespace=namespace, near=did_you_mean(namespace, namespaces)))
    found: Any = owner.cls
    for written in names:
        if owner is None:
            raise DefinitionError(rules.BadNamedQuery.not_a_relation(path=text))
        known = owner.by_name()
        name = _without_brackets(written)
        base, seconds = split_windowed_name(name)
        if name not in known and base in known and seconds is not None:
            listed = ", ".join(format_window(window) for window in known[base].windows) or "none"
            raise DefinitionError(
                rules.BadNamedQuery.no_such_window(owner=owner.cls.__name__, name=base, window=format_window(seconds), windows=listed)
            )
        if name not in known:
            raise DefinitionError(rules.BadNamedQuery.no_such_feature(owner=owner.cls.__name__, name=name, near=did_you_mean(name, known)))
        found = getattr(found, known[name].attribute)
        owner = type_of(known[name]).target
    return found


def _without_brackets(name: str) -> str:
    """`fails[10m]` as the name of the feature that holds the window; any other name as it is."""
    base, opening, window = name.partition("[")
    seconds = window_seconds(window[:-1]) if opening and window.endswith("]") else None
    return name if seconds is None else windowed_name(base, seconds)


def check_sources(sources: list[DataSource], report: Report) -> list[DataSource]:
    """The sources, one per name."""
    kept: dict[str, DataSource] = {}
    for source in sources:
        problem = check_text("name", source.name)
        if problem:
            report(rules.BadValue.option(problem=problem).at(call_span(source, "name")))
            continue
        wrong = source.problem()
        if wrong:
            report(rules.BadValue.option(problem=wrong[1]).at(call_span(source, wrong[0])))
        first = kept.setdefault(source.name, source)
        if first is not source:
            report(
                rules.NameTaken.source(source=source.name).at(
                    call_span(source, "name"), related=((call_span(first, "name"), "first declared here"),)
                )
            )
    return list(kept.values())
