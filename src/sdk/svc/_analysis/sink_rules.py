"""Sinks that make sense, and their form in the graph; rules 106, 146, 148 and 207."""

from __future__ import annotations

import hashlib
from typing import Any, Callable, Iterable

from .._diagnostics import rules
from .._diagnostics.findings import Finding
from .._model.field import tag_list
from .._model.sink import SinkDefinition, SinkOptions, SinkSpec, compile_sink
from .._model.resolver import ResolverSpec
from .._model.stream import StreamSpec, environments_of
from .._surface.names import duration_json, parse_duration
from .._surface.unknown_options import unknown_option
from .spans import resolver_option_name, resolver_part_span, resolver_span

Json = dict[str, Any]


def check_sinks(definitions: list[SinkDefinition], others: Iterable[Any], report: Callable[[Finding], None]) -> list[SinkSpec]:
    """The sinks that make sense, one per FQN; findings for the others.

    others: resolvers and streams, whose FQNs are taken.
    """
    taken = {spec.fqn: resolver_span(spec.definition) for spec in others if isinstance(spec, (ResolverSpec, StreamSpec))}
    found: list[SinkSpec] = []
    for definition in definitions:
        for option in definition.options.others:
            report(unknown_option("sink", option).said.at(resolver_option_name(definition, option)))
        spec, problems = compile_sink(definition)
        for problem in problems:
            error = problem.error
            report(error.said.at(resolver_part_span(definition, problem.part, problem.name, error.token, problem.node), hint=error.hint))
        if spec is None:
            continue
        first = taken.setdefault(spec.fqn, resolver_span(definition))
        if first != resolver_span(definition):
            said = rules.DuplicateResolver.in_python(resolver=spec.fqn)
            report(said.at(resolver_span(definition), related=((first, "first defined here"),)))
            continue
        found.append(spec)
    return found


def sink_json(spec: SinkSpec) -> Json:
    """A sink as proto3 JSON of `svc.v1.SinkResolver`."""
    definition = spec.definition
    options: SinkOptions = definition.options  # type: ignore[assignment]
    outline = definition.outline
    item = spec.inputs[0]
    document: Json = {
        "fqn": spec.fqn,
        "parameter": item.name,
        "columns": [column.path for column in item.table.columns] if item.table is not None else [],
        "bufferSize": options.buffer_size,
        "debounce": duration_json(parse_duration(options.debounce) or 0),
        "maxDelay": duration_json(parse_duration(options.max_delay) or 0),
        "span": resolver_span(definition).json(),
        "sourceSha256": outline.text_sha256 if outline else hashlib.sha256(getattr(spec.fn, "__code__").co_code).hexdigest(),
        "python": {"module": definition.module, "name": definition.function_name, **({"isAsync": True} if spec.is_async else {})},
    }
    timeout = parse_duration(options.timeout)
    if timeout is not None:
        document["timeout"] = duration_json(timeout)
    lists = {"tags": tag_list(options.tags), "environments": list(environments_of(options))}
    texts = {"owner": options.owner, "description": definition.description, "venv": options.venv}
    document.update({name: value for name, value in {**lists, **texts}.items() if value})
    return document
