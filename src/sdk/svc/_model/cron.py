"""Schedules of resolvers that run for some of the rows only."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Callable, NoReturn, Optional, Union

from .._surface.unknown_options import kept


class Cron:
    """The value of a resolver's `cron=` when it runs by itself for some rows only.

        @online(cron=Cron("1d", filter=User.active))
        def get_score(id: User.id) -> User.score: ...

    schedule: a duration such as "1d", or a cron expression in UTC.
    filter: a bool feature of the resolver's class, such as `User.active`, or one that is reached
        through has-one relations. Only rows of which it is true run: it is computed before they do,
        and nothing of that is stored. A row for which it fails counts as failed.
    sample: a resolver without arguments that returns a DataFrame with the primary key of the class.
        Its rows run instead of all rows that the history knows.

    A run that is asked for, as by `svc trigger`, keeps to both as well.
    """

    def __init__(
        self,
        schedule: Union[str, timedelta],
        *,
        filter: Any = None,
        sample: Optional[Callable[..., Any]] = None,
        **others: NoReturn,
    ) -> None:
        self.schedule = schedule
        self.filter = filter
        self.sample = sample
        self.others = kept("Cron", others)

    def __repr__(self) -> str:
        parts = [repr(self.schedule)]
        parts += [f"filter={self.filter!r}"] if self.filter is not None else []
        parts += [f"sample={getattr(self.sample, '__name__', self.sample)}"] if self.sample is not None else []
        return f"Cron({', '.join(parts)})"
