"""The reading of a resolver's signature: its inputs, its outputs, and the rules 140 to 146."""

from __future__ import annotations

import inspect
from datetime import datetime
from typing import Any, Callable, Optional

from .._analysis.output_advice import example, free_features, of_relation
from .._codec.wire import stored_json
from .._diagnostics import rules
from .._diagnostics.findings import ERROR, BrokenReference, DefinitionError, Said
from .._frames.conditions import Condition, as_condition, references_in
from .._frames.dataframe import DataFrame
from .._frames.selection import FeatureSelection, TableType
from .._frames.signature import FrameSignature, Problem, is_feature_class, is_many, windows_of
from .._frames.spec import condition_json
from .._surface.names import parse_duration
from .._surface.options import RESOLVER_CHECKS, check_options
from .._types.annotations import annotation_text, read_annotation, unreadable
from .feature_class import FeatureClass
from .operand import Expression, shown
from .field import MISSING, WindowField
from .reference import FeatureReference, RowSelection, crosses_many, field_of, path_of, type_of
from .registry import registry
from .resolver import InputSpec, OutputSpec, ResolverDefinition, ResolverSpec
from .row_promises import RowPromises, read_promises
from .validation import checks_of
from .windows import format_window, readable_path, windowed_name


class SignatureReader(FrameSignature):
    """The reader of a resolver's signature; its attributes hold the result afterwards."""

    #: What must be true of a row for the resolver to compute it.
    condition: Optional[Condition] = None
    #: What it promises of its rows, and asks of those that it is given.
    promises = RowPromises()

    def read(self) -> None:
        for option, text in check_options(RESOLVER_CHECKS, self.definition.options).items():
            self.problem(rules.BadValue.option(problem=text), "option", option)
        if self.definition.options.resource_hint == "cpu" and self.definition.is_async:
            self.problem(rules.BadValue.async_cpu(), "option", "resource_hint")
        for parameter in self.definition.parameters.values():
            self.read_parameter(parameter)
        self.check_tables()
        self.read_return()
        self.check_roots()
        self.check_overlap()
        self.check_rows()
        self.read_condition()
        self.promises = read_promises(self)

    def read_parameter(self, parameter: inspect.Parameter) -> None:
        name = parameter.name
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            stars = "*" if parameter.kind == parameter.VAR_POSITIONAL else "**"
            return self.problem(rules.BadInput.starred(stars=stars, parameter=name), "parameter", name)
        if parameter.annotation is parameter.empty:
            return self.problem(rules.BadInput.unannotated(parameter=name), "parameter", name)
        try:
            reading = read_annotation(parameter.annotation, self.definition.scope)
            if reading.now:
                self.inputs.append((InputSpec(name, True, python_type=datetime), None))
                return None
            if isinstance(reading.core, TableType):
                return self.read_table(parameter, reading.core)
            if isinstance(reading.core, RowSelection) or is_many(reading.core):
                return self.read_rows(parameter, reading.core, reading.nullable)
            if isinstance(reading.core, FeatureReference) and crosses_many(reading.core) and type_of(field_of(reading.core)).target is None:
                return self.read_list(parameter, reading.core, reading.nullable)
            target = field_of(reading.core) if isinstance(reading.core, FeatureReference) else None
            kind = type_of(target) if target else None
        except BrokenReference:
            self.is_broken = True
            return None
        except DefinitionError as error:
            self.problems.append(Problem(_as(rules.BadInput.code, error), "annotation", name))
            return None
        if target is None or kind is None:
            return self.problem(_not_a_feature(name, reading.core), "annotation", name)
        if kind.target is not None:
            first = next(iter(kind.target.fields), "id")
            return self.problem(rules.BadInput.relation(parameter=name, written=repr(reading.core), first=first), "annotation", name)
        references = windows_of(reading.core)
        optional, default = reading.nullable, None
        if parameter.default is not parameter.empty:
            optional, default = True, parameter.default
        if default is not None:
            try:
                stored_json(default, kind.python_type, kind.dtype)
            except DefinitionError as error:
                return self.problem(
                    rules.BadDefault.of_parameter(parameter=name, feature=path_of(reading.core), error=error, label=error.label),
                    "default",
                    name,
                )
        for reference in references:
            one = field_of(reference)
            window = format_window(one.seconds) if isinstance(one, WindowField) and kind.windowed else ""
            parts = (windowed_name(name, one.seconds), name, window) if isinstance(one, WindowField) and kind.windowed else (name, "", "")
            spec = InputSpec(parts[0], False, path_of(reference), kind.python_type, kind.dtype, optional, default, parts[1], parts[2])
            self.inputs.append((spec, reference))
        return None

    def read_return(self) -> None:
        returns = self.definition.returns
        name = self.definition.function_name
        if inspect.isgeneratorfunction(self.definition.fn) or inspect.isasyncgenfunction(self.definition.fn):
            return self.problem(rules.BadOutput.generator(resolver=name), "name")
        if returns is MISSING:
            return self.problem(rules.BadOutput.unannotated(resolver=name, advice=self.example()), "name")
        try:
            reading = read_annotation(returns, self.definition.scope)
            if reading.nullable and isinstance(reading.core, (FeatureReference, FeatureSelection, TableType, RowSelection)):
                return self.problem(rules.BadOutput.optional(written=repr(reading.core)), "return")
            if isinstance(reading.core, (TableType, RowSelection)) or is_many(reading.core):
                self.read_rows_returned(reading.core)
            elif isinstance(reading.core, FeatureReference):
                self.outputs = windows_of(reading.core)
                self.returns_several = type_of(field_of(reading.core)).windowed
            elif isinstance(reading.core, FeatureSelection):
                self.returns_several = True
                self.outputs = self.select(reading.core)
            else:
                return self.problem(self.not_an_output(reading.core), "return")
            for output in [] if self.relation is not None else self.outputs:
                self.check_output(output)
            if not self.outputs:
                self.problem(rules.BadOutput.nothing_left(written=repr(reading.core), resolver=name), "return")
        except BrokenReference:
            self.is_broken = True
        except DefinitionError as error:
            self.problems.append(Problem(_as(rules.BadOutput.code, error), "return"))
        except Exception as error:
            self.problems.append(Problem(_as(rules.BadOutput.code, unreadable(error)), "return"))
        return None

    def select(self, selection: FeatureSelection) -> list[FeatureReference]:
        excluded = [reference for item in selection.excluded for reference in windows_of(self.reference(item))]
        taken = [reference for _, reference in self.inputs if reference is not None]
        found: list[FeatureReference] = []
        for item in selection.items:
            core = read_annotation(item, self.definition.scope).core
            if isinstance(core, type) and "__svc_features__" in core.__dict__:
                owner: FeatureClass = core.__svc_features__  # type: ignore[attr-defined]
                values = [owner.reference(own.attribute) for own in owner.values()]
                found.extend(value for value in values if value not in taken)
            elif isinstance(core, FeatureReference):
                found.extend(windows_of(core))
            else:
                raise DefinitionError(self.not_an_output(core))
        for reference in excluded:
            if reference not in found:
                raise DefinitionError(rules.BadOutput.not_an_output(reference=repr(reference)), token=repr(reference))
        return [reference for reference in found if reference not in excluded]

    def reference(self, item: Any) -> FeatureReference:
        core = read_annotation(item, self.definition.scope).core
        if not isinstance(core, FeatureReference):
            raise DefinitionError(self.not_an_output(core))
        return core

    def given(self) -> list[FeatureReference]:
        """The features of the requested row that are parameters."""
        return [reference for spec, inner in self.inputs for reference in _references_of(spec, inner)] or [
            inner for _, inner in self.inputs if inner is not None
        ]

    def read_condition(self) -> None:
        """`when=`: a condition on the row that is computed."""
        given = self.definition.options.when
        if given is None or not self.outputs:
            return None
        if self.shape:
            return self.problem(rules.BadCondition.of_rows(), "option", "when")
        owner = self.outputs[0]._svc_root
        name, first = owner.cls.__name__, next(iter(owner.fields), "id")
        if isinstance(given, bool):
            return self.problem(rules.BadCondition.decided(value=given, owner=name, example=first), "option", "when")
        condition = as_condition(given)
        if condition is None:
            says = rules.BadCondition.not_of_class if isinstance(given, Expression) else rules.BadCondition.no_condition
            return self.problem(says(value=shown(given), owner=name, example=first), "option", "when")
        foreign = next((item for item in references_in(condition) if item._svc_root is not owner), None)
        if foreign is not None:
            return self.problem(rules.BadCondition.other_class(reference=repr(foreign), owner=name), "option", "when")
        try:
            condition_json(condition, owner)
        except BrokenReference:
            self.is_broken = True
            return None
        except DefinitionError as error:
            return self.problem(rules.BadCondition.not_of_row(error=error), "option", "when")
        self.condition = condition
        return None

    def example(self) -> str:
        return example(self.definition, self.given())

    def not_an_output(self, core: Any) -> Said:
        if core is DataFrame:
            return rules.BadOutput.bare_frame(example=self.frame_example())
        if not is_feature_class(core):
            return rules.BadOutput.value(written=annotation_text(core), advice=self.example())
        given, owner = self.given(), core.__svc_features__
        taken = {reference._svc_names[0] for reference in given if reference._svc_root is owner}
        rest = [field.attribute for field in owner.fields.values() if type_of(field).target is None and field.attribute not in taken]
        if (given and given[0]._svc_root is not owner) or not rest or rest != free_features(self.definition, owner, given):
            return rules.BadOutput.whole_class(owner=core.__name__, advice=self.example())
        return rules.BadOutput.whole_class(owner=core.__name__, advice=f"write '-> Features[{core.__name__}]', or name its features")

    def frame_example(self) -> str:
        """A DataFrame of the class that the parameters start from."""
        given = self.given()
        owner = given[0]._svc_root if given else registry.classes[-1] if registry.classes else None
        if owner is None:
            return "DataFrame[User.id, User.name]"
        names = free_features(self.definition, owner, given)[:2]
        return f"DataFrame[{', '.join([self.key_of(owner), *(f'{owner.cls.__name__}.{name}' for name in names)])}]"

    def check_output(self, output: FeatureReference) -> None:
        target = field_of(output)
        kind = type_of(target)
        if len(output._svc_names) > 1:
            owner = target.owner_class.cls.__name__
            self.problem(
                rules.ForeignOutput.through_relation(path=path_of(output), owner=owner, attribute=target.attribute),
                "return",
                token=repr(output),
            )
        elif kind.target is not None:
            self.problem(
                rules.BadOutput.relation(feature=target.fqn, advice=of_relation(self.definition, output, self.given())),
                "return",
                token=repr(output),
            )
        elif sum(1 for other in self.outputs if other is output) > 1:
            self.problem(rules.BadOutput.listed_twice(feature=target.fqn), "return", token=repr(output))

    def check_roots(self) -> None:
        starts = [self.relation] if self.relation is not None and self.outputs else self.outputs
        owners = {reference._svc_root.namespace: reference._svc_root for reference in starts}
        roots = {reference._svc_root.namespace: reference._svc_root for _, reference in self.inputs if reference is not None}
        first = next(iter(owners), None)
        if len(owners) > 1:
            names = " and ".join(owner.cls.__name__ for owner in owners.values())
            other = next(reference for reference in starts if reference._svc_root.namespace != first)
            self.problem(rules.ForeignOutput.several_classes(names=names), "return", token=repr(other))
        if not roots:
            return
        root = roots[first] if first in roots else next(iter(roots.values()))
        for spec, reference in self.inputs:
            if reference is not None and reference._svc_root.namespace != root.namespace:
                self.other_root(root, spec.parameter, reference)
        if len(roots) == 1 and first is not None and first not in roots:
            output = starts[0]
            self.problem(
                rules.ForeignOutput.another_class(
                    path=path_of(output), owner=owners[first].cls.__name__, root=root.cls.__name__, advice=self.relation_to(root)
                ),
                "return",
                token=repr(output),
            )

    def other_root(self, root: FeatureClass, parameter: str, reference: FeatureReference) -> None:
        name = root.cls.__name__
        sound = next(item.parameter for item, other in self.inputs if other is not None and other._svc_root.namespace == root.namespace)
        related = ("annotation", sound, f"starts from {name}")
        other, advice = reference._svc_root.cls.__name__, _relation_advice(root, reference)
        said = rules.TwoInputClasses.in_parameters(name=name, other=other, advice=advice)
        self.problem(said, "annotation", parameter, related=related)

    def check_overlap(self) -> None:
        for output in self.outputs:
            if self.shape and (self.relation is not None or field_of(output) in output._svc_root.primary_keys):
                continue
            for spec, reference in self.inputs:
                if any(item is output for item in _references_of(spec, reference)):
                    shown = readable_path(path_of(output))
                    related = ("annotation", spec.parameter, "the input")
                    self.problem(
                        rules.OutputIsInput.also_input(feature=shown, parameter=spec.parameter),
                        "return",
                        token=repr(output),
                        related=related,
                    )


def _as(code: int, error: DefinitionError) -> DefinitionError:
    """The error of an annotation that cannot be read, with the rule's number for its position;
    unknown names and features keep theirs.
    """
    if error.code != rules.UnsupportedType.code:
        return error
    return DefinitionError(error.said._replace(code=code), token=error.token)


def _references_of(spec: InputSpec, reference: Optional[FeatureReference]) -> list[FeatureReference]:
    """The features of the requested row that a parameter needs."""
    if spec.table is not None:
        return [column.reference for column in spec.table.columns]
    return [reference] if reference is not None and spec.rows is None else []


def _not_a_feature(name: str, core: Any) -> Said:
    if core is DataFrame:
        return rules.BadInput.bare_frame(parameter=name)
    if is_feature_class(core):
        first = next(iter(core.__svc_features__.fields), "id")
        return rules.BadInput.whole_class(parameter=name, owner=core.__name__, first=first)
    return rules.BadInput.value(parameter=name, written=annotation_text(core))


def _relation_advice(root: FeatureClass, reference: FeatureReference) -> str:
    other = reference._svc_root
    for attribute, own in root.fields.items():
        try:
            if own.type.target is other and own.type.many:
                return f"; write '{root.cls.__name__}.{attribute}[{reference!r}]'"
            if own.type.target is other:
                return f"; write '{root.cls.__name__}.{attribute}.{'.'.join(reference._svc_names)}'"
        except DefinitionError:
            continue
    return f"; relate the two classes and go through the relation, such as '{root.cls.__name__}.{other.namespace}.{reference._svc_names[-1]}'"


def _by_position(definition: ResolverDefinition) -> Callable[..., Any]:
    """The function, wrapped to take keyword-only parameters by position too."""
    parameters = list(definition.parameters.values())
    names = [parameter.name for parameter in parameters if parameter.kind == parameter.KEYWORD_ONLY]
    if not names:
        return definition.fn
    split = len(parameters) - len(names)
    return lambda *values: definition.fn(*values[:split], **dict(zip(names, values[split:])))


def _with_windows(function: Callable[..., Any], inputs: list[InputSpec]) -> Callable[..., Any]:
    """The function, wrapped to take the windows of a feature one by one where it has a parameter
    for all of them.
    """
    if not any(spec.windows_of for spec in inputs):
        return function

    def call(*values: Any) -> Any:
        given: dict[str, Any] = {}
        for spec, value in zip(inputs, values):
            if spec.windows_of:
                given.setdefault(spec.windows_of, {})[spec.window] = value
            else:
                given[spec.name] = value
        return function(*given.values())

    return call


def output_spec(reference: FeatureReference) -> OutputSpec:
    """A feature that a resolver produces."""
    target = field_of(reference)
    kind = target.type
    window = target.seconds if isinstance(target, WindowField) else None
    return OutputSpec(target.fqn, target.attribute, kind.python_type, kind.dtype, kind.nullable, window, checks_of(target.options))


def compile_resolver(definition: ResolverDefinition) -> tuple[Optional[ResolverSpec], list[Problem]]:
    """The resolver, or its faults."""
    reader = SignatureReader(definition)
    reader.read()
    if reader.is_broken or any(problem.error.said.severity == ERROR for problem in reader.problems):
        return None, reader.problems
    micros = parse_duration(definition.options.timeout)
    return (
        ResolverSpec(
            definition.fqn,
            _with_windows(_by_position(definition), [spec for spec, _ in reader.inputs]),
            definition.kind,
            tuple(spec for spec, _ in reader.inputs),
            tuple(map(output_spec, reader.outputs)),
            definition.is_async,
            reader.returns_several,
            reader.outputs[0]._svc_root.cls,
            None if micros is None else micros / 1_000_000,
            definition,
            reader.shape,
            path_of(reader.relation) if reader.relation is not None else "",
            reader.condition,
            reader.promises.unique_on,
            reader.promises.partitioned_by,
        ),
        reader.problems,
    )


def compile_resolvers(definitions: list[ResolverDefinition]) -> dict[str, ResolverSpec]:
    """The resolvers whose definitions make sense."""
    specs = {}
    for definition in definitions:
        spec, _ = compile_resolver(definition)
        if spec is not None:
            specs[spec.fqn] = spec
    return specs
