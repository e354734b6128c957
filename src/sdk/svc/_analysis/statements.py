"""Resolvers whose body is no more than a statement: the platform runs them without Python.

A function is read, never run with values: its body has to be one `return` of
`source.query_string(...)` and its like, whose text, arguments and features stand there. Then it is
called once with marks in place of its parameters. Any other function runs in Python and returns its
statement.
"""

from __future__ import annotations

import ast
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Callable, Optional

from .._codec.wire import NULL, value_json
from .._diagnostics import rules
from .._diagnostics.findings import DefinitionError, Finding, Span
from .._diagnostics.source import Source, project_path
from .._model.feature_class import FeatureClass
from .._model.field import text_of
from .._model.field_resolver import FieldResolver
from .._model.operand import shown
from .._model.reference import field_of
from .._model.resolver import ResolverDefinition, ResolverSpec
from .._model.statement import Argument, Incremental, SQLStatement
from .._surface.names import duration_json, parse_duration
from .._surface.options import STATEMENT_IN_GROUP
from ..sources import DataSource
from .spans import resolver_part_span, resolver_span

_MAKERS = {"query_string", "query_sql_file", "with_table"}
_ENDS = {"one", "one_or_none", "all", "incremental"}
_COUNTS = {"": "ROW_COUNT_UNSPECIFIED", "one": "ROW_COUNT_ONE", "one_or_none": "ROW_COUNT_ONE_OR_NONE", "all": "ROW_COUNT_ALL"}
_MODES = ("row", "group", "parameter")
_BASES = {"feature_time": "MAX_INGESTED", "resolver_execution_time": "LAST_EXECUTION"}
_INCREMENTAL = "svc_incremental_timestamp"
#: Types of constants, of which one that is a kind of another stands first.
_PRIMITIVES = (
    (bool, "BOOL"),
    (int, "INT64"),
    (float, "FLOAT64"),
    (str, "STRING"),
    (bytes, "BYTES"),
    (datetime, "DATETIME"),
    (date, "DATE"),
    (Decimal, "DECIMAL"),
)


def read_statements(resolvers: list[ResolverSpec], report: Callable[[Finding], None]) -> dict[str, dict[str, Any]]:
    """The statement of each resolver that is no more than one, by FQN, as proto3 JSON of
    `svc.v1.SqlQuery`; findings for those that make none.
    """
    found = {}
    for spec in resolvers:
        document = _read(spec, report)
        if document is not None:
            found[spec.fqn] = document
    return found


def _read(spec: ResolverSpec, report: Callable[[Finding], None]) -> Optional[dict[str, Any]]:
    definition = spec.definition
    names = getattr(definition.inner, "__code__").co_names
    if isinstance(definition, FieldResolver) or not any(name in names for name in _MAKERS):
        return None
    statement, text = _statement_of(spec, report)
    if statement is None:
        if "incremental" in names:
            report(rules.PythonStatement.hidden_read(resolver=definition.function_name).at(resolver_span(definition)))
        return None
    if definition.options.resource_group is not None:
        report(rules.BadValue.option(problem=STATEMENT_IN_GROUP).at(resolver_part_span(definition, "option", "resource_group", "")))
        return None
    problem = _incremental_problem(statement.incremental_read)
    if problem:
        report(rules.PythonStatement.refused(problem=problem).at(_body_span(definition)))
        return None
    return _document(spec, statement, text)


def _statement_of(spec: ResolverSpec, report: Callable[[Finding], None]) -> tuple[Optional[SQLStatement], Optional[ast.Constant]]:
    """The statement of a function that is no more than one, and its text's syntax where the code has
    it.
    """
    definition = spec.definition
    returned = _returned(definition)
    if returned is None or spec.is_async or spec.shape == "RELATION" or any(item.is_frame or item.windows_of for item in spec.inputs):
        return None, None
    reader = _Chain(definition.inner.__globals__, {item.name for item in spec.inputs})
    if definition.inner.__closure__ or not reader.read(returned):
        return None, None
    features = {item.name for item in spec.inputs if not item.is_now}
    # Values belong to a row, which features find; rows of a class are all of them.
    if not features <= reader.arguments or bool(features) is bool(spec.shape):
        return None, None
    if spec.shape and reader.count in ("one", "one_or_none"):
        return None, None
    if not spec.shape and reader.count == "all":
        problem = f"{definition.function_name} returns values of a row: end with .one() or .one_or_none(), not .all()"
        report(rules.PythonStatement.refused(problem=problem).at(_body_span(definition)))
        return None, None
    try:
        statement = spec.fn(*(Argument(item.name) for item in spec.inputs))
    except Exception as error:
        report(rules.PythonStatement.refused(problem=_first_line(error)).at(_body_span(definition)))
        return None, None
    return (statement, reader.text) if isinstance(statement, SQLStatement) else (None, None)


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).split("\n", 1)[0][:500]


def _returned(definition: ResolverDefinition) -> Optional[ast.expr]:
    """What a body returns that is one `return`, a docstring aside."""
    node = definition.node
    if node is None:
        return None
    body = node.body
    if len(body) == 2 and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        body = body[1:]
    return body[0].value if len(body) == 1 and isinstance(body[0], ast.Return) else None


class _Chain:
    """The reader of `source.query_string(...).one()`. Names of the module are followed as far as
    they are sources and features, whose meaning no environment changes.
    """

    def __init__(self, scope: dict[str, Any], parameters: set[str]) -> None:
        self.scope = scope
        self.parameters = parameters
        #: Parameters that the statement is given.
        self.arguments: set[str] = set()
        self.text: Optional[ast.Constant] = None
        self.count = ""

    def read(self, node: ast.expr) -> bool:
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            return False
        method, inner = node.func.attr, node.func.value
        if method in _ENDS:
            self.count = self.count or ("all" if method == "incremental" else method)
            return not node.args and all(self.is_literal(item.value) and item.arg for item in node.keywords) and self.read(inner)
        if method not in _MAKERS or not isinstance(inner, ast.Name) or inner.id in self.parameters:
            return False
        if not isinstance(self.scope.get(inner.id), DataSource):
            return False
        if method != "with_table" and node.args:
            self.text = node.args[0] if isinstance(node.args[0], ast.Constant) and method == "query_string" else None
        values = [*node.args, *(item.value for item in node.keywords if item.arg != "args")]
        given = [item.value for item in node.keywords if item.arg == "args"]
        return all(item.arg for item in node.keywords) and all(map(self.is_known, values)) and all(map(self.read_arguments, given))

    def read_arguments(self, node: ast.expr) -> bool:
        if not isinstance(node, ast.Dict):
            return False
        for key, value in zip(node.keys, node.values):
            if not isinstance(key, ast.Constant):
                return False
            if isinstance(value, ast.Name) and value.id in self.parameters:
                self.arguments.add(value.id)
            elif not self.is_literal(value):
                return False
        return True

    def is_literal(self, node: ast.expr) -> bool:
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return self.is_literal(node.operand)
        return isinstance(node, ast.Constant)

    def is_known(self, node: ast.expr) -> bool:
        """Whether an expression is a literal, features, or a list or dict of such."""
        if isinstance(node, ast.Dict):
            return all(key is not None and self.is_known(key) for key in node.keys) and all(map(self.is_known, node.values))
        if isinstance(node, (ast.List, ast.Tuple)):
            return all(map(self.is_known, node.elts))
        first = node
        while isinstance(first, ast.Attribute):
            first = first.value
        if isinstance(first, ast.Name):
            return first.id not in self.parameters and isinstance(getattr(self.scope.get(first.id), "__svc_features__", None), FeatureClass)
        return self.is_literal(node)


def _incremental_problem(read: Optional[Incremental]) -> str:
    if read is None:
        return ""
    if read.mode not in _MODES:
        return f"mode={shown(read.mode)} of .incremental(...) is none of 'row', 'group' and 'parameter'"
    if read.timestamp not in _BASES:
        return f"incremental_timestamp={shown(read.timestamp)} is neither 'feature_time' nor 'resolver_execution_time'"
    if (read.column is None) is (read.mode != "parameter"):
        return "modes 'row' and 'group' of .incremental(...) need incremental_column=, and mode 'parameter' takes none"
    micros = None if read.lookback is None else parse_duration(read.lookback)
    if read.lookback is not None and (micros is None or not 0 <= micros <= 36_500 * 86_400_000_000):
        return f"lookback_period={shown(read.lookback)} is not a duration of at most a hundred years, such as '1h'"
    return ""


def _document(spec: ResolverSpec, statement: SQLStatement, text: Optional[ast.Constant]) -> dict[str, Any]:
    definition = spec.definition
    inputs = {item.name: item for item in spec.inputs}
    arguments = []
    for name, value in statement.args.items():
        document: dict[str, Any] = {"name": name}
        if isinstance(value, Argument):
            document["path"] = inputs[value.name].path
        else:
            document["constant"] = _constant(value)
        arguments.append(document)
    span, is_exact = _place(definition, statement, text)
    owner: FeatureClass = spec.output_class.__svc_features__  # type: ignore[attr-defined]
    document = {
        "source": statement.source,
        "body": statement.text,
        "count": _COUNTS[statement.count] if not spec.shape else "ROW_COUNT_UNSPECIFIED",
        "bodyLine": span.line,
        "total": definition.options.total is True,
        "namespace": owner.namespace,
        "sourceSpan": _body_span(definition).json(),
        "python": {
            "arguments": arguments,
            "fields": {column: field_of(feature).fqn for column, feature in statement.fields.items()},
            "textSpan": span.json(),
            "exact": is_exact,
            "returned": [item.fqn for item in spec.outputs],
        },
    }
    read = statement.incremental_read
    if read is not None:
        document["incremental"] = {
            "mode": f"INCREMENTAL_MODE_{read.mode.upper()}",
            "basis": f"INCREMENTAL_BASIS_{_BASES[read.timestamp]}",
            "column": text_of(read.column) or "",
            **({} if read.lookback is None else {"lookback": duration_json(parse_duration(read.lookback) or 0)}),
        }
    return document


def _constant(value: Any) -> dict[str, Any]:
    if value is None:
        return dict(NULL)
    primitive = next(name for kind, name in _PRIMITIVES if isinstance(value, kind))
    return value_json(value, {"primitive": f"PRIMITIVE_TYPE_{primitive}"})


def _body_span(definition: ResolverDefinition) -> Span:
    returned = _returned(definition)
    return resolver_part_span(definition, "body", "", "", returned) if returned is not None else resolver_span(definition)


def _place(definition: ResolverDefinition, statement: SQLStatement, text: Optional[ast.Constant]) -> tuple[Span, bool]:
    """Where the statement's text stands, and whether it stands there as it is."""
    if statement.file:
        path = project_path(statement.file)
        if path is not None:
            lines = statement.text.split("\n")
            return Span(path, 1, 1, len(lines), len(lines[-1]) + 1), True
        return _body_span(definition), False
    source: Optional[Source] = definition.source
    if source is None or text is None:
        return _body_span(definition), False
    span = source.span(text)
    written = source.text_at(span) if span.line == span.end_line else ast.get_source_segment(source.text, text) or ""
    at = written.find(statement.text)
    if at < 0 or "\n" in written[:at]:
        return span, False
    behind = len(written) - at - len(statement.text)
    return Span(span.file, span.line, span.column + at, span.end_line, span.end_column - behind), True
