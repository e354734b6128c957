"""Functions that callers run: the options, the definition, and the reading of the signature; rules
114, 146 and 208.
"""

from __future__ import annotations

import inspect
import typing
from dataclasses import dataclass
from typing import Any, Callable, NamedTuple, Optional

from .._codec.wire import describe
from .._diagnostics import rules
from .._diagnostics.findings import ERROR, BrokenReference, DefinitionError, Said
from .._frames.dataframe import DataFrame
from .._frames.selection import TableType
from .._frames.signature import Problem
from .._surface.names import parse_duration
from .._surface.options import Check, check_environments, check_flag, check_name, check_options, check_tags, check_text, check_timeout, check_venv
from .._types.annotations import annotation_text, read_annotation
from .._types.data_type import DataType
from .._types.dtypes import value_type
from .field import MISSING
from .resolver import ResolverDefinition, ResolverOptions

FUNCTION = "FUNCTION"
#: What the name of a call begins with that runs one, in front of the function's name.
PREFIX = "function "
#: Most calls of a function that may be allowed at once.
MAX_CONCURRENCY = 1_000
_LONGEST_TIMEOUT = 3_600_000_000
_LONGEST_NAME = 100


@dataclass(frozen=True)
class FunctionOptions(ResolverOptions):
    """The options of `function(...)`."""

    batch: bool = False
    concurrency: Optional[int] = None


class FunctionDefinition(ResolverDefinition):
    """A function that callers run."""

    options: FunctionOptions

    def __init__(self, fn: Any, options: FunctionOptions, frame: Any) -> None:
        super().__init__(fn, FUNCTION, options, frame)


class ParameterSpec(NamedTuple):
    """A parameter: a column of the arguments."""

    name: str
    python_type: Any
    dtype: DataType
    nullable: bool
    has_default: bool


@dataclass(frozen=True)
class FunctionSpec:
    """A function, ready to be called."""

    #: What calls name it by: `PREFIX` and its name.
    fqn: str
    name: str
    fn: Callable[..., Any]
    parameters: tuple[ParameterSpec, ...]
    python_type: Any
    dtype: DataType
    nullable: bool
    batch: bool
    is_async: bool
    #: Longest run of one call in microseconds; None = the engine's default.
    timeout: Optional[float]
    definition: FunctionDefinition
    kind: str = FUNCTION
    #: It has no parameters as resolvers have them.
    inputs: tuple[()] = ()


def _check_timeout(option: str, value: Any) -> Optional[str]:
    problem = check_timeout(option, value)
    micros = parse_duration(value)
    if problem is None and micros is not None and micros > _LONGEST_TIMEOUT:
        return f"{option} is {describe(value)}: a call may take at most 1h; what takes longer is a task (`svc task run`)"
    return problem


def _check_concurrency(option: str, value: Any) -> Optional[str]:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MAX_CONCURRENCY:
        return f"{option} is {describe(value)}: write a whole number from 1 to {MAX_CONCURRENCY:,}"
    return None


def _check_name(option: str, value: Any) -> Optional[str]:
    problem = check_name(option, value)
    return problem or (f"{option} has {len(value)} characters: write up to {_LONGEST_NAME}" if len(value) > _LONGEST_NAME else None)


_CHECKS: dict[str, Check] = {
    "tags": check_tags,
    "environment": check_environments,
    "timeout": _check_timeout,
    "owner": check_text,
    "name": _check_name,
    "venv": check_venv,
    "batch": check_flag,
    "concurrency": _check_concurrency,
}




class _FunctionReader:
    """The reader of a function's signature; its attributes hold the result afterwards."""

    def __init__(self, definition: FunctionDefinition) -> None:
        self.definition = definition
        self.name = definition.name
        self.problems: list[Problem] = []
        self.parameters: list[ParameterSpec] = []
        self.result: tuple[Any, DataType, bool] = (None, {}, False)
        self.is_broken = False

    def problem(self, said: Said, part: str, name: str = "") -> None:
        self.problems.append(Problem(DefinitionError(said), part, name))

    def read(self) -> None:
        definition = self.definition
        for option, text in check_options(_CHECKS, definition.options).items():
            self.problem(rules.BadValue.option(problem=text), "option", option)
        if inspect.isgeneratorfunction(definition.inner) or inspect.isasyncgenfunction(definition.inner):
            self.problem(rules.BadFunction.generator(function=self.name), "name")
        for parameter in definition.parameters.values():
            self.read_parameter(parameter)
        self.read_return()

    def read_parameter(self, parameter: inspect.Parameter) -> None:
        name = parameter.name
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            stars = "*" if parameter.kind == parameter.VAR_POSITIONAL else "**"
            return self.problem(rules.BadFunction.starred(function=self.name, stars=stars, parameter=name), "parameter", name)
        if parameter.kind == parameter.POSITIONAL_ONLY:
            return self.problem(rules.BadFunction.positional(function=self.name, parameter=name), "parameter", name)
        if parameter.annotation is parameter.empty:
            return self.problem(rules.BadFunction.unannotated(parameter=name), "parameter", name)
        read = self.read_type(parameter.annotation, "annotation", name, rules.BadFunction.no_list(parameter=name, written=annotation_text(parameter.annotation)))
        if read is not None:
            self.parameters.append(ParameterSpec(name, *read, parameter.default is not parameter.empty))
        return None

    def read_return(self) -> None:
        returns = self.definition.returns
        if returns is MISSING:
            return self.problem(rules.BadFunction.no_result(function=self.name), "name")
        if returns in (None, "None", type(None)):
            return self.problem(rules.BadFunction.nothing(function=self.name), "return")
        no_list = rules.BadFunction.result_no_list(function=self.name, written=annotation_text(returns))
        self.result = self.read_type(returns, "return", "", no_list) or self.result
        return None

    def read_type(self, annotation: Any, part: str, name: str, no_list: Said) -> Optional[tuple[Any, DataType, bool]]:
        """The type of a row's value; None when there is none, which is then said."""
        try:
            reading = read_annotation(annotation, self.definition.scope)
            if self.definition.options.batch is True:
                items = typing.get_args(reading.core)
                if typing.get_origin(reading.core) is not list or len(items) != 1 or reading.nullable:
                    raise DefinitionError(no_list)
                reading = read_annotation(items[0], self.definition.scope)
            if reading.core is DataFrame or isinstance(reading.core, TableType):
                raise DefinitionError(rules.BadFunction.table(written=annotation_text(reading.core)))
            found = value_type(reading.core, self.definition.scope)
        except BrokenReference:
            self.is_broken = True
            return None
        except DefinitionError as error:
            self.problems.append(Problem(error, part, name))
            return None
        return found.python_type, found.dtype, reading.nullable


def compile_function(definition: FunctionDefinition) -> tuple[Optional[FunctionSpec], list[Problem]]:
    """The function, or its faults."""
    reader = _FunctionReader(definition)
    reader.read()
    if reader.is_broken or any(problem.error.said.severity == ERROR for problem in reader.problems):
        return None, reader.problems
    python_type, dtype, nullable = reader.result
    options = definition.options
    spec = FunctionSpec(
        PREFIX + definition.name,
        definition.name,
        definition.fn,
        tuple(reader.parameters),
        python_type,
        dtype,
        nullable,
        options.batch,
        definition.is_async,
        parse_duration(options.timeout),
        definition,
    )
    return spec, reader.problems


def compile_functions(definitions: list[FunctionDefinition]) -> dict[str, FunctionSpec]:
    """The functions whose definitions make sense, by what calls name them; the first of a name."""
    found: dict[str, FunctionSpec] = {}
    for definition in definitions:
        spec, _ = compile_function(definition)
        if spec is not None:
            found.setdefault(spec.fqn, spec)
    return found
