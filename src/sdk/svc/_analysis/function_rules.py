"""Functions that callers run and that make sense, and their form in the graph; rules 106, 114, 146
and 208.
"""

from __future__ import annotations

import hashlib
from typing import Any, Callable

from .._diagnostics import rules
from .._diagnostics.findings import Finding
from .._model.field import tag_list
from .._model.function import FunctionDefinition, FunctionOptions, FunctionSpec, ParameterSpec, compile_function
from .._model.stream import environments_of
from .._surface.names import duration_json
from .._surface.unknown_options import unknown_option
from .spans import resolver_option_name, resolver_part_span, resolver_span

Json = dict[str, Any]


def check_functions(definitions: list[FunctionDefinition], report: Callable[[Finding], None]) -> list[FunctionSpec]:
    """The functions that make sense, one per name; findings for the others."""
    found: dict[str, FunctionSpec] = {}
    for definition in definitions:
        for option in definition.options.others:
            report(unknown_option("function", option).said.at(resolver_option_name(definition, option)))
        spec, problems = compile_function(definition)
        for problem in problems:
            error = problem.error
            report(error.said.at(resolver_part_span(definition, problem.part, problem.name, error.token, problem.node), hint=error.hint))
        if spec is None:
            continue
        first = found.setdefault(spec.name, spec)
        if first is not spec:
            said = rules.BadFunction.duplicate(function=spec.name)
            report(said.at(resolver_span(definition), related=((resolver_span(first.definition), "first defined here"),)))
    return list(found.values())


def function_json(spec: FunctionSpec) -> Json:
    """A function as proto3 JSON of `svc.v1.ComputeFunction`."""
    definition = spec.definition
    options: FunctionOptions = definition.options
    outline = definition.outline
    document: Json = {
        "name": spec.name,
        "parameters": [_parameter(item) for item in spec.parameters],
        "result": spec.dtype,
        "concurrency": options.concurrency or 0,
        "span": resolver_span(definition).json(),
        "sourceSha256": outline.text_sha256 if outline else hashlib.sha256(getattr(definition.inner, "__code__").co_code).hexdigest(),
        "python": {"module": definition.module, "name": definition.function_name, **({"isAsync": True} if spec.is_async else {})},
    }
    flags = {"resultNullable": spec.nullable, "batch": spec.batch}
    timeout = {} if spec.timeout is None else {"timeout": duration_json(spec.timeout)}
    lists = {"tags": tag_list(options.tags), "environments": list(environments_of(options))}
    texts = {"owner": options.owner, "description": definition.description, "venv": options.venv}
    document.update({name: value for name, value in {**flags, **timeout, **lists, **texts}.items() if value})
    return document


def _parameter(item: ParameterSpec) -> Json:
    flags = {"nullable": item.nullable, "hasDefault": item.has_default}
    return {"name": item.name, "dtype": item.dtype, **{name: value for name, value in flags.items() if value}}
