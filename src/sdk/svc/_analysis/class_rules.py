"""Rules about feature classes and their features: 110, 111, 113 to 117, 124, 142, 146, 180."""

from __future__ import annotations

from typing import Any, Callable, Optional

from .._codec.wire import describe, stored_json
from .._diagnostics import rules
from .._diagnostics.findings import BrokenReference, DefinitionError, Finding
from .._model.feature_class import FeatureClass
from .._model.coding import is_coded
from .._model.field import MISSING, NO_OPTIONS, Field, WindowedOptions
from .._model.windows import format_window, window_seconds
from .._surface.names import parse_duration
from .._surface.options import CLASS_CHECKS, FEATURE_CHECKS, STORING, check_options, check_staleness
from .._types.data_type import type_name
from .grouping_rules import check_grouping
from .materialization import materializations
from .version_rules import check_versions
from .validation_rules import check_validations
from .spans import annotation_span, argument_span, class_option_span, class_span, field_span, unannotated_span, value_span

Report = Callable[[Finding], None]

_IMMUTABLE = {list: "()", set: "frozenset()"}


def distinct_classes(classes: list[FeatureClass], report: Report) -> list[FeatureClass]:
    """The classes that are used, one per namespace. Of a class that a file defines twice it is the
    last.
    """
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
            report(rules.NamespaceInTwoFiles.second(namespace=item.namespace).at(span, related=related))
        else:
            names = f"{first.cls.__name__} and {item.cls.__name__}"
            report(rules.NameTaken.namespace(names=names, namespace=item.namespace).at(span, related=related))
    return list(kept.values())


def check_class(item: FeatureClass, report: Report) -> None:
    """Reports every finding about a class except those about its joins."""
    for option, text in check_options(CLASS_CHECKS, item.options).items():
        report(rules.BadValue.option(problem=text).at(class_option_span(item, option)))
    if item.options.etl_offline_to_online is True and all(map(_why_never_online, item.fields.values())):
        problem = "etl_offline_to_online does nothing: no feature of the class is stored both offline and, by a max_staleness, online"
        report(rules.BadValue.option(problem=problem).at(class_option_span(item, "etl_offline_to_online")))
    for attribute in item.unannotated:
        report(rules.UnsupportedType.unannotated(attribute=attribute).at(unannotated_span(item, attribute)))
    names: dict[str, Field] = {}
    sound = True
    for field in item.fields.values():
        given = {} if field.options is NO_OPTIONS else check_options(FEATURE_CHECKS, field.options)
        for option, text in given.items():
            report(rules.BadValue.option(problem=text).at(value_span(field, option)))
        first = next((names[own.name] for own in (field, *field.values()) if own.name in names), field)
        names.update((own.name, field) for own in (field, *field.values()))
        if first is not field:
            span = value_span(field, "name") if field.options.name else field_span(field)
            related = ((field_span(first), "the first of that name"),)
            report(rules.NameTaken.feature(first=first.attribute, second=field.attribute, fqn=field.fqn).at(span, related=related))
        try:
            check_field(field, report)
            for version in field.values() if field.version_count else ():
                _check_version(version, report)
        except BrokenReference:
            sound = False
        except DefinitionError as error:
            sound = False
            is_coding = error.said.code == rules.BadCoding.code
            report(error.said.at(value_span(field, error.token) if is_coding else annotation_span(field, error.token)))
    _check_keys(item, sound, report)


def check_field(field: Field, report: Report) -> None:
    """Reports findings about a feature's type and default. Raises DefinitionError when the
    annotation makes no sense.
    """
    kind = field.type
    _check_coding(field, report)
    check_validations(field, report)
    check_versions(field, report)
    if kind.target is not None:
        _check_relation(field, kind.target, report)
        if field.options.default is not MISSING:
            cure = "it may have no rows" if kind.many else "write '| None' if there may be no row"
            report(rules.BadDefault.of_relation(feature=field.fqn, cure=cure).at(value_span(field, "default")))
        return
    if field.relation is not None:
        name = "has_many" if field.relation.many else "has_one"
        report(
            rules.UnsupportedType.relates_no_class(feature=field.fqn, type=type_name(kind.dtype), relation=name).at(annotation_span(field))
        )
        return
    _check_windows(field, report)
    check_grouping(field, report)
    _check_default(field, report)
    _check_caching(field, report)
    for option in ("expression", "offline_expression"):
        if getattr(field.options, option) is not None and field in field.owner_class.primary_keys:
            report(rules.UnsupportedType.computed_key(feature=field.fqn).at(value_span(field, option)))
    if (kind.marked_primary or (field.attribute == "id" and field in field.owner_class.primary_keys)) and _is_no_key(field):
        what = "may be None" if kind.nullable else f"is of type {type_name(kind.dtype)}"
        report(rules.UnsupportedType.unfit_key(feature=field.fqn, what=what).at(annotation_span(field)))


def _check_coding(field: Field, report: Report) -> None:
    """Reports an encoder and a decoder of a feature whose values are none of Python's own."""
    if not is_coded(field.options):
        return
    option = "encoder" if field.options.encoder is not None else "decoder"
    computed = next((own for own in field.values() if own.options.expression is not None or own.options.offline_expression is not None), None)
    if field.type.target is not None:
        report(rules.BadCoding.unfit(feature=field.fqn, what="a relation").at(value_span(field, option)))
    elif field in field.owner_class.primary_keys:
        report(rules.BadCoding.unfit(feature=field.fqn, what="the primary key").at(value_span(field, option)))
    elif field in field.owner_class.feature_times:
        report(rules.BadCoding.unfit(feature=field.fqn, what="the feature time").at(value_span(field, option)))
    elif computed is not None:
        report(rules.BadCoding.computed(feature=field.fqn).at(value_span(field, option)))


def _check_caching(field: Field, report: Report) -> None:
    """Reports caching options that the feature gives nothing to act on."""
    if field.options.cache_defaults is not None and all(own.options.default is MISSING for own in field.values()):
        problem = f"'{field.fqn}' has no default, of which cache_defaults says whether it is stored: give it one, or take this out"
        report(rules.BadValue.option(problem=problem).at(value_span(field, "cache_defaults")))
    nowhere = _why_never_online(field) if field.options.etl_offline_to_online is True else None
    if nowhere:
        problem = f"etl_offline_to_online of '{field.fqn}' does nothing: the feature {nowhere}"
        report(rules.BadValue.option(problem=problem).at(value_span(field, "etl_offline_to_online")))
    if field.options.offline_ttl is not None and field in field.owner_class.primary_keys:
        problem = f"'{field.fqn}' is the primary key, which is never too old: give offline_ttl to other features"
        report(rules.BadValue.option(problem=problem).at(value_span(field, "offline_ttl")))


def _why_never_online(field: Field) -> Optional[str]:
    """Why no value of a feature could come from the offline store to the online one; None = one could.
    """
    if field in field.owner_class.primary_keys:
        return "is the primary key, which has no value of its own"
    if not parse_duration(field.max_staleness):
        return "is not stored online without a max_staleness"
    for option in ("store_online", "store_offline"):
        if field.storing(option) is False:
            return f"has {option}=False"
    return None


def _check_version(field: Field, report: Report) -> None:
    """Reports findings about the options that a version has of its own."""
    own = {name: value for name, value in vars(field.options).items() if value is not getattr(field.base.options, name)}  # type: ignore[attr-defined]
    for option, text in check_options({name: check for name, check in FEATURE_CHECKS.items() if name in own}, field.options).items():
        report(rules.BadValue.option(problem=text).at(value_span(field, option)))
    if not own.keys() <= {"version", "default_version", "versions"}:
        check_validations(field, report)
        _check_default(field, report)


def _check_relation(field: Field, target: FeatureClass, report: Report) -> None:
    name, many = target.cls.__name__, field.type.many
    if field.relation is not None and field.relation.many is not many:
        written = f"DataFrame[{name}]" if field.relation.many else name
        leads = f"leads to {'several rows' if many else 'one row'} by its type, but not by its join"
        report(
            rules.UnsupportedType.other_multiplicity(
                feature=field.fqn, leads=leads, attribute=field.attribute, written=written
            ).at(annotation_span(field))
        )
    for option in ("expression", "offline_expression"):
        if getattr(field.options, option) is not None:
            report(rules.UnsupportedType.computed_relation(feature=field.fqn).at(value_span(field, option)))
    for option in STORING:
        if getattr(field.options, option) is not None:
            report(rules.BadValue.of_relation(feature=field.fqn, option=option).at(value_span(field, option)))
    if field.relation is not None and field.relation.max_staleness is not None:
        problem = check_staleness("max_staleness", field.relation.max_staleness)
        if problem:
            report(rules.BadValue.option(problem=problem).at(value_span(field, "max_staleness")))


def _check_windows(field: Field, report: Report) -> None:
    options, kind = field.options, field.type
    if not isinstance(options, WindowedOptions):
        if kind.windowed:
            example = f'{field.attribute}: Windowed[{type_name(kind.dtype)}] = windowed("1d", "7d")'
            report(rules.BadWindow.no_value(feature=field.fqn, example=example).at(annotation_span(field)))
        return
    if not kind.windowed:
        report(
            rules.UnsupportedType.not_windowed(
                feature=field.fqn, attribute=field.attribute, type=type_name(kind.dtype)
            ).at(annotation_span(field))
        )
    if not options.windows:
        report(rules.BadWindow.no_windows(feature=field.fqn).at(value_span(field)))
    seen: dict[int, Any] = {}
    for index, written in enumerate(options.windows):
        seconds = window_seconds(written)
        if seconds is None:
            report(rules.BadWindow.no_window(written=describe(written), feature=field.fqn).at(argument_span(field, index)))
        elif seconds in seen:
            report(
                rules.BadWindow.same_window(
                    feature=field.fqn, window=format_window(seconds), first=describe(seen[seconds]), second=describe(written)
                ).at(argument_span(field, index))
            )
        else:
            seen[seconds] = written
    try:
        materializations(options.materialization, field.windows)
    except DefinitionError as error:
        report(error.said.at(value_span(field, "materialization")))


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
    if isinstance(value, (list, set, dict, bytearray)):
        instead = _IMMUTABLE.get(type(value))
        own = type(value).__name__
        advice = f"write {instead if not value else instead[:-1] + '...)'}" if instead else "make it '| None' with the default None"
        report(rules.BadDefault.mutable(feature=field.fqn, mutable=own, advice=advice).at(value_span(field, "default")))
        return
    if value is None:
        if not kind.nullable:
            written = type_name(kind.dtype)
            report(rules.BadDefault.none(feature=field.fqn, type=written, attribute=field.attribute).at(value_span(field, "default")))
        return
    try:
        stored_json(value, kind.python_type, kind.dtype)
    except DefinitionError as error:
        report(rules.BadDefault.unfit(feature=field.fqn, error=error, label=error.label).at(value_span(field, "default")))


def _check_keys(item: FeatureClass, sound: bool, report: Report) -> None:
    name = item.cls.__name__
    keys, times = item.primary_keys, item.feature_times
    if len(keys) > 1:
        report(
            rules.TwoPrimaryKeys.second(name=name, first=keys[0].attribute, second=keys[1].attribute).at(
                field_span(keys[1]), related=((field_span(keys[0]), "the first primary key"),)
            )
        )
    elif not keys and sound:
        fields = ", ".join(item.fields) or "none"
        report(rules.NoPrimaryKey.none(name=name, fields=fields).at(class_span(item)))
    if len(times) > 1:
        report(
            rules.TwoFeatureTimes.second(name=name, first=times[0].attribute, second=times[1].attribute).at(
                field_span(times[1]), related=((field_span(times[0]), "the first feature time"),)
            )
        )

