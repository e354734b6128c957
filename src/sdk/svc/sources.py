"""Databases that SQL resolvers read, and topics of messages.

A source has a name; `-- source: <name>` in a SQL file means it. Settings that are not given here
come from the environment's integration of that name (`svc integration apply`), or where there is
none from the server's environment, in variables that begin with the name in capitals. Both override
those given here; credentials come only from there.

    from svc import SQLiteSource, PostgreSQLSource
    flights = SQLiteSource(name="flights", path="data/flights.db")     # FLIGHTS_SQLITE_PATH
    pg = PostgreSQLSource(name="pg", host="db.example.com")            # PG_PGHOST PG_PGPORT PG_PGUSER PG_PGPASSWORD PG_PGDATABASE

    from svc import KafkaSource, TopicSource
    payments = KafkaSource(name="payments", topic="payments")          # PAYMENTS_KAFKA_BOOTSTRAP_SERVERS PAYMENTS_KAFKA_SASL_PASSWORD
    clicks = TopicSource(name="clicks", partitions=4)                  # a topic of the server itself
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn, Optional, Union

from ._diagnostics.source import Origin
from ._model.registry import registry
from ._model.statement import Queryable, SQLSourceGroup, SQLStatement
from ._surface.options import check_brokers, check_choice, check_partitions, check_script, check_text, check_topic
from ._surface.unknown_options import Others, kept

__all__ = [
    "BigQuerySource",
    "ClickhouseSource",
    "DataSource",
    "DuckDBSource",
    "KafkaSource",
    "MySQLSource",
    "PostgreSQLSource",
    "SQLSourceGroup",
    "SQLStatement",
    "SQLiteInMemorySource",
    "SQLiteSource",
    "SnowflakeSource",
    "TopicSource",
]


class DataSource:
    """A database or a topic. Use one of the kinds below."""

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

    def problem(self) -> Optional[tuple[str, str]]:
        """The first option whose value cannot be, and why."""
        return None

    def __repr__(self) -> str:
        given = "".join(f", {key}={value!r}" for key, value in self.settings.items())
        return f"{type(self).__name__}(name={self.name!r}{given})"


class SQLiteSource(DataSource, Queryable):
    """A SQLite file. A relative path starts from the project's folder. Environment:
    `<NAME>_SQLITE_PATH`.

    SQLite has no type for JSON: a text that holds some stays a text for a feature of type `Any`,
    and is read where the feature is a list or a dataclass.
    """

    kind = "SOURCE_KIND_SQLITE"
    taker = "SQLiteSource"

    def __init__(self, name: str, *, path: Union[str, os.PathLike[str], None] = None, **others: NoReturn) -> None:
        super().__init__(name, kept(self.taker, others), path=None if path is None else os.fspath(path))


class SQLiteInMemorySource(DataSource, Queryable):
    """A SQLite database in memory, which a script fills, for small tables that belong to the project:

        rates = SQLiteInMemorySource(
            name="rates",
            script="create table rate (currency text primary key, value real);"
            "insert into rate values ('EUR', 1.0), ('USD', 1.09);",
        )

    Each process of the server fills one of its own when it first reads it, and never changes it: so all
    have the same rows, unless the script asks for the time or for random values. A new script comes
    with a deployment. It takes 30 seconds at most, and makes 64 MiB at most. Environment:
    `<NAME>_SQLITE_PATH` names a file that is read instead.

    script: statements that create tables, indexes and views, and fill them.
    """

    kind = "SOURCE_KIND_SQLITE"
    taker = "SQLiteInMemorySource"

    def __init__(self, name: str, *, script: str, **others: NoReturn) -> None:
        self._given = check_script("script", script)
        super().__init__(name, kept(self.taker, others), script=script)

    def problem(self) -> Optional[tuple[str, str]]:
        return None if self._given is None else ("script", self._given)

    def __repr__(self) -> str:
        return f"SQLiteInMemorySource(name={self.name!r}, script=...)"


class PostgreSQLSource(DataSource, Queryable):
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


class MySQLSource(DataSource, Queryable):
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


class ClickhouseSource(DataSource, Queryable):
    """A ClickHouse database, over its HTTP interface. Environment: `<NAME>_CLICKHOUSE_HOST`,
    `_CLICKHOUSE_PORT`, `_CLICKHOUSE_USER`, `_CLICKHOUSE_PASSWORD`, `_CLICKHOUSE_DATABASE`,
    `_CLICKHOUSE_SECURE`.

    port: 8443 unless it is given, or 8123 without TLS.
    secure: whether TLS is used, True unless it is given.
    """

    kind = "SOURCE_KIND_CLICKHOUSE"
    taker = "ClickhouseSource"

    def __init__(
        self,
        name: str,
        *,
        host: Optional[str] = None,
        port: Optional[int] = None,
        database: Optional[str] = None,
        user: Optional[str] = None,
        secure: Optional[bool] = None,
        **others: NoReturn,
    ) -> None:
        super().__init__(
            name,
            kept(self.taker, others),
            host=host,
            port=port,
            database=database,
            user=user,
            secure=None if secure is None else str(secure).lower(),
        )


class DuckDBSource(DataSource, Queryable):
    """A file of DuckDB. A relative path starts from the project's folder. Environment:
    `<NAME>_DUCKDB_PATH`.

    While another process writes the file, statements wait for it, for 5 seconds at most.
    """

    kind = "SOURCE_KIND_DUCKDB"
    taker = "DuckDBSource"

    def __init__(self, name: str, *, path: Union[str, os.PathLike[str], None] = None, **others: NoReturn) -> None:
        super().__init__(name, kept(self.taker, others), path=None if path is None else os.fspath(path))


class SnowflakeSource(DataSource, Queryable):
    """A Snowflake account, over its SQL API. Environment: `<NAME>_SNOWFLAKE_ACCOUNT`,
    `_SNOWFLAKE_USER`, `_SNOWFLAKE_PRIVATE_KEY` or `_SNOWFLAKE_TOKEN`, `_SNOWFLAKE_WAREHOUSE`,
    `_SNOWFLAKE_DATABASE`, `_SNOWFLAKE_SCHEMA`, `_SNOWFLAKE_ROLE`, `_SNOWFLAKE_ENDPOINT_URL`.

    The user has a key pair, whose private key is PKCS#8 PEM without a passphrase, or a programmatic
    access token; the API takes no password.
    """

    kind = "SOURCE_KIND_SNOWFLAKE"
    taker = "SnowflakeSource"

    def __init__(
        self,
        name: str,
        *,
        account: Optional[str] = None,
        user: Optional[str] = None,
        warehouse: Optional[str] = None,
        database: Optional[str] = None,
        schema: Optional[str] = None,
        role: Optional[str] = None,
        **others: NoReturn,
    ) -> None:
        super().__init__(
            name, kept(self.taker, others), account=account, user=user, warehouse=warehouse, database=database, schema=schema, role=role
        )


class BigQuerySource(DataSource, Queryable):
    """Datasets of BigQuery. Environment: `<NAME>_GOOGLE_CREDENTIALS` (the key of a service account,
    as JSON), `_GOOGLE_PROJECT`, `_BIGQUERY_LOCATION`, `_BIGQUERY_DATASET`, `_GOOGLE_ENDPOINT_URL`.

    project: who pays for the statements; that of the service account unless it is given.
    dataset: that of tables which are named without one.
    """

    kind = "SOURCE_KIND_BIGQUERY"
    taker = "BigQuerySource"

    def __init__(
        self,
        name: str,
        *,
        project: Optional[str] = None,
        dataset: Optional[str] = None,
        location: Optional[str] = None,
        **others: NoReturn,
    ) -> None:
        super().__init__(name, kept(self.taker, others), project=project, dataset=dataset, location=location)


class KafkaSource(DataSource):
    """A topic of a Kafka cluster. Environment: `<NAME>_KAFKA_BOOTSTRAP_SERVERS`,
    `_KAFKA_SECURITY_PROTOCOL`, `_KAFKA_SASL_MECHANISM`, `_KAFKA_SASL_USERNAME`,
    `_KAFKA_SASL_PASSWORD`, `_KAFKA_SSL_CA`.

    bootstrap_servers: brokers, `host:port`; a text with commas, or a list.
    topic: the topic's name in the cluster.
    security_protocol: PLAINTEXT (the default), SSL, SASL_PLAINTEXT or SASL_SSL.
    sasl_mechanism: PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512.
    ssl_ca: certificate authorities in PEM, in place of the system's.
    """

    kind = "SOURCE_KIND_KAFKA"
    taker = "KafkaSource"

    def __init__(
        self,
        name: str,
        *,
        topic: str,
        bootstrap_servers: Union[str, Sequence[str], None] = None,
        security_protocol: Optional[str] = None,
        sasl_mechanism: Optional[str] = None,
        sasl_username: Optional[str] = None,
        ssl_ca: Optional[str] = None,
        **others: NoReturn,
    ) -> None:
        self._given = {
            "topic": check_topic("topic", topic),
            "bootstrap_servers": check_brokers("bootstrap_servers", bootstrap_servers),
            "security_protocol": check_choice("security_protocol", security_protocol, ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")),
            "sasl_mechanism": check_choice("sasl_mechanism", sasl_mechanism, ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")),
            "sasl_username": None if sasl_username is None else check_text("sasl_username", sasl_username),
            "ssl_ca": None if ssl_ca is None else check_text("ssl_ca", ssl_ca),
        }
        listed = isinstance(bootstrap_servers, (list, tuple)) and all(isinstance(broker, str) for broker in bootstrap_servers)
        super().__init__(
            name,
            kept(self.taker, others),
            topic=topic,
            bootstrap_servers=",".join(bootstrap_servers) if listed and bootstrap_servers else bootstrap_servers,  # type: ignore[arg-type]
            security_protocol=security_protocol,
            sasl_mechanism=sasl_mechanism,
            sasl_username=sasl_username,
            ssl_ca=ssl_ca,
        )

    def problem(self) -> Optional[tuple[str, str]]:
        return next(((option, why) for option, why in self._given.items() if why), None)


class TopicSource(DataSource):
    """A topic of the server itself, which every environment has for itself. It is made when it is
    first used: `svc topic push` fills it.

    topic: the topic's name; the source's name unless it is given.
    partitions: how many it has at least, 1 unless it is given; a topic never loses any.
    """

    kind = "SOURCE_KIND_TOPIC"
    taker = "TopicSource"

    def __init__(self, name: str, *, topic: Optional[str] = None, partitions: int = 1, **others: NoReturn) -> None:
        self._given = {
            "name" if topic is None else "topic": check_topic("name" if topic is None else "topic", name if topic is None else topic),
            "partitions": check_partitions("partitions", partitions),
        }
        super().__init__(name, kept(self.taker, others), topic=name if topic is None else topic, partitions=partitions)

    def problem(self) -> Optional[tuple[str, str]]:
        return next(((option, why) for option, why in self._given.items() if why), None)


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        from ._surface.public_names import no_such_name

        raise no_such_name(__name__, name)
