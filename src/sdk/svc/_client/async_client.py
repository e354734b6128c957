"""The client for asyncio: the calls of `SvcClient`, awaited."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Mapping, Optional, Sequence, Union, overload

from .asynchronous import Asynchronous
from .calls import Calls, Feature, Inputs, OnlineQuery, OnlineQueryContext, QueryOptions, Times
from .check import Tolerance, checked, expected_outputs
from .dataset import DatasetFacts, RevisionFacts
from .functions import Arguments, CallState, FunctionCallFacts
from .offline import OfflineQueryFacts, OfflineQueryState
from .result import BulkQueryResult, QueryError, QueryResult
from .runs import RunFacts, RunState
from .upload import UploadResult

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow


class AsyncResolverRun(RunFacts):
    """A run of a resolver. The server goes on with it, whatever becomes of this object; what it says
    here is what the server said last.
    """

    def __init__(self, run: Asynchronous, state: RunState) -> None:
        super().__init__(state)
        self._run = run

    async def refresh(self) -> AsyncResolverRun:
        """Asks the server, and returns the run itself. Raises ClientError."""
        await self._run(self._state.refreshed())
        return self

    async def wait(self, timeout: Optional[float] = None) -> AsyncResolverRun:
        """`ResolverRun.wait`, awaited."""
        await self._run(self._state.ended(timeout))
        return self


class AsyncFunctionCall(FunctionCallFacts):
    """A call that the server keeps, and goes on with whatever becomes of this object; what it says
    here is what the server said last.
    """

    def __init__(self, run: Asynchronous, state: CallState) -> None:
        super().__init__(state)
        self._run = run

    async def refresh(self) -> AsyncFunctionCall:
        """Asks the server, and returns the call itself. Raises ClientError."""
        await self._run(self._state.refreshed())
        return self

    async def result(self, timeout: Optional[float] = None) -> list[Any]:
        """`FunctionCall.result`, awaited."""
        return await self._run(self._state.result(timeout))

    async def cancel(self) -> None:
        """`FunctionCall.cancel`, awaited."""
        await self._run(self._state.cancelled())


class AsyncOfflineQuery(OfflineQueryFacts):
    """A query that was begun. The server goes on with it, whatever becomes of this object; what it
    says here is what the server said last.
    """

    def __init__(self, run: Asynchronous, state: OfflineQueryState) -> None:
        super().__init__(state)
        self._run = run

    async def refresh(self) -> AsyncOfflineQuery:
        """Asks the server, and returns the query itself. Raises ClientError."""
        await self._run(self._state.refreshed())
        return self

    async def wait(self, timeout: Optional[float] = None) -> AsyncOfflineQuery:
        """`OfflineQuery.wait`, awaited."""
        await self._run(self._state.ended(timeout))
        return self

    async def cancel(self) -> None:
        """`OfflineQuery.cancel`, awaited."""
        await self._run(self._state.cancel())

    async def to_arrow(self) -> pyarrow.Table:
        """`OfflineQuery.to_arrow`, awaited."""
        return await self._run(self._state.after_end(self._state.files.to_arrow()))

    async def to_pandas(self) -> pandas.DataFrame:
        """`OfflineQuery.to_pandas`, awaited."""
        return await self._run(self._state.after_end(self._state.files.to_pandas()))

    async def to_polars(self) -> polars.DataFrame:
        """`OfflineQuery.to_polars`, awaited."""
        return await self._run(self._state.after_end(self._state.files.to_polars()))

    async def rows(self) -> list[dict[str, Any]]:
        """`OfflineQuery.rows`, awaited."""
        return await self._run(self._state.after_end(self._state.rows()))

    async def download(self, folder: str = ".", *, include_givens: bool = False) -> list[str]:
        """`OfflineQuery.download`, awaited."""
        return await self._run(self._state.after_end(self._state.files.download(folder, include_givens)))


@dataclass(frozen=True, repr=False)
class AsyncDatasetRevision(RevisionFacts):
    """`DatasetRevision` for asyncio."""

    _run: Asynchronous

    async def to_arrow(self) -> pyarrow.Table:
        """`DatasetRevision.to_arrow`, awaited."""
        return await self._run(self._files.to_arrow())

    async def to_pandas(self) -> pandas.DataFrame:
        """`DatasetRevision.to_pandas`, awaited."""
        return await self._run(self._files.to_pandas())

    async def to_polars(self) -> polars.DataFrame:
        """`DatasetRevision.to_polars`, awaited."""
        return await self._run(self._files.to_polars())

    async def download(self, folder: str = ".", *, include_givens: bool = False, include_traces: bool = False) -> list[str]:
        """`DatasetRevision.download`, awaited."""
        return await self._run(self._files.download(folder, include_givens, include_traces))


@dataclass(frozen=True, repr=False)
class AsyncDataset(DatasetFacts[AsyncDatasetRevision]):
    """`Dataset` for asyncio."""

    async def to_arrow(self) -> pyarrow.Table:
        """`Dataset.to_arrow`, awaited."""
        return await self._readable().to_arrow()

    async def to_pandas(self) -> pandas.DataFrame:
        """`Dataset.to_pandas`, awaited."""
        return await self._readable().to_pandas()

    async def to_polars(self) -> polars.DataFrame:
        """`Dataset.to_polars`, awaited."""
        return await self._readable().to_polars()

    async def download(self, folder: str = ".", *, include_givens: bool = False, include_traces: bool = False) -> list[str]:
        """`Dataset.download`, awaited."""
        return await self._readable().download(folder, include_givens=include_givens, include_traces=include_traces)


class AsyncSvcClient:
    """`SvcClient` for asyncio: the same calls, to be awaited, with the same arguments and results. Calls
    run side by side, over at most `max_connections` connections to a server; the others wait for
    their turn, which their timeouts count. A call that is cancelled ends its connection.

        async with AsyncSvcClient() as client:
            first, second = await asyncio.gather(client.query({User.id: 1}, [User.name]), client.query({User.id: 2}, [User.name]))

    Its arguments are those of `SvcClient`; it belongs to the event loop that uses it, and can be used
    by another one afterwards.
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
        max_connections: int = 20,
    ) -> None:
        if isinstance(max_connections, bool) or not isinstance(max_connections, int) or max_connections < 1:
            raise ValueError(f"max_connections is a number from 1 on, not {max_connections!r}")
        self._calls = Calls(client_id, client_secret, environment, api_server, branch, deployment_id, timeout, max_retries)
        self._run = Asynchronous(max_connections)

    @overload
    async def query(
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
    async def query(
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

    async def query(
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
        """`SvcClient.query`, awaited."""
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
        return await self._run(self._calls.query(input, output, options))

    async def query_multi(self, queries: Sequence[OnlineQuery]) -> list[Union[QueryResult, QueryError]]:
        """`SvcClient.query_multi`, awaited."""
        return await self._run(self._calls.query_multi(queries))

    async def query_bulk(
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
        """`SvcClient.query_bulk`, awaited."""
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
        return await self._run(self._calls.query_bulk(input, output, options))

    async def check(
        self,
        input: Inputs,
        assertions: Mapping[Feature, Any],
        *,
        float_relative_tolerance: float = 1e-6,
        float_absolute_tolerance: float = 1e-12,
        **options: Any,
    ) -> QueryResult:
        """`SvcClient.check`, awaited."""
        result = await self.query(input, expected_outputs(assertions), **options)
        return checked(result, assertions, Tolerance(float_relative_tolerance, float_absolute_tolerance))

    async def check_expression(
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
        """`SvcClient.check_expression`, awaited."""
        tolerance = Tolerance(float_relative_tolerance, float_absolute_tolerance)
        return await self._run(self._calls.check_expression(feature, input, expected, on=on, offline=offline, now=now, tolerance=tolerance))

    async def offline_query(
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
    ) -> AsyncOfflineQuery:
        """`SvcClient.offline_query`, awaited."""
        state = await self._run(
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
        return AsyncOfflineQuery(self._run, state)

    async def get_dataset(self, dataset: str, *, environment: Optional[str] = None) -> AsyncDataset:
        """`SvcClient.get_dataset`, awaited."""
        steps = self._calls.get_dataset(dataset, environment, partial(AsyncDatasetRevision, _run=self._run))
        return AsyncDataset(*await self._run(steps))

    async def upload_features(
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
        """`SvcClient.upload_features`, awaited."""
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
        return await self._run(steps)

    async def trigger_resolver_run(
        self,
        resolver: str,
        *,
        lower_bound: Union[datetime, str, None] = None,
        upper_bound: Union[datetime, str, None] = None,
        idempotency_key: Optional[str] = None,
        store_online: bool = True,
        store_offline: Optional[bool] = None,
        environment: Optional[str] = None,
    ) -> AsyncResolverRun:
        """`SvcClient.trigger_resolver_run`, awaited."""
        steps = self._calls.trigger_resolver_run(
            resolver,
            lower_bound=lower_bound,
            upper_bound=upper_bound,
            idempotency_key=idempotency_key,
            store_online=store_online,
            store_offline=store_offline,
            environment=environment,
        )
        return AsyncResolverRun(self._run, await self._run(steps))

    async def get_run_status(self, run_id: str, *, environment: Optional[str] = None) -> AsyncResolverRun:
        """`SvcClient.get_run_status`, awaited."""
        return AsyncResolverRun(self._run, await self._run(self._calls.get_run_status(run_id, environment)))

    async def call(
        self, function: str, arguments: Arguments = None, *, version: Optional[int] = None, environment: Optional[str] = None
    ) -> list[Any]:
        """`SvcClient.call`, awaited."""
        return await self._run(self._calls.call(function, arguments, version, environment))

    async def submit(
        self, function: str, arguments: Arguments = None, *, version: Optional[int] = None, environment: Optional[str] = None
    ) -> AsyncFunctionCall:
        """`SvcClient.submit`, awaited."""
        return AsyncFunctionCall(self._run, await self._run(self._calls.submit(function, arguments, version, environment)))

    async def get_call(self, id: str, *, environment: Optional[str] = None) -> AsyncFunctionCall:
        """`SvcClient.get_call`, awaited."""
        return AsyncFunctionCall(self._run, await self._run(self._calls.get_call(id, environment)))

    async def close(self) -> None:
        """Closes the connections that wait. The client can be used again."""
        self._run.close()

    async def __aenter__(self) -> AsyncSvcClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return self._calls.shown("AsyncSvcClient")
