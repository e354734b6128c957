"""The Python SDK of `svc`: features, resolvers, named queries and data sources.

    from svc import online
    from svc.features import features, feature

    @features
    class User:
        id: int
        email: str
        domain: str

    @online
    def domain(email: User.email) -> User.domain:
        return email.split("@")[1]
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from ._annotations import Now
from ._context import query_context, query_id, query_tags, traceparent
from ._expression import underscore
from ._frames.dataframe import DataFrame
from ._named_query import NamedQuery
from ._resolver import offline, online
from .sources import MySQLSource, PostgreSQLSource, SQLiteSource

if TYPE_CHECKING:
    from .client import SvcClient

__all__ = [
    "DataFrame",
    "MySQLSource",
    "NamedQuery",
    "Now",
    "PostgreSQLSource",
    "SQLiteSource",
    "SvcClient",
    "_",
    "batch",
    "offline",
    "online",
    "query_context",
    "query_id",
    "query_tags",
    "realtime",
    "svc_logger",
    "traceparent",
]

__version__ = "0.1.0"

#: The same as `svc.features._`.
_: Any = underscore

realtime = online
batch = offline

#: Log lines of resolvers; the server keeps them with the query that they belong to.
svc_logger = logging.getLogger("svc")


def __getattr__(name: str) -> Any:
    """The client is loaded when it is asked for: resolvers do without it."""
    if name == "SvcClient":
        from .client import SvcClient

        return SvcClient
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
