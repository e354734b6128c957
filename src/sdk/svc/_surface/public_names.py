"""The public names with the modules that have them, and names that other libraries of this field
have and this version lacks.

The modules import their names explicitly, for type checkers and readers; a test compares them with
this table.
"""

from __future__ import annotations

import dis
import sys
from typing import Mapping

from .names import typo_suggestion

_ROOT = "svc"
_FEATURES = "svc.features"
_STREAMS = "svc.streams"
_SQL = "svc.sql"
_SOURCES = "svc.sources"
_CLIENT = "svc.client"
_QUERIES = "svc.queries"
_LOGGING = "svc.logging"
_MONITORING = "svc.monitoring"
_EVALUATIONS = "svc.evaluations"
_COMPUTE = "svc.compute"
_CONTAINERS = "svc.containers"
_HTTP = "svc.http"
_EMBEDDING = "svc.embedding"
_PROMPTS = "svc.prompts"
_NOTEBOOK = "svc.notebook"

#: The modules of each name; the first is the one that advice names. The functions of
#: `svc.functions` come from the function table.
PUBLIC_NAMES: Mapping[str, tuple[str, ...]] = {
    "AsyncDataset": (_CLIENT, _ROOT),
    "AsyncDatasetRevision": (_CLIENT, _ROOT),
    "AsyncFunctionCall": (_CLIENT, _ROOT),
    "AsyncOfflineQuery": (_CLIENT, _ROOT),
    "AsyncResolverRun": (_CLIENT, _ROOT),
    "AsyncSvcClient": (_CLIENT, _ROOT),
    "AuthenticationError": (_CLIENT, _ROOT),
    "BigQuerySource": (_SQL, _SOURCES, _ROOT),
    "BulkQueryResult": (_CLIENT, _ROOT),
    "ClickhouseSource": (_SQL, _SOURCES, _ROOT),
    "ClientError": (_CLIENT, _ROOT),
    "ConfigError": (_CLIENT, _ROOT),
    "Cron": (_FEATURES, _ROOT),
    "DataFrame": (_FEATURES, _ROOT),
    "DataSource": (_SQL, _SOURCES, _ROOT),
    "Dataset": (_CLIENT, _ROOT),
    "DatasetRevision": (_CLIENT, _ROOT),
    "DuckDBSource": (_SQL, _SOURCES, _ROOT),
    "ErrorDetail": (_CLIENT, _ROOT),
    "Evaluation": (_EVALUATIONS, _ROOT),
    "ExceptionDetail": (_CLIENT, _ROOT),
    "Feature": (_FEATURES, _ROOT),
    "FeatureMeta": (_CLIENT, _ROOT),
    "FeatureResult": (_CLIENT, _ROOT),
    "FeatureTime": (_FEATURES, _ROOT),
    "Features": (_FEATURES, _ROOT),
    "FunctionCall": (_CLIENT, _ROOT),
    "FunctionFailed": (_CLIENT, _ROOT),
    "HttpRefused": (_HTTP, _ROOT),
    "HttpResponse": (_HTTP, _ROOT),
    "Monitor": (_MONITORING, _ROOT),
    "Image": (_CONTAINERS, _ROOT),
    "KafkaSource": (_SOURCES, _STREAMS, _ROOT),
    "MySQLSource": (_SQL, _SOURCES, _ROOT),
    "NamedQuery": (_QUERIES, _FEATURES, _ROOT),
    "NotDeployed": (_NOTEBOOK, _ROOT),
    "Now": (_ROOT, _FEATURES),
    "OfflineQuery": (_CLIENT, _ROOT),
    "OfflineQueryFailed": (_CLIENT, _ROOT),
    "OnlineQuery": (_CLIENT, _ROOT),
    "OnlineQueryContext": (_CLIENT, _ROOT),
    "PostgreSQLSource": (_SQL, _SOURCES, _ROOT),
    "Primary": (_FEATURES, _ROOT),
    "PromptResponse": (_PROMPTS, _ROOT),
    "QueryError": (_CLIENT, _ROOT),
    "QueryMeta": (_CLIENT, _ROOT),
    "QueryResult": (_CLIENT, _ROOT),
    "ResolverRun": (_CLIENT, _ROOT),
    "ResolverRunFailed": (_CLIENT, _ROOT),
    "SQLSourceGroup": (_SQL, _SOURCES, _ROOT),
    "SQLStatement": (_SQL, _SOURCES, _ROOT),
    "SQLiteInMemorySource": (_SQL, _SOURCES, _ROOT),
    "SQLiteSource": (_SQL, _SOURCES, _ROOT),
    "ScalingGroup": (_CONTAINERS, _ROOT),
    "ScalingGroupNotReady": (_CONTAINERS, _ROOT),
    "ScheduledQuery": (_QUERIES, _FEATURES, _ROOT),
    "ServerUnreachable": (_CLIENT, _ROOT),
    "SnowflakeSource": (_SQL, _SOURCES, _ROOT),
    "SvcClient": (_CLIENT, _ROOT),
    "TopicSource": (_SOURCES, _STREAMS, _ROOT),
    "UnexpectedAnswer": (_CLIENT, _ROOT),
    "UploadResult": (_CLIENT, _ROOT),
    "Validation": (_FEATURES, _ROOT),
    "Vector": (_FEATURES, _ROOT),
    "Windowed": (_STREAMS, _FEATURES, _ROOT),
    "_": (_FEATURES, _ROOT),
    "after": (_FEATURES, _ROOT),
    "after_all": (_FEATURES, _ROOT),
    "batch": (_ROOT, _FEATURES),
    "before": (_FEATURES, _ROOT),
    "before_all": (_FEATURES, _ROOT),
    "check_expression": (_CLIENT, _ROOT),
    "completion": (_PROMPTS, _ROOT),
    "contains": (_EVALUATIONS, _ROOT),
    "deploy": (_NOTEBOOK, _ROOT),
    "description": (_FEATURES, _ROOT),
    "display": (_NOTEBOOK, _ROOT),
    "embed": (_EMBEDDING, _ROOT),
    "exact_match": (_EVALUATIONS, _ROOT),
    "feature": (_FEATURES, _ROOT),
    # Not of `svc`: there the name is the module's.
    "features": (_FEATURES,),
    "freeze_time": (_ROOT,),
    "function": (_COMPUTE, _ROOT),
    "group_by_windowed": (_STREAMS, _FEATURES, _ROOT),
    "has_many": (_FEATURES, _ROOT),
    "has_one": (_FEATURES, _ROOT),
    "http_get": (_HTTP, _ROOT),
    "http_post": (_HTTP, _ROOT),
    "is_feature_time": (_FEATURES, _ROOT),
    "is_primary": (_FEATURES, _ROOT),
    "judge": (_EVALUATIONS, _ROOT),
    "make_stream_resolver": (_STREAMS, _ROOT),
    "message": (_PROMPTS, _ROOT),
    "numeric": (_EVALUATIONS, _ROOT),
    "offline": (_ROOT, _FEATURES),
    "online": (_ROOT, _FEATURES),
    "owner": (_FEATURES, _ROOT),
    "query_context": (_ROOT,),
    "query_id": (_ROOT,),
    "query_tags": (_ROOT,),
    "realtime": (_ROOT, _FEATURES),
    "sink": (_STREAMS, _ROOT),
    "stream": (_STREAMS, _ROOT),
    "svc_logger": (_LOGGING, _ROOT),
    "tags": (_FEATURES, _ROOT),
    "trace_headers": (_ROOT,),
    "traceparent": (_ROOT,),
    "unwrap_feature": (_FEATURES, _ROOT),
    "windowed": (_STREAMS, _FEATURES, _ROOT),
}

_OTHER_STREAM = "streams read KafkaSource and TopicSource"
_SINK_DECORATOR = "a sink is the function that @sink stands above"
_SCHEDULES = "a resolver runs by cron=, and a query by ScheduledQuery(schedule=...)"
_ONE_QUERY = "offline_query takes environment= and tags= itself"
_OTHER_SOURCE = "SQL resolvers read PostgreSQLSource, MySQLSource, SQLiteSource, DuckDBSource, ClickhouseSource, SnowflakeSource and BigQuerySource"
NO_RESOURCES = "resource_group= names a group of the environment, whose settings say with what its workers run"
_ONE_CLIENT = "SvcClient and AsyncSvcClient are its clients"
_NO_MATERIALIZATION = "windowed(..., materialization=...) keeps the aggregates of windows"
_NO_CHARTS = "it has no charts as code; a Monitor(...) tells when a metric breaks a bound"

#: Names that this version does not have, with what to use instead.
ABSENT_NAMES: Mapping[str, str] = {
    "AthenaSource": _OTHER_SOURCE,
    "CacheStrategy": "max_staleness=, store_online= and cache_nulls= say what is stored",
    "Chart": _NO_CHARTS,
    "CloudSQLSource": _OTHER_SOURCE,
    "DatabricksSource": _OTHER_SOURCE,
    "Distance": "F.cosine_similarity, F.dot_product and F.l2_distance compare two vectors",
    "Duration": "a length of time is a text such as '1h30m' or a datetime.timedelta",
    "DynamoDBSource": _OTHER_SOURCE,
    "Environments": "environment= takes a text or a list of texts",
    "F": "functions of expressions are imported as 'import svc.functions as F'",
    "FeatureConverter": "feature(encoder=..., decoder=...) takes the two functions",
    "Filter": "a filter is a comparison of features, such as Txn.amount > 100",
    "FinalizedQuery": "query_string(...).one() gives a SQLStatement",
    "Formula": _NO_CHARTS,
    "IncrementalSettings": "query_string(...).incremental(...) takes them, and the header of a SQL file has 'incremental'",
    "KinesisSource": _OTHER_STREAM,
    "LatLon": "two floats hold a place, and F.haversine gives the distance of two",
    "MSSQLSource": _OTHER_SOURCE,
    "MachineType": NO_RESOURCES,
    "MaterializationWindowConfig": _NO_MATERIALIZATION,
    "MissingValueStrategy": "a value that is missing is None, or the feature's default",
    "OfflineQueryContext": _ONE_QUERY,
    "OfflineResolver": "a resolver is the function that @offline stands above",
    "OnlineResolver": "a resolver is the function that @online stands above",
    "PubSubSource": _OTHER_STREAM,
    "RedshiftSource": _OTHER_SOURCE,
    "Resolver": "a resolver is the function that @online stands above",
    "ResourceHint": NO_RESOURCES,
    "ResourceRequests": NO_RESOURCES,
    "SQLiteFileSource": "SQLiteSource(name=..., path=...) reads a file",
    "ScheduleOptions": _SCHEDULES,
    "Series": _NO_CHARTS,
    "Sink": _SINK_DECORATOR,
    "SpannerSource": _OTHER_SOURCE,
    "State": "resolvers keep no state between calls",
    "StreamResolver": "the resolver of a stream is the function that @stream stands above",
    "SvcGRPCClient": _ONE_CLIENT,
    "Tags": "tags= takes a text or a list of texts",
    "Tensor": "Vector[768] is a list of floats of one length; a list of vectors is list[Vector[768]]",
    "TimeDelta": "lengths of time are datetime.timedelta",
    "Trigger": _NO_CHARTS,
    "TrinoSource": _OTHER_SOURCE,
    "Underscore": "the row of an expression is '_'",
    "ensure_feature": "unwrap_feature describes a feature",
    "feature_time": "annotate a feature 'FeatureTime'",
    "make_sql_file_resolver": "SQL resolvers are files, '<name>.svc.sql'",
    "op": "functions of expressions are imported as 'import svc.functions as F'",
    "primary": "annotate the key 'Primary[...]', or write feature(primary=True)",
    "underscore": "the row of an expression is '_'",
}

#: Modules that this version does not have, with what to use instead.
ABSENT_MODULES: Mapping[str, str] = {
    "svc.df": "svc.features has DataFrame",
    "svc.feature_store": "svc.features has feature classes, and svc.client asks for their values",
    "svc.ml": "it deploys no models",
    "svc.scheduled_query": _SCHEDULES,
    "svc.testing": "resolvers are plain functions in tests; 'pytest -p svc._pytest_plugin' makes their filters visible",
}


def names_of(module: str) -> list[str]:
    """The names that a module offers, sorted."""
    return sorted(name for name, modules in PUBLIC_NAMES.items() if module in modules)


def modules() -> list[str]:
    """The modules that users import, sorted."""
    return sorted({module for own in PUBLIC_NAMES.values() for module in own} | {"svc.functions"})


def missing_name(module: str, name: str) -> str:
    """The reason why a module lacks a name, and what to write instead: a sentence without its full
    stop, for an error or a finding.
    """
    homes = PUBLIC_NAMES.get(name)
    if homes:
        return f"{module} has no '{name}': it is in {homes[0]}; write 'from {homes[0]} import {name}'"
    instead = ABSENT_NAMES.get(name)
    if instead:
        return f"this version of svc has no '{name}': {instead}"
    near = typo_suggestion(name, names_of(module) or PUBLIC_NAMES)
    return f"this version of svc has no '{name}'{near or f'; {_offer(module)}'}"


def missing_module(module: str) -> str:
    """The reason why there is no module of a name, and what to write instead."""
    instead = ABSENT_MODULES.get(module)
    if instead:
        return f"this version of svc has no module '{module}': {instead}"
    listed = ", ".join(modules())
    return f"this version of svc has no module '{module}'{typo_suggestion(module, modules()) or f'; its modules are: {listed}'}"


def _offer(module: str) -> str:
    names = names_of(module)
    return f"{module} has {', '.join(names)}" if 0 < len(names) <= 12 else f"its modules are: {', '.join(modules())}"


def no_such_name(module: str, name: str) -> Exception:
    """The exception for a module's `__getattr__`: ImportError where the name is imported, so that
    Python shows its text, else AttributeError.
    """
    if name.startswith("__"):
        return AttributeError(f"module {module!r} has no attribute {name!r}", name=name)
    frame = sys._getframe(2)
    code, at = frame.f_code.co_code, frame.f_lasti
    text = missing_name(module, name)
    if 0 <= at < len(code) and dis.opname[code[at]] == "IMPORT_FROM":
        return ImportError(text, name=module)
    return AttributeError(text, name=name, obj=sys.modules.get(module))
