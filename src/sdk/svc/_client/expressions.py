"""Expressions of feature classes that are not deployed, as a server is asked to compute them."""

from __future__ import annotations

import ast
import sys
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Iterable, Mapping, Optional, Union

from .._analysis.class_rules import check_class
from .._analysis.expression_reader import ExpressionReader, Unreadable, Written, resolve_expressions
from .._analysis.graph import feature_sets_json
from .._analysis.joins import resolve_joins
from .._diagnostics.findings import ERROR, DefinitionError, Finding, Span, json_lines
from .._diagnostics.source import Origin, display_path, source_of
from .._frames.conditions import Condition
from .._model.expression import Expression
from .._model.feature_class import FeatureClass
from .._model.field import FeatureOptions, Field
from .._model.reference import FeatureReference, fields_of
from .._model.windows import format_window
from .result import ErrorDetail, QueryError

#: A feature, or the FQN of one that only a request has.
Output = Union[FeatureReference, str]


@dataclass(frozen=True)
class Asked:
    """What is to be computed: `output` of the graph of the classes that `root` leads to."""

    output: Output
    root: FeatureClass
    #: Whether features are computed as in offline queries.
    offline: bool
    #: The expression that is no feature's, as a feature, and its place in the caller's source.
    bare: Optional[tuple[Field, Written]] = None


def asked_of(asked: Any, input: Any, on: Optional[type], offline: bool) -> Asked:
    """What `check_expression` is asked. Raises TypeError for what is no feature with an expression
    and no expression of a class that is known.
    """
    if isinstance(asked, Expression):
        root = _root_of(asked, input, on)
        name = next(name for name in _names() if root.field(name) is None)
        return Asked(f"{root.namespace}.{name}", root, offline, (Field(root, name, Any, FeatureOptions(expression=asked)), _call_site()))
    if on is not None:
        raise TypeError(f"on= is the class of an expression such as _.amount * 2, and {asked!r} is none")
    return Asked(_feature_of(asked, offline), asked._svc_root, offline)


def _feature_of(feature: Any, offline: bool) -> FeatureReference:
    if isinstance(feature, Condition):
        raise TypeError(f"check_expression takes an expression of `_`, not a filter of a class: write {feature!r} with `_`, and name the class in on=")
    if not isinstance(feature, FeatureReference):
        raise TypeError(
            f"check_expression takes a feature that an expression computes, such as User.score, or an expression such as _.amount * 2, not {feature!r}"
        )
    field = fields_of(feature)[-1]
    has_offline = field.computed_by("offline_expression") is not None
    if field.computed_by("expression") is None and not (offline and has_offline):
        if has_offline:
            raise TypeError(f"{feature!r} has an expression for offline queries alone: give offline=True to have it computed")
        raise TypeError(f"{feature!r} has no expression: there is nothing to compute, and a resolver is called as a function")
    if field.windows:
        raise TypeError(f'{feature!r} has several windows: name one of them, such as {feature!r}["{format_window(field.windows[0])}"]')
    return feature


def _root_of(asked: Expression, input: Any, on: Optional[type]) -> FeatureClass:
    """The class of whose rows an expression is: the one that is named, else that of the input."""
    is_mapping = isinstance(input, Mapping)
    given: list[Any] = [on] if on is not None else [] if is_mapping else [type(input)]
    named: list[Optional[FeatureClass]] = [vars(item).get("__svc_features__") if isinstance(item, type) else None for item in given]
    if on is not None and named == [None]:
        raise TypeError(f"on= is the feature class whose row `_` is, not {on!r}")
    if is_mapping and on is None:
        named = [feature._svc_root for feature in input if isinstance(feature, FeatureReference)]
    roots = [item for item in dict.fromkeys(named) if item is not None]
    if len(roots) == 1:
        return roots[0]
    found = f"the input is of {' and '.join(item.cls.__name__ for item in roots)}" if roots else "the input names no class"
    raise TypeError(f"`_` in {asked!r} is the row of a class, and {found}: name it, such as check_expression({asked!r}, ..., on=User)")


def _names() -> Iterable[str]:
    yield "expression"
    number = 2
    while True:
        yield f"expression_{number}"
        number += 1


def _call_site() -> Written:
    """The argument of the call of `check_expression` that runs, in the file of who calls."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "svc":
        frame = frame.f_back
    filename, line = frame.f_code.co_filename, frame.f_lineno
    source = source_of(filename)
    if source is None:
        return Written(None, None, Span(display_path(filename), line, 1, line, 1))
    call = source.call_at(Origin(filename, line, "check_expression"))
    named: list[ast.expr] = [keyword.value for keyword in call.keywords if keyword.arg == "feature"] if call is not None else []
    node = next(iter([*(call.args if call is not None else ()), *named]), None)
    return Written(source, node, source.span(node) if node is not None else source.span_of_line(line))


def graph_text(asked: Asked) -> str:
    """The classes that a class leads to, as proto3 JSON of `svc.v1.Graph`. Raises QueryError with
    everything that lint finds in them.
    """
    documents = _documents(tuple(_classes_from(asked.root)), asked.offline)
    if asked.bare is not None:
        added = _bare_feature(*asked.bare)
        documents = tuple(
            {**document, "features": [*document["features"], added]} if document["namespace"] == asked.root.namespace else document for document in documents
        )
    return b"".join(json_lines({"featureSets": documents})).decode()


@lru_cache(maxsize=8)
def _documents(known: tuple[FeatureClass, ...], offline: bool) -> tuple[dict[str, Any], ...]:
    found: list[Finding] = []
    classes = list(known)
    for item in classes:
        check_class(item, found.append)
    joins = resolve_joins(classes, found.append)
    expressions = resolve_expressions(classes, found.append)
    _refuse(found)
    if offline:
        expressions = {field: {"expression": each.get("offlineExpression", each.get("expression"))} for field, each in expressions.items()}
    return tuple(feature_sets_json(classes, joins, expressions))


def _bare_feature(field: Field, written: Written) -> dict[str, Any]:
    """An expression as a feature of the graph, whose type the server finds."""
    found: list[Finding] = []
    expression = field.computed_by("expression")
    document: dict[str, Any] = {}
    if expression is not None:
        try:
            document = ExpressionReader(field, found.append, written=written).read(expression)
        except Unreadable:
            pass
    _refuse(found)
    scalar = {"expression": document, "nullable": True}
    return {"fqn": field.fqn, "name": field.name, "namespace": field.owner_class.namespace, "scalar": scalar, "span": written.span.json()}


def _refuse(found: list[Finding]) -> None:
    errors = [item for item in dict.fromkeys(found) if item.severity == ERROR]
    if errors:
        raise QueryError([ErrorDetail("INVALID_QUERY", "REQUEST", f"{item}{f'; {item.hint}' if item.hint else ''}") for item in errors])


def _classes_from(root: FeatureClass) -> list[FeatureClass]:
    """A class and those that its relations lead to."""
    found = {root.namespace: root}
    waiting = [root]
    while waiting:
        for field in waiting.pop().members():
            try:
                target = field.type.target
            except DefinitionError:
                continue
            if target is not None and target.namespace not in found:
                found[target.namespace] = target
                waiting.append(target)
    return list(found.values())
