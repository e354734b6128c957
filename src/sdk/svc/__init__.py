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

from ._annotations import Now
from ._context import query_context, query_id, query_tags
from ._named_query import NamedQuery
from ._resolver import offline, online
from .sources import MySQLSource, PostgreSQLSource, SQLiteSource

__all__ = [
    "MySQLSource",
    "NamedQuery",
    "Now",
    "PostgreSQLSource",
    "SQLiteSource",
    "batch",
    "offline",
    "online",
    "query_context",
    "query_id",
    "query_tags",
    "realtime",
    "svc_logger",
]

__version__ = "0.1.0"

realtime = online
batch = offline

#: Log lines of resolvers; the server keeps them with the query that they belong to.
svc_logger = logging.getLogger("svc")
