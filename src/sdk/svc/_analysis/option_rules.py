"""Rules about the arguments of the SDK's decorators and functions: 106 for every unknown option;
140 and 146 about hooks.
"""

from __future__ import annotations

import inspect
from typing import Callable, Iterable, Mapping, Union

from .._diagnostics import rules
from .._diagnostics.findings import Finding, Span
from .._model.feature_class import FeatureClass
from .._model.field import NO_OPTIONS, FeatureOptions, Field, GroupedOptions, WindowedOptions
from .._model.hooks import HookDefinition
from .._model.evaluation import Evaluation
from .._model.field_resolver import FieldResolver
from .._model.model_call import ModelOptions
from .._model.monitor import Monitor
from .._model.named_query import NamedQuery
from .._model.resolver import ONLINE, ResolverDefinition
from .._model.scheduled_query import ScheduledQuery
from .._model.validation import validations_of
from .._surface.options import check_environments
from .._surface.unknown_options import Others, unknown_option
from ..sources import DataSource
from .spans import (
    call_option_name,
    class_option_name,
    field_option_name,
    resolver_option_name,
    resolver_part_span,
    value_span,
)

Report = Callable[[Finding], None]


def check_unknown_options(
    classes: Iterable[FeatureClass],
    resolvers: Iterable[ResolverDefinition],
    hooks: Iterable[HookDefinition],
    calls: Iterable[Union[NamedQuery, ScheduledQuery, Monitor, Evaluation]],
    sources: Iterable[DataSource],
    report: Report,
) -> None:
    """Reports finding 106 for every unknown option of every definition."""

    def check(taker: str, others: Others, span_of: Callable[[str], Span]) -> None:
        for option in others:
            report(unknown_option(taker, option).said.at(span_of(option)))

    for item in classes:
        check("features", item.options.others, lambda option, item=item: class_option_name(item, option))  # type: ignore[misc]
        for field in item.fields.values():
            if field.options is NO_OPTIONS and field.relation is None:
                continue
            taker, others = _given(field)
            check(taker, others, lambda option, field=field: field_option_name(field, option))  # type: ignore[misc]
            for version in field.options.versions.values() if isinstance(field.options.versions, Mapping) else ():
                others = version.others if isinstance(version, FeatureOptions) else ()
                check("feature", others, lambda _, field=field: value_span(field, "versions"))  # type: ignore[misc]
            for own in validations_of(field.options):
                check("Validation", own.validation.others, lambda _, field=field: value_span(field, "validations"))  # type: ignore[misc]
    for resolver in resolvers:
        if isinstance(resolver, FieldResolver):
            continue
        taker = "online" if resolver.kind == ONLINE else "offline"
        check(taker, resolver.options.others, lambda option, item=resolver: resolver_option_name(item, option))  # type: ignore[misc]
    for hook in hooks:
        check(hook.kind, hook.options.others, lambda option, item=hook: resolver_option_name(item, option))  # type: ignore[misc]
    for call in calls:
        check(type(call).__name__, call.others, lambda option, item=call: call_option_name(item, option))  # type: ignore[misc]
    for source in sources:
        check(source.taker, source.others, lambda option, item=source: call_option_name(item, option))  # type: ignore[misc]


def _given(field: Field) -> tuple[str, Others]:
    """The function to the right of a feature's `=`, and the unknown options that it was given."""
    if field.relation is not None:
        return "has_many" if field.relation.many else "has_one", field.relation.others
    if isinstance(field.options, ModelOptions):
        return field.options.taker, field.options.others
    if isinstance(field.options, GroupedOptions):
        return "group_by_windowed", field.options.others
    return "windowed" if isinstance(field.options, WindowedOptions) else "feature", field.options.others


def check_hooks(hooks: Iterable[HookDefinition], report: Report) -> list[HookDefinition]:
    """The hooks whose options make sense. Reports finding 140 for hooks with parameters, and 146 for
    their options.
    """
    sound: list[HookDefinition] = []
    for hook in hooks:
        problems = 0
        for option in ("environment", "venv"):
            value = getattr(hook.options, option)
            problem = None if value is None else check_environments(option, value)
            if problem:
                problems += 1
                report(rules.BadValue.option(problem=problem).at(resolver_part_span(hook, "option", option, "")))
        if not problems:
            sound.append(hook)
        for parameter in hook.parameters.values():
            if parameter.default is parameter.empty and parameter.kind not in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
                report(
                    rules.BadInput.of_hook(hook=hook.origin.name, parameter=parameter.name).at(
                        resolver_part_span(hook, "parameter", parameter.name, "")
                    )
                )
    return sound
