"""Unknown options of the SDK's decorators and functions: rule 106.

While a project is loaded they are kept with the definition, so that all of them are found at once;
anywhere else they are a TypeError. Type checkers see them with the type NoReturn, so that none can
be given.
"""

from __future__ import annotations

import importlib
import inspect
from typing import Any, Mapping

from .._diagnostics import rules
from .._diagnostics.findings import DefinitionError
from .._model.registry import registry
from .names import typo_suggestion
from .public_names import PUBLIC_NAMES

#: Names of unknown options that were given.
Others = tuple[str, ...]

_NO_RESOURCES = "resolvers run in the server's worker processes, which have no sizes or kinds of their own"
_NO_VERSIONS = "version= of feature(...) gives a feature several versions"
_NO_WINDOW_VERSIONS = "a windowed feature has one version; give the new one another name"
_NO_ENCODING = "windows have values of types that the server knows; feature(...) takes it"
_NO_STREAM_WINDOWS = "messages are computed once, as they come; a windowed feature with materialization= aggregates their rows"
_WINDOWS = "windows are written as texts, such as windowed('10m', '7d')"
_STORED = "store_online=, store_offline= and cache_nulls= say what is stored"
_NO_ENGINE_ARGUMENTS = "the server reads the database itself and has no driver to hand them to"

_RESOLVER: Mapping[str, str] = {
    "cache": "max_staleness= of the feature, or of its class, says how long its values are kept",
    "data_sources": "a SQL resolver names its source in its file, or returns source.query_string(...)",
    "description": "the docstring is the description",
    "incremental": "SQL resolvers run incrementally: query_string(...).incremental(...), or 'incremental' in the header of their file",
    "machine_type": _NO_RESOURCES,
    "output_row_order": "rows are matched by their primary key, in whatever order they come",
    "resource_group": _NO_RESOURCES,
    "retries": "a call that fails is not tried again",
    "schedule": "cron= is the schedule",
    "static": "a DataFrame is computed when the resolver runs",
}
_STORAGE: Mapping[str, str] = {
    "cache_strategy": _STORED,
    "online_store_max_items": "the online store keeps the last value of a feature",
}
_VALUE: Mapping[str, str] = {
    **_STORAGE,
    "dtype": "the annotation is the type",
    "typ": "the annotation is the type",
    "underscore": "expression= takes an expression of _",
}
_WINDOWED: Mapping[str, str] = {
    **_VALUE,
    "decoder": _NO_ENCODING,
    "default_version": _NO_WINDOW_VERSIONS,
    "version": _NO_WINDOW_VERSIONS,
    "versions": _NO_WINDOW_VERSIONS,
    "encoder": _NO_ENCODING,
    "buckets": _WINDOWS,
    "days": _WINDOWS,
    "hours": _WINDOWS,
    "minutes": _WINDOWS,
}
_CLASS: Mapping[str, str] = {
    **_STORAGE,
    "description": "the docstring of the class is its description",
    "namespace": "name= is the namespace",
    "singleton": "every feature class has a primary key",
    "version": _NO_VERSIONS,
}
_MODEL: Mapping[str, str] = {
    "api_key": "the integration has the key",
    "base_url": "url= is the address",
    "retries": "a request that fails for a passing reason is made 4 times",
}
_RELATION: Mapping[str, str] = {
    "default": "a relation without a row is None or an empty DataFrame",
    "materialization": "rows of a relation are read when they are asked for",
    "online_store_max_items": "max_staleness= of has_many says how long its rows are kept",
}
_QUERY: Mapping[str, str] = {
    "additional_logged_features": "a query logs what it answers",
    "cron": "a query runs by ScheduledQuery(schedule=...)",
    "meta": "owner=, tags= and description= are a query's metadata",
    "schedule": "a query runs by ScheduledQuery(schedule=...)",
    "store_online": "the features' own store_online= counts",
    "valid_plan_not_required": "a query that has no plan is an error at lint",
}
_SCHEDULED: Mapping[str, str] = {
    "cron": "schedule= is the schedule",
    "dataset_name": "each run's answer is a revision without a name",
    "resource_group": _NO_RESOURCES,
    "resources": _NO_RESOURCES,
    "planner_options": "a scheduled query has none",
    "required_output": "rows without a value are not left out",
    "num_shards": "a run is one part",
}
_MONITOR: Mapping[str, str] = {
    "alert_when": "above= or below= is the bound",
    "duration": "for_= says how long the bound has to be broken",
    "expression": "query= is the metric expression",
    "message": "description= is part of the events",
    "threshold": "above= or below= is the bound",
    "window_period": "'.rollup(5m)' at the expression's end is the time that a value is of",
}
_SCHEMA = "parse= takes a function that makes the message of its bytes, by a package of yours such as fastavro or protobuf"
_STREAM: Mapping[str, str] = {
    "avro_schema": _SCHEMA,
    "cron": "a stream runs while its deployment is live",
    "dead_letters": "messages that fail are kept for 7 days: `svc streams dead-letters list`",
    "description": "the docstring is the description",
    "keys": _NO_STREAM_WINDOWS,
    "machine_type": _NO_RESOURCES,
    "message": "the parameter's annotation is the message's type",
    "message_type": "the parameter's annotation is the message's type",
    "mode": _NO_STREAM_WINDOWS,
    "protobuf": _SCHEMA,
    "resource_hint": _NO_RESOURCES,
    "schema": _SCHEMA,
    "schema_registry": _SCHEMA,
    "updates_materialized_aggregations": "every row of a stream counts in the windows of its class that are kept",
    "when": "return None to leave a message out",
}
_STREAM_CALL: Mapping[str, str] = {
    **{option: instead for option, instead in _STREAM.items() if option not in ("description", "message_type")},
    "parse": "a message is a JSON object; @stream takes parse=",
    "timeout": "no Python runs",
}

_EVALUATION: Mapping[str, str] = {
    "columns": "inputs= says which columns the function is given",
    "function": "task= is the function",
    "metrics": "scorers= says what scores an output",
    "revision": "dataset='name@rev_...' names a revision",
}


def _source(password: str) -> Mapping[str, str]:
    return {
        "args": _NO_ENGINE_ARGUMENTS,
        "async_engine_args": _NO_ENGINE_ARGUMENTS,
        "db": "database= names the database",
        "dbname": "database= names the database",
        "engine_args": _NO_ENGINE_ARGUMENTS,
        "integration_name": "name= is the source's name",
        "password": f"credentials come from the server's environment, as {password}",
        "uri": "host=, port=, database= and user= say where it is",
    }


_FILE: Mapping[str, str] = {"engine_args": _NO_ENGINE_ARGUMENTS, "filename": "path= is the file", "file_name": "path= is the file"}

_KAFKA: Mapping[str, str] = {
    "bootstrap_server": "bootstrap_servers= names the brokers",
    "brokers": "bootstrap_servers= names the brokers",
    "integration_name": "name= is the source's name",
    "sasl_password": "credentials come from the server's environment, as <NAME>_KAFKA_SASL_PASSWORD",
    "ssl_ca_file": "ssl_ca= is the certificate authorities' PEM itself",
    "ssl_keystore_location": "clients are known by SASL",
}

#: Options that other libraries have and this version lacks, with what to use instead, by the public
#: name of the decorator, function or class.
ABSENT_OPTIONS: Mapping[str, Mapping[str, str]] = {
    "online": _RESOLVER,
    "offline": _RESOLVER,
    "stream": _STREAM,
    "make_stream_resolver": _STREAM_CALL,
    "function": {
        "description": "the docstring is the description",
        "retries": "a call that fails is not tried again",
        "version": "each deployment that changes the function gives it the next version",
    },
    "sink": {"description": "the docstring is the description", "upsert": "the function itself says what becomes of rows"},
    "before_all": {},
    "after_all": {},
    "feature": _VALUE,
    "windowed": _WINDOWED,
    "group_by_windowed": {
        **{option: instead for option, instead in _WINDOWED.items() if option not in _VALUE},
        **_VALUE,
        "default": "without rows the value is an empty list",
        "offline_expression": "offline queries group the rows that were known",
    },
    "features": _CLASS,
    "embed": _MODEL,
    "completion": _MODEL,
    "has_one": {**_RELATION, "max_staleness": "a related row is as fresh as its features, which have a max_staleness= of their own"},
    "has_many": _RELATION,
    "Cron": {},
    "Validation": {},
    "NamedQuery": _QUERY,
    "ScheduledQuery": _SCHEDULED,
    "Monitor": _MONITOR,
    "Evaluation": _EVALUATION,
    "PostgreSQLSource": _source("<NAME>_PGPASSWORD"),
    "MySQLSource": _source("<NAME>_MYSQL_PASSWORD"),
    "ClickhouseSource": _source("<NAME>_CLICKHOUSE_PASSWORD"),
    "DuckDBSource": _FILE,
    "SnowflakeSource": {
        **_source("<NAME>_SNOWFLAKE_PRIVATE_KEY or <NAME>_SNOWFLAKE_TOKEN"),
        "uri": "account=, database= and schema= say where it is",
        "account_identifier": "account= is the account identifier",
        "private_key": "credentials come from the server's environment, as <NAME>_SNOWFLAKE_PRIVATE_KEY",
        "private_key_b64": "credentials come from the server's environment, as <NAME>_SNOWFLAKE_PRIVATE_KEY",
    },
    "BigQuerySource": {
        **_source("<NAME>_GOOGLE_CREDENTIALS"),
        **dict.fromkeys(("database", "db", "dbname"), "dataset= names the dataset"),
        "uri": "project= and dataset= say where it is",
        "credentials_base64": "credentials come from the server's environment, as <NAME>_GOOGLE_CREDENTIALS",
        "credentials_path": "credentials come from the server's environment, as <NAME>_GOOGLE_CREDENTIALS",
    },
    "KafkaSource": _KAFKA,
    "TopicSource": {"retention": "`svc infra apply kafka-topics` says how long the server keeps messages"},
    "SQLiteInMemorySource": {**_FILE, "filename": "SQLiteSource reads a file", "file_name": "SQLiteSource reads a file", "path": "SQLiteSource reads a file"},
    "SQLiteSource": _FILE,
}


def options_of(taker: str) -> list[str]:
    """The options of a decorator, function or class of the SDK, by its public name."""
    function: Any = getattr(importlib.import_module(PUBLIC_NAMES[taker][0]), taker)
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return [parameter.name for parameter in inspect.signature(function).parameters.values() if parameter.kind in named]


def unknown_option(taker: str, option: str) -> DefinitionError:
    """Finding 106."""
    instead = ABSENT_OPTIONS[taker].get(option)
    if instead:
        text = f"this version of svc has no option '{option}' of {taker}: {instead}"
    else:
        known = options_of(taker)
        listed = ", ".join(known) or "none"
        text = f"{taker} has no option '{option}'{typo_suggestion(option, known) or f'; its options are: {listed}'}"
    return DefinitionError(rules.UnknownOption.no_option(problem=text), token=option)


def kept(taker: str, others: Mapping[str, Any]) -> Others:
    """The names of unknown options, for the finding. Raises DefinitionError 106 when no project is
    being loaded.
    """
    if others and not registry.collects:
        raise unknown_option(taker, next(iter(others)))
    return tuple(others)
