"""Sinks: the options, the definition, and the reading of the signature; rules 146 and 207."""

from __future__ import annotations

import inspect
import math
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Optional, Union

from .._codec.wire import describe
from .._diagnostics import rules
from .._diagnostics.findings import ERROR, BrokenReference, DefinitionError
from .._frames.selection import TableType
from .._frames.signature import Problem
from .._surface.names import parse_duration
from .._surface.options import Check, check_environments, check_name, check_options, check_tags, check_text, check_timeout, check_venv
from .._types.annotations import annotation_text, read_annotation
from .field import MISSING
from .reference import field_of
from .resolver import ResolverDefinition, ResolverOptions, ResolverSpec
from .signature import SignatureReader

SINK = "SINK"
#: Most rows of a call.
MAX_BUFFER_SIZE = 10_000
_LONGEST_DELAY = 3_600_000_000


@dataclass(frozen=True)
class SinkOptions(ResolverOptions):
    """The options of `sink(...)`."""

    buffer_size: int = 100
    debounce: Union[str, timedelta] = "100ms"
    max_delay: Union[str, timedelta] = "1s"


class SinkSpec(ResolverSpec):
    """A sink, ready to be called with rows."""


class SinkDefinition(ResolverDefinition):
    """A function that is given rows as they become known."""

    options: SinkOptions

    def __init__(self, fn: Any, options: SinkOptions, frame: Any) -> None:
        super().__init__(fn, SINK, options, frame)


def _check_buffer_size(option: str, value: Any) -> Optional[str]:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MAX_BUFFER_SIZE:
        return f"{option} is {describe(value)}: write a whole number from 1 to {MAX_BUFFER_SIZE:,}"
    return None


def _check_delay(option: str, value: Any) -> Optional[str]:
    micros = parse_duration(value)
    if micros is None or micros == math.inf or not 1_000 <= micros <= _LONGEST_DELAY:
        return f"{option} is {describe(value)}: write a duration from 1ms to 1h, such as '100ms' or '1s'"
    return None


_CHECKS: dict[str, Check] = {
    "tags": check_tags,
    "environment": check_environments,
    "timeout": check_timeout,
    "owner": check_text,
    "name": check_name,
    "venv": check_venv,
    "buffer_size": _check_buffer_size,
    "debounce": _check_delay,
    "max_delay": _check_delay,
}


class _SinkReader(SignatureReader):
    """The reader of a sink's signature."""

    definition: SinkDefinition

    def read(self) -> None:
        options, name = self.definition.options, self.definition.function_name
        problems = check_options(_CHECKS, options)
        for option, text in problems.items():
            self.problem(rules.BadValue.option(problem=text), "option", option)
        debounce, longest = parse_duration(options.debounce), parse_duration(options.max_delay)
        if not problems and debounce is not None and longest is not None and debounce > longest:
            said = rules.BadSink.delays(debounce=describe(options.debounce), longest=describe(options.max_delay))
            self.problem(said, "option", "debounce")
        fn = inspect.unwrap(self.definition.fn)
        if inspect.isgeneratorfunction(fn) or inspect.isasyncgenfunction(fn):
            self.problem(rules.BadSink.generator(sink=name), "name")
        self._check_return(name)
        parameters = list(self.definition.parameters.values())
        if len(parameters) != 1 or parameters[0].kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
            return self.problem(
                rules.BadSink.parameters(sink=name, count=len(parameters)), "parameter" if parameters else "name", parameters[-1].name if parameters else ""
            )
        self._read_rows(parameters[0])
        return None

    def _check_return(self, name: str) -> None:
        if self.definition.returns in (MISSING, None, "None"):
            return
        self.problem(rules.BadSink.returns(sink=name, written=annotation_text(self.definition.returns)), "return")

    def _read_rows(self, parameter: inspect.Parameter) -> None:
        name = parameter.name
        if parameter.annotation is parameter.empty:
            return self.problem(rules.BadSink.unannotated(parameter=name), "parameter", name)
        try:
            reading = read_annotation(parameter.annotation, self.definition.scope)
            if not isinstance(reading.core, TableType):
                return self.problem(rules.BadSink.no_rows(parameter=name, written=annotation_text(reading.core)), "annotation", name)
            self.read_table(parameter, reading.core)
        except BrokenReference:
            self.is_broken = True
            return None
        except DefinitionError as error:
            self.problems.append(Problem(error, "annotation", name))
            return None
        table = self.inputs[0][0].table if self.inputs else None
        if table is None or self.problems:
            return None
        references = [column.reference for column in table.columns]
        owner = references[0]._svc_root
        related = next((item for item in references if len(item._svc_names) > 1), None)
        if related is not None:
            return self.problem(rules.BadSink.related(reference=repr(related), owner=owner.cls.__name__), "annotation", name, token=repr(related))
        if not owner.primary_keys:
            self.is_broken = True  # that the class has none is a finding of its own
            return None
        key = repr(owner.reference(owner.primary_keys[0].attribute))
        if owner.primary_keys[0] not in [field_of(item) for item in references]:
            self.problem(rules.BadSink.no_key(key=key, owner=owner.cls.__name__), "annotation", name)
        elif len(references) == 1:
            self.problem(rules.BadSink.key_alone(key=key), "annotation", name)
        return None


def compile_sink(definition: SinkDefinition) -> tuple[Optional[SinkSpec], list[Problem]]:
    """The sink, or its faults."""
    reader = _SinkReader(definition)
    reader.read()
    if reader.is_broken or any(problem.error.said.severity == ERROR for problem in reader.problems):
        return None, reader.problems
    micros = parse_duration(definition.options.timeout)
    table, reference = reader.inputs[0]
    parameter = next(iter(definition.parameters.values()))
    fn = definition.fn
    if parameter.kind == parameter.KEYWORD_ONLY:
        inner = fn

        def fn(rows: Any) -> Any:
            return inner(**{parameter.name: rows})

    owner = reference._svc_root.cls if reference is not None else object
    seconds = None if micros is None else micros / 1_000_000
    return SinkSpec(definition.fqn, fn, SINK, (table,), (), definition.is_async, False, owner, seconds, definition), reader.problems


def compile_sinks(definitions: list[SinkDefinition]) -> dict[str, SinkSpec]:
    """The sinks whose definitions make sense."""
    found = (compile_sink(definition)[0] for definition in definitions)
    return {spec.fqn: spec for spec in found if spec is not None}
