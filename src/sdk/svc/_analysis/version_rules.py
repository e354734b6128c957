"""Rule 118: versions of features."""

from __future__ import annotations

from typing import Any, Callable, Mapping, Optional

from .._codec.wire import describe
from .._diagnostics import rules
from .._diagnostics.findings import Finding
from .._model.expression import Expression
from .._model.field import Field, FeatureOptions, WindowedOptions
from .._model.model_call import ModelOptions
from .._model.versions import MOST_VERSIONS, is_version
from .spans import value_span

Report = Callable[[Finding], None]

#: Options that a version cannot have of its own.
_SHARED = ("primary", "name", "version", "default_version", "versions", "encoder", "decoder")


def check_versions(field: Field, report: Report) -> None:
    """Reports findings about the versions that a feature's options state."""
    options, fqn = field.options, field.fqn
    given = next((option for option in ("version", "versions", "default_version") if getattr(options, option) is not None), None)
    if given is None:
        return
    what = _unfit(field)
    if what:
        report(rules.BadVersion.unfit(feature=fqn, what=what).at(value_span(field, given)))
        return
    if options.version is not None and not is_version(options.version):
        report(rules.BadVersion.no_number(feature=fqn, value=describe(options.version), most=MOST_VERSIONS).at(value_span(field, "version")))
        return
    if not field.version_count:
        report(rules.BadVersion.alone(option=given, feature=fqn).at(value_span(field, given)))
        return
    _check_numbers(field, report)


def _check_numbers(field: Field, report: Report) -> None:
    options, fqn, count = field.options, field.fqn, field.version_count

    def among(option: str, value: Any) -> bool:
        if is_version(value) and value <= count:
            return True
        report(rules.BadVersion.not_among(option=option, feature=fqn, value=describe(value), count=count).at(value_span(field, option)))
        return False

    if options.default_version is not None:
        among("default_version", options.default_version)
    versions: Mapping[Any, Any] = options.versions if isinstance(options.versions, Mapping) else {}
    if options.versions is not None and not versions:
        report(
            rules.BadValue.option(
                problem=f"versions is {describe(options.versions)}: write a dict such as {{2: feature(...)}}"
            ).at(value_span(field, "versions"))
        )
    for number, own in versions.items():
        span = value_span(field, "versions")
        if not among("versions", number):
            continue
        if isinstance(own, Expression):
            continue
        if not isinstance(own, FeatureOptions) or isinstance(own, (WindowedOptions, ModelOptions)):
            report(rules.BadVersion.no_options(feature=fqn, number=number, value=describe(own)).at(span))
            continue
        shared = next((option for option in _SHARED if getattr(own, option) not in (None, False)), None)
        if shared:
            report(rules.BadVersion.of_options(feature=fqn, number=number, option=shared).at(span))


def _unfit(field: Field) -> Optional[str]:
    kind = field.type
    if kind.target is not None:
        return "a relation"
    if kind.windowed:
        return "windowed"
    if kind.marked_primary or field in field.owner_class.primary_keys:
        return "the primary key"
    return "the feature time" if field in field.owner_class.feature_times else None
