"""The time that a test holds still."""

from __future__ import annotations

from contextlib import ContextDecorator
from contextvars import ContextVar, Token
from datetime import datetime, timezone
from typing import Any, Optional, Union

_frozen: ContextVar[Optional[datetime]] = ContextVar("svc_frozen_time", default=None)


def frozen_time() -> Optional[datetime]:
    """The time that `freeze_time` holds here, in UTC; None when none does."""
    return _frozen.get()


class freeze_time(ContextDecorator):
    """Holds the time of queries still, in tests: around a block, or above a test function.

        with freeze_time("2026-01-31T12:00:00Z"):
            assert is_new(created=datetime(2026, 1, 31)) is True       # its parameter `now: Now` is left out
            client.query({User.id: 1}, [User.age])                     # as with now=

    Within it resolvers that are called without their `Now`, DataFrames without `now=`, `before` and
    `after`, queries and checks without `now=`, and offline queries without `input_times=` all have
    this time. What is given otherwise wins. `datetime.now()` and a server's own clock go on.

    at: a datetime, or its text in ISO 8601; without a zone it is in UTC.
    """

    def __init__(self, at: Union[datetime, str]) -> None:
        self.at = _time_of(at)
        self._tokens: list[Token[Optional[datetime]]] = []

    def __enter__(self) -> datetime:
        self._tokens.append(_frozen.set(self.at))
        return self.at

    def __exit__(self, *_: Any) -> None:
        _frozen.reset(self._tokens.pop())

    def _recreate_cm(self) -> freeze_time:
        return freeze_time(self.at)


def _time_of(at: object) -> datetime:
    if isinstance(at, str):
        try:
            # before 3.11 `fromisoformat` does not know the letter
            at = datetime.fromisoformat(at[:-1] + "+00:00" if at[-1:] in ("Z", "z") else at)
        except ValueError:
            raise ValueError(f"freeze_time takes a datetime or a text such as '2026-01-31T12:00:00Z', not {at!r}") from None
    if not isinstance(at, datetime):
        raise TypeError(f"freeze_time takes a datetime or a text such as '2026-01-31T12:00:00Z', not {type(at).__name__}")
    return at.replace(tzinfo=timezone.utc) if at.tzinfo is None else at.astimezone(timezone.utc)
