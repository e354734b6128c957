"""Rules about the filter and the sample of a resolver's `Cron`: 106 and 146."""

from __future__ import annotations

import inspect
from typing import Any, Callable, NamedTuple

from .._codec.wire import describe
from .._diagnostics import rules
from .._diagnostics.findings import BrokenReference, DefinitionError, Finding
from .._frames.conditions import Condition
from .._model.cron import Cron
from .._model.reference import FeatureReference, crosses_many, field_of, path_of, type_of
from .._model.resolver import ResolverSpec
from .._surface.unknown_options import unknown_option
from .spans import cron_option_span

Report = Callable[[Finding], None]


class ChosenRows(NamedTuple):
    """The rows that the runs of a resolver are for; both empty = all."""

    #: Path of a bool, for example "user.active".
    filter: str = ""
    #: FQN of the resolver whose rows run.
    sample: str = ""


def check_crons(resolvers: list[ResolverSpec], report: Report) -> dict[str, ChosenRows]:
    """The rows that run, by the FQN of the resolver that has a `Cron`; findings for what makes no
    sense.
    """
    chosen: dict[str, ChosenRows] = {}
    known = {inspect.unwrap(spec.definition.fn): spec for spec in resolvers if _gives_rows(spec)}
    for spec in resolvers:
        cron = spec.definition.options.cron
        if not isinstance(cron, Cron):
            continue
        for option in cron.others:
            error = unknown_option("Cron", option)
            report(error.said.at(cron_option_span(spec.definition, option), hint=error.hint))
        found = {"filter": "", "sample": ""}
        for option in found:
            try:
                if getattr(cron, option) is not None:
                    found[option] = _filter_path(spec, cron.filter) if option == "filter" else _sample(spec, cron.sample, known)
            except BrokenReference:
                continue
            except DefinitionError as error:
                report(rules.BadValue.option(problem=str(error)).at(cron_option_span(spec.definition, option)))
        chosen[spec.fqn] = ChosenRows(**found)
    return chosen


def _problem(text: str) -> DefinitionError:
    return DefinitionError(rules.BadValue.option(problem=text))


def _shown(given: Any) -> str:
    """A value in words, a function by its name."""
    if not inspect.isfunction(given):
        return describe(given)
    return "a lambda" if given.__name__ == "<lambda>" else f"the function {given.__name__}"


def _gives_rows(spec: ResolverSpec) -> bool:
    """Whether it takes no features and returns rows of its class."""
    return spec.shape == "ROWS" and all(item.is_now for item in spec.inputs)


def _filter_path(spec: ResolverSpec, given: Any) -> str:
    """The path of a filter. Raises DefinitionError."""
    owner = spec.output_class.__name__
    if isinstance(given, Condition):
        raise _problem(f"filter is a condition: name a bool feature of {owner} that has it as its expression, such as adult: bool = _.age >= 18")
    if not isinstance(given, FeatureReference):
        raise _problem(f"filter is {_shown(given)}: write a bool feature of {owner}, such as {owner}.active")
    kind = type_of(field_of(given))
    if kind.python_type is not bool or kind.windowed or crosses_many(given):
        raise _problem(f"filter is {given!r}, which is not one bool of a row: write a bool feature of {owner}, such as {owner}.active")
    if given._svc_root.cls is not spec.output_class:
        raise _problem(f"filter is {given!r}, and {spec.definition.name} computes features of {owner}: write a bool feature of {owner}")
    path = path_of(given)
    if not _gives_rows(spec) and any(item.fqn == path for item in spec.outputs):
        raise _problem(f"filter is {given!r}, which {spec.definition.name} computes itself: name a bool that is known before it runs")
    return path


def _sample(spec: ResolverSpec, given: Any, known: dict[Any, ResolverSpec]) -> str:
    """The FQN of a sample. Raises DefinitionError."""
    keys = spec.output_class.__svc_features__.primary_keys  # type: ignore[attr-defined]
    key = f"{spec.output_class.__name__}.{keys[0].attribute if keys else 'id'}"
    if _gives_rows(spec):
        raise _problem(f"sample says which rows {spec.definition.name} is given, and it returns its rows itself: take sample out, or use filter")
    found = known.get(inspect.unwrap(given)) if callable(given) else None
    if found is None:
        raise _problem(f"sample is {_shown(given)}: write a resolver without arguments that returns DataFrame[{key}]")
    if found.output_class is not spec.output_class or not any(item.fqn == field.fqn for item in found.outputs for field in keys):
        raise _problem(f"sample is {found.definition.name}, whose rows have no {key}: write a resolver that returns DataFrame[{key}]")
    return found.fqn
