"""DataFrames in a resolver's signature: parameters `User.txns[...]` and `DataFrame[...]`, and
results that are rows. Rules 140 to 149.
"""

from __future__ import annotations

import ast
import inspect
from dataclasses import dataclass, field
from typing import Any, Optional

from .._diagnostics import rules
from .._diagnostics.findings import DefinitionError, Message, Said
from .._model.feature_class import FeatureClass
from .._model.reference import FeatureReference, RowSelection, crosses_many, field_of, path_of, type_of
from .._model.resolver import InputSpec, ResolverDefinition
from .._model.windows import format_window
from .._types.annotations import annotation_text, read_annotation
from .rules import removed_columns
from .selection import TableType
from .spec import columns_of_class, list_spec, rows_spec, table_spec

ROWS = "ROWS"
RELATION = "RELATION"


@dataclass(frozen=True)
class Problem:
    """A fault of a resolver, and the part of it that is at fault.

    `part` is "name", "return", "parameter" (its name), "annotation" or "default" (of a parameter),
    "option" (of the decorator), or "body". `related` is another part that matters, with its label.
    """

    error: DefinitionError
    part: str
    name: str = ""
    related: Optional[tuple[str, str, str]] = None
    #: The syntax at fault, for the part "body".
    node: Optional[ast.AST] = None


@dataclass
class FrameSignature:
    """The inputs and outputs read from a signature, and the reading of its DataFrames."""

    definition: ResolverDefinition
    problems: list[Problem] = field(default_factory=list)
    inputs: list[tuple[InputSpec, Optional[FeatureReference]]] = field(default_factory=list)
    outputs: list[FeatureReference] = field(default_factory=list)
    returns_several: bool = False
    shape: str = ""
    relation: Optional[FeatureReference] = None
    #: Whether it uses a feature whose own definition is at fault: there is no finding, but no
    #: resolver either.
    is_broken: bool = False

    def problem(self, said: Said, part: str, name: str = "", **more: Any) -> None:
        """Records a fault and its part; `more` are the other fields of a Problem, such as a token
        of the part.
        """
        self.problems.append(Problem(DefinitionError(said, token=more.pop("token", "")), part, name, **more))

    def read_rows(self, parameter: inspect.Parameter, core: Any, nullable: bool) -> None:
        """`User.txns[...]`: rows of a has-many relation. Raises DefinitionError."""
        relation: FeatureReference = core.relation if isinstance(core, RowSelection) else core
        kind = type_of(field_of(relation))
        if kind.target is None or not kind.many:
            return self.problem(rules.BadInput.no_rows(path=path_of(relation)), "annotation", parameter.name)
        if crosses_many(relation):
            return self.problem(rules.BadInput.two_relations(path=path_of(relation)), "annotation", parameter.name)
        spec = rows_spec(relation, kind.target, core.items if isinstance(core, RowSelection) else ())
        optional = nullable or parameter.default is None
        if not self.is_without_default(parameter):
            return None
        self.inputs.append((InputSpec(parameter.name, False, spec.path, optional=optional, rows=spec), relation))
        return None

    def read_list(self, parameter: inspect.Parameter, core: FeatureReference, nullable: bool) -> None:
        """`User.txns.amount`: the values of a feature of the rows of a has-many relation, as a
        list. Raises DefinitionError.
        """
        spec = list_spec(core)
        if spec is None:
            return self.problem(rules.BadInput.list_of_two_relations(path=path_of(core)), "annotation", parameter.name)
        if self.is_without_default(parameter):
            optional = nullable or parameter.default is None
            self.inputs.append((InputSpec(parameter.name, False, spec.path, optional=optional, rows=spec), core))
        return None

    def read_table(self, parameter: inspect.Parameter, core: TableType) -> None:
        """`DataFrame[User.id, User.name]`: a table with a row for each row of the batch. Raises
        DefinitionError.
        """
        references = self.columns(core, rules.BadInput.no_column)
        first = references[0]
        other = next((item for item in references if item._svc_root is not first._svc_root), None)
        if other is not None:
            name = first._svc_root.cls.__name__
            return self.problem(
                rules.TwoInputClasses.in_columns(name=name, other=other._svc_root.cls.__name__),
                "annotation",
                parameter.name,
                token=repr(other),
            )
        spec = table_spec(references)
        if self.is_without_default(parameter):
            self.inputs.append((InputSpec(parameter.name, False, table=spec), first))
        return None

    def is_without_default(self, parameter: inspect.Parameter) -> bool:
        if parameter.default is parameter.empty or parameter.default is None:
            return True
        self.problem(rules.BadDefault.of_frame(parameter=parameter.name), "default", parameter.name)
        return False

    def columns(self, table: TableType, refusal: Message) -> list[FeatureReference]:
        """The features of `DataFrame[...]`, for a class all that hold a value. Raises
        DefinitionError with the refusal.
        """
        found: list[FeatureReference] = []
        for item in table.items:
            core = read_annotation(item, self.definition.scope).core
            if is_feature_class(core):
                found.extend(column.reference for column in columns_of_class(core.__svc_features__))
            elif isinstance(core, FeatureReference):
                found.extend(windows_of(core))
            else:
                raise DefinitionError(refusal(type=annotation_text(core)), token=annotation_text(core))
        return found

    def check_tables(self) -> None:
        """Reports inputs of a single row beside a table: a resolver with a table runs once for all
        rows.
        """
        table = next((spec for spec, _ in self.inputs if spec.table is not None), None)
        if table is None:
            return
        for spec, reference in self.inputs:
            if spec.table is None and not spec.is_now:
                advice = f": make it a column, DataFrame[..., {reference!r}]" if spec.rows is None else ""
                why = f"with the DataFrame '{table.name}' the resolver runs once for all rows"
                self.problem(
                    rules.BadInput.of_one_row(parameter=spec.parameter, why=why, advice=advice),
                    "annotation",
                    spec.parameter,
                    related=("annotation", table.name, "runs once for all rows"),
                )

    def read_rows_returned(self, core: Any) -> None:
        """The outputs of `-> DataFrame[...]` and `-> User.txns[...]`. Raises DefinitionError."""
        self.returns_several = True
        if isinstance(core, TableType):
            self.shape = ROWS
            self.outputs = self.columns(core, rules.BadOutput.no_column)
            return
        self.shape = RELATION
        relation = self.relation = core.relation if isinstance(core, RowSelection) else core
        kind = type_of(field_of(relation))
        if kind.target is None or not kind.many:
            raise DefinitionError(rules.BadOutput.no_rows(path=path_of(relation)))
        if len(relation._svc_names) > 1:
            raise DefinitionError(rules.ForeignOutput.rows(path=path_of(relation)))
        items = core.items if isinstance(core, RowSelection) else ()
        spec = rows_spec(relation, kind.target, items)
        if spec.filters or spec.limit:
            raise DefinitionError(rules.BadOutput.filter(rows=repr(core), resolver=self.definition.function_name))
        self.outputs = [column.reference for column in (spec.columns or columns_of_class(kind.target))]

    def check_rows(self) -> None:
        """Reports rows without their key (149), conflicts of `total` and of tables with the
        outputs, and columns that the body reads and the signature leaves out (147).
        """
        if self.definition.options.total is True and not self.problems:
            if self.shape != ROWS:
                self.problem(rules.BadValue.total_without_frame(), "option", "total")
            elif any(not spec.is_now for spec, _ in self.inputs):
                self.problem(rules.BadValue.total_with_inputs(), "option", "total")
        if any(spec.table is not None for spec, _ in self.inputs) and self.outputs and self.shape != ROWS:
            name = self.definition.function_name
            root = self.inputs_root()
            own = [repr(output) for output in self.outputs if output._svc_root is root]
            example = f"-> DataFrame[{', '.join(dict.fromkeys([self.key_of(root), *own]))}]"
            self.problem(rules.BadOutput.no_frame(resolver=name, example=example), "return")
        if self.shape and self.outputs:
            owner = self.outputs[0]._svc_root
            keys = [owner.reference(key.attribute) for key in owner.primary_keys]
            if keys and not any(item is keys[0] for item in self.outputs):
                self.problem(rules.RowsWithoutKey.of_frame(key=repr(keys[0])), "return")
        for reference, name, node in removed_columns(self.definition, [spec for spec, _ in self.inputs]):
            self.problem(
                rules.MissingColumn.left_out(parameter=name, reference=reference),
                "body",
                name,
                node=node,
                related=("annotation", name, "the columns"),
            )

    def relation_to(self, root: FeatureClass) -> str:
        """Advice for a resolver that returns a DataFrame of a class to whose rows a relation of
        `root` leads.
        """
        if self.shape != ROWS:
            return ""
        for name, own in root.fields.items():
            kind = type_of(own)
            if kind.many and kind.target is self.outputs[0]._svc_root:
                return f"; for the rows of a relation write '-> {root.cls.__name__}.{name}[{', '.join(map(repr, self.outputs))}]'"
        return ""

    def inputs_root(self) -> FeatureClass:
        return next(reference._svc_root for spec, reference in self.inputs if spec.table is not None and reference is not None)

    def key_of(self, owner: FeatureClass) -> str:
        keys = owner.primary_keys
        return f"{owner.cls.__name__}.{keys[0].attribute if keys else 'id'}"


def windows_of(reference: FeatureReference) -> list[FeatureReference]:
    """A windowed feature as one reference per window; any other as itself."""
    field = field_of(reference)
    return [reference[format_window(seconds)] for seconds in field.windows] if type_of(field).windowed else [reference]


def is_feature_class(core: Any) -> bool:
    return isinstance(core, type) and "__svc_features__" in core.__dict__


def is_many(core: Any) -> bool:
    """Whether an annotation is a has-many relation. Raises DefinitionError."""
    return isinstance(core, FeatureReference) and type_of(field_of(core)).many
