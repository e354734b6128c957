"""Expressions of feature classes, resolved against the class and written as proto3 JSON of
`svc.v1.Expression`; rules 130, 132 and 134.

Types, names of functions and null rules are not checked here: the server does that with the
function table.
"""

from __future__ import annotations

import ast
from datetime import timedelta
from typing import Any, Callable, NamedTuple, Optional, Union

from .._codec.coded import CodedType
from .._codec.literal import literal_json
from .._codec.wire import describe
from .._diagnostics import rules
from .._diagnostics.findings import BrokenReference, DefinitionError, Finding, Said, Span
from .._diagnostics.source import Source
from .._frames.conditions import Condition
from .._model.expression import AGGREGATION_ARGUMENTS, WINDOW_START, Aggregate, Bracketed, Call, Expression, Literal, Operand, Path, Special
from .._model.feature_class import FeatureClass
from .._model.field import Field, GroupedOptions, WindowField
from .._model.operand import When
from .._model.reference import FeatureReference, type_of
from .._model.windows import format_window, window_seconds
from .._surface.names import closest_names, did_you_mean
from .._types.data_type import DataType
from .expression_nodes import arguments_of, given_nodes, items_of, method_of, name_span, prefix_of, receiver_of
from .expression_path import Steps, a_number, field_of_struct, first_name, innermost
from .grouping_rules import grouped_struct
from .function_names import AGGREGATIONS, BY_KEY, CONDITIONS, ONE_COLUMN
from .spans import value_node, value_span

#: The deepest nesting of an expression; `a + b + c` is nested once for each operator. A message of
#: the graph is read to a depth of 100, and every level takes two.
DEEPEST = 40

Report = Callable[[Finding], None]
Json = dict[str, Any]


class Unreadable(Exception):
    """An expression about which there is a finding already."""


def resolve_expressions(classes: list[FeatureClass], report: Report) -> dict[Field, Json]:
    """The expressions of all features that have one, per window, by their members of the graph's
    scalar features; findings for those that make no sense.
    """
    found: dict[Field, Json] = {}
    for item in classes:
        for field in item.members():
            for member, option in _OPTIONS.items():
                expression = field.computed_by(option)
                if expression is None:
                    continue
                try:
                    if field.type.target is None:
                        found.setdefault(field, {})[member] = ExpressionReader(field, report, option).read(expression)
                except RecursionError:
                    report(_too_deep(field, value_span(field, option)))
                except (DefinitionError, Unreadable):
                    continue
    return found


#: Options of features that are expressions, by their members of the graph's scalar features.
_OPTIONS = {"expression": "expression", "offlineExpression": "offline_expression"}


def _too_deep(field: Field, span: Span) -> Finding:
    return rules.BadExpression.too_deep(feature=field.fqn, limit=DEEPEST).at(span)


class Written(NamedTuple):
    """The place of an expression in a source file; `span` is that of parts whose syntax is unknown."""

    source: Optional[Source]
    node: Optional[ast.AST]
    span: Span


class ExpressionReader:
    """The reader of one feature's expression. Every node of the tree comes with its syntax, where
    that is known.

    written: where the expression stands, when that is not in the feature's class.
    """

    def __init__(self, field: Field, report: Report, option: str = "expression", written: Optional[Written] = None) -> None:
        self.field = field
        self._option = option
        self._written = written
        self.source = written.source if written is not None else field.owner_class.source
        self.window = field.seconds if isinstance(field, WindowField) else None
        self._report = report
        self._failed = False
        self._depth = 0
        self._found: list[Finding] = []

    def read(self, expression: Expression) -> Json:
        """The whole expression. Raises Unreadable when there were findings."""
        node = self._written.node if self._written is not None else value_node(self.field, self._option)
        document = self.node(expression, node, self.field.owner_class)
        if self._failed:
            raise Unreadable
        return document

    def span(self, node: Optional[ast.AST]) -> Span:
        if self.source and node:
            return self.source.span(node)
        return self._written.span if self._written is not None else value_span(self.field, self._option)

    def problem(self, said: Said, part: Union[ast.AST, Span, None]) -> Unreadable:
        """Reports a finding; returns an exception for the caller to raise."""
        return self.problem_of(said.at(part if isinstance(part, Span) else self.span(part)))

    def problem_of(self, finding: Finding) -> Unreadable:
        self._failed = True
        if finding not in self._found:
            self._found.append(finding)
            self._report(finding)
        return Unreadable()

    def node(self, item: Operand, node: Optional[ast.AST], owner: FeatureClass) -> Json:
        """An expression over the rows of a class."""
        self._depth += 1
        try:
            if self._depth > DEEPEST:
                raise self.problem_of(_too_deep(self.field, self.span(None)))
            document = self._node(item, node, owner)
        except Unreadable:
            return {}
        finally:
            self._depth -= 1
        document["span"] = self.span(node).json()
        return document

    def _node(self, item: Operand, node: Optional[ast.AST], owner: FeatureClass) -> Json:
        if isinstance(item, Literal):
            return {"literal": self.literal(item.value, node)}
        if isinstance(item, Special):
            if item is not WINDOW_START:
                return {"queryNow": {}}
            if self.window is None:
                raise self.problem(rules.BadExpression.window_start(feature=self.field.fqn, item=repr(item)), node)
            return {"windowStart": {}}
        if isinstance(item, When):
            raise self.problem(rules.BadExpression.unfinished(item=repr(item)), node)
        if isinstance(item, Call):
            nodes = arguments_of(item, node)
            return {"call": {"function": item.function, "arguments": [self.node(each, at, owner) for each, at in zip(item.arguments, nodes)]}}
        if isinstance(item, Aggregate):
            return {"aggregation": self.aggregation(item, node, owner)}
        if isinstance(item, Bracketed):
            return {"feature": {"path": self.windowed(item, node, owner)}}
        if isinstance(item, Path):
            return {"feature": {"path": self.path(item, node, owner)}}
        raise self.problem(rules.BadExpression.no_expression(value=describe(item)), node)

    def literal(self, value: Any, node: Optional[ast.AST]) -> Json:
        try:
            return literal_json(value)
        except DefinitionError as error:
            raise self.problem(rules.BadExpression.no_constant(error=error), node) from None

    def path(self, item: Path, node: Optional[ast.AST], owner: FeatureClass) -> list[str]:
        """A feature that is one value."""
        if item._svc_base is not None:
            *_, method = item._svc_names
            if method in AGGREGATIONS:
                raise self.problem(rules.BadAggregation.not_called(item=repr(item)), node)
            raise self.problem(rules.BadAggregation.many_values(item=repr(item)), node)
        if not item._svc_names:
            raise self.problem(rules.BadExpression.row_itself(), node)
        steps = self.follow(item, node, owner)
        kind = self.kind_of(steps.last)
        if isinstance(kind.python_type, CodedType):
            raise self.problem(rules.BadCoding.read(feature=steps.last.fqn), node)
        if steps.many is not None and kind.target is None:
            raise self.problem(rules.BadAggregation.many_values(item=repr(item)), node)
        if kind.many:
            raise self.problem(rules.BadExpression.many_rows(item=repr(item)), node)
        if kind.target is not None:
            first = next(iter(kind.target.fields), "id")
            raise self.problem(rules.BadExpression.one_row(item=repr(item), first=first), node)
        if kind.windowed:
            windows = [format_window(window) for window in steps.last.windows]
            example = f'{item!r}["{windows[0] if windows else "1d"}"]'
            raise self.problem(rules.BadExpression.which_window(item=repr(item), example=example), node)
        return steps.names

    def windowed(self, item: Bracketed, node: Optional[ast.AST], owner: FeatureClass) -> list[str]:
        """`_.fails["1d"]`: one window of a feature."""
        steps = self.follow(item._svc_path, prefix_of(node), owner)
        kind = self.kind_of(steps.last)
        if kind.many:
            raise self.problem(rules.BadAggregation.many_rows(item=repr(item)), node)
        if not kind.windowed:
            raise self.problem(rules.BadExpression.brackets(path=repr(item._svc_path)), node)
        written = item._svc_items[0] if len(item._svc_items) == 1 else None
        at = (items_of(item, node) or [node])[0]
        if written is WINDOW_START:
            if self.window is None:
                raise self.problem(rules.BadExpression.not_windowed(feature=self.field.fqn, written=repr(written)), at)
            seconds: Optional[int] = self.window
        else:
            seconds = window_seconds(written) if isinstance(written, (str, timedelta)) else None
        if seconds is None or seconds not in steps.last.windows:
            shown = format_window(seconds) if seconds is not None else describe(written)
            windows = ", ".join(format_window(window) for window in steps.last.windows) or "none"
            raise self.problem(rules.BadExpression.no_such_window(path=repr(item._svc_path), shown=shown, windows=windows), at)
        return [*steps.names[:-1], steps.last.window(seconds).name]

    def aggregation(self, item: Aggregate, node: Optional[ast.AST], owner: FeatureClass) -> Json:
        receiver, at = item.receiver, receiver_of(node)
        rows = receiver._svc_base
        column_names = receiver._svc_names
        if rows is not None:
            for _ in column_names:
                at = prefix_of(at)
            items, nodes, relation = rows._svc_items, items_of(rows, at), self.follow(rows._svc_path, innermost(at), owner)
            if not self.kind_of(relation.last).many:
                raise self.no_rows(item, rows._svc_path, node)
        else:
            if not receiver._svc_names:
                raise self.problem(rules.BadExpression.no_rows(method=item.method), node)
            steps = self.follow(receiver, at, owner)
            split = steps.many if steps.many is not None else len(steps.fields) - 1 if self.kind_of(steps.last).many else None
            if split is None:
                raise self.no_rows(item, receiver, node)
            items, nodes, relation = (), [], Steps(steps.fields[: split + 1])
            column_names = receiver._svc_names[split + 1 :]
        if relation.many is not None:
            raise self.problem(rules.BadExpression.two_relations(item=repr(item)), at)
        child = self.kind_of(relation.last).target
        if child is None:
            raise Unreadable
        filters, columns = self.sort_items(items, nodes, child)
        if column_names:
            columns.append((Path(column_names), None))
        if not columns and (item.method == "any" or (item.method == "all" and len(filters) == 1)):
            columns = filters[-1:]
            del filters[-1:]
        return self.aggregated(item, node, relation, child, filters, columns)

    def aggregated(
        self,
        item: Aggregate,
        node: Optional[ast.AST],
        relation: Steps,
        child: FeatureClass,
        filters: list[tuple[Expression, Optional[ast.AST]]],
        columns: list[tuple[Expression, Optional[ast.AST]]],
    ) -> Json:
        part = method_of(node, self.source) if self.source else None
        if len(columns) > 1 or (not columns and item.method in ONE_COLUMN):
            named = ", ".join(repr(column) for column, _ in columns) or "none"
            example = f"{'.'.join(('_', *relation.names))}[_.{a_number(child)}].{item.method}()"
            self.problem(
                rules.BadAggregation.one_column(method=item.method, named=named, example=example),
                columns[1][1] if len(columns) > 1 and columns[1][1] else part or node,
            )
        document: Json = {"path": relation.names, "function": item.method}
        conditions = [self.node(each, at, child) for each, at in filters]
        if conditions:
            document["filters"] = conditions
        if columns:
            document["column"] = self.node(columns[0][0], columns[0][1] or node, child)
        given = list(zip(item.arguments, given_nodes(node, AGGREGATION_ARGUMENTS.get(item.method, ()), len(item.arguments))))
        if given and item.method in BY_KEY and isinstance(given[0][0], Operand):
            document["key"] = self.node(given[0][0], given[0][1], child)
            del given[0]
        if self._depth == 1 and isinstance(self.field.options, GroupedOptions):
            document["grouping"] = self.grouping(self.field.options, child)
        if given:
            document["arguments"] = [self.constant(item, argument, at) for argument, at in given]
        return document

    def grouping(self, options: GroupedOptions, child: FeatureClass) -> Json:
        """The columns by which the rows are grouped, with the names that the feature's type has."""
        struct = grouped_struct(self.field)
        if struct is None or len(struct["fields"]) != len(options.columns) + 1 or not all(isinstance(each, Expression) for each in options.columns):
            raise Unreadable
        *fields, value = [item["name"] for item in struct["fields"]]
        written = value_node(self.field, "group_by")
        nodes = written.elts if isinstance(written, (ast.List, ast.Tuple)) else [written]
        columns = [
            {"name": name, "value": self.node(column, node, child)}
            for name, column, node in zip(fields, options.columns, nodes if len(nodes) == len(fields) else [written] * len(fields))
        ]
        return {"structName": struct["name"], "columns": columns, "valueName": value}

    def constant(self, item: Aggregate, argument: Any, node: Optional[ast.AST]) -> Json:
        if isinstance(argument, Literal):
            argument = argument.value
        if isinstance(argument, Operand):
            raise self.problem(rules.BadAggregation.no_constant(method=item.method, argument=repr(argument)), node)
        return self.literal(argument, node)

    def no_rows(self, item: Aggregate, path: Path, node: Optional[ast.AST]) -> Unreadable:
        if item.method in AGGREGATIONS:
            return self.problem(rules.BadExpression.one_value(path=repr(path), method=item.method), node)
        return self.problem(
            rules.UnknownFunction.no_method(method=item.method, path=repr(path)),
            (method_of(node, self.source) if self.source else None) or node,
        )

    def sort_items(
        self, items: tuple[Any, ...], nodes: list[Optional[ast.AST]], child: FeatureClass
    ) -> tuple[list[tuple[Expression, Optional[ast.AST]]], list[tuple[Expression, Optional[ast.AST]]]]:
        """The items in brackets, sorted into conditions and the column."""
        filters: list[tuple[Expression, Optional[ast.AST]]] = []
        columns: list[tuple[Expression, Optional[ast.AST]]] = []
        for each, node in zip(items, nodes):
            if isinstance(each, Call) and each.function in CONDITIONS:
                filters.append((each, node))
            elif isinstance(each, Expression) and not isinstance(each, Literal):
                columns.append((each, node))
            elif isinstance(each, bool):
                self.problem(rules.DecidedAtOnce.constant_filter(item=each), node)
            elif isinstance(each, (FeatureReference, Condition)):
                self.problem(rules.BadExpression.class_name(item=repr(each), child=child.cls.__name__, name=first_name(each)), node)
            else:
                self.problem(rules.BadExpression.no_condition(value=describe(each)), node)
        return filters, columns

    def follow(self, path: Path, node: Optional[ast.AST], owner: FeatureClass) -> Steps:
        """The features along a path."""
        at: Optional[FeatureClass] = owner
        dtype: Optional[DataType] = None
        steps = Steps([])
        for index, name in enumerate(path._svc_names):
            here = node
            for _ in path._svc_names[index + 1 :]:
                here = prefix_of(here)
            exact = name_span(here, name, self.source) if self.source else None
            part = exact or here
            if at is None:
                before = ".".join(("_", *path._svc_names[:index]))
                dtype = field_of_struct(dtype, name)
                if dtype is None:
                    raise self.problem(rules.BadExpression.not_a_relation(before=before, name=name), part)
                steps.inside += (name,)
                continue
            field = at.field(name)
            if field is None:
                near = tuple(closest_names(name, at.fields)) if exact else ()
                raise self.problem_of(
                    rules.BadExpression.no_such_feature(
                        owner=at.cls.__name__, name=name, near=did_you_mean(name, at.fields)
                    ).at(exact or self.span(here), replacements=near)
                )
            if steps.fields and self.kind_of(steps.last).many:
                steps.many = index - 1 if steps.many is None else steps.many
            steps.fields.append(field)
            kind = self.kind_of(field)
            at, dtype = kind.target, kind.dtype
        return steps

    def kind_of(self, field: Field) -> Any:
        try:
            return type_of(field)
        except BrokenReference:
            self._failed = True
            raise Unreadable from None
