"""The client: queries from Python.

    from svc.client import SvcClient
    from features import User

    client = SvcClient()
    result = client.query(input={User.id: 1}, output=[User.name, "user.score"])
    result.get_feature_value(User.name)
"""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Mapping, Optional, Sequence, Union, overload

from ._client.blocking import Blocking
from ._client.calls import Calls, Feature, Inputs, OnlineQuery, OnlineQueryContext, QueryOptions, Times
from ._client.check import Tolerance, checked, expected_outputs
from ._client.config import ConfigError
from ._client.dataset import Dataset, DatasetRevision
from ._client.errors import AuthenticationError, ClientError, ServerUnreachable, UnexpectedAnswer
from ._client.functions import Arguments, FunctionCall, FunctionFailed
from ._client.offline import OfflineQuery, OfflineQueryFailed
from ._client.result import (
    BulkQueryResult,
    ErrorDetail,
    ExceptionDetail,
    FeatureMeta,
    FeatureResult,
    QueryError,
    QueryMeta,
    QueryResult,
)
from ._client.runs import ResolverRun, ResolverRunFailed
from ._client.upload import UploadResult

if TYPE_CHECKING:
    from ._client.async_client import AsyncDataset, AsyncDatasetRevision, AsyncFunctionCall, AsyncOfflineQuery, AsyncResolverRun, AsyncSvcClient

__all__ = [
    "AsyncDataset",
    "AsyncDatasetRevision",
    "AsyncFunctionCall",
    "AsyncOfflineQuery",
    "AsyncResolverRun",
    "AsyncSvcClient",
    "AuthenticationError",
    "BulkQueryResult",
    "ClientError",
    "ConfigError",
    "Dataset",
    "DatasetRevision",
    "ErrorDetail",
    "ExceptionDetail",
    "FeatureMeta",
    "FeatureResult",
    "FunctionCall",
    "FunctionFailed",
    "OfflineQuery",
    "OfflineQueryFailed",
    "OnlineQuery",
    "OnlineQueryContext",
    "QueryError",
    "QueryMeta",
    "QueryResult",
    "ResolverRun",
    "ResolverRunFailed",
    "ServerUnreachable",
    "SvcClient",
    "UnexpectedAnswer",
    "UploadResult",
    "check_expression",
]


class SvcClient:
    """A client that queries a server. It can be used from several threads; connections and the
    token are kept between calls.

    client_id, client_secret, environment, api_server: without them the environment variables
        ``SVC_CLIENT_ID``, ``SVC_CLIENT_SECRET``, ``SVC_ENVIRONMENT`` and ``SVC_API_SERVER`` count,
        else the command line's config file, which `svc login` writes. In the folder of a project
        the client asks that project, which `svc.yaml` names, as the command line does; an
        environment that is named by its id is of one project, whatever the folder.
    branch: a branch deployment to query.
    deployment_id: one deployment to query.
    timeout: seconds that a call may take, with everything that it does; what is not there by then has
        failed with the code DEADLINE_EXCEEDED.
    max_retries: how often a request is sent again when the connection broke or the server had too
        much to do, in that time, and only where it cannot have an effect twice. All retries of a
        client together are never more than a small share of its requests.

    Nothing is sent before the first call. Raises ConfigError when there are no credentials.
    """

    def __init__(
        self,
        *,
        client_id: Optional[str] = None,
        client_secret: Optional[str] = None,
        environment: Optional[str] = None,
        api_server: Optional[str] = None,
        branch: Optional[str] = None,
        deployment_id: Optional[str] = None,
        timeout: float = 60.0,
        max_retries: int = 3,
    ) -> None:
        self._calls = Calls(client_id, client_secret, environment, api_server, branch, deployment_id, timeout, max_retries)
        self._run = Blocking()

    @overload
    def query(
        self,
        input: Optional[Inputs] = None,
        output: Sequence[Feature] = (),
        *,
        context: Optional[OnlineQueryContext] = None,
        staleness: Optional[Mapping[Feature, Union[str, timedelta]]] = None,
        tags: Union[str, Sequence[str], None] = None,
        now: Union[datetime, str, None] = None,
        query_context: Optional[Mapping[str, Any]] = None,
        query_name: Optional[str] = None,
        query_name_version: Optional[str] = None,
        correlation_id: Optional[str] = None,
        include_meta: bool = False,
        explain: bool = False,
        planner_options: Optional[Mapping[str, Union[str, int, float, bool]]] = None,
        trace: bool = False,
        store_plan_stages: bool = False,
    ) -> QueryResult: ...

    @overload
    def query(
        self,
        input: Sequence[Any],
        output: Sequence[Feature] = (),
        *,
        context: Optional[OnlineQueryContext] = None,
        staleness: Optional[Mapping[Feature, Union[str, timedelta]]] = None,
        tags: Union[str, Sequence[str], None] = None,
        now: Times = None,
        query_context: Optional[Mapping[str, Any]] = None,
        query_name: Optional[str] = None,
        query_name_version: Optional[str] = None,
        correlation_id: Optional[str] = None,
        explain: bool = False,
        planner_options: Optional[Mapping[str, Union[str, int, float, bool]]] = None,
        trace: bool = False,
        store_plan_stages: bool = False,
    ) -> BulkQueryResult: ...

    def query(
        self,
        input: Union[Inputs, Sequence[Any], None] = None,
        output: Sequence[Feature] = (),
        *,
        context: Optional[OnlineQueryContext] = None,
        staleness: Optional[Mapping[Feature, Union[str, timedelta]]] = None,
        tags: Union[str, Sequence[str], None] = None,
        now: Times = None,
        query_context: Optional[Mapping[str, Any]] = None,
        query_name: Optional[str] = None,
        query_name_version: Optional[str] = None,
        correlation_id: Optional[str] = None,
        include_meta: bool = False,
        explain: bool = False,
        planner_options: Optional[Mapping[str, Union[str, int, float, bool]]] = None,
        trace: bool = False,
        store_plan_stages: bool = False,
    ) -> Any:
        """Computes or serves features for one row, or, when the input is a list of rows, for all of
        them as `query_bulk` does.

        input: values by feature, ``{User.id: 1}`` or ``{"user.id": 1}``, or a list of such rows
            that all name the same features.
        output: features, feature classes or names; without any, what the named query says, or the
            class of the input.
        context: the environment to ask and the query's tags, when `tags` says none.
        staleness: how old a stored value may be, per feature, as ``"1h"`` or a timedelta.
        now: the time to answer as of; for a list of rows it may be a list too, with a time for
            each.
        query_context: what resolvers read with `svc.query_context()`.
        query_name, query_name_version: a query that is stored with the code; without a version, its
            latest.
        include_meta: `FeatureResult.meta` says where each value came from.
        explain: `meta.explain_output` has the plan.
        planner_options: what `svc query --help` lists, such as ``{"disable_cache_reads": True}``;
            they come before the named query's.
        trace: spans are kept, under `meta.trace_id`.
        store_plan_stages: what every step gave is kept, as long as the run is; much slower.

        Raises QueryError when the query is refused, and other ClientErrors when there is no answer.
        What fails while it runs is in `errors`.
        """
        options = QueryOptions(
            context=context,
            staleness=staleness,
            tags=tags,
            now=now,
            query_context=query_context,
            query_name=query_name,
            query_name_version=query_name_version,
            correlation_id=correlation_id,
            explain=explain,
            planner_options=planner_options,
            trace=trace,
            store_plan_stages=store_plan_stages,
            include_meta=include_meta,
        )
        return self._run(self._calls.query(input, output, options))

    def query_multi(self, queries: Sequence[OnlineQuery]) -> list[Union[QueryResult, QueryError]]:
        """Asks several queries in one request, which may be of different classes:
        ``query_multi([OnlineQuery({User.id: 1}, [User.name]), OnlineQuery({Team.id: 2}, [Team.size])])``.

        Returns what each came to, in their order: the result that `query` would return, or the
        QueryError that it would raise. Raises QueryError when they are refused together, as more
        than 100 are, and other ClientErrors when there is no answer.
        """
        return self._run(self._calls.query_multi(queries))

    def query_bulk(
        self,
        input: Any,
        output: Sequence[Feature] = (),
        *,
        context: Optional[OnlineQueryContext] = None,
        staleness: Optional[Mapping[Feature, Union[str, timedelta]]] = None,
        tags: Union[str, Sequence[str], None] = None,
        now: Times = None,
        query_context: Optional[Mapping[str, Any]] = None,
        query_name: Optional[str] = None,
        query_name_version: Optional[str] = None,
        correlation_id: Optional[str] = None,
        explain: bool = False,
        planner_options: Optional[Mapping[str, Union[str, int, float, bool]]] = None,
        trace: bool = False,
        store_plan_stages: bool = False,
    ) -> BulkQueryResult:
        """Computes or serves features for many rows at once:
        ``query_bulk(input={User.id: [1, 2, 3]}, output=[User.name])``.

        input: a list of values per feature, all of one length, or of length 1, which then stands
            for every row; or a table of pandas, polars or pyarrow, whose columns are named as
            features are. Where pyarrow is installed, a table and its answer go as Arrow, whose
            values are taken out when they are asked for.
        now: one time for all rows, or a list of them, as `input` has of values: each row is then
            answered as a query of it alone with that time is.
        The rest is as for `query`; the answer's `to_pandas`, `to_polars` and `to_arrow` make tables
        of it.
        """
        options = QueryOptions(
            context=context,
            staleness=staleness,
            tags=tags,
            now=now,
            query_context=query_context,
            query_name=query_name,
            query_name_version=query_name_version,
            correlation_id=correlation_id,
            explain=explain,
            planner_options=planner_options,
            trace=trace,
            store_plan_stages=store_plan_stages,
        )
        return self._run(self._calls.query_bulk(input, output, options))

    def check(
        self,
        input: Inputs,
        assertions: Mapping[Feature, Any],
        *,
        float_relative_tolerance: float = 1e-6,
        float_absolute_tolerance: float = 1e-12,
        **options: Any,
    ) -> QueryResult:
        """Queries, and raises AssertionError with everything that is not as expected:
        ``check({User.id: 1}, {User.name: "Ann"})``.

        Floats may be apart as `math.isclose` allows; NaN equals NaN; sets have no order. `options`
        are those of `query`.
        """
        result = self.query(input, expected_outputs(assertions), **options)
        return checked(result, assertions, Tolerance(float_relative_tolerance, float_absolute_tolerance))

    def check_expression(
        self,
        feature: Feature,
        input: Inputs,
        expected: Any,
        *,
        on: Optional[type] = None,
        offline: bool = False,
        now: Union[datetime, str, None] = None,
        float_relative_tolerance: float = 1e-6,
        float_absolute_tolerance: float = 1e-12,
    ) -> Any:
        """Has the server compute an expression, that of a feature as the class here defines it, deployed
        or not, and raises AssertionError when the value is not the expected one; returns the value:
        ``check_expression(User.score, {User.amount: 4.0}, expected=8.0)``.

        feature: one with an expression, or one window of it: ``User.spend["7d"]``; or an expression by
            itself: ``check_expression(_.amount * 2, {User.amount: 4.0}, expected=8.0)``.
        on: the class whose row `_` is in an expression by itself; without it that of the input.
        offline: whether to compute all features as offline queries do, by their `offline_expression`
            where they have one.
        input: values by feature, as for `query`: all that the expression reads, but for what has an
            expression or a default itself. Rows of a has-many relation are a list of instances of
            its class: ``{User.txns: [Txn(id=1, amount=4.0)]}``.
        now: the time of windows and `_.svc_now`; without it that of `freeze_time`, else the present.

        No resolver runs, and nothing is read or stored. Floats are compared as `check` does. Raises
        QueryError with what is wrong, in a class with file, line and column, and other ClientErrors
        when there is no answer.
        """
        tolerance = Tolerance(float_relative_tolerance, float_absolute_tolerance)
        return self._run(self._calls.check_expression(feature, input, expected, on=on, offline=offline, now=now, tolerance=tolerance))

    def offline_query(
        self,
        input: Any = None,
        output: Sequence[Feature] = (),
        *,
        input_times: Any = None,
        required_output: Sequence[Feature] = (),
        recompute_features: Union[bool, Sequence[Feature]] = False,
        dataset_name: Optional[str] = None,
        spine_sql_query: Optional[str] = None,
        lower_bound: Union[datetime, str, None] = None,
        upper_bound: Union[datetime, str, None] = None,
        max_samples: Optional[int] = None,
        as_known: bool = False,
        include_observed_at: bool = False,
        num_shards: int = 1,
        store_online: bool = False,
        store_offline: bool = False,
        tags: Union[str, Sequence[str], None] = None,
        query_name: Optional[str] = None,
        query_name_version: Optional[str] = None,
        sample_fraction: Optional[float] = None,
        test_fraction: Optional[float] = None,
        split_by: str = "key",
        resource_group: Optional[str] = None,
        planner_options: Optional[Mapping[str, Union[str, int, float, bool]]] = None,
        environment: Optional[str] = None,
    ) -> OfflineQuery:
        """Begins a query of many rows, each as of a time of its own:
        ``offline_query({User.id: [1, 2]}, [User.score], input_times=[t1, t2]).to_pandas()``.

        input: a list of values per feature, a list of rows, or a table of pandas, polars or
            pyarrow; a list of one value stands for every row. Without it, and without
            `spine_sql_query`, the rows are those of the outputs' class that the history knows.
        output: features, feature classes or names.
        input_times: the time of each row, or one for all; without it, now. Datetimes without a zone
            are UTC.
        required_output: outputs without which a row is left out.
        recompute_features: True has resolvers compute all outputs, a list has them compute these;
            what is not computed is sampled from the history.
        dataset_name: the answer becomes a revision of this dataset.
        spine_sql_query: a select whose columns are features, and ``ts`` for the time.
        lower_bound, upper_bound, max_samples: which rows, when they are those that are known.
        as_known: only values that had been stored by the row's time count.
        include_observed_at: each output has a column with the time of its observation beside it.
        num_shards: parts that are computed side by side.
        store_online, store_offline: computed values are stored.
        sample_fraction, test_fraction, split_by: which part of the rows is kept, and which part is
            for tests, by whole keys or by ``"time"``; the same ones every time.
        resource_group: the group of the environment's configuration in whose workers all resolvers are
            called; default: each in those of its own.
        The rest is as for `query`.

        Raises ClientError when the query is refused, before anything runs.
        """
        state = self._run(
            self._calls.offline_query(
                input,
                output,
                input_times,
                environment,
                required_output=required_output,
                recompute_features=recompute_features,
                spine_sql_query=spine_sql_query,
                lower_bound=lower_bound,
                upper_bound=upper_bound,
                tags=tags,
                planner_options=planner_options,
                dataset_name=dataset_name,
                max_samples=max_samples,
                as_known=as_known,
                include_observed_at=include_observed_at,
                num_shards=num_shards,
                store_online=store_online,
                store_offline=store_offline,
                query_name=query_name,
                query_name_version=query_name_version,
                sample_fraction=sample_fraction,
                test_fraction=test_fraction,
                split_by=split_by,
                resource_group=resource_group,
            )
        )
        return OfflineQuery(self._run, state)

    def get_dataset(self, dataset: str, *, environment: Optional[str] = None) -> Dataset:
        """A dataset, by its id or name, or by the id of one of its revisions:
        ``get_dataset("sales").to_pandas()``. Nothing of its files is read before it is asked for.

        Raises ClientError.
        """
        return Dataset(*self._run(self._calls.get_dataset(dataset, environment, partial(DatasetRevision, _run=self._run))))

    def upload_features(
        self,
        values: Any,
        *,
        time: Union[datetime, str, None] = None,
        time_column: Optional[str] = None,
        known_at: Union[datetime, str, None] = None,
        known_at_column: Optional[str] = None,
        target: str = "both",
        dry_run: bool = False,
        context: Optional[OnlineQueryContext] = None,
    ) -> UploadResult:
        """Stores values of features as they were observed elsewhere, in the history, and online where
        they are newer: ``upload_features({User.id: [1, 2], User.score: [0.5, 0.7]})``.

        values: a list of values per feature, a list of rows, or a table of pandas, polars or
            pyarrow; features of one or several classes, and of each class the primary key.
        time, time_column: when the rows were observed; without them the column ``__ts__`` or the
            class's feature time says it, else it is now.
        known_at, known_at_column: when the rows were known, so that what is loaded afterwards is
            not taken for late; without them, when they are stored.
        target: ``"online"`` or ``"offline"`` for one store alone.
        dry_run: everything is checked, and nothing stored.

        Raises QueryError with what is wrong, and other ClientErrors when there is no answer; then
        nothing is stored, unless an answer was lost. Many rows are checked whole, and then sent in
        parts; uploading the same again changes nothing. In a protected environment another person
        approves each part before it is stored: ``approval_ids`` of the answer has the requests.
        """
        steps = self._calls.upload_features(
            values,
            time=time,
            time_column=time_column,
            known_at=known_at,
            known_at_column=known_at_column,
            target=target,
            dry_run=dry_run,
            context=context,
        )
        return self._run(steps)

    def trigger_resolver_run(
        self,
        resolver: str,
        *,
        lower_bound: Union[datetime, str, None] = None,
        upper_bound: Union[datetime, str, None] = None,
        idempotency_key: Optional[str] = None,
        store_online: bool = True,
        store_offline: Optional[bool] = None,
        environment: Optional[str] = None,
    ) -> ResolverRun:
        """Asks for one run of a resolver, which computes its features for all rows that it is for and
        stores them: ``trigger_resolver_run("get_score").wait().rows``.

        resolver: its name, with its module where the last part is not clear.
        lower_bound, upper_bound: only inputs that were observed from then on, or before then, count.
            Datetimes without a zone are UTC.
        idempotency_key: the same key in an environment is the same run, however often it is asked
            for; without it, each call is a run.
        store_online, store_offline: whether values are stored there, where their features' options
            say so; in the history by default, but on a branch, which has none.

        Raises ClientError when the run is refused, also when the key belongs to a run that was asked
        for otherwise.
        """
        steps = self._calls.trigger_resolver_run(
            resolver,
            lower_bound=lower_bound,
            upper_bound=upper_bound,
            idempotency_key=idempotency_key,
            store_online=store_online,
            store_offline=store_offline,
            environment=environment,
        )
        return ResolverRun(self._run, self._run(steps))

    def get_run_status(self, run_id: str, *, environment: Optional[str] = None) -> ResolverRun:
        """A run of a resolver by its id: ``get_run_status(run.id).status``.

        Raises ClientError.
        """
        return ResolverRun(self._run, self._run(self._calls.get_run_status(run_id, environment)))

    def call(
        self, function: str, arguments: Arguments = None, *, version: Optional[int] = None, environment: Optional[str] = None
    ) -> list[Any]:
        """Runs a function of the project, one under `@function`, and returns a value for each row of
        its arguments: ``call("fee", {"amount": [10.0, 20.0]})``.

        arguments: a list of values for each parameter, a list of rows as dicts, or a table of pandas,
            polars or pyarrow; without any it is called once.
        version: a version of the function; default: that of the live deployment.

        Raises FunctionFailed when the function fails, and ClientError when the call is refused. A
        call that takes longer than the client's `timeout` is one for `submit`.
        """
        return self._run(self._calls.call(function, arguments, version, environment))

    def submit(
        self, function: str, arguments: Arguments = None, *, version: Optional[int] = None, environment: Optional[str] = None
    ) -> FunctionCall:
        """Has the server keep a call and run it soon: ``submit("fee", rows).result()``. It is run again
        when the server dies meanwhile, so that a function may run more than once.

        Raises ClientError when the call is refused.
        """
        return FunctionCall(self._run, self._run(self._calls.submit(function, arguments, version, environment)))

    def get_call(self, id: str, *, environment: Optional[str] = None) -> FunctionCall:
        """A kept call by its id: ``get_call(call.id).status``.

        Raises ClientError.
        """
        return FunctionCall(self._run, self._run(self._calls.get_call(id, environment)))

    def close(self) -> None:
        """Closes the connections that wait. The client can be used again."""
        self._run.close()

    def __enter__(self) -> SvcClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return self._calls.shown("SvcClient")


@lru_cache(maxsize=1)
def _usual_client() -> SvcClient:
    return SvcClient()


def check_expression(feature: Feature, input: Inputs, expected: Any, **options: Any) -> Any:
    """`SvcClient.check_expression` with the settings of the environment variables or of `svc login`,
    for tests: ``check_expression(User.score, {User.amount: 4.0}, expected=8.0)``.
    """
    return _usual_client().check_expression(feature, input, expected, **options)


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """The names of the client for asyncio, imported on first use because others do without it."""
        if name in __all__:
            from ._client import async_client

            return getattr(async_client, name)
        from ._surface.public_names import no_such_name

        raise no_such_name(__name__, name)
