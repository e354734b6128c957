"""Streams that make sense, and their form in the graph; rules 106, 148, and 200 to 205."""

from __future__ import annotations

import ast
import dataclasses
import hashlib
import re
import typing
from dataclasses import dataclass
from typing import Any, Callable, Optional, Union

from .._codec.wire import describe
from .._diagnostics import rules
from .._diagnostics.findings import BrokenReference, Finding, Said, Span
from .._diagnostics.source import source_of
from .._model.expression import Aggregate, Bracketed
from .._model.feature_class import ClassOptions, FeatureClass
from .._model.field import MISSING, Field, tag_list
from .._model.operand import Expression
from .._model.reference import FeatureReference, field_of, type_of
from .._model.resolver import ResolverSpec
from .._model.stream import Statement, StreamCall, StreamDefinition, StreamOptions, StreamSpec, TableName, environments_of
from .._model.stream_signature import compile_stream, key_problem, option_problems, unreadable_field
from .._surface.names import did_you_mean, duration_json, parse_duration
from .._surface.unknown_options import unknown_option
from .._types.annotations import Scope, annotation_text
from .expression_path import Steps
from .expression_reader import ExpressionReader, Unreadable
from .spans import call_option_name, call_span, resolver_option_name, resolver_part_span, resolver_span

Report = Callable[[Finding], None]
Json = dict[str, Any]

#: The namespace of a message's fields in the graph.
MESSAGE = "message"
#: A text as it is written, without what its escapes are.
_QUOTED = re.compile(r"""(?P<begin>[fFrRuU]{0,2}(?P<quotes>\"{3}|'{3}|"|'))(?P<text>.*)(?P=quotes)""", re.DOTALL)


@dataclass
class ResolvedCall:
    """A stream of expressions whose fields and features are known."""

    call: StreamCall
    message: FeatureClass
    outputs: dict[str, Json]


Resolved = Union[StreamSpec, ResolvedCall]


def check_streams(
    definitions: list[StreamDefinition], calls: list[StreamCall], resolvers: list[ResolverSpec], report: Report
) -> list[Resolved]:
    """The streams that make sense, one per FQN; findings for the others."""
    taken: dict[str, Span] = {}
    by_fqn = {spec.fqn: spec for spec in resolvers}
    found: list[Resolved] = []

    def is_new(fqn: str, span: Span) -> bool:
        first = taken.get(fqn) or (resolver_span(by_fqn[fqn].definition) if fqn in by_fqn else None)
        if first is None:
            taken[fqn] = span
            return True
        report(rules.DuplicateResolver.in_python(resolver=fqn).at(span, related=((first, "first defined here"),)))
        return False

    for definition in definitions:
        for option in definition.options.others:
            report(unknown_option("stream", option).said.at(resolver_option_name(definition, option)))
        spec, problems = compile_stream(definition)
        for problem in problems:
            error = problem.error
            report(error.said.at(resolver_part_span(definition, problem.part, problem.name, error.token, problem.node), hint=error.hint))
        if spec is not None and spec.statement is not None:
            default = _inner_default(spec.message_type)
            if default is not None:
                parameter = next(iter(definition.parameters))
                report(default.at(resolver_part_span(definition, "annotation", parameter, "", None)))
                continue
        if spec is not None and is_new(spec.fqn, resolver_span(definition)):
            found.append(spec)
    for call in calls:
        for option in call.others:
            report(unknown_option("make_stream_resolver", option).said.at(call_option_name(call, option)))
        resolved = _Call(call, report).resolve()
        if resolved is not None and is_new(call.fqn, call_span(call, "name")):
            found.append(resolved)
    return found


class _Call:
    """The checks of one `make_stream_resolver`."""

    def __init__(self, call: StreamCall, report: Report) -> None:
        self.call = call
        self._report = report
        self._failed = False

    def refuse(self, said: Said, option: str, index: Optional[int] = None) -> None:
        self._failed = True
        self._report(said.at(call_span(self.call, option, index)))

    def resolve(self) -> Optional[ResolvedCall]:
        call = self.call
        if call.options.name is None:
            self.refuse(rules.BadValue.option(problem="name is None: write a name"), "name")
        for said, option in option_problems(call.options):
            self.refuse(said, option)
        if call.description is not None and not isinstance(call.description, str):
            self.refuse(rules.BadValue.option(problem=f"description is {describe(call.description)}: write a text"), "description")
        message = self.message()
        outputs = self.outputs()
        if message is None or not outputs:
            return None
        expressions: dict[str, Json] = {}
        for index, (field, expression) in enumerate(outputs):
            reader = _MessageReader(field, message, call, index, self._report)
            try:
                expressions[field.fqn] = reader.read(expression)
            except Unreadable:
                self._failed = True
        owners = {field.owner_class.namespace: field.owner_class for field, _ in outputs}
        if len(owners) > 1:
            names = " and ".join(owner.cls.__name__ for owner in owners.values())
            self.refuse(rules.ForeignOutput.several_classes(names=names), "output_features")
        else:
            said = key_problem(outputs[0][0].owner_class, [field for field, _ in outputs])
            if said is not None:
                self.refuse(said, "output_features")
        return None if self._failed else ResolvedCall(call, message, expressions)

    def message(self) -> Optional[FeatureClass]:
        wanted = self.call.message_type
        if not isinstance(wanted, type) or not dataclasses.is_dataclass(wanted) or "__svc_features__" in wanted.__dict__:
            self.refuse(rules.UnreadableMessage.no_fields(type=annotation_text(wanted)), "message_type")
            return None
        said = unreadable_field(wanted, self.call.scope)
        said = said or _inner_default(wanted)
        if said is not None:
            self.refuse(said, "message_type")
            return None
        return _message_class(wanted, self.call.scope, self.call.origin.line)

    def outputs(self) -> list[tuple[Field, Expression]]:
        given = self.call.output_features
        if not isinstance(given, dict) or not given:
            self.refuse(rules.BadMessageExpression.no_features(value=describe(given), example="{Txn.id: _.id}"), "output_features")
            return []
        found: list[tuple[Field, Expression]] = []
        for index, (feature, expression) in enumerate(given.items()):
            try:
                field = field_of(feature) if isinstance(feature, FeatureReference) else None
                kind = type_of(field) if field is not None else None
            except BrokenReference:
                self._failed = True
                continue
            if field is None or kind is None:
                self.refuse(rules.BadMessageExpression.no_feature(value=describe(feature)), "output_features", index)
            elif len(feature._svc_names) > 1 or kind.target is not None or kind.windowed:
                self.refuse(rules.BadMessageExpression.no_value(feature=repr(feature)), "output_features", index)
            elif not isinstance(expression, Expression):
                said = rules.BadMessageExpression.no_expression(feature=repr(feature), value=describe(expression))
                self.refuse(said, "output_features", index)
            else:
                found.append((field, expression))
        return [] if self._failed else found


def _inner_default(message_type: type) -> Optional[Said]:
    """The finding about a dataclass inside of a message that has a default of its own."""
    for hint in typing.get_type_hints(message_type).values():
        for inner in (hint, *typing.get_args(hint)):
            if not isinstance(inner, type) or not dataclasses.is_dataclass(inner):
                continue
            for field in dataclasses.fields(inner):
                has_default = field.default_factory is not dataclasses.MISSING or field.default not in (dataclasses.MISSING, None)
                if field.init and has_default:
                    return rules.UnreadableMessage.inner_default(type=inner.__name__, field=field.name)
            found = _inner_default(inner)
            if found is not None:
                return found
    return None


def _message_class(message_type: type, scope: Scope, line: int) -> FeatureClass:
    """The fields of a dataclass as features, which nobody else knows of."""
    found = FeatureClass(message_type, ClassOptions(name=MESSAGE), scope, line)
    hints = typing.get_type_hints(message_type, include_extras=True)
    found.fields = {}
    for field in dataclasses.fields(message_type):
        if field.init:
            default: Any = MISSING if field.default is dataclasses.MISSING else field.default
            if field.default_factory is not dataclasses.MISSING:
                default = field.default_factory()
            found.fields[field.name] = Field(found, field.name, hints[field.name], default)
    return found


class _MessageReader(ExpressionReader):
    """The reader of an expression over the fields of a message."""

    def __init__(self, field: Field, message: FeatureClass, call: StreamCall, index: int, report: Report) -> None:
        super().__init__(field, report)
        self.source = source_of(call.origin.filename)
        self._message = message
        self._call = call
        self._index = index

    def read(self, expression: Expression) -> Json:
        node = self.source.call_at(self._call.origin) if self.source else None
        values = next((keyword.value for keyword in node.keywords if keyword.arg == "output_features"), None) if node else None
        exact = values.values[self._index] if isinstance(values, ast.Dict) and self._index < len(values.values) else None
        document = self.node(expression, exact, self._message)
        if self._failed:
            raise Unreadable
        return document

    def span(self, node: Optional[ast.AST]) -> Span:
        if self.source is not None and node is not None:
            return self.source.span(node)
        return call_span(self._call, "output_features", self._index)

    def aggregation(self, item: Aggregate, node: Optional[ast.AST], owner: FeatureClass) -> Json:
        raise self.problem(rules.BadMessageExpression.aggregation(item=repr(item)), node)

    def windowed(self, item: Bracketed, node: Optional[ast.AST], owner: FeatureClass) -> list[str]:
        raise self.problem(rules.BadMessageExpression.aggregation(item=repr(item)), node)

    def follow(self, path: Any, node: Optional[ast.AST], owner: FeatureClass) -> Steps:
        first = path._svc_names[0]
        if owner.field(first) is None:
            near = did_you_mean(first, owner.fields)
            said = rules.BadMessageExpression.unknown_field(type=owner.cls.__name__, field=first, near=near)
            raise self.problem(said, node)
        return super().follow(path, node, owner)


def _statement_json(item: StreamSpec, statement: Statement, message_set: Callable[[FeatureClass], Json]) -> Json:
    """The statement of a stream as proto3 JSON of `svc.v1.MessageStatement`."""
    definition = item.definition
    source, node = definition.source, statement.node
    span = source.span(node) if source and node is not None else resolver_span(definition)
    document: Json = {"sql": statement.text, "table": statement.table}
    message = _message_class(item.message_type, definition.scope, definition.origin.line)
    document["message"] = message_set(message)
    written = ast.get_source_segment(source.text, node) if source and node is not None else None
    quoted = _QUOTED.fullmatch(written or "")
    # The table's name in quotes is as long as it is in braces, so that columns stay what they are.
    if quoted is not None and quoted["text"].replace(f"{{{statement.table}}}", str(TableName(statement.table))) == statement.text:
        begin = span.column + len(quoted["begin"])
        span, document["verbatim"] = Span(span.file, span.line, begin, span.end_line, span.end_column), True
    document["span"] = span.json()
    return document


def stream_json(item: Resolved, message_set: Callable[[FeatureClass], Json]) -> Json:
    """A stream as proto3 JSON of `svc.v1.StreamResolver`."""
    if isinstance(item, StreamSpec):
        definition = item.definition
        options: StreamOptions = definition.options  # type: ignore[assignment]
        outline = definition.outline
        code = getattr(item.fn, "__code__").co_code
        document: Json = {
            "fqn": item.fqn,
            "messageType": f"DataFrame[{annotation_text(item.message_type)}]" if item.batches else annotation_text(item.message_type),
            "outputs": [output.fqn for output in item.outputs],
            "span": resolver_span(definition).json(),
            "sourceSha256": outline.text_sha256 if outline else hashlib.sha256(code).hexdigest(),
            "python": {"module": definition.module, "name": definition.function_name},
        }
        description: Optional[str] = definition.description
        if item.batches:
            document["batches"] = True
        if item.statement is not None:
            del document["python"]
            document["statement"] = _statement_json(item, item.statement, message_set)
        if options.parse is not None:
            document["parse"] = getattr(options.parse, "__qualname__", type(options.parse).__name__)
    else:
        call, options, description = item.call, item.call.options, item.call.description
        text = repr((call.name, sorted((fqn, repr(expression)) for fqn, expression in item.outputs.items())))
        document = {
            "fqn": call.fqn,
            "messageType": annotation_text(call.message_type),
            "outputs": list(item.outputs),
            "span": call_span(call, "name").json(),
            "sourceSha256": hashlib.sha256(text.encode()).hexdigest(),
            "expressions": {"message": message_set(item.message), "outputs": item.outputs},
        }
    document["source"] = options.source.name
    for name, duration in (("timeout", options.timeout), ("lateness", options.lateness)):
        micros = parse_duration(duration)
        if micros is not None:
            document[name] = duration_json(micros)
    lists = {"tags": tag_list(options.tags), "environments": environments_of(options)}
    texts = {"owner": options.owner, "description": description, "venv": options.venv, "resourceGroup": options.resource_group}
    document.update({name: value for name, value in {**lists, **texts}.items() if value})
    return document

