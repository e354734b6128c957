"""Spans of the parts of definitions in the source, for findings to point at."""

from __future__ import annotations

import ast
from typing import Iterable, Optional, Union

from .._diagnostics.findings import Span
from .._diagnostics.source import Origin, Source, display_path, nodes_within, source_of
from .._model.evaluation import Evaluation
from .._model.feature_class import FeatureClass
from .._model.field import Field
from .._model.hooks import HookDefinition
from .._model.monitor import Monitor
from .._model.named_query import NamedQuery
from .._model.scheduled_query import ScheduledQuery
from .._model.stream import StreamCall
from .._model.resolver import ResolverDefinition
from ..sources import DataSource

#: A definition made by a decorator of the SDK from a function.
Decorated = Union[ResolverDefinition, HookDefinition]
#: A definition made by a call.
Called = Union[NamedQuery, ScheduledQuery, Monitor, Evaluation, DataSource, StreamCall]


def origin_span(origin: Origin) -> Span:
    """The span of a definition's first line, for a definition whose parts cannot be told apart."""
    source = source_of(origin.filename)
    if source is None:
        return Span(display_path(origin.filename), origin.line, 1, origin.line, 1)
    return source.span_of_line(origin.line)


def _part(source: Optional[Source], node: Optional[ast.AST], token: str, fallback: Span) -> Span:
    """A token within a node, else the node, else the fallback."""
    if source is None or node is None:
        return fallback
    return (source.span_of_token(nodes_within(node), token) if token else None) or source.span(node)


def _keyword(calls: Iterable[ast.AST], name: str) -> Optional[ast.expr]:
    for call in calls:
        if isinstance(call, ast.Call):
            for keyword in call.keywords:
                if keyword.arg == name:
                    return keyword.value
    return None


def _option_name(source: Optional[Source], calls: Iterable[Optional[ast.AST]], option: str, fallback: Span) -> Span:
    """The name of an option where one of the calls is given it."""
    for call in calls:
        for keyword in call.keywords if isinstance(call, ast.Call) else ():
            if keyword.arg == option and source is not None:
                start = source.span(keyword)
                return Span(start.file, start.line, start.column, start.line, start.column + len(option))
    return fallback


def class_span(item: FeatureClass) -> Span:
    """The class's name."""
    source, outline = item.source, item.outline
    return source.place(outline.name_at) if source and outline else origin_span(item.origin)


def class_option_span(item: FeatureClass, option: str) -> Span:
    """The span of the value of an option of `features(...)`."""
    node = item.node
    value = _keyword(node.decorator_list, option) if node else None
    return _part(item.source, value, "", class_span(item))


def class_option_name(item: FeatureClass, option: str) -> Span:
    """The name of an option of `features(...)`."""
    return _option_name(item.source, item.node.decorator_list if item.node else (), option, class_span(item))


def field_option_name(field: Field, option: str) -> Span:
    """The span of the name of an option of the call to the right of `=`."""
    value = field.node.value if field.node else None
    return _option_name(field.owner_class.source, (value,), option, field_span(field))


def field_span(field: Field) -> Span:
    """The feature's name where it is defined."""
    source, place = field.owner_class.source, field.place
    return source.place(place) if source and place else class_span(field.owner_class)


def annotation_span(field: Field, token: str = "") -> Span:
    """The feature's annotation, or a name in it."""
    node = field.node
    return _part(field.owner_class.source, node.annotation if node else None, token, field_span(field))


def value_span(field: Field, option: str = "", token: str = "") -> Span:
    """The span of the value to the right of `=`: an option of `feature(...)`, a name in it, or all
    of it.
    """
    node = field.node
    value = node.value if node else None
    chosen = (_keyword([value], option) if value and option else None) or value
    return _part(field.owner_class.source, chosen, token, field_span(field))


def value_node(field: Field, option: str) -> Optional[ast.AST]:
    """The syntax of an option of the call to the right of `=`, else of the whole value."""
    value = field.node.value if field.node else None
    return (_keyword([value], option) if value else None) or value


def argument_span(field: Field, index: int) -> Span:
    """The span of a positional argument of the call to the right of `=`."""
    value = field.node.value if field.node else None
    chosen = value.args[index] if isinstance(value, ast.Call) and index < len(value.args) else value
    return _part(field.owner_class.source, chosen, "", field_span(field))


def unannotated_span(item: FeatureClass, attribute: str) -> Span:
    """The span of an attribute of a class that has a value and no annotation."""
    source, node = item.source, item.node
    for statement in node.body if node else []:
        if isinstance(statement, ast.Assign) and source:
            for target in statement.targets:
                if isinstance(target, ast.Name) and target.id == attribute:
                    return source.span(target)
    return class_span(item)


def resolver_option_name(item: Decorated, option: str) -> Span:
    """The name of an option of a decorator."""
    return _option_name(item.source, item.node.decorator_list if item.node else (), option, resolver_span(item))


def cron_option_span(item: Decorated, option: str) -> Span:
    """The value of an option of a resolver's `Cron(...)`, where the call stands in the decorator;
    else the value of `cron`.
    """
    cron = _keyword(item.node.decorator_list, "cron") if item.node else None
    inner = _keyword([cron], option) if cron is not None else None
    return _part(item.source, inner or cron, "", resolver_span(item))


def resolver_span(item: Decorated) -> Span:
    """The function's name."""
    source, outline = item.source, item.outline
    return source.place(outline.name_at) if source and outline else origin_span(item.origin)


def resolver_part_span(item: Decorated, part: str, name: str, token: str, inner: Optional[ast.AST] = None) -> Span:
    """A part of a resolver, as `Problem` names it."""
    source, node = item.source, item.node
    fallback = resolver_span(item)
    if source is None or node is None or part == "name":
        return fallback
    if part == "body":
        return _part(source, inner, token, fallback)
    if part == "return":
        return _part(source, node.returns, token, fallback)
    if part == "option":
        return _part(source, _keyword(node.decorator_list, name), token, fallback)
    arguments = node.args
    listed = [*arguments.posonlyargs, *arguments.args]
    positional = dict(zip([argument.arg for argument in reversed(listed)], reversed(arguments.defaults)))
    named = {argument.arg: value for argument, value in zip(arguments.kwonlyargs, arguments.kw_defaults) if value is not None}
    stars = [argument for argument in (arguments.vararg, arguments.kwarg) if argument is not None]
    argument = next((found for found in [*listed, *arguments.kwonlyargs, *stars] if found.arg == name), None)
    if argument is None:
        return fallback
    if part == "default":
        return _part(source, {**positional, **named}.get(name), "", fallback)
    if part == "annotation":
        return _part(source, argument.annotation, token, fallback)
    start = source.span(argument)
    return Span(start.file, start.line, start.column, start.line, start.column + len(name))


def resolver_option_text(item: Decorated, option: str) -> str:
    """The value of an option of the decorator as it is written, on one line; empty when its text
    cannot be read.
    """
    value = _keyword(item.node.decorator_list, option) if item.node else None
    return ast.unparse(value) if value else ""


def call_option_name(item: Called, option: str) -> Span:
    """The name of an option of a call such as `NamedQuery(...)`."""
    source = source_of(item.origin.filename)
    return _option_name(source, (source.call_at(item.origin) if source else None,), option, call_span(item))


#: Options that such a call takes without their names.
_POSITIONAL = {"name": 0, "query": 1}


def call_span(item: Called, option: str = "", index: Optional[int] = None, token: str = "") -> Span:
    """The span of a call such as `NamedQuery(...)`: one of its options, an element of an option
    that is a list, or the function's name.
    """
    source = source_of(item.origin.filename)
    node = source.call_at(item.origin) if source else None
    if source is None or node is None:
        return origin_span(item.origin)
    value = _keyword([node], option) if option else node.func
    position = _POSITIONAL.get(option)
    if value is None and position is not None and position < len(node.args):
        value = node.args[position]
    if index is not None and isinstance(value, (ast.List, ast.Tuple)) and index < len(value.elts):
        value = value.elts[index]
    if index is not None and isinstance(value, ast.Dict) and index < len(value.values):
        value = value.values[index]
    return _part(source, value or node.func, token, source.span(node.func))


