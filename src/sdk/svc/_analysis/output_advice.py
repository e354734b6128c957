"""Advice on a resolver's return type: examples for finding 143 that are free of findings
themselves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Iterable, Optional

from .._diagnostics.findings import DefinitionError
from .._frames.selection import FeatureSelection
from .._model.field import Field
from .._model.reference import FeatureReference, field_of, fields_of, type_of
from .._model.registry import registry
from .joins import resolve_joins

if TYPE_CHECKING:
    from .._model.feature_class import FeatureClass
    from .._model.resolver import ResolverDefinition

#: The number of features in an example.
_SHOWN = 2


def example(definition: ResolverDefinition, inputs: Iterable[FeatureReference]) -> str:
    """An example of what to write behind `->`, with a verb: features of the parameters' root class,
    but none that is a parameter, a key, or computed elsewhere.
    """
    given = list(inputs)
    owner = given[0]._svc_root if given else _newest()
    if owner is None:
        return "write '-> User.name' or '-> Features[User.name, User.email]'"
    names = free_features(definition, owner, given)[:_SHOWN]
    if not names:
        return f"add a feature to {owner.cls.__name__} for what '{definition.function_name}' produces, and write its name behind '->'"
    shown = [f"{owner.cls.__name__}.{name}" for name in names]
    return f"write '-> {shown[0]}'" + (f" or '-> Features[{', '.join(shown)}]'" if len(shown) > 1 else "")


def free_features(definition: ResolverDefinition, owner: FeatureClass, given: Iterable[FeatureReference]) -> list[str]:
    """The attributes of a class that a resolver with these parameters can produce, in the order of
    definition.
    """
    inputs = list(given)
    taken = {reference._svc_names[0] for reference in inputs if len(reference._svc_names) == 1}
    taken |= {key.attribute for reference in inputs if len(reference._svc_names) > 1 for key in _keys_of(fields_of(reference)[0])}
    claimed = _claimed(definition)
    return [field.attribute for field in owner.fields.values() if field.attribute not in taken and field not in claimed and _is_free(field)]


def _keys_of(relation: Field) -> list[Field]:
    """The features of a relation's own class that may lead to its rows: what its join compares, and
    everything that refers to the other class.
    """
    target = type_of(relation).target
    found = [local for local, _ in _join_of(relation)]
    for field in relation.owner_class.fields.values():
        try:
            referred = field.type.references
        except DefinitionError:
            continue
        if referred is not None and field_of(referred).owner_class is target:
            found.append(field)
    return found


def of_relation(definition: ResolverDefinition, output: FeatureReference, inputs: Iterable[FeatureReference]) -> str:
    """Advice for a resolver that returns a has-one relation, whose row the join finds."""
    given = list(inputs)
    field = field_of(output)
    pairs = _join_of(field)
    owner = field.owner_class
    keys = [local for local, _ in pairs if local not in owner.primary_keys]
    if keys and len(keys) == len(pairs):
        own = [f"{owner.cls.__name__}.{local.attribute}" for local in keys]
        if not any(reference._svc_root is owner and reference._svc_names == (local.attribute,) for reference in given for local in keys):
            shown = own[0] if len(own) == 1 else f"Features[{', '.join(own)}]"
            return f"write '-> {shown}', which the join compares"
    target = type_of(field).target
    foreign = [key for _, key in pairs if target is not None and key not in target.primary_keys]
    if foreign and not keys and target is not None:
        name = target.cls.__name__
        return f"the join compares {name}.{foreign[0].attribute}, which a resolver produces that starts from {name}; here {example(definition, given)}"
    return example(definition, given)


def _is_free(field: Field) -> bool:
    try:
        if field.type.target is not None or field.expression is not None:
            return False
    except DefinitionError:
        return False
    return field not in field.owner_class.primary_keys and field not in field.owner_class.feature_times


def _claimed(definition: ResolverDefinition) -> set[Field]:
    """The features that other resolvers declare as outputs, in annotations that are not quoted."""
    found: set[Field] = set()
    for other in registry.definitions:
        items = other.returns.items if isinstance(other.returns, FeatureSelection) else (other.returns,)
        for item in items if other is not definition else ():
            if isinstance(item, FeatureReference) and len(item._svc_names) == 1:
                own = item._svc_root.fields.get(item._svc_names[0])
                if own is not None:
                    found.add(own)
    return found


def _newest() -> Optional[FeatureClass]:
    return registry.classes[-1] if registry.classes else None


def _join_of(field: Field) -> list[tuple[Field, Field]]:
    """The join of a relation; empty when there is none."""
    join = resolve_joins(list(registry.classes), lambda _: None).get(field)
    return join.pairs if join is not None else []
