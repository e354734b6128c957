"""Queries that run by a schedule."""

from __future__ import annotations

import sys
from datetime import datetime, timedelta
from typing import Any, NoReturn, Optional, Sequence, Union

from .._diagnostics.source import Origin
from .._surface.unknown_options import kept
from .._types.annotations import scope_of_frame
from .field import Tags
from .registry import registry


class ScheduledQuery:
    """An offline query that runs by itself while its deployment is live, for the rows that the
    history knows.

        ScheduledQuery(name="nightly", schedule="30 2 * * *", output=[Txn.kind])

    name: unique among the scheduled queries.
    schedule: a duration such as "1d", or a cron expression in UTC.
    output: features of one class; a class means all of its values.
    recompute_features: True = all outputs are computed by resolvers; a list = those of it, while
        others are sampled; False = all are sampled, and nothing is stored.
    max_samples: most rows, chosen by a hash of their keys; default: all.
    lower_bound, upper_bound: only rows that were observed at or after, and before these times.
    store_online, store_offline: whether computed values are stored; default: they are.
    incremental_resolvers: names of resolvers; a query that has them runs only for rows that were
        observed since its run before, and in the longest `lookback_period` of theirs before that.
        `svc incremental` shows and sets how far it is.
    tags: tags that the query carries, for the choice of resolvers.
    resource_group: the group of the environment's configuration in whose worker processes all
        resolvers of a run are called, whatever groups of their own they have; a run waits while as
        many of the group go on as it has workers. Default: each resolver runs in its own group.
    owner, description: metadata.
    """

    def __init__(
        self,
        name: str,
        *,
        schedule: Union[str, timedelta],
        output: Sequence[Any],
        recompute_features: Union[bool, Sequence[Any]] = True,
        max_samples: Optional[int] = None,
        lower_bound: Union[datetime, str, None] = None,
        upper_bound: Union[datetime, str, None] = None,
        store_online: Optional[bool] = None,
        store_offline: Optional[bool] = None,
        incremental_resolvers: Union[str, Sequence[str], None] = None,
        tags: Optional[Tags] = None,
        resource_group: Optional[str] = None,
        owner: Optional[str] = None,
        description: Optional[str] = None,
        **others: NoReturn,
    ) -> None:
        frame = sys._getframe(1)
        self.name = name
        self.schedule = schedule
        self.output = list(output or ())
        self.recompute_features = recompute_features
        self.max_samples = max_samples
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound
        self.store_online = store_online
        self.store_offline = store_offline
        self.incremental_resolvers = incremental_resolvers
        self.tags = tags
        self.resource_group = resource_group
        self.owner = owner
        self.description = description
        self.others = kept("ScheduledQuery", others)
        self.scope = scope_of_frame(frame)
        self.origin = Origin(frame.f_code.co_filename, frame.f_lineno, type(self).__name__)
        registry.add_scheduled_query(self)

    @property
    def computes(self) -> bool:
        """Whether any output is computed, rather than sampled."""
        return self.recompute_features is True or bool(self.recompute_features)

    def __repr__(self) -> str:
        return f"ScheduledQuery(name={self.name!r}, schedule={self.schedule!r})"
