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

Every public name can be imported from here, but for `features`, which is the module's name;
`_surface/public_names.py` lists where else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._model.context import query_context, query_id, query_tags, trace_headers, traceparent
from ._model.cron import Cron
from ._model.frozen_time import freeze_time
from ._model.hooks import after_all, before_all
from ._model.resolver_decorators import batch, offline, online, realtime
from ._types.annotations import Now
from .compute import function
from .embedding import embed
from .evaluations import Evaluation, contains, exact_match, judge, numeric
from .features import (
    DataFrame,
    Feature,
    Features,
    FeatureTime,
    Primary,
    Validation,
    Vector,
    Windowed,
    _,
    after,
    before,
    description,
    feature,
    group_by_windowed,
    has_many,
    has_one,
    is_feature_time,
    is_primary,
    owner,
    tags,
    unwrap_feature,
    windowed,
)
from .http import HttpRefused, HttpResponse, http_get, http_post
from .logging import svc_logger
from .monitoring import Monitor
from .prompts import PromptResponse, completion, message
from .queries import NamedQuery, ScheduledQuery
from .sources import (
    BigQuerySource,
    ClickhouseSource,
    DataSource,
    DuckDBSource,
    KafkaSource,
    MySQLSource,
    PostgreSQLSource,
    SQLiteInMemorySource,
    SQLiteSource,
    SQLSourceGroup,
    SQLStatement,
    SnowflakeSource,
    TopicSource,
)
from .streams import make_stream_resolver, sink, stream

if TYPE_CHECKING:
    from .client import (
        AsyncDataset,
        AsyncDatasetRevision,
        AsyncFunctionCall,
        AsyncOfflineQuery,
        AsyncResolverRun,
        AsyncSvcClient,
        AuthenticationError,
        BulkQueryResult,
        ClientError,
        ConfigError,
        Dataset,
        DatasetRevision,
        ErrorDetail,
        ExceptionDetail,
        FeatureMeta,
        FeatureResult,
        FunctionCall,
        FunctionFailed,
        OfflineQuery,
        OfflineQueryFailed,
        OnlineQuery,
        OnlineQueryContext,
        QueryError,
        QueryMeta,
        QueryResult,
        ResolverRun,
        ResolverRunFailed,
        ServerUnreachable,
        SvcClient,
        UnexpectedAnswer,
        UploadResult,
        check_expression,
    )
    from .containers import Image, ScalingGroup, ScalingGroupNotReady
    from .notebook import NotDeployed, deploy, display

__all__ = [
    "AsyncDataset",
    "AsyncDatasetRevision",
    "AsyncFunctionCall",
    "AsyncOfflineQuery",
    "AsyncResolverRun",
    "AsyncSvcClient",
    "AuthenticationError",
    "BigQuerySource",
    "BulkQueryResult",
    "ClickhouseSource",
    "ClientError",
    "ConfigError",
    "Cron",
    "DataFrame",
    "DataSource",
    "Dataset",
    "DatasetRevision",
    "DuckDBSource",
    "ErrorDetail",
    "Evaluation",
    "ExceptionDetail",
    "Feature",
    "FeatureMeta",
    "FeatureResult",
    "FeatureTime",
    "Features",
    "FunctionCall",
    "FunctionFailed",
    "HttpRefused",
    "HttpResponse",
    "Image",
    "KafkaSource",
    "Monitor",
    "MySQLSource",
    "NamedQuery",
    "NotDeployed",
    "Now",
    "OfflineQuery",
    "OfflineQueryFailed",
    "OnlineQuery",
    "OnlineQueryContext",
    "PostgreSQLSource",
    "Primary",
    "QueryError",
    "QueryMeta",
    "QueryResult",
    "ResolverRun",
    "ResolverRunFailed",
    "PromptResponse",
    "SQLSourceGroup",
    "SQLStatement",
    "SQLiteInMemorySource",
    "SQLiteSource",
    "ScalingGroup",
    "ScalingGroupNotReady",
    "ScheduledQuery",
    "ServerUnreachable",
    "SnowflakeSource",
    "SvcClient",
    "TopicSource",
    "UnexpectedAnswer",
    "UploadResult",
    "Validation",
    "Vector",
    "Windowed",
    "_",
    "after",
    "after_all",
    "batch",
    "before",
    "before_all",
    "check_expression",
    "completion",
    "contains",
    "deploy",
    "description",
    "display",
    "embed",
    "exact_match",
    "feature",
    "freeze_time",
    "function",
    "group_by_windowed",
    "has_many",
    "has_one",
    "http_get",
    "http_post",
    "is_feature_time",
    "is_primary",
    "judge",
    "make_stream_resolver",
    "message",
    "numeric",
    "offline",
    "online",
    "owner",
    "query_context",
    "query_id",
    "query_tags",
    "realtime",
    "sink",
    "stream",
    "svc_logger",
    "tags",
    "trace_headers",
    "traceparent",
    "unwrap_feature",
    "windowed",
]

__version__ = "0.1.0"

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """The names of the client, of containers and of notebooks, imported on first use because resolvers do without
        them.
        """
        from ._surface.public_names import PUBLIC_NAMES, no_such_name

        home = PUBLIC_NAMES.get(name, ("",))[0]
        if home in ("svc.client", "svc.containers", "svc.notebook"):
            from importlib import import_module

            return getattr(import_module(home), name)
        raise no_such_name(__name__, name)
