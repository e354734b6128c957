"""Rules about feature classes and their features: 110, 111, 113 to 117, 124, 142, 146."""

from __future__ import annotations

from typing import Any, Callable

from ._dtypes import type_name
from ._feature_class import FeatureClass
from ._field import MISSING, Field
from ._findings import BrokenReference, DefinitionError, Finding
from ._options import CLASS_CHECKS, FEATURE_CHECKS, check_options
from ._places import annotation_span, class_option_span, class_span, field_span, unannotated_span, value_span
from ._wire import value_json

Report = Callable[[Finding], None]

_IMMUTABLE = {list: "()", set: "frozenset()"}


def distinct_classes(classes: list[FeatureClass], report: Report) -> list[FeatureClass]:
    """The classes that count, one per namespace. Of one class written twice in a file it is the last."""
    last = {(item.origin.filename, item.origin.name, item.namespace): item for item in classes}
    kept: dict[str, FeatureClass] = {}
    for item in classes:
        if last[item.origin.filename, item.origin.name, item.namespace] is not item:
            continue
        first = kept.setdefault(item.namespace, item)
        if first is item:
            continue
        related = ((class_span(first), f"'{first.namespace}' is first defined here"),)
        span = class_option_span(item, "name") if item.options.name else class_span(item)
        if first.origin.filename != item.origin.filename:
            text = f"the namespace '{item.namespace}' is defined in two files: rename one class, or give it 'name='"
            report(Finding(111, text, span, "defined twice", related=related))
        else:
            text = f"{first.cls.__name__} and {item.cls.__name__} both have the namespace '{item.namespace}': rename one, or give it 'name='"
            report(Finding(116, text, span, "same namespace", related=related))
    return list(kept.values())


def check_class(item: FeatureClass, report: Report) -> None:
    """Everything about a class but its joins."""
    for option, text in check_options(CLASS_CHECKS, item.options).items():
        report(Finding(146, text, class_option_span(item, option), "bad value"))
    for attribute in item.unannotated:
        text = f"'{attribute}' has no type: a feature is annotated, such as '{attribute}: str = feature(...)'"
        report(Finding(114, text, unannotated_span(item, attribute), "no type"))
    names: dict[str, Field] = {}
    sound = True
    for field in item.fields.values():
        for option, text in check_options(FEATURE_CHECKS, field.options).items():
            report(Finding(146, text, value_span(field, option), "bad value"))
        first = names.setdefault(field.name, field)
        if first is not field:
            span = value_span(field, "name") if field.options.name else field_span(field)
            text = f"'{first.attribute}' and '{field.attribute}' both have the name '{field.fqn}': choose another 'name='"
            related = ((field_span(first), "the first of that name"),)
            report(Finding(116, text, span, "same name", related=related))
        try:
            check_field(field, report)
        except BrokenReference:
            sound = False
        except DefinitionError as error:
            sound = False
            report(Finding(error.code, str(error), annotation_span(field, error.token), error.label))
    _check_keys(item, sound, report)


def check_field(field: Field, report: Report) -> None:
    """A feature's type and default. Raises DefinitionError when the annotation makes no sense."""
    kind = field.type
    if kind.target is not None:
        if field.options.default is not MISSING:
            text = f"'{field.fqn}' is a relation and takes no default: write '| None' if there may be no row"
            report(Finding(115, text, value_span(field, "default"), "no default"))
        return
    if field.has_one is not None:
        text = f"'{field.fqn}' is of type {type_name(kind.dtype)}, which is no feature class: has_one relates two feature classes"
        report(Finding(114, text, annotation_span(field), "no feature class"))
        return
    _check_default(field, report)
    if (kind.marked_primary or (field.attribute == "id" and field in field.owner_class.primary_keys)) and _is_no_key(field):
        what = "may be None" if kind.nullable else f"is of type {type_name(kind.dtype)}"
        text = f"'{field.fqn}' is the primary key and {what}: a key is an int, str, date, datetime, Decimal, bytes or an Enum, never None"
        report(Finding(114, text, annotation_span(field), "no key"))


def _is_no_key(field: Field) -> bool:
    dtype: Any = field.type.dtype
    if field.type.nullable or "list" in dtype or "struct" in dtype:
        return True
    base = dtype.get("primitive") or dtype["enum"]["base"]
    return base in ("PRIMITIVE_TYPE_JSON", "PRIMITIVE_TYPE_BOOL", "PRIMITIVE_TYPE_FLOAT64", "PRIMITIVE_TYPE_TIMEDELTA")


def _check_default(field: Field, report: Report) -> None:
    value, kind = field.options.default, field.type
    if value is MISSING:
        return
    span = value_span(field, "default")
    if isinstance(value, (list, set, dict, bytearray)):
        instead = _IMMUTABLE.get(type(value))
        own = type(value).__name__
        advice = f"write {instead if not value else instead[:-1] + '...)'}" if instead else "make it '| None' with the default None"
        text = f"the default of '{field.fqn}' is a {own}, which could be changed by whoever reads it: {advice}"
        report(Finding(115, text, span, "mutable default"))
        return
    if value is None:
        if not kind.nullable:
            spelt = type_name(kind.dtype)
            text = f"the default of '{field.fqn}' is None, but its type is {spelt}: write '{field.attribute}: {spelt} | None = None'"
            report(Finding(115, text, span, "None is no value of it"))
        return
    try:
        value_json(value, kind.dtype)
    except DefinitionError as error:
        text = f"the default of '{field.fqn}' does not fit its type: {error}"
        report(Finding(115, text, span, error.label))


def _check_keys(item: FeatureClass, sound: bool, report: Report) -> None:
    name = item.cls.__name__
    keys, times = item.primary_keys, item.feature_times
    if len(keys) > 1:
        text = f"{name} has two primary keys, '{keys[0].attribute}' and '{keys[1].attribute}': a row is identified by one; unmark the other"
        report(Finding(113, text, field_span(keys[1]), "second primary key", related=((field_span(keys[0]), "the first primary key"),)))
    elif not keys and sound:
        fields = ", ".join(item.fields) or "none"
        text = f"{name} has no primary key: name it 'id', or annotate it 'Primary[...]'; its features are: {fields}"
        report(Finding(110, text, class_span(item), "no primary key"))
    if len(times) > 1:
        text = f"{name} has two feature times, '{times[0].attribute}' and '{times[1].attribute}': a row is observed at one; write datetime for the other"
        report(Finding(117, text, field_span(times[1]), "second feature time", related=((field_span(times[0]), "the first feature time"),)))

