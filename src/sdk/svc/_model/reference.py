"""References to features, such as `User.account.bank.name` in annotations, joins and queries."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Optional

from .._diagnostics import rules
from .._diagnostics.findings import BrokenReference, DefinitionError
from .._frames.arithmetic import ArithmeticOperators
from .._frames.conditions import Comparison, Condition, Containment, Membership, Nearness, NullTest, Truth, as_condition, is_reference
from .._surface.names import did_you_mean
from .expression import LITERALS
from .versions import is_version
from .windows import format_window, split_windowed_name, window_seconds, windowed_name

if TYPE_CHECKING:
    from .feature_class import FeatureClass
    from .field import Field, FieldType

#: Methods of references to values.
_METHODS: dict[str, Any] = {"isin": Membership, "is_null": NullTest, "contains": Containment, "is_near": Nearness}


class FeatureReference(ArithmeticOperators):
    """A feature, possibly through relations. There is one object per path; `str()` of it is the
    feature's FQN.

    Attributes are the features of the class that the relation leads to, so the reference's own
    members begin with an underscore. `==` between two references compares the paths; with anything
    else, and with other operators, it makes a condition, which has no truth value. Brackets choose
    a window (`User.fails["10m"]`), or rows and columns of a has-many relation
    (`User.txns[Txn.amount > 100, Txn.amount]`).
    """

    __slots__ = ("_svc_root", "_svc_names", "_svc_parent", "_svc_children", "__weakref__")

    def __init__(self, root: FeatureClass, attribute: str, parent: Optional[FeatureReference] = None) -> None:
        self._svc_root = root
        self._svc_parent = parent
        self._svc_names: tuple[str, ...] = (*(parent._svc_names if parent is not None else ()), attribute)
        self._svc_children: dict[str, FeatureReference] = {}

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("_"):
            raise AttributeError(f"{self!r} has no attribute '{attribute}'", name=attribute, obj=self)
        child = self._svc_children.get(attribute)
        if child is None:
            problem = self._svc_problem_with(attribute)
            if problem and attribute in _METHODS:
                return partial(_METHODS[attribute], self)
            if problem:
                raise AttributeError(problem, name=attribute, obj=self)
            child = self._svc_children[attribute] = FeatureReference(self._svc_root, attribute, self)
        return child

    def _svc_problem_with(self, attribute: str) -> str:
        """The reason why there can be no such feature; empty also while the relation's class is not
        defined yet.
        """
        try:
            target = field_of(self).type.target
        except DefinitionError:
            return ""
        if target is None:
            return f"{self!r} is a value, not a relation: it has no feature '{attribute}'"
        return "" if target.field(attribute) else str(no_such_feature(target, attribute))

    def __getitem__(self, items: Any) -> Any:
        given = items if isinstance(items, tuple) else (items,)
        if len(given) == 1 and isinstance(given[0], (str, timedelta)):
            return self._svc_window(given[0])
        return RowSelection(self, given)

    def _svc_window(self, written: Any) -> FeatureReference:
        """One window of a windowed feature. Raises AttributeError when there is no such window."""
        seconds = window_seconds(written)
        try:
            field = field_of(self)
            windows = field.windows
            is_known = not field.type.windowed or (seconds is not None and seconds in windows)
        except DefinitionError:
            windows, is_known = (), seconds is not None
        if seconds is None or not is_known:
            listed = ", ".join(format_window(window) for window in windows) or "none"
            text = written if isinstance(written, str) else str(written)
            raise AttributeError(f"{self!r} has no window '{text}'; its windows are: {listed}", name=text, obj=self)
        attribute = windowed_name(self._svc_names[-1], seconds)
        if self._svc_parent is None:
            return self._svc_root.reference(attribute)
        siblings = self._svc_parent._svc_children
        return siblings.setdefault(attribute, FeatureReference(self._svc_root, attribute, self._svc_parent))

    def __matmul__(self, number: Any) -> FeatureReference:
        """One version of a feature: `Trial.code @ 2`. Raises AttributeError when there is none."""
        *_, name = self._svc_names
        base = name.partition("@")[0]
        try:
            owner = self._svc_root if self._svc_parent is None else field_of(self._svc_parent).type.target
            field = owner.fields.get(base) if owner is not None else None
        except DefinitionError:
            owner = field = None
        if field is not None and (not is_version(number) or number > field.version_count):
            known = f"its versions are 1 to {field.version_count}" if field.version_count else "it has one"
            raise AttributeError(f"{self!r} has no version {number!r}: {known}", name=base, obj=self)
        attribute = base if field is not None and number == field.default_version else f"{base}@{number}"
        if self._svc_parent is None:
            return self._svc_root.reference(attribute)
        siblings = self._svc_parent._svc_children
        return siblings.setdefault(attribute, FeatureReference(self._svc_root, attribute, self._svc_parent))

    def _svc_compare(self, other: object, operator: str) -> Any:
        known = is_reference(other) or other is None or isinstance(other, (Condition, *LITERALS))
        return Comparison(self, other, operator) if known else NotImplemented

    def __eq__(self, other: object) -> Any:
        return self._svc_compare(other, "==")

    def __ne__(self, other: object) -> Any:
        return self._svc_compare(other, "!=")

    def __lt__(self, other: object) -> Any:
        return self._svc_compare(other, "<")

    def __le__(self, other: object) -> Any:
        return self._svc_compare(other, "<=")

    def __gt__(self, other: object) -> Any:
        return self._svc_compare(other, ">")

    def __ge__(self, other: object) -> Any:
        return self._svc_compare(other, ">=")

    def __and__(self, other: object) -> Any:
        return NotImplemented if as_condition(other) is None else Truth(self) & other

    def __rand__(self, other: object) -> Any:
        return NotImplemented if as_condition(other) is None else other & Truth(self)

    def __invert__(self) -> Condition:
        return ~Truth(self)

    def __hash__(self) -> int:
        return hash((FeatureReference, self._svc_root.namespace, self._svc_names))

    def __or__(self, other: object) -> Any:
        if other is None or other is type(None):
            return Optional[self]
        return NotImplemented if as_condition(other) is None else Truth(self) | other

    def __ror__(self, other: object) -> Any:
        if other is None or other is type(None):
            return Optional[self]
        return NotImplemented if as_condition(other) is None else other | Truth(self)

    def __iter__(self) -> Any:
        raise TypeError(f"{self!r} stands for a feature: it has no items here")

    def __contains__(self, _: object) -> bool:
        raise TypeError(f"{self!r} stands for a feature, which holds nothing here: write {self!r}.isin([...]) for 'in'")

    def __bool__(self) -> bool:
        Condition.truth_tests += 1
        raise TypeError(f"{self!r} stands for a feature, not for a value: it is neither true nor false")

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        if self._svc_names[-1] in _METHODS and self._svc_parent is not None:
            return _METHODS[self._svc_names[-1]](self._svc_parent, *arguments, **named)
        raise TypeError(f"{self!r} stands for a feature and cannot be called")

    def __deepcopy__(self, _: object) -> FeatureReference:
        return self

    def __copy__(self) -> FeatureReference:
        return self

    def __str__(self) -> str:
        return path_of(self)

    def __repr__(self) -> str:
        *before, last = self._svc_names
        base, seconds = split_windowed_name(last)
        shown = last.replace("@", " @ ") if seconds is None else f'{base}["{format_window(seconds)}"]'
        return ".".join((self._svc_root.cls.__name__, *before, shown))


class RowSelection:
    """A selection `User.txns[Txn.amount > 100, Txn.amount]`: rows of a has-many relation, and their
    columns.
    """

    def __init__(self, relation: FeatureReference, items: tuple[Any, ...]) -> None:
        self.relation = relation
        self.items = items

    def __or__(self, other: object) -> Any:
        return Optional[self] if other is None or other is type(None) else NotImplemented

    __ror__ = __or__

    def __getitem__(self, items: Any) -> RowSelection:
        return RowSelection(self.relation, (*self.items, *(items if isinstance(items, tuple) else (items,))))

    def __call__(self, *_: object, **__: object) -> Any:
        raise TypeError(f"{self!r} stands for rows and cannot be called")

    def __repr__(self) -> str:
        return f"{self.relation!r}[{', '.join(map(repr, self.items))}]"


def fields_of(reference: FeatureReference) -> list[Field]:
    """The fields along a path. Raises DefinitionError when a step does not exist or is no relation.
    """
    owner: Optional[FeatureClass] = reference._svc_root
    fields: list[Field] = []
    for attribute in reference._svc_names:
        if fields:
            owner = type_of(fields[-1]).target
            if owner is None:
                raise DefinitionError(rules.UnknownFeature.not_a_relation(feature=fields[-1].fqn, attribute=attribute), token=attribute)
        assert owner is not None
        field = owner.field(attribute)
        if field is None:
            raise no_such_feature(owner, attribute)
        fields.append(field)
    return fields


def no_such_feature(owner: FeatureClass, attribute: str) -> DefinitionError:
    """Finding 142 for an attribute that a feature class does not have."""
    base, seconds = split_windowed_name(attribute)
    windowed = owner.fields.get(base) if seconds is not None else None
    if windowed is not None and seconds is not None:
        listed = ", ".join(format_window(window) for window in windowed.windows) or "none"
        return DefinitionError(
            rules.UnknownFeature.no_such_window(owner=owner.cls.__name__, name=base, window=format_window(seconds), windows=listed),
            token=base,
        )
    near = did_you_mean(attribute, owner.fields)
    return DefinitionError(rules.UnknownFeature.no_such_feature(owner=owner.cls.__name__, name=attribute, near=near), token=attribute)


def crosses_many(reference: FeatureReference) -> bool:
    """Whether a path goes through a has-many relation, so that its value is a list. Raises what
    `fields_of` raises, but not for a path of one step.
    """
    return len(reference._svc_names) > 1 and any(type_of(field).many for field in fields_of(reference)[:-1])


def type_of(field: Field) -> FieldType:
    """The type of a field that a definition refers to. Raises BrokenReference when the field's own
    definition is at fault.
    """
    try:
        return field.type
    except DefinitionError as error:
        raise BrokenReference(error.said) from None


def field_of(reference: FeatureReference) -> Field:
    """The field at the end of a path. Raises what `fields_of` raises."""
    if reference._svc_parent is not None:
        return fields_of(reference)[-1]
    owner, (attribute,) = reference._svc_root, reference._svc_names
    field = owner.field(attribute)
    if field is None:
        raise no_such_feature(owner, attribute)
    return field


def path_of(reference: FeatureReference) -> str:
    """The path as FQN: names as queries say them. Steps that cannot be resolved yet keep their
    Python name.
    """
    names: list[str] = []
    owner: Optional[FeatureClass] = reference._svc_root
    for attribute in reference._svc_names:
        field = owner.field(attribute) if owner is not None else None
        names.append(field.name if field is not None else attribute)
        try:
            owner = field.type.target if field is not None else None
        except DefinitionError:
            owner = None
    return ".".join((reference._svc_root.namespace, *names))
