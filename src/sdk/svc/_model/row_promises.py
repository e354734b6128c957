"""What a resolver promises of the rows that it returns, `unique_on=`, and asks of those that it is
given, `partitioned_by=`. Rules 197 and 198.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, NamedTuple, Optional, Sequence

from .._codec.wire import describe
from .._diagnostics import rules
from .._diagnostics.findings import BrokenReference, DefinitionError, Said
from .operand import shown
from .reference import FeatureReference, field_of, path_of, type_of

if TYPE_CHECKING:
    from .signature import SignatureReader

#: Refuses a feature that cannot stand in a list; None = it can.
Refusal = Callable[[FeatureReference], Optional[Said]]


class Findings(NamedTuple):
    """What is said of a list of features."""

    nothing: Callable[..., Said]
    no_feature: Callable[..., Said]
    relation: Callable[..., Said]
    twice: Callable[..., Said]


UNIQUE = Findings(rules.BadUniqueOn.nothing, rules.BadUniqueOn.no_feature, rules.BadUniqueOn.relation, rules.BadUniqueOn.twice)
PARTITIONED = Findings(
    rules.BadPartitionedBy.nothing, rules.BadPartitionedBy.no_feature, rules.BadPartitionedBy.relation, rules.BadPartitionedBy.twice
)


class RowPromises(NamedTuple):
    """Both lists, as FQNs; empty = nothing is promised or asked."""

    unique_on: tuple[str, ...] = ()
    partitioned_by: tuple[str, ...] = ()


def read_promises(reader: SignatureReader) -> RowPromises:
    """The promises of a resolver; what makes no sense is a problem of the reader."""
    options = reader.definition.options
    if options.unique_on is None and options.partitioned_by is None or not reader.outputs or reader.is_broken:
        return RowPromises()
    name = reader.definition.function_name
    written = _written(reader)

    def unique(feature: FeatureReference) -> Optional[Said]:
        if any(output is feature for output in reader.outputs):
            return None
        return rules.BadUniqueOn.not_returned(feature=repr(feature), resolver=name)

    def partition(feature: FeatureReference) -> Optional[Said]:
        if len(feature._svc_names) > 1:
            return rules.BadPartitionedBy.of_other_row(feature=repr(feature))
        if any(column is feature for column in _columns(reader)):
            return None
        return rules.BadPartitionedBy.not_given(feature=repr(feature), resolver=name)

    unique_on: tuple[str, ...] = ()
    partitioned_by: tuple[str, ...] = ()
    if options.unique_on is not None:
        if not reader.shape:
            reader.problem(rules.BadUniqueOn.of_values(resolver=name), "option", "unique_on")
        else:
            unique_on = _features(reader, "unique_on", options.unique_on, UNIQUE, written, unique)
    if options.partitioned_by is not None:
        if not _columns(reader):
            reader.problem(rules.BadPartitionedBy.of_values(resolver=name), "option", "partitioned_by")
        else:
            partitioned_by = _features(reader, "partitioned_by", options.partitioned_by, PARTITIONED, written, partition)
    return RowPromises(unique_on, partitioned_by)


def _columns(reader: SignatureReader) -> list[FeatureReference]:
    """The columns of the table that a resolver takes; none where it takes no table."""
    return [column.reference for spec, _ in reader.inputs if spec.table is not None for column in spec.table.columns]


def _written(reader: SignatureReader) -> str:
    """A feature to write, as an example."""
    first = (_columns(reader) or reader.outputs)[0]
    return repr(first)


def _features(reader: SignatureReader, option: str, given: Any, findings: Findings, example: str, refuse: Refusal) -> tuple[str, ...]:
    """The FQNs of a list of features; a feature that cannot stand there is a problem."""
    items: Sequence[Any] = list(given) if isinstance(given, (list, tuple)) else [given]
    if not items:
        reader.problem(findings.nothing(option=option, example=example), "option", option)
    found: list[str] = []
    for item in items:
        said, token = None, ""
        if not isinstance(item, FeatureReference):
            value = describe(item) if isinstance(item, (str, int, float, bool, dict, set)) else shown(item)
            said = findings.no_feature(option=option, value=value, example=example)
        else:
            token = repr(item)
            try:
                kind = type_of(field_of(item))
            except BrokenReference:
                reader.is_broken = True
                continue
            except DefinitionError as error:
                reader.problem(error.said, "option", option, token=token)
                continue
            if kind.target is not None:
                said = findings.relation(feature=token)
            elif path_of(item) in found:
                said = findings.twice(feature=token)
            else:
                said = refuse(item)
            if said is None:
                found.append(path_of(item))
        if said is not None:
            reader.problem(said, "option", option, token=token)
    return tuple(found)
