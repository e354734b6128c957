"""References to features: what `User.account.bank.name` is in annotations, joins and queries."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING, Any, Optional

from ._findings import BrokenReference, DefinitionError
from ._names import did_you_mean

if TYPE_CHECKING:
    from ._feature_class import FeatureClass
    from ._field import Field, FieldType

_LITERALS = (str, int, float, bytes, date, timedelta, Decimal, Enum, list, tuple)


class FeatureReference:
    """A feature, possibly through has-one relations. There is one object per path; `str()` of it is the feature's FQN.

    Attributes are the features of the class that the relation leads to, so everything of the reference itself hides behind
    underscores. `==` between two references compares the paths; with anything else it makes a condition, which has no truth value.
    """

    __slots__ = ("_svc_root", "_svc_names", "_svc_parent", "_svc_children", "__weakref__")

    def __init__(self, root: FeatureClass, attribute: str, parent: Optional[FeatureReference] = None) -> None:
        self._svc_root = root
        self._svc_parent = parent
        self._svc_names: tuple[str, ...] = (*(parent._svc_names if parent is not None else ()), attribute)
        self._svc_children: dict[str, FeatureReference] = {}

    def __getattr__(self, attribute: str) -> FeatureReference:
        if attribute.startswith("_"):
            raise AttributeError(f"{self!r} has no attribute '{attribute}'", name=attribute, obj=self)
        child = self._svc_children.get(attribute)
        if child is None:
            problem = self._svc_problem_with(attribute)
            if problem:
                raise AttributeError(problem, name=attribute, obj=self)
            child = self._svc_children[attribute] = FeatureReference(self._svc_root, attribute, self)
        return child

    def _svc_problem_with(self, attribute: str) -> str:
        """Why there can be no such feature; empty also while the relation's class is not defined yet."""
        try:
            target = field_of(self).type.target
        except DefinitionError:
            return ""
        if target is None:
            return f"{self!r} is a value, not a relation: it has no feature '{attribute}'"
        return "" if attribute in target.fields else str(no_such_feature(target, attribute))

    def __eq__(self, other: object) -> Any:
        if isinstance(other, (FeatureReference, Condition)) or other is None or isinstance(other, _LITERALS):
            return Comparison(self, other)
        return NotImplemented

    def __ne__(self, other: object) -> Any:
        equal = self.__eq__(other)
        return NotImplemented if equal is NotImplemented else Comparison(self, other, "!=")

    def __hash__(self) -> int:
        return hash((FeatureReference, self._svc_root.namespace, self._svc_names))

    def __or__(self, other: object) -> Any:
        return Optional[self] if other is None or other is type(None) else NotImplemented

    __ror__ = __or__

    def __bool__(self) -> bool:
        raise TypeError(f"{self!r} stands for a feature, not for a value: it is neither true nor false")

    def __call__(self, *_: object, **__: object) -> Any:
        raise TypeError(f"{self!r} stands for a feature and cannot be called")

    def __deepcopy__(self, _: object) -> FeatureReference:
        return self

    def __copy__(self) -> FeatureReference:
        return self

    def __str__(self) -> str:
        return path_of(self)

    def __repr__(self) -> str:
        return ".".join((self._svc_root.cls.__name__, *self._svc_names))


class Condition:
    """A condition on features, for `has_one(lambda: ...)`."""

    #: How often a condition was asked for a truth value: what `and`, `or` and `not` do.
    truth_tests = 0

    def __and__(self, other: object) -> Any:
        return Conjunction(self, other) if isinstance(other, Condition) else NotImplemented

    def __bool__(self) -> bool:
        Condition.truth_tests += 1
        raise TypeError("a condition on features has no truth value; join conditions with & instead of 'and'")


class Comparison(Condition):
    """`left == right` or `left != right`. Between two references it has a truth value: whether they are the same feature."""

    def __init__(self, left: FeatureReference, right: Any, operator: str = "==") -> None:
        self.left = left
        self.right = right
        self.operator = operator

    def __bool__(self) -> bool:
        Condition.truth_tests += 1
        if isinstance(self.right, FeatureReference):
            left, right = self.left, self.right
            same = left is right or (left._svc_root.namespace == right._svc_root.namespace and left._svc_names == right._svc_names)
            return same is (self.operator == "==")
        raise TypeError(f"the condition {self!r} has no truth value: a feature is compared when a query runs, not here")

    def __repr__(self) -> str:
        return f"{self.left!r} {self.operator} {self.right!r}"


class Conjunction(Condition):
    """`(a == b) & (c == d)`."""

    def __init__(self, left: Condition, right: Condition) -> None:
        self.left = left
        self.right = right

    def __repr__(self) -> str:
        return f"({self.left!r}) & ({self.right!r})"


def fields_of(reference: FeatureReference) -> list[Field]:
    """The fields along a path. Raises DefinitionError when a step does not exist or is no relation."""
    owner: Optional[FeatureClass] = reference._svc_root
    fields: list[Field] = []
    for attribute in reference._svc_names:
        if fields:
            owner = type_of(fields[-1]).target
            if owner is None:
                text = f"'{fields[-1].fqn}' is a value, not a relation: it has no feature '{attribute}'"
                raise DefinitionError(142, text, "not a relation", token=attribute)
        assert owner is not None
        if attribute not in owner.fields:
            raise no_such_feature(owner, attribute)
        fields.append(owner.fields[attribute])
    return fields


def no_such_feature(owner: FeatureClass, attribute: str) -> DefinitionError:
    """Finding 142 for an attribute that a feature class does not have."""
    near = did_you_mean(attribute, owner.fields)
    return DefinitionError(142, f"{owner.cls.__name__} has no feature '{attribute}'{near}", "no such feature", token=attribute)


def type_of(field: Field) -> FieldType:
    """A field's type, for whoever refers to the field. Raises BrokenReference when the field's own definition is at fault."""
    try:
        return field.type
    except DefinitionError as error:
        raise BrokenReference(error.code, str(error), error.label) from None


def field_of(reference: FeatureReference) -> Field:
    """The field at the end of a path."""
    return fields_of(reference)[-1]


def path_of(reference: FeatureReference) -> str:
    """The path as FQN: names as queries say them. Steps that cannot be resolved yet keep their Python name."""
    names: list[str] = []
    owner: Optional[FeatureClass] = reference._svc_root
    for attribute in reference._svc_names:
        field = owner.fields.get(attribute) if owner is not None else None
        names.append(field.name if field is not None else attribute)
        try:
            owner = field.type.target if field is not None else None
        except DefinitionError:
            owner = None
    return ".".join((reference._svc_root.namespace, *names))
