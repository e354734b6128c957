"""Reading a resolver's signature: what it needs, what it produces, and the rules 140 to 146."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Callable, Optional

from ._annotations import read_annotation, spell, unreadable
from ._feature_class import FeatureClass
from ._field import MISSING
from ._findings import BrokenReference, DefinitionError
from ._names import parse_duration
from ._options import RESOLVER_CHECKS, check_options
from ._reference import FeatureReference, field_of, path_of, type_of
from ._resolver import InputSpec, OutputSpec, ResolverDefinition, ResolverSpec
from ._selection import FeatureSelection
from ._wire import value_json


@dataclass(frozen=True)
class Problem:
    """What is wrong with a resolver, and with which part of it.

    `part` is "name", "return", "parameter" (its name), "annotation" or "default" (of a parameter), or "option" (of the decorator).
    `related` is another part that matters, with the words to say.
    """

    error: DefinitionError
    part: str
    name: str = ""
    related: Optional[tuple[str, str, str]] = None


@dataclass
class _Reader:
    definition: ResolverDefinition
    problems: list[Problem] = field(default_factory=list)
    inputs: list[tuple[InputSpec, Optional[FeatureReference]]] = field(default_factory=list)
    outputs: list[FeatureReference] = field(default_factory=list)
    returns_several: bool = False
    #: Whether it uses a feature whose own definition is at fault: nothing to say, but no resolver either.
    is_broken: bool = False

    def problem(self, code: int, message: str, label: str, part: str, name: str = "", **more: Any) -> None:
        self.problems.append(Problem(DefinitionError(code, message, label, token=more.pop("token", "")), part, name, **more))

    def read(self) -> None:
        for option, text in check_options(RESOLVER_CHECKS, self.definition.options).items():
            self.problem(146, text, "bad value", "option", option)
        for parameter in self.definition.parameters.values():
            self.read_parameter(parameter)
        self.read_return()
        self.check_roots()
        self.check_overlap()

    def read_parameter(self, parameter: inspect.Parameter) -> None:
        name = parameter.name
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            stars = "*" if parameter.kind == parameter.VAR_POSITIONAL else "**"
            text = f"'{stars}{name}' names no features: write one parameter per feature, such as 'name: User.name'"
            return self.problem(140, text, "no feature", "parameter", name)
        if parameter.annotation is parameter.empty:
            text = f"parameter '{name}' names no feature: annotate it, such as '{name}: User.{name}'"
            return self.problem(140, text, "no feature annotation", "parameter", name)
        try:
            reading = read_annotation(parameter.annotation, self.definition.scope)
            if reading.now:
                self.inputs.append((InputSpec(name, True, python_type=datetime), None))
                return None
            target = field_of(reading.core) if isinstance(reading.core, FeatureReference) else None
            kind = type_of(target) if target else None
        except BrokenReference:
            self.is_broken = True
            return None
        except DefinitionError as error:
            self.problems.append(Problem(_as(140, error), "annotation", name))
            return None
        if target is None or kind is None:
            return self.problem(140, _not_a_feature(name, reading.core), "no feature", "annotation", name)
        if kind.target is not None:
            first = next(iter(kind.target.fields), "id")
            text = f"parameter '{name}' is a relation: take a feature of it, such as '{reading.core!r}.{first}'"
            return self.problem(140, text, "a relation", "annotation", name)
        optional, default = reading.nullable, None
        if parameter.default is not parameter.empty:
            optional, default = True, parameter.default
        if default is not None:
            try:
                value_json(default, kind.dtype)
            except DefinitionError as error:
                text = f"the default of parameter '{name}' does not fit '{path_of(reading.core)}': {error}"
                return self.problem(115, text, error.label, "default", name)
        spec = InputSpec(name, False, path_of(reading.core), kind.python_type, kind.dtype, optional, default)
        self.inputs.append((spec, reading.core))
        return None

    def read_return(self) -> None:
        returns = self.definition.returns
        name = self.definition.function_name
        if inspect.isgeneratorfunction(self.definition.fn) or inspect.isasyncgenfunction(self.definition.fn):
            return self.problem(143, f"'{name}' yields: a resolver returns its result", "a generator", "name")
        if returns is MISSING:
            text = f"'{name}' does not say what it produces: write '-> User.name' or '-> Features[User.name, User.email]'"
            return self.problem(143, text, "no return annotation", "name")
        try:
            reading = read_annotation(returns, self.definition.scope)
            if reading.nullable and isinstance(reading.core, (FeatureReference, FeatureSelection)):
                text = f"write '-> {reading.core!r}': whether it may be None is said where the feature is defined"
                return self.problem(143, text, "not a feature", "return")
            if isinstance(reading.core, FeatureReference):
                self.outputs = [reading.core]
            elif isinstance(reading.core, FeatureSelection):
                self.returns_several = True
                self.outputs = self.select(reading.core)
            else:
                return self.problem(143, _not_an_output(reading.core), "not a feature", "return")
            for output in self.outputs:
                self.check_output(output)
            if not self.outputs:
                self.problem(143, f"nothing is left in {reading.core!r}: name the features that '{name}' produces", "no output", "return")
        except BrokenReference:
            self.is_broken = True
        except DefinitionError as error:
            self.problems.append(Problem(_as(143, error), "return"))
        except Exception as error:
            self.problems.append(Problem(_as(143, unreadable(error)), "return"))
        return None

    def select(self, selection: FeatureSelection) -> list[FeatureReference]:
        excluded = [self.reference(item) for item in selection.excluded]
        taken = [reference for _, reference in self.inputs if reference is not None]
        found: list[FeatureReference] = []
        for item in selection.items:
            core = read_annotation(item, self.definition.scope).core
            if isinstance(core, type) and "__svc_features__" in core.__dict__:
                owner: FeatureClass = core.__svc_features__  # type: ignore[attr-defined]
                values = [owner.reference(name) for name, own in owner.fields.items() if type_of(own).target is None]
                found.extend(value for value in values if value not in taken)
            elif isinstance(core, FeatureReference):
                found.append(core)
            else:
                raise DefinitionError(143, _not_an_output(core), "not a feature")
        for reference in excluded:
            if reference not in found:
                text = f"{reference!r} is not among the outputs, so it cannot be left out"
                raise DefinitionError(143, text, "not an output", token=repr(reference))
        return [reference for reference in found if reference not in excluded]

    def reference(self, item: Any) -> FeatureReference:
        core = read_annotation(item, self.definition.scope).core
        if not isinstance(core, FeatureReference):
            raise DefinitionError(143, _not_an_output(core), "not a feature")
        return core

    def check_output(self, output: FeatureReference) -> None:
        target, token = field_of(output), repr(output)
        kind = type_of(target)
        if len(output._svc_names) > 1:
            owner = target.owner_class.cls.__name__
            text = (
                f"'{path_of(output)}' is a feature of {owner}, reached through a relation: "
                f"a resolver produces features of the class it starts from; write one from {owner} to '{owner}.{target.attribute}'"
            )
            self.problem(145, text, "not its own feature", "return", token=token)
        elif kind.target is not None:
            text = f"'{target.fqn}' is a relation, found by its join: return the features that the join compares"
            self.problem(143, text, "a relation", "return", token=token)
        elif sum(1 for other in self.outputs if other is output) > 1:
            self.problem(143, f"'{target.fqn}' stands twice among the outputs", "listed twice", "return", token=token)

    def check_roots(self) -> None:
        owners = {reference._svc_root.namespace: reference._svc_root for reference in self.outputs}
        roots = {reference._svc_root.namespace: reference._svc_root for _, reference in self.inputs if reference is not None}
        first = next(iter(owners), None)
        if len(owners) > 1:
            names = " and ".join(owner.cls.__name__ for owner in owners.values())
            other = next(reference for reference in self.outputs if reference._svc_root.namespace != first)
            text = f"the outputs belong to {names}: a resolver produces features of one class; write a resolver for each"
            self.problem(145, text, "another class", "return", token=repr(other))
        if not roots:
            return
        root = roots[first] if first in roots else next(iter(roots.values()))
        for spec, reference in self.inputs:
            if reference is not None and reference._svc_root.namespace != root.namespace:
                self.other_root(root, spec, reference)
        if len(roots) == 1 and first is not None and first not in roots:
            output = self.outputs[0]
            text = (
                f"'{path_of(output)}' is a feature of {owners[first].cls.__name__}, but the parameters start from {root.cls.__name__}: "
                f"a resolver produces features of the class it starts from"
            )
            self.problem(145, text, "another class", "return", token=repr(output))

    def other_root(self, root: FeatureClass, spec: InputSpec, reference: FeatureReference) -> None:
        name = root.cls.__name__
        sound = next(item.name for item, other in self.inputs if other is not None and other._svc_root.namespace == root.namespace)
        text = (
            f"the parameters start from {name} and from {reference._svc_root.cls.__name__}: "
            f"a resolver starts from one class{_relation_advice(root, reference)}"
        )
        related = ("annotation", sound, f"starts from {name}")
        self.problem(141, text, f"not from {name}", "annotation", spec.name, related=related)

    def check_overlap(self) -> None:
        for output in self.outputs:
            for spec, reference in self.inputs:
                if reference is not None and bool(reference == output):
                    text = f"'{path_of(output)}' is an output and the input '{spec.name}': a resolver cannot produce what it needs"
                    related = ("annotation", spec.name, "the input")
                    self.problem(144, text, "also an input", "return", token=repr(output), related=related)


def _as(code: int, error: DefinitionError) -> DefinitionError:
    """An annotation that cannot be read, under the number of its place; unknown names and features keep theirs."""
    if error.code != 114:
        return error
    return DefinitionError(code, str(error), error.label, token=error.token)


def _is_feature_class(core: Any) -> bool:
    return isinstance(core, type) and "__svc_features__" in core.__dict__


def _not_a_feature(name: str, core: Any) -> str:
    if _is_feature_class(core):
        first = next(iter(core.__svc_features__.fields), "id")
        return f"parameter '{name}' is the class {core.__name__}: take its features one by one, such as '{name}: {core.__name__}.{first}'"
    return f"parameter '{name}' has the type '{spell(core)}', which names no feature: write '{name}: User.{name}' instead"


def _not_an_output(core: Any) -> str:
    if _is_feature_class(core):
        return f"'{core.__name__}' is a class: write '-> Features[{core.__name__}]', or name its features"
    return f"'{spell(core)}' names no feature: write '-> User.name' or '-> Features[User.name, User.email]'"


def _relation_advice(root: FeatureClass, reference: FeatureReference) -> str:
    other = reference._svc_root
    for attribute, own in root.fields.items():
        try:
            if own.type.target is other:
                return f"; write '{root.cls.__name__}.{attribute}.{'.'.join(reference._svc_names)}'"
        except DefinitionError:
            continue
    return f"; relate the two classes and go through the relation, such as '{root.cls.__name__}.{other.namespace}.{reference._svc_names[-1]}'"


def _by_position(definition: ResolverDefinition) -> Callable[..., Any]:
    """The function, made to take keyword-only parameters by position too."""
    parameters = list(definition.parameters.values())
    names = [parameter.name for parameter in parameters if parameter.kind == parameter.KEYWORD_ONLY]
    if not names:
        return definition.fn
    split = len(parameters) - len(names)
    return lambda *values: definition.fn(*values[:split], **dict(zip(names, values[split:])))


def compile_resolver(definition: ResolverDefinition) -> tuple[Optional[ResolverSpec], list[Problem]]:
    """The resolver, or what is wrong with it."""
    reader = _Reader(definition)
    reader.read()
    if reader.problems or reader.is_broken:
        return None, reader.problems
    outputs = []
    for reference in reader.outputs:
        target = field_of(reference)
        kind = target.type
        outputs.append(OutputSpec(target.fqn, target.attribute, kind.python_type, kind.dtype, kind.nullable))
    micros = parse_duration(definition.options.timeout)
    return (
        ResolverSpec(
            definition.fqn,
            _by_position(definition),
            definition.kind,
            tuple(spec for spec, _ in reader.inputs),
            tuple(outputs),
            definition.is_async,
            reader.returns_several,
            reader.outputs[0]._svc_root.cls,
            None if micros is None else micros / 1_000_000,
            definition,
        ),
        [],
    )
