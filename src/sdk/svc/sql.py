"""Databases that SQL resolvers read, and their statements, also under `svc.sources`.

    from svc.sql import PostgreSQLSource
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .sources import (
    BigQuerySource,
    ClickhouseSource,
    DataSource,
    DuckDBSource,
    MySQLSource,
    PostgreSQLSource,
    SQLiteInMemorySource,
    SQLiteSource,
    SQLSourceGroup,
    SQLStatement,
    SnowflakeSource,
)

__all__ = [
    "BigQuerySource",
    "ClickhouseSource",
    "DataSource",
    "DuckDBSource",
    "MySQLSource",
    "PostgreSQLSource",
    "SQLSourceGroup",
    "SQLStatement",
    "SQLiteInMemorySource",
    "SQLiteSource",
    "SnowflakeSource",
]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        from ._surface.public_names import no_such_name

        raise no_such_name(__name__, name)
