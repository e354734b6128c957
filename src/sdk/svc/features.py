"""Feature classes: the entities of a project and their features.

    from svc.features import features, feature, Primary, FeatureTime, has_one, Features
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, Callable, Literal, Mapping, NoReturn, Optional, Sequence, Union

from ._frames.conditions import Condition, after, before
from ._frames.dataframe import DataFrame
from ._frames.selection import Features
from ._model.cron import Cron
from ._model.expression import Expression, underscore
from ._model.feature_class import FeatureClass, features
from ._model.feature_facts import Feature, is_feature_time, unwrap_feature
from ._model.field import MISSING, FeatureOptions, Field, RelationOptions, Tags
from ._model.hooks import after_all, before_all
from ._model.named_query import NamedQuery
from ._model.scheduled_query import ScheduledQuery
from ._model.reference import FeatureReference, field_of
from ._model.resolver_decorators import batch, offline, online, realtime
from ._model.validation import Number, Validation
from ._surface.unknown_options import kept
from ._types.annotations import FeatureTime, Now, Primary
from ._types.vector import Vector
from .streams import Windowed, group_by_windowed, windowed

__all__ = [
    "Cron",
    "DataFrame",
    "Feature",
    "FeatureTime",
    "Features",
    "NamedQuery",
    "ScheduledQuery",
    "Now",
    "Primary",
    "Validation",
    "Vector",
    "Windowed",
    "_",
    "after",
    "after_all",
    "batch",
    "before",
    "before_all",
    "description",
    "feature",
    "features",
    "group_by_windowed",
    "has_many",
    "has_one",
    "is_feature_time",
    "is_primary",
    "offline",
    "online",
    "owner",
    "realtime",
    "tags",
    "unwrap_feature",
    "windowed",
]

#: The row of the class that is being defined, in expressions: `subtotal: float = _.total - _.tax`.
#: In the brackets of a has-many relation, `_.txns[_.amount > 1000].count()`, it is the row of the
#: other class.
_: Any = underscore


def feature(
    *,
    max_staleness: Union[str, timedelta, None] = None,
    default: Any = MISSING,
    owner: Optional[str] = None,
    tags: Optional[Tags] = None,
    description: Optional[str] = None,
    primary: bool = False,
    name: Optional[str] = None,
    expression: Any = None,
    offline_expression: Any = None,
    store_online: Optional[bool] = None,
    store_offline: Optional[bool] = None,
    cache_nulls: Union[bool, Literal["evict_nulls"], None] = None,
    cache_defaults: Union[bool, Literal["evict_defaults"], None] = None,
    offline_ttl: Union[str, timedelta, None] = None,
    etl_offline_to_online: Optional[bool] = None,
    deprecated: bool = False,
    min: Optional[Number] = None,
    max: Optional[Number] = None,
    min_length: Optional[int] = None,
    max_length: Optional[int] = None,
    contains: Any = None,
    strict: Optional[bool] = None,
    validations: Optional[Sequence[Validation]] = None,
    version: Optional[int] = None,
    default_version: Optional[int] = None,
    versions: Optional[Mapping[int, Any]] = None,
    encoder: Optional[Callable[[Any], Any]] = None,
    decoder: Optional[Callable[[Any], Any]] = None,
    **others: NoReturn,
) -> Any:
    """The options of a feature beside its type, to the right of `=` in a feature class.

    max_staleness: how old a stored value may be to be served, such as "1h30m" or "infinity"; "0s"
        never stores. Default: the class's. A feature that is given its old name or type back has
        its old stored values back too, while they are not too old.
    default: the value when nothing provides one, or what does gives None; that None is stored like
        a value.
    owner, tags, description: metadata. They may as well stand in the comment above, as text,
        `:owner:` and `:tags:`.
    primary: whether it identifies a row; `Primary[...]` says the same.
    name: its name in queries, when it differs from the attribute's.
    expression: how it is computed without code, such as `_.total - _.tax`.
    offline_expression: how offline queries compute it instead, of what was known at each row's time.
    store_online: False keeps its values out of the online store, whatever its staleness.
        Default: the class's, else True.
    store_offline: False keeps its values out of the offline store. Default: the class's, else True.
    cache_nulls: False keeps None out of the online store; an older value stays until it is too old.
        "evict_nulls" takes that out too, so that the next query computes it anew. Default: the
        class's, else True.
    cache_defaults: the same of the default, as what was computed or in place of None: False, or
        "evict_defaults".
    offline_ttl: how old a stored value may be at the time of a row of an offline query, such as
        "365d"; older ones are None. Default: the class's, else any age.
    etl_offline_to_online: True puts values online as well that an upload, an offline query or a run of a
        resolver stores offline only, as far as max_staleness lets them. Default: the class's, else
        False.
    deprecated: whether it should not be used any more: lint warns of each use (193), and a query is
        told so in its answer, with the description.
    min, max, min_length, max_length, contains: rules that its values keep to, as `Validation` takes
        them. They are checked of values that are computed, given with a query, and uploaded.
    strict: True fails a value that breaks a rule; else it is answered, and counted in the metric
        `feature.validation_failures`.
    validations: further rules, each with a `strict` of its own.
    version: how many versions it has, each with values of its own: resolvers name `Trial.code @ 2`,
        queries `trial.code@2`. All have the type and these options.
    default_version: the version that the bare name means. Default: 1.
    versions: options of single versions, such as `{2: feature(expression=_.raw)}`.
    encoder, decoder: functions for values of a class of your own: what encoder makes of a value is
        stored and answered, as the type that its return annotation says; decoder makes the value
        again, before Python code is given it. None is never handed to them. Expressions, filters
        and conditions do not read such a feature.
    """
    unknown = kept("feature", others)
    return FeatureOptions(
        max_staleness,
        default,
        owner,
        tags,
        description,
        primary,
        name,
        expression,
        store_online,
        store_offline,
        cache_nulls,
        deprecated,
        min,
        max,
        min_length,
        max_length,
        contains,
        strict,
        validations,
        version,
        default_version,
        versions,
        cache_defaults=cache_defaults,
        offline_ttl=offline_ttl,
        etl_offline_to_online=etl_offline_to_online,
        offline_expression=offline_expression,
        encoder=encoder,
        decoder=decoder,
        others=unknown,
    )


def has_one(join: Callable[[], Any], **others: NoReturn) -> Any:
    """A relation to at most one row of another class, with an explicit join:

        account: "Account | None" = has_one(lambda: Account.owner_id == User.id)

    Several columns are joined with `&`. Without `has_one` the join is inferred from the foreign
    keys. In a join of a class with itself, has_one goes from the foreign key to the key that it
    refers to, by its type or because that is the primary key; has_many the other way.

    When no row has the value, everything read of the row is None, its key too, or fails if the
    relation is not optional. Whether there is a row is told by the resolver or query that has all
    rows (`total`); else by those whose rows have a feature that is neither optional nor has a
    default; else by all that find rows by the join, unless a resolver makes features of the key
    alone: then every key has a row. An expression that aggregates the rows of a row that is missing
    is None; a resolver is handed no rows.
    """
    if not callable(join) or isinstance(join, (FeatureReference, Expression, Condition)):
        raise TypeError("has_one takes a function: has_one(lambda: Account.owner_id == User.id)")
    return RelationOptions(join, others=kept("has_one", others))


def has_many(join: Callable[[], Any], *, max_staleness: Union[str, timedelta, None] = None, **others: NoReturn) -> Any:
    """A relation to any number of rows of another class, with an explicit join:

        visits: "DataFrame[Visit]" = has_many(lambda: (Visit.org == User.org) & (Visit.mail == User.email))

    Without `has_many` the join is inferred from the foreign keys of the other class, or from its
    relation back. With `is_near` it leads to the rows whose stored vectors are nearest to one of
    the row, by ascending distance; what stands beside it is tested before they are chosen:

        near: DataFrame[Doc] = has_many(lambda: Search.emb.is_near(Doc.emb, k=10) & (Doc.lang == Search.lang))

    max_staleness: how old stored rows may be to be served.
    """
    if not callable(join) or isinstance(join, (FeatureReference, Expression, Condition)):
        raise TypeError("has_many takes a function: has_many(lambda: Txn.user_id == User.id)")
    return RelationOptions(join, True, max_staleness, kept("has_many", others))


def _definition(item: Any) -> Union[FeatureClass, Field]:
    if isinstance(item, FeatureReference):
        return field_of(item)
    if isinstance(item, type) and "__svc_features__" in item.__dict__:
        found: FeatureClass = item.__svc_features__  # type: ignore[attr-defined]
        return found
    raise TypeError(f"{item!r} is neither a feature such as User.id nor a feature class")


def owner(item: Any) -> Optional[str]:
    """The owner of a feature (its own, else its class's) or of a feature class; None when there is
    none.
    """
    return _definition(item).owner


def tags(item: Any) -> list[str]:
    """The tags of a feature (its own, then its class's) or of a feature class."""
    return _definition(item).tags


def description(item: Any) -> Optional[str]:
    """The description of a feature or of a feature class; None when there is none."""
    definition = _definition(item)
    return (definition.docstring.text if isinstance(definition, FeatureClass) else definition.description) or None


def is_primary(item: Any) -> bool:
    """Whether a feature is the primary key of its class."""
    definition = _definition(item)
    if isinstance(definition, FeatureClass):
        raise TypeError(f"{item.__name__} is a feature class: ask about one of its features")
    return definition in definition.owner_class.primary_keys


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        from ._surface.public_names import no_such_name

        raise no_such_name(__name__, name)
