"""The client: queries from Python.

    from svc.client import SvcClient
    from features import User

    client = SvcClient()
    result = client.query(input={User.id: 1}, output=[User.name, "user.score"])
    result.get_feature_value(User.name)
"""

from __future__ import annotations

import dataclasses
import math
import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Mapping, Optional, Sequence, Union, overload
from urllib.parse import quote

from ._client.check import Tolerance, mismatches
from ._client.config import ClientSettings, ConfigError, client_settings
from ._client.dataset import Dataset, DatasetRevision, dataset_of
from ._client.http import Answer, AuthenticationError, Call, ClientError, ServerUnreachable, Session, UnexpectedAnswer
from ._client.offline import OfflineQuery, OfflineQueryFailed, begin
from ._client.result import (
    BulkQueryResult,
    ErrorDetail,
    ExceptionDetail,
    FeatureMeta,
    FeatureResult,
    QueryError,
    QueryMeta,
    QueryResult,
    bulk_result,
    error_of,
    query_result,
)
from ._client.runs import ResolverRun, ResolverRunFailed, find, trigger
from ._client.upload import UploadResult, columns_of, parts_of
from ._client.values import classes_in, encode, encode_of, feature_name, instant_text
from ._model.frozen_time import frozen_time
from ._surface.names import DURATION_GRAMMAR, parse_duration

__all__ = [
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
    "OfflineQuery",
    "OfflineQueryFailed",
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
]

#: A feature such as `User.id`, or its name.
Feature = Any
Inputs = Mapping[Feature, Any]
#: One time for all rows of a query, or one for each.
Times = Union[datetime, str, Sequence[Union[datetime, str]], None]


@dataclass(frozen=True)
class OnlineQueryContext:
    """Settings of one query that override its client's: the environment to ask, and the tags that
    the query carries.
    """

    environment: Optional[str] = None
    tags: Union[str, Sequence[str], None] = None


class SvcClient:
    """A client that queries a server. It can be used from several threads; connections and the
    token are kept between calls.

    client_id, client_secret, environment, api_server: without them the environment variables
        ``SVC_CLIENT_ID``, ``SVC_CLIENT_SECRET``, ``SVC_ENVIRONMENT`` and ``SVC_API_SERVER`` count,
        else the command line's config file, which `svc login` writes.
    branch: a branch deployment to query.
    deployment_id: one deployment to query.
    timeout: seconds that an answer may take; what is not there by then has failed with the code
        DEADLINE_EXCEEDED.

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
    ) -> None:
        if not (isinstance(timeout, (int, float)) and 0 < timeout < math.inf):
            raise ValueError(f"timeout is a number of seconds above zero, not {timeout!r}")
        self._settings: ClientSettings = client_settings(client_id, client_secret, environment, api_server)
        self._branch = branch
        self._deployment_id = deployment_id
        self._session = Session(self._settings, timeout)
        self._timeout = timeout
        #: Sessions of other environments than the client's, by name.
        self._sessions: dict[str, Session] = {}

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
        if isinstance(input, (list, tuple)):
            if include_meta:
                raise ValueError("include_meta says where the values of one row came from: ask for one row at a time")
            options: dict[str, Any] = {"staleness": staleness, "tags": tags, "now": now, "query_context": query_context, "query_name": query_name}
            options.update(query_name_version=query_name_version, correlation_id=correlation_id, explain=explain, trace=trace)
            options.update(planner_options=planner_options, store_plan_stages=store_plan_stages, context=context)
            return self.query_bulk(_columns_of(input), output, **options)
        given = dict(_row(input) if input is not None else {})
        tags = tags if tags or context is None else context.tags
        body = self._body(given, output, staleness, tags, now, query_context, query_name, query_name_version, correlation_id, planner_options)
        body.update(_wanted(include_meta=include_meta, explain=explain, trace=trace, store_plan_stages=store_plan_stages))
        answer = self._post("/v1/query/online", body, context)
        return query_result(answer, classes_in([*given, *_listed(output, "output")]))

    def query_bulk(
        self,
        input: Mapping[Feature, Sequence[Any]],
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
            for every row.
        now: one time for all rows, or a list of them, as `input` has of values: each row is then
            answered as a query of it alone with that time is.
        The rest is as for `query`.
        """
        given = {feature: _column(feature, values) for feature, values in input.items()}
        tags = tags if tags or context is None else context.tags
        body = self._body(given, output, staleness, tags, now, query_context, query_name, query_name_version, correlation_id, planner_options)
        body.update(_wanted(explain=explain, trace=trace, store_plan_stages=store_plan_stages))
        answer = self._post("/v1/query/bulk", body, context)
        return bulk_result(answer, classes_in([*given, *_listed(output, "output")]))

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
        if not assertions:
            raise ValueError("check needs the values that are expected, by feature: assertions={User.name: 'Ann'}")
        result = self.query(input, list(assertions), **options)
        problem = mismatches(result, assertions, Tolerance(float_relative_tolerance, float_absolute_tolerance))
        if problem:
            raise AssertionError(problem)
        return result

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
        The rest is as for `query`.

        Raises ClientError when the query is refused, before anything runs.
        """
        recompute = recompute_features is True
        listed = [] if isinstance(recompute_features, bool) else _listed(recompute_features, "output")
        body: dict[str, Any] = {
            "outputs": [feature_name(item) for item in _listed(output, "output")],
            "required_outputs": [feature_name(item) for item in _listed(required_output, "output")],
            "recompute": recompute,
            "recompute_features": [feature_name(item) for item in listed],
            "dataset_name": dataset_name,
            "spine_sql": spine_sql_query,
            "lower_bound": None if lower_bound is None else _instant(lower_bound),
            "upper_bound": None if upper_bound is None else _instant(upper_bound),
            "max_samples": max_samples,
            "as_known": as_known,
            "include_observed_at": include_observed_at,
            "num_shards": num_shards,
            "store_online": store_online,
            "store_offline": store_offline,
            "tags": _listed(tags, "tags"),
            "query_name": query_name,
            "query_name_version": query_name_version,
            "sample_fraction": sample_fraction,
            "test_fraction": test_fraction,
            "split_by": split_by,
            "planner_options": dict(planner_options or {}),
            "deployment_id": self._deployment_id,
        }
        times = frozen_time() if input_times is None and input is not None else input_times
        return begin(self._scoped(environment)[0], self._calls(environment), input, times, body)

    def get_dataset(self, dataset: str, *, environment: Optional[str] = None) -> Dataset:
        """A dataset, by its id or name, or by the id of one of its revisions:
        ``get_dataset("sales").to_pandas()``. Nothing of its files is read before it is asked for.

        Raises ClientError.
        """
        if not isinstance(dataset, str) or not dataset:
            raise ValueError(f"a dataset is named by its id or name, not {dataset!r}")
        session, headers = self._scoped(environment)
        return dataset_of(dataset, session.api, lambda path: _answered(session.get(path, headers)))

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
        fields = {"time": _instant(time) if time is not None else None, "time_column": time_column, "target": target}
        fields.update(known_at=_instant(known_at) if known_at is not None else None, known_at_column=known_at_column)
        body = {name: value for name, value in fields.items() if value}
        parts = list(parts_of(columns_of(values)))
        counts = {"rows": 0, "online_values": 0, "offline_values": 0, "deleted_values": 0}
        approvals: list[str] = []
        for is_check in [True] if dry_run else [True, False] if len(parts) > 1 else [False]:
            counts = dict.fromkeys(counts, 0)
            for part in parts:
                sent = {**body, "columns": part.columns, "dry_run": is_check}
                said = self._post("/v1/features/upload", sent, context, part.offset)
                counts = {name: count + int(said[name]) for name, count in counts.items()}
                approvals += [str(said["approval_id"])] if "approval_id" in said else []
        return UploadResult(**counts, approval_ids=tuple(approvals))

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
        body: dict[str, Any] = {
            "lower_bound": None if lower_bound is None else _instant(lower_bound),
            "upper_bound": None if upper_bound is None else _instant(upper_bound),
            "idempotency_key": idempotency_key,
            "persist_online": store_online,
            "persist_offline": store_offline,
            "deployment_id": self._deployment_id,
        }
        return trigger(self._calls(environment), resolver, body)

    def get_run_status(self, run_id: str, *, environment: Optional[str] = None) -> ResolverRun:
        """A run of a resolver by its id: ``get_run_status(run.id).status``.

        Raises ClientError.
        """
        return find(self._calls(environment), run_id)

    def close(self) -> None:
        """Closes the connections that wait. The client can be used again."""
        for session in (self._session, *self._sessions.values()):
            session.close()

    def __enter__(self) -> SvcClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        facts = {"api_server": self._settings.api_server, "client_id": self._settings.client_id, "environment": self._settings.environment}
        facts.update(branch=self._branch, deployment_id=self._deployment_id)
        return f"SvcClient({', '.join(f'{name}={value!r}' for name, value in facts.items() if value is not None)})"

    def _body(
        self,
        given: Mapping[Feature, Any],
        output: Sequence[Feature],
        staleness: Optional[Mapping[Feature, Union[str, timedelta]]],
        tags: Union[str, Sequence[str], None],
        now: Times,
        query_context: Optional[Mapping[str, Any]],
        query_name: Optional[str],
        query_name_version: Optional[str],
        correlation_id: Optional[str],
        planner_options: Optional[Mapping[str, Union[str, int, float, bool]]],
    ) -> dict[str, Any]:
        inputs: dict[str, Any] = {}
        for feature, value in given.items():
            name = feature_name(feature)
            if name in inputs:
                raise ValueError(f"the input {name!r} is given twice")
            inputs[name] = encode_of(feature, value)
        fields: dict[str, Any] = {
            "inputs": inputs,
            "outputs": [feature_name(item) for item in _listed(output, "output")],
            "staleness": {feature_name(feature): _staleness(feature, value) for feature, value in (staleness or {}).items()},
            "context": {"tags": _listed(tags, "tags")} if tags else None,
            "query_context": {name: encode(value) for name, value in (query_context or {}).items()},
            "query_name": query_name,
            "query_name_version": query_name_version,
            "correlation_id": correlation_id,
            "planner_options": dict(planner_options or {}),
            "deployment_id": self._deployment_id,
            "encoding_options": {"encode_large_integers_as_numbers": True},
        }
        body = {name: value for name, value in fields.items() if value or name == "inputs"}
        now = frozen_time() if now is None else now
        if now is not None:
            body["now"] = _instant(now) if isinstance(now, (datetime, str)) else [_instant(time) for time in now]
        return body

    def _post(self, path: str, body: Mapping[str, Any], context: Optional[OnlineQueryContext], offset: int = 0) -> Mapping[str, Any]:
        session, headers = self._scoped(context.environment if context is not None else None)
        return _answered(session.post(path, body, headers), offset)

    def _calls(self, environment: Optional[str]) -> Call:
        """Calls in an environment, or in the client's own."""
        session, headers = self._scoped(environment)

        def call(method: str, path: str, body: Optional[Mapping[str, Any]]) -> Mapping[str, Any]:
            return _answered(session.get(path, headers) if method == "GET" else session.post(path, body or {}, headers))

        return call

    def _scoped(self, wanted: Optional[str]) -> tuple[Session, dict[str, str]]:
        """The session and the headers of an environment, or of the client's own."""
        environment = wanted or self._settings.environment
        scope = {"svc-environment": environment, "svc-branch": self._branch}
        session = self._session
        if environment is not None and environment != self._settings.environment:
            fresh = Session(dataclasses.replace(self._settings, environment=environment), self._timeout)
            session = self._sessions.setdefault(environment, fresh)
        return session, {name: _header(value) for name, value in scope.items() if value}


def _answered(answer: Answer, offset: int = 0) -> Mapping[str, Any]:
    """What an answer says. Raises ClientError for a refusal."""
    if answer.status == 200 and isinstance(answer.body, dict):
        return answer.body
    raise _failure(answer, offset)


def _wanted(**flags: bool) -> dict[str, bool]:
    return {name: True for name, wanted in flags.items() if wanted}


def _failure(answer: Answer, offset: int) -> ClientError:
    """offset: the number of rows before those that were sent."""
    said = answer.body if isinstance(answer.body, dict) else {}
    errors = said.get("errors")
    if isinstance(errors, list) and errors:
        return QueryError([error_of(_placed(error, offset)) for error in errors], answer.status)
    message = said.get("message")
    return UnexpectedAnswer(f"the server answered {answer.status}: {message if isinstance(message, str) else repr(answer.body)}")


def _placed(error: Any, offset: int) -> Any:
    """An error of an upload with its row and column in its message."""
    row, column = error.get("row"), error.get("column")
    place = ", ".join([*([f"row {row + offset}"] if row else []), *([f"column {column}"] if column else [])])
    return {**error, "row": row + offset if row else None, "message": f"{place}: {error.get('message')}"} if place else error


def _listed(items: Any, what: str) -> list[Any]:
    """The items as a list; a single item, also a text, is a list of one."""
    if items is None:
        return []
    if isinstance(items, str) or not isinstance(items, (list, tuple, set, frozenset)):
        if what == "output" or isinstance(items, str):
            return [items]
        raise TypeError(f"{what} is a list, not {items!r}")
    return list(items)


def _row(row: Any, at: Optional[int] = None) -> Mapping[Feature, Any]:
    """Values by feature, of a mapping or of an instance of a feature class."""
    if isinstance(row, Mapping):
        return row
    if hasattr(type(row), "__svc_features__"):
        return dict(row)
    where = "input" if at is None else f"row {at} of the input"
    raise TypeError(f"{where} is {type(row).__name__}: give values by feature, such as {{User.id: 1}}, or a list of such rows")


def _columns_of(rows: Sequence[Any]) -> dict[str, list[Any]]:
    """Rows as one list of values per feature. Raises ValueError when they do not all name the same
    features.
    """
    if not rows:
        raise ValueError("input is a list without rows: give at least one, such as [{User.id: 1}]")
    named = [{feature_name(feature): value for feature, value in _row(row, at).items()} for at, row in enumerate(rows)]
    for at, row in enumerate(named):
        other = sorted(row.keys() ^ named[0].keys())
        if other:
            raise ValueError(f"row {at} of the input names other features than row 0: only one of them has {', '.join(map(repr, other))}; ask for them apart")
    return {name: [row[name] for row in named] for name in named[0]}


def _column(feature: Feature, values: Any) -> list[Any]:
    if isinstance(values, (str, bytes, dict)) or not hasattr(values, "__iter__"):
        raise TypeError(f"query_bulk takes a list of values per input; {feature_name(feature)} has {values!r}")
    return list(values)


def _instant(time: Union[datetime, str]) -> str:
    return instant_text(time) if isinstance(time, datetime) else time


def _staleness(feature: Feature, value: Union[str, timedelta]) -> str:
    micros = parse_duration(value)
    if micros is None:
        raise ValueError(f"the staleness of {feature_name(feature)} is {DURATION_GRAMMAR} or a timedelta, not {value!r}")
    return "infinity" if micros == math.inf else f"{int(micros)}us"


def _header(value: str) -> str:
    """Header values are ASCII: other characters, and `%`, are written as in a URL."""
    return re.sub(r"[^\x21-\x24\x26-\x7e]+", lambda match: quote(match.group(0), safe=""), value)


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        from ._surface.public_names import no_such_name

        raise no_such_name(__name__, name)
