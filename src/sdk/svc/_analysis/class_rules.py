"""Rules about feature classes and their features: 110, 111, 113 to 117, 124, 142, 146, 180."""

from __future__ import annotations

from typing import Any, Callable

from .._types.dtypes import type_name
from .._model.feature_class import FeatureClass
from .._model.field import MISSING, Field, WindowedOptions
from .._diagnostics.findings import BrokenReference, DefinitionError, Finding
from .._surface.options import CLASS_CHECKS, FEATURE_CHECKS, STORING, check_options, check_staleness
from .._model.windows import WINDOW_GRAMMAR, format_window, window_seconds
from .._codec.wire import describe, value_json
from .places import annotation_span, argument_span, class_option_span, class_span, field_span, unannotated_span, value_span

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
            names = f"{first.cls.__name__} and {item.cls.__name__}"
            text = f"{names} both have the namespace '{item.namespace}': rename one, or give it 'name='"
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
        first = next((names[own.name] for own in (field, *field.values()) if own.name in names), field)
        names.update((own.name, field) for own in (field, *field.values()))
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
        _check_relation(field, kind.target, report)
        if field.options.default is not MISSING:
            cure = "it may have no rows" if kind.many else "write '| None' if there may be no row"
            text = f"'{field.fqn}' is a relation and takes no default: {cure}"
            report(Finding(115, text, value_span(field, "default"), "no default"))
        return
    if field.relation is not None:
        name = "has_many" if field.relation.many else "has_one"
        text = f"'{field.fqn}' is of type {type_name(kind.dtype)}, which is no feature class: {name} relates two feature classes"
        report(Finding(114, text, annotation_span(field), "no feature class"))
        return
    _check_windows(field, report)
    _check_default(field, report)
    if field.options.expression is not None and field in field.owner_class.primary_keys:
        text = f"'{field.fqn}' is the primary key, which says what row it is: it is given, not computed by an expression"
        report(Finding(114, text, value_span(field, "expression"), "a key"))
    if (kind.marked_primary or (field.attribute == "id" and field in field.owner_class.primary_keys)) and _is_no_key(field):
        what = "may be None" if kind.nullable else f"is of type {type_name(kind.dtype)}"
        text = f"'{field.fqn}' is the primary key and {what}: a key is an int, str, date, datetime, Decimal, bytes or an Enum, never None"
        report(Finding(114, text, annotation_span(field), "no key"))


def _check_relation(field: Field, target: FeatureClass, report: Report) -> None:
    name, many = target.cls.__name__, field.type.many
    if field.relation is not None and field.relation.many is not many:
        written = f"DataFrame[{name}]" if field.relation.many else name
        leads = f"leads to {'several rows' if many else 'one row'} by its type, but not by its join"
        text = f"'{field.fqn}' {leads}: write '{field.attribute}: \"{written}\"'"
        report(Finding(114, text, annotation_span(field), "not what the join says"))
    if field.options.expression is not None:
        text = f"'{field.fqn}' is a relation: its rows are found by a join, not by an expression"
        report(Finding(114, text, value_span(field, "expression"), "a relation"))
    for option in STORING:
        if getattr(field.options, option) is not None:
            text = f"'{field.fqn}' is a relation and takes no {option}: its rows are stored if it has a max_staleness"
            report(Finding(146, text, value_span(field, option), "a relation"))
    if field.relation is not None and field.relation.max_staleness is not None:
        problem = check_staleness("max_staleness", field.relation.max_staleness)
        if problem:
            report(Finding(146, problem, value_span(field, "max_staleness"), "bad value"))


def _check_windows(field: Field, report: Report) -> None:
    options, kind = field.options, field.type
    if not isinstance(options, WindowedOptions):
        if kind.windowed:
            example = f'{field.attribute}: Windowed[{type_name(kind.dtype)}] = windowed("1d", "7d")'
            report(Finding(180, f"'{field.fqn}' names no windows: write '{example}'", annotation_span(field), "no windows"))
        return
    if not kind.windowed:
        text = f"'{field.fqn}' has windows, but not by its type: write '{field.attribute}: Windowed[{type_name(kind.dtype)}]'"
        report(Finding(114, text, annotation_span(field), "not windowed"))
    if not options.windows:
        report(Finding(180, f"'{field.fqn}' names no windows: write {WINDOW_GRAMMAR}", value_span(field), "no windows"))
    seen: dict[int, Any] = {}
    for index, written in enumerate(options.windows):
        seconds, span = window_seconds(written), argument_span(field, index)
        if seconds is None:
            report(Finding(180, f"{describe(written)} is no window of '{field.fqn}': write {WINDOW_GRAMMAR}", span, "no window"))
        elif seconds in seen:
            text = f"'{field.fqn}' has the window {format_window(seconds)} twice, as {describe(seen[seconds])} and {describe(written)}: take one out"
            report(Finding(180, text, span, "the same window"))
        else:
            seen[seconds] = written


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
        both = f"'{times[0].attribute}' and '{times[1].attribute}'"
        text = f"{name} has two feature times, {both}: a row is observed at one; write datetime for the other"
        report(Finding(117, text, field_span(times[1]), "second feature time", related=((field_span(times[0]), "the first feature time"),)))

