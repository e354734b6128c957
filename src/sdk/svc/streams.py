"""Windowed features: one value per window of time.

    from svc.streams import Windowed, windowed
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal, Mapping, NoReturn, Optional, Sequence, Union

from ._model.field import MISSING, Tags, WindowedOptions
from ._model.validation import Number, Validation
from ._surface.unknown_options import kept
from ._types.annotations import Windowed
from .sources import KafkaSource, TopicSource

__all__ = ["KafkaSource", "TopicSource", "Windowed", "windowed"]


def windowed(
    *windows: Union[str, timedelta],
    default: Any = MISSING,
    max_staleness: Union[str, timedelta, None] = None,
    expression: Any = None,
    owner: Optional[str] = None,
    tags: Optional[Tags] = None,
    description: Optional[str] = None,
    name: Optional[str] = None,
    store_online: Optional[bool] = None,
    store_offline: Optional[bool] = None,
    cache_nulls: Union[bool, Literal["evict_nulls"], None] = None,
    cache_defaults: Union[bool, Literal["evict_defaults"], None] = None,
    offline_ttl: Union[str, timedelta, None] = None,
    deprecated: bool = False,
    min: Optional[Number] = None,
    max: Optional[Number] = None,
    min_length: Optional[int] = None,
    max_length: Optional[int] = None,
    contains: Any = None,
    strict: Optional[bool] = None,
    validations: Optional[Sequence[Validation]] = None,
    materialization: Union[bool, Mapping[str, Any], None] = None,
    **others: NoReturn,
) -> Any:
    """The windows of a feature of type `Windowed[...]`:

        fails: Windowed[int] = windowed("10m", "1d", "all", default=0,
            expression=_.logins[_.ok == False, _.at > _.svc_window, _.at <= _.svc_now].count())

    Each window is a feature of its own, `User.fails["10m"]`; `User.fails` means all of them.

    windows: lengths of time such as "10m", "1h30m" or "7d"; "all" is 36,500 days.
    expression: how a window is computed; `_.svc_window` is its start and `_.svc_now` its end.
        Without one, resolvers give the values.
    materialization: keeps the aggregate of each window by buckets of time, so that a query merges
        those and reads only the rows of the window's edges. True chooses the length of buckets; a
        dict may have `bucket_duration`, `bucket_durations` (such as {"1d": ["30d"]}: buckets of a
        day for the window of 30 days), `bucket_start` (a time at which a bucket begins),
        `backfill_schedule`, `backfill_resolver` (whose rows are read) and
        `continuous_buffer_duration` (rows of that time before a query are always read). Until
        `svc aggregate backfill` ran, windows are computed from their rows.
    The rest is as for `feature`.
    """
    unknown = kept("windowed", others)
    return WindowedOptions(
        max_staleness,
        default,
        owner,
        tags,
        description,
        False,
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
        cache_defaults=cache_defaults,
        offline_ttl=offline_ttl,
        others=unknown,
        windows=windows,
        materialization=materialization,
    )


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        from ._surface.public_names import no_such_name

        raise no_such_name(__name__, name)
