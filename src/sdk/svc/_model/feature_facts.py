"""Facts about a feature, for code that works with any feature:
`unwrap_feature(User.name).nullable`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Optional, Union

from .._codec.coded import CodedType
from .field import MISSING, Field, FieldType, WindowField
from .reference import FeatureReference, field_of, path_of


@dataclass(frozen=True)
class Feature:
    """A feature as its class defines it."""

    #: The fully qualified name: "user.name".
    fqn: str
    name: str
    namespace: str
    #: The path of the reference: "txn.user.name"; the same as `fqn` when it goes through no
    #: relation.
    path: str
    #: Name of the attribute of the class.
    attribute: str
    #: The feature class that it belongs to.
    features_class: type
    #: The Python type of its values; of a relation, the feature class that it leads to.
    python_type: Any
    nullable: bool
    is_primary: bool
    is_feature_time: bool
    is_has_one: bool
    is_has_many: bool
    #: Lengths of its windows; empty when it is not windowed, and for one window.
    windows: tuple[timedelta, ...]
    #: The window's length, for one window of a feature; None otherwise.
    window: Optional[timedelta]
    owner: Optional[str]
    tags: tuple[str, ...]
    description: Optional[str]
    #: As written: its own, else its class's.
    max_staleness: Union[str, timedelta, None]
    deprecated: bool
    has_default: bool
    #: A copy of the default; None when there is none.
    default: Any

    def __str__(self) -> str:
        return self.fqn


def _field(item: Any) -> Field:
    if isinstance(item, FeatureReference):
        return field_of(item)
    shown = f"{item.__name__} is a feature class" if isinstance(item, type) and "__svc_features__" in item.__dict__ else f"{item!r} is no feature"
    raise TypeError(f"{shown}: name a feature such as User.id")


def unwrap_feature(item: Any) -> Feature:
    """The facts about a feature such as `User.name`. Raises TypeError for anything else, and
    DefinitionError when its definition makes no sense.
    """
    field = _field(item)
    kind = field.type
    default = field.default
    return Feature(
        fqn=field.fqn,
        name=field.name,
        namespace=field.owner_class.namespace,
        path=path_of(item),
        attribute=field.attribute,
        features_class=field.owner_class.cls,
        python_type=_python_type(kind),
        nullable=kind.nullable,
        is_primary=field in field.owner_class.primary_keys,
        is_feature_time=field in field.owner_class.feature_times,
        is_has_one=kind.target is not None and not kind.many,
        is_has_many=kind.many,
        windows=tuple(timedelta(seconds=seconds) for seconds in field.windows),
        window=timedelta(seconds=field.seconds) if isinstance(field, WindowField) else None,
        owner=field.owner,
        tags=tuple(field.tags),
        description=field.description or None,
        max_staleness=field.max_staleness,
        deprecated=field.options.deprecated is True,
        has_default=default is not MISSING,
        default=None if default is MISSING else default,
    )


def _python_type(kind: FieldType) -> Any:
    if kind.target is not None:
        return kind.target.cls
    return kind.python_type.cls if isinstance(kind.python_type, CodedType) else kind.python_type


def is_feature_time(item: Any) -> bool:
    """Whether a feature is the feature time of its class."""
    field = _field(item)
    return field in field.owner_class.feature_times
