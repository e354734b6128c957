"""Queries that are stored with the code.

    from svc.queries import NamedQuery, ScheduledQuery
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._model.named_query import NamedQuery
from ._model.scheduled_query import ScheduledQuery

__all__ = ["NamedQuery", "ScheduledQuery"]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        from ._surface.public_names import no_such_name

        raise no_such_name(__name__, name)
