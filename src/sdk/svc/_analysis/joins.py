"""Joins of relations: explicit with `has_one` or `has_many`, or inferred from foreign keys. Rules
120 to 123, 126 and 127.
"""

from __future__ import annotations

import builtins
from dataclasses import dataclass
from types import FunctionType
from typing import Any, Callable, Optional

from .._diagnostics import rules
from .._diagnostics.findings import BrokenReference, DefinitionError, Finding, Span
from .._frames.conditions import Comparison, Condition, Conjunction, Nearness
from .._model.feature_class import FeatureClass
from .._model.field import Field
from .._model.reference import FeatureReference, field_of, type_of
from .._types.annotations import attribute_error
from .._types.data_type import comparable, type_name
from .nearest import Nearest, Pairs, resolve_nearest
from .spans import annotation_span, field_span, value_span


@dataclass(frozen=True)
class Join:
    """How the rows of a relation are found: by equal features, or as the nearest ones."""

    pairs: Pairs
    nearest: Optional[Nearest] = None


@dataclass(frozen=True)
class _Candidates:
    """Candidate joins of one inference rule, each of one pair."""

    pairs: list[tuple[Field, Field]]

    def choose(self, names: tuple[Callable[[tuple[Field, Field]], str], ...], side: int) -> Optional[tuple[Field, Field]]:
        """The only pair, else the only one whose key on that side has a conventional name; None
        when there is neither.
        """
        if len(self.pairs) == 1:
            return self.pairs[0]
        for name in names:
            matching = [pair for pair in self.pairs if pair[side].attribute == name(pair)]
            if len(matching) == 1:
                return matching[0]
        return None


def resolve_joins(classes: list[FeatureClass], report: Callable[[Finding], None]) -> dict[Field, Join]:
    """The joins by relation; findings for relations that have none."""
    joins: dict[Field, Join] = {}
    open_relations: list[tuple[Field, FeatureClass, list[tuple[Field, Field]]]] = []
    for item in classes:
        for field in item.fields.values():
            target = _target(field)
            if target is None:
                continue
            if field.relation is not None:
                join = _explicit(field, target, report)
                if join is not None:
                    joins[field] = join
                continue
            found, several = _infer(field, target)
            if found:
                joins[field] = Join([found])
            else:
                open_relations.append((field, target, several))
    for field, join in _mirrored(open_relations, joins).items():
        joins[field] = join
    for field, target, several in open_relations:
        if field not in joins:
            report(_ambiguous(field, target, several) if several else _impossible(field, target))
    for field, join in joins.items():
        _check_nullable(field, join, report)
    return joins


def _target(field: Field) -> Optional[FeatureClass]:
    try:
        return field.type.target
    except DefinitionError:
        return None


def _foreign_keys(owner: FeatureClass, other: FeatureClass) -> list[tuple[Field, Field]]:
    """The features of a class that refer by type to one of another class, with what they refer to.
    """
    found = []
    for field in owner.fields.values():
        try:
            if field.type.references is not None:
                referred = field_of(field.type.references)
                if referred.owner_class is other:
                    found.append((field, referred))
        except DefinitionError:
            continue
    return found


def _infer(field: Field, target: FeatureClass) -> tuple[Optional[tuple[Field, Field]], list[tuple[Field, Field]]]:
    """The join by the rules 2 to 4 (3 and 4 when it leads to several rows), and all that were
    possible when there is no single one.
    """
    owner = field.owner_class
    many = field.type.many
    here = _Candidates([] if many else _foreign_keys(owner, target))
    there = _Candidates([] if owner is target and not many else [(referred, key) for key, referred in _foreign_keys(target, owner)])
    chosen = here.choose((lambda pair: f"{field.attribute}_id", lambda pair: f"{field.attribute}_{pair[1].attribute}"), 0)
    chosen = chosen or there.choose((lambda pair: f"{owner.namespace}_id",), 1)
    if chosen is None:
        keyed = [(key, referred) for key, referred in _foreign_keys(owner, target) if key in owner.primary_keys]
        keyed += [pair for pair in there.pairs if pair[1] in target.primary_keys]
        chosen = keyed[0] if len(keyed) == 1 else None
    return chosen, here.pairs + there.pairs


def _mirrored(open_relations: list[tuple[Field, FeatureClass, list[tuple[Field, Field]]]], joins: dict[Field, Join]) -> dict[Field, Join]:
    """Rule 5: the join of the one relation that leads back."""
    found: dict[Field, Join] = {}
    for field, target, _ in open_relations:
        owner = field.owner_class
        back = [other for other in target.fields.values() if other in joins and other is not field and _target(other) is owner]
        if len(back) == 1 and joins[back[0]].nearest is None:
            found[field] = Join([(foreign, local) for local, foreign in joins[back[0]].pairs])
    return found


def _key_of(item: FeatureClass) -> str:
    keys = item.primary_keys
    return keys[0].attribute if len(keys) == 1 else "id"


def _join_code(field: Field, target: FeatureClass, local: str, foreign: str) -> str:
    owner, other = field.owner_class.cls.__name__, target.cls.__name__
    if field.type.many:
        return f'{field.attribute}: "DataFrame[{other}]" = has_many(lambda: {other}.{foreign} == {owner}.{local})'
    optional = " | None" if field.type.nullable else ""
    return f'{field.attribute}: "{other}{optional}" = has_one(lambda: {owner}.{local} == {other}.{foreign})'


def _impossible(field: Field, target: FeatureClass) -> Finding:
    owner, other = field.owner_class, target
    many = field.type.many
    key = _key_of(owner) if many else _key_of(other)
    seen: list[tuple[Field, str]] = []
    for item in dict.fromkeys((owner, other)):
        for own in item.fields.values():
            try:
                if own.type.references is not None:
                    seen.append((own, f"{item.cls.__name__}.{own.attribute} refers to {own.type.references!r}"))
            except DefinitionError:
                continue
    listed = f"the foreign keys are: {', '.join(text for _, text in seen)}" if seen else "neither class has a foreign key"
    if many:
        back = f"{owner.namespace}_{key}"
        added, hint = f"{back}: \"{owner.cls.__name__}.{key}\"' to {other.cls.__name__}", _join_code(field, target, key, back)
    else:
        added, hint = f"{field.attribute}_{key}: \"{other.cls.__name__}.{key}\"'", _join_code(field, target, f"{field.attribute}_{key}", key)
    related = tuple((field_span(own), words) for own, words in seen)
    return rules.NoJoin.none(
        owner=owner.cls.__name__, other=other.cls.__name__, feature=field.fqn, listed=listed, added=added
    ).at(annotation_span(field), related=related, hint=hint)


def _ambiguous(field: Field, target: FeatureClass, several: list[tuple[Field, Field]]) -> Finding:
    owner, other = field.owner_class.cls.__name__, target.cls.__name__
    joins = [f"{owner}.{local.attribute} == {other}.{foreign.attribute}" for local, foreign in several]
    local, foreign = several[0]
    keys = [local if local.type.references is not None else foreign for local, foreign in several]
    related = tuple((field_span(key), f"possible: {join}") for key, join in zip(keys, joins))
    hint = _join_code(field, target, local.attribute, foreign.attribute)
    return rules.AmbiguousJoin.several(owner=owner, other=other, feature=field.fqn, joins="; ".join(joins)).at(
        annotation_span(field), related=related, hint=hint
    )


def _evaluate(field: Field, join: Any) -> Any:
    """The condition that the join's function returns; names imported under `TYPE_CHECKING` are
    found too. Raises DefinitionError.
    """
    function = join
    if isinstance(join, FunctionType):
        missing: dict[str, Any] = {}
        for name in join.__code__.co_names:
            if name not in join.__globals__ and not hasattr(builtins, name):
                try:
                    missing[name] = field.owner_class.scope.lookup(name)
                except KeyError:
                    continue
        if missing:
            names = {**join.__globals__, **missing}
            function = FunctionType(join.__code__, names, join.__name__, join.__defaults__, join.__closure__)
    tested = Condition.truth_tests
    try:
        condition = function()
    except NameError as error:
        name = error.name or ""
        raise DefinitionError(rules.UndefinedName.in_join(name=name, feature=field.fqn), token=name) from None
    except AttributeError as error:
        raise attribute_error(error) from None
    except Exception as error:
        raise DefinitionError(rules.BadJoin.raises(feature=field.fqn, kind=type(error).__name__, error=error)) from None
    if Condition.truth_tests != tested:
        raise DefinitionError(rules.BadJoin.decided_at_once(feature=field.fqn))
    return condition


def _parts(condition: Condition) -> list[Condition]:
    """The conditions that are joined by `&`."""
    return _parts(condition.left) + _parts(condition.right) if isinstance(condition, Conjunction) else [condition]


def _comparison(condition: Condition) -> Comparison:
    if isinstance(condition, Comparison):
        return condition
    raise DefinitionError(rules.BadJoin.not_a_join(condition=repr(condition)))


#: Rules of conditions and types that are broken within a join, and the join's own rule.
_OF_JOINS = {rules.UnsupportedType.code: rules.BadJoin.code, rules.BadInput.code: rules.BadNearness.code}


def _explicit(field: Field, target: FeatureClass, report: Callable[[Finding], None]) -> Optional[Join]:
    owner = field.owner_class
    names = f"{owner.cls.__name__} with one of {target.cls.__name__}"
    try:
        condition = _evaluate(field, field.relation.join if field.relation else None)
        if not isinstance(condition, Condition):
            raise DefinitionError(rules.BadJoin.no_comparison(feature=field.fqn, names=names))
        parts = _parts(condition)
        if any(isinstance(part, Nearness) for part in parts):
            nearest = resolve_nearest(field, target, parts, lambda comparison: _pair(field, target, comparison, report))
            return Join([], nearest)
        return Join([_pair(field, target, _comparison(part), report) for part in parts])
    except BrokenReference:
        return None
    except DefinitionError as error:
        said = error.said._replace(code=_OF_JOINS.get(error.code, error.code))
        report(said.at(value_span(field, token=error.token), hint=error.hint))
        return None


def _pair(field: Field, target: FeatureClass, comparison: Comparison, report: Callable[[Finding], None]) -> tuple[Field, Field]:
    owner = field.owner_class
    names = f"a join compares a feature of {owner.cls.__name__} with one of {target.cls.__name__}"
    sides: list[Field] = []
    for side in (comparison.left, comparison.right):
        if not isinstance(side, FeatureReference):
            raise DefinitionError(rules.BadJoin.no_feature(feature=field.fqn, comparison=repr(comparison), names=names))
        key, token = field_of(side), repr(side)
        if len(side._svc_names) > 1:
            raise DefinitionError(rules.BadJoin.through_relation(feature=field.fqn, side=repr(side), names=names), token=token)
        if key.owner_class is not owner and key.owner_class is not target:
            raise DefinitionError(
                rules.BadJoin.another_class(
                    feature=field.fqn, side=repr(side), owner=owner.cls.__name__, target=target.cls.__name__, names=names
                ),
                token=token,
            )
        if type_of(key).target is not None:
            raise DefinitionError(rules.BadJoin.relation(side=repr(side)), token=token)
        sides.append(key)
    left, right = sides
    if comparison.operator != "==" or (left.owner_class is right.owner_class and owner is not target):
        raise DefinitionError(rules.BadJoin.same_class(feature=field.fqn, comparison=repr(comparison), names=names))
    if owner is target:
        local, foreign = _own_pair(field, left, right)
    else:
        local, foreign = (left, right) if left.owner_class is owner else (right, left)
    if not comparable(local.type.dtype, foreign.type.dtype):
        related = (
            (annotation_span(local), f"'{local.fqn}' is {type_name(local.type.dtype)}"),
            (annotation_span(foreign), f"'{foreign.fqn}' is {type_name(foreign.type.dtype)}"),
        )
        token = f"{local.owner_class.cls.__name__}.{local.attribute}"
        report(
            rules.JoinTypesDiffer.differ(
                feature=field.fqn,
                local_type=type_name(local.type.dtype),
                local=local.fqn,
                foreign_type=type_name(foreign.type.dtype),
                foreign=foreign.fqn,
            ).at(value_span(field, token=token), related=related)
        )
    return local, foreign


def _own_pair(field: Field, left: Field, right: Field) -> tuple[Field, Field]:
    """The sides of a comparison of a class with itself: has-one goes from the foreign key to the
    key, has-many from the key to the foreign keys.

    Raises DefinitionError when neither side is known to be the key of the other.
    """
    if left is right:
        return left, right
    for key, foreign in ((left, right), (right, left)):
        if _refers(foreign, key) and not _refers(key, foreign):
            return (key, foreign) if field.type.many else (foreign, key)
    keys = field.owner_class.primary_keys
    if (left in keys) == (right in keys):
        cls = field.owner_class.cls.__name__
        hint = f'{right.attribute}: "{cls}.{left.attribute}", if {right.attribute} is the foreign key'
        raise DefinitionError(
            rules.AmbiguousJoin.either_way(feature=field.fqn, cls=cls, left=left.fqn, right=right.fqn),
            token=f"{cls}.{left.attribute}",
            hint=hint,
        )
    key, foreign = (left, right) if left in keys else (right, left)
    return (key, foreign) if field.type.many else (foreign, key)


def _refers(field: Field, key: Field) -> bool:
    """Whether a feature is a foreign key by its type to another."""
    return field.type.references is not None and field_of(field.type.references) is key


def _check_nullable(field: Field, join: Join, report: Callable[[Finding], None]) -> None:
    if field.type.many:
        return
    for local, _ in join.pairs:
        if local.type.nullable and not field.type.nullable:
            target = field.type.target
            name = target.cls.__name__ if target else ""
            related: tuple[tuple[Span, str], ...] = ((annotation_span(local), "may be None"),)
            report(
                rules.NullableKey.required(feature=field.fqn, key=local.fqn, attribute=field.attribute, target=name).at(
                    annotation_span(field), related=related
                )
            )
