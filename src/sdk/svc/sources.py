"""Databases that SQL resolvers read.

A source has a name; `-- source: <name>` in a SQL file means it. Settings that are not given here
come from the environment's integration of that name (`svc integration apply`), or where there is
none from the server's environment, in variables that begin with the name in capitals. Both override
those given here; credentials come only from there.

    from svc import SQLiteSource, PostgreSQLSource
    flights = SQLiteSource(name="flights", path="data/flights.db")     # FLIGHTS_SQLITE_PATH
    pg = PostgreSQLSource(name="pg", host="db.example.com")            # PG_PGHOST PG_PGPORT PG_PGUSER PG_PGPASSWORD PG_PGDATABASE
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, NoReturn, Optional, Union

from ._diagnostics.source import Origin
from ._model.registry import registry
from ._surface.unknown_options import Others, kept

__all__ = ["DataSource", "MySQLSource", "PostgreSQLSource", "SQLiteSource"]


class DataSource:
    """A database. Use one of the kinds below."""

    kind = "SOURCE_KIND_UNSPECIFIED"
    #: The public name of the class.
    taker = "DataSource"

    def __init__(self, name: str, others: Others = (), **settings: Union[str, int, None]) -> None:
        frame = sys._getframe(2)
        self.others = others
        self.name = name
        #: The settings given in code, as text.
        self.settings = {key: str(value) for key, value in settings.items() if value is not None}
        self.origin = Origin(frame.f_code.co_filename, frame.f_lineno, type(self).__name__)
        registry.add_source(self)

    def __repr__(self) -> str:
        given = "".join(f", {key}={value!r}" for key, value in self.settings.items())
        return f"{type(self).__name__}(name={self.name!r}{given})"


class SQLiteSource(DataSource):
    """A SQLite file. A relative path starts from the project's folder. Environment:
    `<NAME>_SQLITE_PATH`.

    SQLite has no type for JSON: a text that holds some stays a text for a feature of type `Any`,
    and is read where the feature is a list or a dataclass.
    """

    kind = "SOURCE_KIND_SQLITE"
    taker = "SQLiteSource"

    def __init__(self, name: str, *, path: Union[str, os.PathLike[str], None] = None, **others: NoReturn) -> None:
        super().__init__(name, kept(self.taker, others), path=None if path is None else os.fspath(path))


class PostgreSQLSource(DataSource):
    """A PostgreSQL database. Environment: `<NAME>_PGHOST`, `_PGPORT`, `_PGUSER`, `_PGPASSWORD`,
    `_PGDATABASE`, `_PGSSLMODE`, `_PGSSLROOTCERT`.
    """

    kind = "SOURCE_KIND_POSTGRESQL"
    taker = "PostgreSQLSource"

    def __init__(
        self,
        name: str,
        *,
        host: Optional[str] = None,
        port: Optional[int] = None,
        database: Optional[str] = None,
        user: Optional[str] = None,
        sslmode: Optional[str] = None,
        sslrootcert: Optional[str] = None,
        **others: NoReturn,
    ) -> None:
        super().__init__(name, kept(self.taker, others), host=host, port=port, database=database, user=user, sslmode=sslmode, sslrootcert=sslrootcert)


class MySQLSource(DataSource):
    """A MySQL or MariaDB database. Environment: `<NAME>_MYSQL_HOST`, `_MYSQL_PORT`, `_MYSQL_USER`,
    `_MYSQL_PASSWORD`, `_MYSQL_DATABASE`, `_MYSQL_SSLMODE`, `_MYSQL_SSL_CA`.
    """

    kind = "SOURCE_KIND_MYSQL"
    taker = "MySQLSource"

    def __init__(
        self,
        name: str,
        *,
        host: Optional[str] = None,
        port: Optional[int] = None,
        database: Optional[str] = None,
        user: Optional[str] = None,
        sslmode: Optional[str] = None,
        ssl_ca: Optional[str] = None,
        **others: NoReturn,
    ) -> None:
        super().__init__(name, kept(self.taker, others), host=host, port=port, database=database, user=user, sslmode=sslmode, ssl_ca=ssl_ca)


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        from ._surface.public_names import no_such_name

        raise no_such_name(__name__, name)
