"""Expressions of feature classes that are not deployed, as a server is asked to compute them."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from .._analysis.class_rules import check_class
from .._analysis.expression_reader import resolve_expressions
from .._analysis.graph import feature_sets_json
from .._analysis.joins import resolve_joins
from .._diagnostics.findings import ERROR, DefinitionError, Finding, json_lines
from .._model.feature_class import FeatureClass
from .._model.reference import FeatureReference, fields_of
from .._model.windows import format_window
from .result import ErrorDetail, QueryError


def expression_of(feature: Any) -> FeatureReference:
    """The feature whose expression is to be computed. Raises TypeError when it has none."""
    if not isinstance(feature, FeatureReference):
        raise TypeError(
            f"check_expression takes a feature that an expression computes, such as User.score, not {feature!r}"
            + (": give the expression to a feature of a class, and name that" if getattr(type(feature), "__svc_node__", False) else "")
        )
    field = fields_of(feature)[-1]
    if field.computed_by("expression") is None:
        raise TypeError(f"{feature!r} has no expression: there is nothing to compute, and a resolver is called as a function")
    if field.windows:
        raise TypeError(f'{feature!r} has several windows: name one of them, such as {feature!r}["{format_window(field.windows[0])}"]')
    return feature


def graph_text(feature: FeatureReference) -> str:
    """The classes that the feature's class leads to, as proto3 JSON of `svc.v1.Graph`. Raises
    QueryError with everything that lint finds in them.
    """
    return _text_of(tuple(_classes_from(feature._svc_root)))


@lru_cache(maxsize=8)
def _text_of(known: tuple[FeatureClass, ...]) -> str:
    found: list[Finding] = []
    classes = list(known)
    for item in classes:
        check_class(item, found.append)
    joins = resolve_joins(classes, found.append)
    expressions = resolve_expressions(classes, found.append)
    errors = [item for item in dict.fromkeys(found) if item.severity == ERROR]
    if errors:
        raise QueryError([ErrorDetail("INVALID_QUERY", "REQUEST", f"{item}{f'; {item.hint}' if item.hint else ''}") for item in errors])
    return b"".join(json_lines({"featureSets": feature_sets_json(classes, joins, expressions)})).decode()


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
