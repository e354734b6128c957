"""Relations to the rows that are nearest to a vector, by `is_near`. Rule 127."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Optional

from .._diagnostics import rules
from .._diagnostics.findings import DefinitionError
from .._frames.conditions import Comparison, Condition, Containment, Nearness, is_reference, references_in
from .._frames.spec import condition_json
from .._model.feature_class import FeatureClass
from .._model.field import Field
from .._model.reference import FeatureReference, field_of, type_of
from .._surface.names import parse_duration
from .._types.data_type import primitive, type_name

#: The pairs of a join: (feature of the class that has the relation, feature of the other class).
Pairs = list[tuple[Field, Field]]

#: Most rows of such a relation.
MOST_ROWS = 1_000
METRICS = ("cosine", "l2", "dot")


@dataclass(frozen=True)
class Nearest:
    """The nearest rows of the other class, and the conditions that they keep to."""

    local: Field
    foreign: Field
    limit: int
    metric: str
    distance: Optional[Field]
    equal: Pairs
    containing: Pairs
    filters: list[dict[str, Any]]

    def json(self) -> dict[str, Any]:
        """The proto3 JSON of `svc.v1.Nearest`."""
        document: dict[str, Any] = {
            "local": self.local.fqn,
            "foreign": self.foreign.fqn,
            "limit": self.limit,
            "metric": f"VECTOR_METRIC_{self.metric.upper()}",
        }
        if self.distance is not None:
            document["distance"] = self.distance.fqn
        for name, pairs in (("equal", self.equal), ("containing", self.containing)):
            if pairs:
                document[name] = [{"local": local.fqn, "foreign": foreign.fqn} for local, foreign in pairs]
        if self.filters:
            document["filters"] = self.filters
        return document


def resolve_nearest(field: Field, target: FeatureClass, parts: list[Condition], pair: Callable[[Comparison], tuple[Field, Field]]) -> Nearest:
    """The meaning of a join with `is_near`.

    parts: the conditions that are joined by `&`. pair: the features of the two classes that a
    comparison is of. Raises DefinitionError.
    """
    near, *others = [part for part in parts if isinstance(part, Nearness)]
    if others or not field.type.many:
        said = rules.BadNearness.twice(feature=field.fqn) if others else rules.BadNearness.one_row(feature=field.fqn)
        raise DefinitionError(said, token="is_near")
    local, foreign = _vectors(field, target, near)
    equal: Pairs = []
    containing: Pairs = []
    filters: list[dict[str, Any]] = []
    for part in parts:
        if part is near:
            continue
        if isinstance(part, (Comparison, Containment)) and is_reference(part.left) and is_reference(part.right):
            pairs = equal if isinstance(part, Comparison) else containing
            pairs.append(pair(part if isinstance(part, Comparison) else Comparison(part.left, part.right)))
            if isinstance(part, Containment):
                _check_containment(field, part, containing[-1])
        else:
            filters.append(condition_json(part, target))
        for reference in references_in(part):
            _check_condition(field, target, reference)
    return Nearest(local, foreign, _limit(field, near.k), _metric(field, near.metric), _distance(field, target, near), equal, containing, filters)


def _vectors(field: Field, target: FeatureClass, near: Nearness) -> tuple[Field, Field]:
    """The two vectors that are compared."""
    owner = field.owner_class
    sides = []
    for side, cls in ((near.left, owner), (near.right, target)):
        if not isinstance(side, FeatureReference) or len(side._svc_names) != 1 or side._svc_root is not cls:
            said = rules.BadNearness.sides(feature=field.fqn, owner=owner.cls.__name__, target=target.cls.__name__, given=repr(near))
            raise DefinitionError(said, token="is_near")
        vector = field_of(side)
        dtype = type_of(vector).dtype
        if type_of(vector).target is not None or "vector" not in dtype.get("list", {}):
            given = "a relation" if type_of(vector).target is not None else type_name(dtype)
            raise DefinitionError(rules.BadNearness.no_vector(side=repr(side), type=given), token=repr(side))
        if "size" not in dtype["list"]["vector"]:
            raise DefinitionError(rules.BadNearness.no_size(side=repr(side)), token=repr(side))
        sides.append(vector)
    local, foreign = sides
    if local.type.dtype != foreign.type.dtype:
        said = rules.BadNearness.differ(
            local=local.fqn, local_type=type_name(local.type.dtype), foreign=foreign.fqn, foreign_type=type_name(foreign.type.dtype)
        )
        raise DefinitionError(said, token=repr(near.right))
    _check_stored(field, foreign, repr(near.right))
    return local, foreign


def _check_stored(field: Field, feature: Field, token: str) -> None:
    """Raises DefinitionError for a feature whose values are never in the online store."""
    staleness = parse_duration(feature.max_staleness)
    if feature in feature.owner_class.primary_keys or (staleness and feature.storing("store_online") is not False):
        return
    raise DefinitionError(rules.BadNearness.not_stored(feature=field.fqn, stored=feature.fqn), token=token)


def _check_condition(field: Field, target: FeatureClass, reference: FeatureReference) -> None:
    if len(reference._svc_names) != 1:
        raise DefinitionError(rules.BadNearness.through_relation(feature=field.fqn, side=repr(reference)), token=repr(reference))
    if reference._svc_root is target:
        _check_stored(field, field_of(reference), repr(reference))


def _check_containment(field: Field, part: Containment, pair: tuple[Field, Field]) -> None:
    local, foreign = pair
    if field_of(part.left) is not foreign or any(side.type.dtype != primitive("STRING") for side in (local, foreign)):
        said = rules.BadNearness.no_text(feature=field.fqn, condition=repr(part), target=foreign.owner_class.cls.__name__)
        raise DefinitionError(said, token="contains")


def _limit(field: Field, given: Any) -> int:
    if type(given) is int and 1 <= given <= MOST_ROWS:
        return given
    raise DefinitionError(rules.BadNearness.limit(feature=field.fqn, given=repr(given), most=MOST_ROWS))


def _metric(field: Field, given: Any) -> str:
    if isinstance(given, str) and given in METRICS:
        return given
    known = ", ".join(f'"{metric}"' for metric in METRICS)
    raise DefinitionError(rules.BadNearness.metric(feature=field.fqn, given=repr(given), known=known))


def _distance(field: Field, target: FeatureClass, near: Nearness) -> Optional[Field]:
    """The feature that is given the distance."""
    given = near.distance
    if given is None:
        return None
    name = target.cls.__name__
    is_own = isinstance(given, FeatureReference) and len(given._svc_names) == 1 and given._svc_root is target
    feature = field_of(given) if is_own else None
    if feature is None or type_of(feature).target is not None or not feature.type.nullable or feature.type.dtype != primitive("FLOAT64"):
        raise DefinitionError(rules.BadNearness.distance(feature=field.fqn, given=repr(given), target=name))
    return feature
