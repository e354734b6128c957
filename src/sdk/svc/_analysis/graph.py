"""The graph as proto3 JSON of `svc.v1.Graph`."""

from __future__ import annotations

import hashlib
import math
import platform
from typing import Any, Callable, Iterator, Optional

from .. import __version__
from .._codec.wire import NULL, stored_json
from .._diagnostics.findings import DefinitionError, Finding, Json, Span, json_line
from .._diagnostics.source import Comment
from .._frames.spec import condition_json
from .._model.feature_class import FeatureClass
from .._model.field import MISSING, NO_OPTIONS, Field, VersionField, WindowField, tag_list, text_of
from .._model.function import FunctionSpec
from .._model.hooks import HookDefinition
from .._model.reference import field_of
from .._model.resolver import InputSpec, ResolverSpec
from .._model.sink import SinkSpec
from .._surface.names import duration_json, parse_duration
from .._surface.options import schedule_text
from ..sources import DataSource
from .cron_rules import ChosenRows
from .evaluation_rules import ResolvedEvaluation
from .function_rules import function_json
from .joins import Join
from .materialization import materializations
from .monitor_rules import ResolvedMonitor
from .query_rules import ResolvedQuery
from .schedule_rules import ResolvedSchedule, time_text
from .validation_rules import validations_json
from .spans import call_span, class_span, resolver_option_text, resolver_part_span, resolver_span
from .sink_rules import sink_json
from .stream_rules import Resolved, stream_json


def graph_json(
    classes: list[FeatureClass],
    joins: dict[Field, Join],
    expressions: dict[Field, dict[str, Any]],
    resolvers: list[ResolverSpec],
    crons: dict[str, ChosenRows],
    translations: dict[str, dict[str, Any]],
    statements: dict[str, dict[str, Any]],
    queries: list[ResolvedQuery],
    schedules: list[ResolvedSchedule],
    monitors: list[ResolvedMonitor],
    evaluations: list[ResolvedEvaluation],
    sources: list[DataSource],
    streams: list[Resolved],
    sinks: list[SinkSpec],
    functions: list[FunctionSpec],
    hooks: list[HookDefinition],
    findings: list[Finding],
) -> dict[str, Any]:
    """The definitions that make sense, with the findings about the rest. Feature classes and
    resolvers are iterators, for `json_lines`.
    """
    return {
        "featureSets": feature_sets_json(classes, joins, expressions),
        "resolvers": (
            _resolver(spec, crons.get(spec.fqn, ChosenRows()), translations.get(spec.fqn, {}), statements.get(spec.fqn))
            for spec in sorted(resolvers, key=lambda spec: spec.fqn)
        ),
        "namedQueries": [_named_query(item) for item in sorted(queries, key=lambda item: (item.query.name, item.query.version or ""))],
        "scheduledQueries": [_scheduled_query(item) for item in sorted(schedules, key=lambda item: item.query.name)],
        "monitors": [_monitor(item) for item in sorted(monitors, key=lambda item: item.monitor.name)],
        "evaluations": [_evaluation(item) for item in sorted(evaluations, key=lambda item: item.evaluation.name)],
        "sources": [_source(item) for item in sorted(sources, key=lambda item: item.name)],
        "streamResolvers": sorted((stream_json(item, _message_set) for item in streams), key=lambda document: str(document["fqn"])),
        "sinkResolvers": [sink_json(item) for item in sorted(sinks, key=lambda item: item.fqn)],
        "computeFunctions": [function_json(item) for item in sorted(functions, key=lambda item: item.name)],
        "hooks": [_hook(item) for item in sorted(hooks, key=lambda item: item.name)],
        "diagnostics": [finding.json() for finding in findings],
        "sdkVersion": __version__,
        "pythonVersion": platform.python_version(),
    }


def feature_sets_json(
    classes: list[FeatureClass], joins: dict[Field, Join], expressions: dict[Field, dict[str, Any]]
) -> Iterator[dict[str, Any]]:
    """The feature classes of a graph, by namespace."""
    return (_feature_set(item, joins, expressions) for item in sorted(classes, key=lambda item: item.namespace))


def _put(document: dict[str, Any], **optional: Any) -> dict[str, Any]:
    """Adds the members that have a value; empty text, empty lists and None are left out."""
    for name, value in optional.items():
        if value:
            document[name] = value
    return document


class _ClassFacts:
    """What every feature of a class needs, found once."""

    def __init__(self, item: FeatureClass) -> None:
        self.namespace = item.namespace
        self.owner = item.owner
        self.tags = item.tags
        self.keys = item.primary_keys
        self.times = item.feature_times
        source, outline = item.source, item.outline
        self.source = source if outline else None
        self.places = outline.fields if outline else {}
        self.span = class_span(item)
        #: What is stored of a feature that has no options of its own.
        self.storing = _storing(lambda option: getattr(item.options, option))

    def comment_and_span(self, field: Field) -> tuple[Comment, Span]:
        """The comment above a feature, and the span of its name."""
        place = self.places.get(field.base.attribute if isinstance(field, (VersionField, WindowField)) else field.attribute)
        if self.source is None or place is None:
            return Comment(), self.span
        return self.source.comment_above(place[0]), Span(self.span.file, *place)


def _feature_set(item: FeatureClass, joins: dict[Field, Join], expressions: dict[Field, dict[str, Any]]) -> dict[str, Any]:
    facts = _ClassFacts(item)
    keys, times = facts.keys, facts.times
    features = [_feature(field, facts, joins, expressions) for field in item.members()]
    document = {
        "namespace": item.namespace,
        "className": item.cls.__name__,
        "module": item.cls.__module__,
        "features": [feature for feature in features if feature is not None],
        "span": facts.span.json(),
    }
    return _put(
        document,
        primaryKey=keys[0].fqn if keys else None,
        featureTime=times[0].fqn if times else None,
        owner=facts.owner,
        tags=facts.tags,
        description=item.docstring.text,
    )


def _message_set(item: FeatureClass) -> dict[str, Any]:
    """The fields of a message, as the features of a class."""
    return _feature_set(item, {}, {})


def _feature(
    field: Field, facts: _ClassFacts, joins: dict[Field, Join], expressions: dict[Field, dict[str, Any]]
) -> Optional[dict[str, Any]]:
    try:
        kind = field.type
    except DefinitionError:
        return None
    document: dict[str, Any] = {"fqn": field.fqn, "name": field.name, "namespace": facts.namespace}
    staleness: Optional[float] = None
    if kind.target is not None:
        join = joins.get(field)
        if join is None:
            return None
        relation = {
            "foreignNamespace": kind.target.namespace,
            "join": [{"local": local.fqn, "foreign": foreign.fqn} for local, foreign in join.pairs],
        }
        if join.nearest is not None:
            relation["nearest"] = join.nearest.json()
        if kind.many:
            document["hasMany"] = relation
            own = field.relation.max_staleness if field.relation else field.options.max_staleness
            staleness = None if own is None else parse_duration(own)
        else:
            document["hasOne"] = _put(relation, optional=kind.nullable)
    elif field.relation is not None or (kind.windowed and not isinstance(field, WindowField)):
        return None
    else:
        document["scalar"] = _scalar(field, facts)
        if field in expressions:
            document["scalar"].update(expressions[field])
        staleness = parse_duration(field.options.max_staleness if field in facts.keys else field.max_staleness)
    comment, span = facts.comment_and_span(field)
    own = text_of(field.options.description)
    return _put(
        document,
        owner=text_of(field.options.owner) or comment.owner or facts.owner,
        tags=list(dict.fromkeys([*tag_list(field.options.tags), *comment.tags, *facts.tags])),
        description=comment.text if own is None else own,
        maxStaleness=None if staleness is None else duration_json(staleness),
        deprecated=field.options.deprecated is True,
        version=field.number if isinstance(field, VersionField) else None,
        defaultVersion=field.base.default_version if isinstance(field, VersionField) else None,
        span=span.json(),
    )


_STORING = {"store_online": "storeOnline", "store_offline": "storeOffline", "cache_nulls": "cacheNulls", "cache_defaults": "cacheDefaults"}
_EVICTING = {"cache_nulls": "evictNulls", "cache_defaults": "evictDefaults"}


def _storing(option: Callable[[str], Any]) -> dict[str, Any]:
    """What is stored of fresh values, by options that are the feature's own or its class's."""
    document = {name: False for key, name in _STORING.items() if option(key) not in (None, True)}
    document.update({name: True for key, name in _EVICTING.items() if isinstance(option(key), str)})
    return document


def _scalar(field: Field, facts: _ClassFacts) -> dict[str, Any]:
    kind = field.type
    document: dict[str, Any] = {"dtype": kind.dtype}
    default = field.options.default
    if default is not MISSING:
        try:
            document["defaultValue"] = dict(NULL) if default is None else stored_json(default, kind.python_type, kind.dtype)
        except DefinitionError:
            pass
    document.update(facts.storing if field.options is NO_OPTIONS else _storing(field.storing))
    ttl = parse_duration(field.storing("offline_ttl"))
    if ttl is not None and ttl != math.inf and field not in facts.keys:
        document["offlineTtl"] = duration_json(ttl)
    if field.storing("etl_offline_to_online") is True and field not in facts.keys:
        document["etlOfflineToOnline"] = True
    validations = validations_json(field)
    if validations:
        document["validations"] = validations
    if isinstance(field, WindowField):
        document.update(window=f"{field.seconds}s", windowedBase=field.base.fqn)
        kept = _materialization(field)
        if kept:
            document["materialization"] = kept
    return _put(
        document,
        nullable=kind.nullable,
        primary=field in facts.keys,
        featureTime=field in facts.times,
        references=field_of(kind.references).fqn if kind.references is not None else None,
    )


def _materialization(field: WindowField) -> Optional[dict[str, Any]]:
    try:
        return materializations(getattr(field.options, "materialization", None), field.base.windows).get(field.seconds)
    except DefinitionError:
        return None


def _input(item: InputSpec) -> dict[str, Any]:
    if item.is_now:
        return {"name": item.name, "now": {}}
    if item.rows is not None:
        return {"name": item.name, "rows": _put(item.rows.json(), optional=item.optional)}
    if item.table is not None:
        return {"name": item.name, "table": item.table.json()}
    feature: dict[str, Any] = {"path": item.path}
    if item.optional:
        feature["optional"] = True
    if item.default is not None and item.dtype is not None:
        feature["defaultValue"] = stored_json(item.default, item.python_type, item.dtype)
    return {"name": item.name, "feature": feature}


def _resolver(spec: ResolverSpec, chosen: ChosenRows, translation: dict[str, Any], statement: Optional[dict[str, Any]]) -> Json:
    definition = spec.definition
    options = definition.options
    environments = [options.environment] if isinstance(options.environment, str) else list(options.environment or ())
    timeout, staleness = parse_duration(options.timeout), parse_duration(options.max_staleness)
    python = {"module": definition.module, "name": definition.function_name}
    document: dict[str, Any] = {
        "fqn": spec.fqn,
        "kind": spec.kind,
        "inputs": [_input(item) for item in spec.inputs],
        "outputs": [item.fqn for item in spec.outputs],
        "span": resolver_span(definition).json(),
        "sourceSha256": _source_hash(spec, statement),
        **({"python": _put(python, isAsync=spec.is_async)} if statement is None else {"sql": statement}),
    }
    line = json_line(
        _put(
            document,
            tags=tag_list(options.tags),
            environments=environments,
            owner=options.owner,
            description=definition.description,
            timeout=None if timeout is None else duration_json(timeout),
            schedule=None if options.cron is None else schedule_text(options.cron),
            runFilter=chosen.filter,
            runSample=chosen.sample,
            outputShape=f"OUTPUT_SHAPE_{spec.shape}" if spec.shape and statement is None else None,
            total=options.total is True,
            relation=spec.relation,
            untranslated=translation.get("untranslated"),
            venv=options.venv,
            uniqueOn=list(spec.unique_on),
            partitionedBy=list(spec.partitioned_by),
            maxStaleness=None if staleness is None else duration_json(staleness),
            maxStalenessSpan=None if staleness is None else resolver_part_span(definition, "option", "max_staleness", "").json(),
            resourceHint=f"RESOURCE_HINT_{options.resource_hint.upper()}" if options.resource_hint else None,
            when=None if spec.when is None else condition_json(spec.when, getattr(spec.output_class, "__svc_features__")),
            whenText=None if spec.when is None else resolver_option_text(definition, "when") or repr(spec.when),
        )
    )
    translated = ",".join(f"{json_line(fqn)}:{expression}" for fqn, expression in translation.get("translated", {}).items())
    return Json(f'{line[:-1]},"translated":{{{translated}}}}}') if translated else line


def _source_hash(spec: ResolverSpec, statement: Optional[dict[str, Any]]) -> str:
    """The hash of the function's text with its decorators; of its bytecode when the text cannot be
    read. A statement, which may stand in a file of its own, counts with it.
    """
    definition = spec.definition
    outline = definition.outline
    own = outline.text_sha256 if outline else hashlib.sha256(getattr(spec.fn, "__code__").co_code).hexdigest()
    return own if statement is None else hashlib.sha256(f"{own} {statement['body']}".encode("utf-8", "surrogatepass")).hexdigest()


def _named_query(item: ResolvedQuery) -> dict[str, Any]:
    query = item.query
    document: dict[str, Any] = {"name": query.name, "outputs": item.outputs, "span": call_span(query, "name").json()}
    staleness = {path: duration_json(parse_duration(value) or 0) for path, value in item.staleness.items()}
    return _put(
        document,
        version=query.version,
        inputs=item.inputs,
        tags=tag_list(query.tags),
        staleness=staleness,
        plannerOptions={str(key): str(value) for key, value in query.planner_options.items()},
        owner=query.owner,
        description=query.description,
    )


def _scheduled_query(item: ResolvedSchedule) -> dict[str, Any]:
    query = item.query
    document: dict[str, Any] = {
        "name": query.name,
        "schedule": schedule_text(query.schedule),
        "outputs": item.outputs,
        "span": call_span(query, "name").json(),
    }
    return _put(
        document,
        recompute=item.recompute is None,
        recomputeFeatures=item.recompute,
        maxSamples=str(query.max_samples) if query.max_samples else None,
        lowerBound=time_text(query.lower_bound),
        upperBound=time_text(query.upper_bound),
        storeOnline=query.computes and query.store_online is not False,
        storeOffline=query.computes and query.store_offline is not False,
        incrementalResolvers=item.incremental,
        tags=tag_list(query.tags),
        owner=query.owner,
        description=query.description,
    )


def _monitor(item: ResolvedMonitor) -> dict[str, Any]:
    monitor = item.monitor
    document: dict[str, Any] = {
        "name": monitor.name,
        "expression": monitor.query,
        "below" if item.is_below else "above": item.bound,
        "severity": monitor.severity or "warning",
        "span": call_span(monitor, "name").json(),
        "expressionSpan": call_span(monitor, "query").json(),
        "boundSpan": call_span(monitor, "below" if item.is_below else "above").json(),
    }
    return _put(
        document,
        pendingFor=duration_json(item.for_micros) if item.for_micros else None,
        webhooks=item.webhooks,
        owner=monitor.owner,
        description=monitor.description,
    )


def _evaluation(item: ResolvedEvaluation) -> dict[str, Any]:
    evaluation = item.evaluation
    return _put(
        {
            "name": evaluation.name,
            "task": item.task,
            "inputs": [{"parameter": parameter, "column": column} for parameter, column in item.inputs.items()],
            "scorers": item.scorers,
            "span": call_span(evaluation, "name").json(),
        },
        dataset=item.dataset,
        revision=item.revision,
        key=evaluation.key,
        venv=evaluation.venv,
        owner=evaluation.owner,
        description=evaluation.description,
        tags=tag_list(evaluation.tags),
    )


def _hook(item: HookDefinition) -> dict[str, Any]:
    environment = item.options.environment
    document: dict[str, Any] = {"name": item.name, "kind": f"HOOK_KIND_{item.kind.upper()}", "span": resolver_span(item).json()}
    return _put(document, environments=[environment] if isinstance(environment, str) else list(environment or ()), venvs=item.venvs)


def _source(item: DataSource) -> dict[str, Any]:
    return _put({"name": item.name, "kind": item.kind, "span": call_span(item, "name").json()}, settings=item.settings)
