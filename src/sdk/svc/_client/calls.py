"""The calls of a client as steps: what is sent, and what is made of the answers."""

from __future__ import annotations

import dataclasses
import math
import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Mapping, Optional, Sequence, Union
from urllib.parse import quote

from .._model.frozen_time import frozen_time
from .._surface.names import DURATION_GRAMMAR, parse_duration
from .arrow import arrow_result, stream_of
from .check import Tolerance, checked
from .config import ClientSettings, client_settings, is_environment_id
from .dataset import DatasetParts, MakeRevision, Revision, dataset_of
from .errors import ClientError, UnexpectedAnswer, with_hint
from .frames import columns_of_table, plain_column
from .functions import Arguments, CallState, call_function, find_call, submit_call
from .offline import OfflineQueryState, begin
from .result import BulkQueryResult, QueryError, QueryResult, bulk_result, error_of, outcome_of, query_result
from .retries import Retries
from .runs import RunState, find, trigger
from .session import Answer, Call, Session
from .steps import Steps, Work
from .upload import UploadResult, columns_of, parts_of
from .values import classes_in, encode, encode_of, feature_name, instant_text

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


@dataclass(frozen=True)
class QueryOptions:
    """The options of a query, as `SvcClient.query` says."""

    context: Optional[OnlineQueryContext] = None
    staleness: Optional[Mapping[Feature, Union[str, timedelta]]] = None
    tags: Union[str, Sequence[str], None] = None
    now: Times = None
    query_context: Optional[Mapping[str, Any]] = None
    query_name: Optional[str] = None
    query_name_version: Optional[str] = None
    correlation_id: Optional[str] = None
    explain: bool = False
    planner_options: Optional[Mapping[str, Union[str, int, float, bool]]] = None
    trace: bool = False
    store_plan_stages: bool = False
    include_meta: bool = False


@dataclass(frozen=True)
class _Asked:
    input: Optional[Inputs] = None
    output: Sequence[Feature] = ()


@dataclass(frozen=True)
class OnlineQuery(QueryOptions, _Asked):
    """One of several queries that are sent together, with the arguments of `SvcClient.query`:
    ``OnlineQuery({User.id: 1}, [User.name], tags=["fast"])``. Its input is one row.
    """


#: What one of several queries came to: a result, or why it was refused.
Outcome = Union[QueryResult, QueryError]


class Calls:
    """The calls of one client, whose settings are found as `SvcClient` says. Raises ConfigError and
    ValueError.
    """

    def __init__(
        self,
        client_id: Optional[str],
        client_secret: Optional[str],
        environment: Optional[str],
        api_server: Optional[str],
        branch: Optional[str],
        deployment_id: Optional[str],
        timeout: float,
        max_retries: int,
    ) -> None:
        if isinstance(timeout, bool) or not (isinstance(timeout, (int, float)) and 0 < timeout < math.inf):
            raise ValueError(f"timeout is a number of seconds above zero, not {timeout!r}")
        if isinstance(max_retries, bool) or not isinstance(max_retries, int) or max_retries < 0:
            raise ValueError(f"max_retries is a number from 0 on, not {max_retries!r}")
        self.settings: ClientSettings = client_settings(client_id, client_secret, environment, api_server)
        self._branch = branch
        self._deployment_id = deployment_id
        self._timeout = timeout
        self._retries = Retries(max_retries)
        self.session = Session(self.settings, timeout, self._retries)
        #: Sessions of other environments than the client's, by name.
        self._sessions: dict[str, Session] = {}

    def query(self, input: Any, output: Sequence[Feature], options: QueryOptions) -> Steps[Any]:
        """`SvcClient.query`."""
        if isinstance(input, (list, tuple)):
            if options.include_meta:
                raise ValueError("include_meta says where the values of one row came from: ask for one row at a time")
            return (yield from self.query_bulk(_columns_of(input), output, options))
        given = dict(_row(input) if input is not None else {})
        answer = yield from self._post("/v1/query/online", self._body(given, output, options), options.context)
        return query_result(answer, classes_in([*given, *_listed(output, "output")]))

    def query_multi(self, queries: Sequence[OnlineQuery]) -> Steps[list[Outcome]]:
        """`SvcClient.query_multi`."""
        bodies, classes = [], []
        for at, query in enumerate(queries):
            if not isinstance(query, OnlineQuery):
                raise TypeError(f"query_multi takes a list of OnlineQuery, such as OnlineQuery({{User.id: 1}}, [User.name]); item {at} is {query!r}")
            given = dict(_row(query.input) if query.input is not None else {})
            body = self._body(given, query.output, query)
            if query.context is not None and query.context.environment is not None:
                body["context"] = {**body.get("context", {}), "environment": query.context.environment}
            bodies.append(body)
            classes.append(classes_in([*given, *_listed(query.output, "output")]))
        answer = yield from self._post("/v1/query/multi", {"queries": bodies}, None)
        outcomes = answer.get("outcomes")
        if not isinstance(outcomes, list) or len(outcomes) != len(bodies):
            raise UnexpectedAnswer(f"the server answered {len(bodies)} queries with {outcomes!r:.100}")
        return [outcome_of(outcome, known) for outcome, known in zip(outcomes, classes)]

    def query_bulk(self, input: Any, output: Sequence[Feature], options: QueryOptions) -> Steps[BulkQueryResult]:
        """`SvcClient.query_bulk`."""
        stream = stream_of(input, self._query(output, options))
        if stream is not None:
            session, headers = self._scoped(options.context.environment if options.context is not None else None)
            told = yield from session.post_table("/v1/query/bulk", stream, headers)
            classes = classes_in(_listed(output, "output"))
            return arrow_result(told.body, classes) if isinstance(told.body, bytes) else bulk_result(_answered(told), classes)
        table = columns_of_table(input)
        if table is None and not isinstance(input, Mapping):
            raise TypeError(f"query_bulk takes lists of values by feature or a table, not {type(input).__name__}")
        given = {feature: _column(feature, values) for feature, values in (input if table is None else table).items()}
        answer = yield from self._post("/v1/query/bulk", self._body(given, output, options), options.context)
        return bulk_result(answer, classes_in([*given, *_listed(output, "output")]))

    def check_expression(
        self,
        feature: Any,
        input: Inputs,
        expected: Any,
        *,
        on: Optional[type],
        offline: bool,
        now: Union[datetime, str, None],
        tolerance: Tolerance,
    ) -> Steps[Any]:
        """`SvcClient.check_expression`."""
        from .expressions import asked_of, graph_text  # the analyzer, which other calls do without

        given = dict(_row(input))
        asked = asked_of(feature, input, on, offline)
        graph = yield Work(lambda: graph_text(asked))
        sent = self._body(given, [asked.output], QueryOptions(now=now))
        body: dict[str, Any] = {name: sent[name] for name in ("inputs", "outputs", "encoding_options", "now") if name in sent}
        answer = yield from self._post("/v1/query/expression", {"graph": graph, **body}, None)
        result = query_result(answer, classes_in([*given, asked.root.cls]))
        return checked(result, {asked.output: expected}, tolerance).get_feature(asked.output).value

    def offline_query(
        self,
        input: Any,
        output: Sequence[Feature],
        input_times: Any,
        environment: Optional[str],
        *,
        required_output: Sequence[Feature],
        recompute_features: Union[bool, Sequence[Feature]],
        spine_sql_query: Optional[str],
        lower_bound: Union[datetime, str, None],
        upper_bound: Union[datetime, str, None],
        tags: Union[str, Sequence[str], None],
        planner_options: Optional[Mapping[str, Union[str, int, float, bool]]],
        **options: Any,
    ) -> Steps[OfflineQueryState]:
        """`SvcClient.offline_query`; `options` are sent as they are."""
        listed = [] if isinstance(recompute_features, bool) else _listed(recompute_features, "output")
        body: dict[str, Any] = {
            **options,
            "outputs": [feature_name(item) for item in _listed(output, "output")],
            "required_outputs": [feature_name(item) for item in _listed(required_output, "output")],
            "recompute": recompute_features is True,
            "recompute_features": [feature_name(item) for item in listed],
            "spine_sql": spine_sql_query,
            "lower_bound": None if lower_bound is None else _instant(lower_bound),
            "upper_bound": None if upper_bound is None else _instant(upper_bound),
            "tags": _listed(tags, "tags"),
            "planner_options": dict(planner_options or {}),
            "deployment_id": self._deployment_id,
        }
        times = frozen_time() if input_times is None and input is not None else input_times
        # Begun twice it would be two queries.
        return (yield from begin(self._scoped(environment)[0], self._calls(environment, idempotent=False), input, times, body))

    def get_dataset(self, dataset: str, environment: Optional[str], make: MakeRevision[Revision]) -> Steps[DatasetParts[Revision]]:
        """`SvcClient.get_dataset`."""
        call = self._calls(environment)
        return (yield from dataset_of(dataset, self._scoped(environment)[0], lambda path: call("GET", path, None), make))

    def upload_features(
        self,
        values: Any,
        *,
        time: Union[datetime, str, None],
        time_column: Optional[str],
        known_at: Union[datetime, str, None],
        known_at_column: Optional[str],
        target: str,
        dry_run: bool,
        context: Optional[OnlineQueryContext],
    ) -> Steps[UploadResult]:
        """`SvcClient.upload_features`."""
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
                # Stored twice, values are the same; asked for twice, an approval is two requests.
                said = yield from self._post("/v1/features/upload", sent, context, part.offset, idempotent=is_check)
                counts = {name: count + int(said[name]) for name, count in counts.items()}
                approvals += [str(said["approval_id"])] if "approval_id" in said else []
        return UploadResult(**counts, approval_ids=tuple(approvals))

    def trigger_resolver_run(
        self,
        resolver: str,
        *,
        lower_bound: Union[datetime, str, None],
        upper_bound: Union[datetime, str, None],
        idempotency_key: Optional[str],
        store_online: bool,
        store_offline: Optional[bool],
        environment: Optional[str],
    ) -> Steps[RunState]:
        """`SvcClient.trigger_resolver_run`."""
        body: dict[str, Any] = {
            "lower_bound": None if lower_bound is None else _instant(lower_bound),
            "upper_bound": None if upper_bound is None else _instant(upper_bound),
            "idempotency_key": idempotency_key,
            "persist_online": store_online,
            "persist_offline": store_offline,
            "deployment_id": self._deployment_id,
        }
        return (yield from trigger(self._calls(environment), resolver, body))

    def get_run_status(self, run_id: str, environment: Optional[str]) -> Steps[RunState]:
        """`SvcClient.get_run_status`."""
        return (yield from find(self._calls(environment), run_id))

    def call(self, function: str, arguments: Arguments, version: Optional[int], environment: Optional[str]) -> Steps[list[Any]]:
        """`SvcClient.call`."""
        return (yield from call_function(self._calls(environment, idempotent=False, of_deployment=True), function, arguments, version))

    def submit(self, function: str, arguments: Arguments, version: Optional[int], environment: Optional[str]) -> Steps[CallState]:
        """`SvcClient.submit`."""
        return (yield from submit_call(self._calls(environment, idempotent=False, of_deployment=True), function, arguments, version))

    def get_call(self, id: str, environment: Optional[str]) -> Steps[CallState]:
        """`SvcClient.get_call`."""
        return (yield from find_call(self._calls(environment), id))

    def platform(self, environment: Optional[str], idempotent: bool = True) -> Call:
        """Calls of the platform's methods in an environment, or in the client's own: at the API server,
        for queries have one of their own in places.

        idempotent: whether posting twice has no further effect.
        """
        session, headers = self._scoped(environment)

        def call(method: str, path: str, body: Optional[Mapping[str, Any]]) -> Steps[Mapping[str, Any]]:
            return _answered((yield from session.ask(path, body or {}, headers, idempotent)))

        return call

    def shown(self, client: str) -> str:
        """The text of a client: its settings without the secret."""
        facts = {"api_server": self.settings.api_server, "client_id": self.settings.client_id, "environment": self.settings.environment}
        facts.update(branch=self._branch, deployment_id=self._deployment_id)
        return f"{client}({', '.join(f'{name}={value!r}' for name, value in facts.items() if value is not None)})"

    def _body(self, given: Mapping[Feature, Any], output: Sequence[Feature], options: QueryOptions) -> dict[str, Any]:
        inputs: dict[str, Any] = {}
        for feature, value in given.items():
            name = feature_name(feature)
            if name in inputs:
                raise ValueError(f"the input {name!r} is given twice")
            inputs[name] = encode_of(feature, value)
        return {"inputs": inputs, **self._query(output, options)}

    def _query(self, output: Sequence[Feature], options: QueryOptions) -> dict[str, Any]:
        """A query without its inputs."""
        tags = options.tags if options.tags or options.context is None else options.context.tags
        fields: dict[str, Any] = {
            "outputs": [feature_name(item) for item in _listed(output, "output")],
            "staleness": {feature_name(feature): _staleness(feature, value) for feature, value in (options.staleness or {}).items()},
            "context": {"tags": _listed(tags, "tags")} if tags else None,
            "query_context": {name: encode(value) for name, value in (options.query_context or {}).items()},
            "query_name": options.query_name,
            "query_name_version": options.query_name_version,
            "correlation_id": options.correlation_id,
            "planner_options": dict(options.planner_options or {}),
            "deployment_id": self._deployment_id,
            "encoding_options": {"encode_large_integers_as_numbers": True},
            "include_meta": options.include_meta,
            "explain": options.explain,
            "trace": options.trace,
            "store_plan_stages": options.store_plan_stages,
        }
        body = {name: value for name, value in fields.items() if value}
        now = frozen_time() if options.now is None else options.now
        if now is not None:
            body["now"] = _instant(now) if isinstance(now, (datetime, str)) else [_instant(time) for time in plain_column(now)]
        return body

    def _post(
        self, path: str, body: Mapping[str, Any], context: Optional[OnlineQueryContext], offset: int = 0, idempotent: bool = True
    ) -> Steps[Mapping[str, Any]]:
        session, headers = self._scoped(context.environment if context is not None else None)
        return _answered((yield from session.post(path, body, headers, idempotent)), offset)

    def _calls(self, environment: Optional[str], idempotent: bool = True, of_deployment: bool = False) -> Call:
        """Calls in an environment, or in the client's own.

        idempotent: whether posting twice has no further effect.
        of_deployment: whether they are about the client's deployment, where it has one.
        """
        session, headers = self._scoped(environment)
        if of_deployment and self._deployment_id is not None:
            headers["svc-deployment"] = _header(self._deployment_id)

        def call(method: str, path: str, body: Optional[Mapping[str, Any]]) -> Steps[Mapping[str, Any]]:
            if method == "GET":
                return _answered((yield from session.get(path, headers)))
            return _answered((yield from session.post(path, body or {}, headers, idempotent)))

        return call

    def _scoped(self, wanted: Optional[str]) -> tuple[Session, dict[str, str]]:
        """The session and the headers of an environment, or of the client's own."""
        environment = wanted or self.settings.environment
        # An environment's id is that of one project.
        project = None if is_environment_id(environment) else self.settings.project
        scope = {"svc-project": project, "svc-environment": environment, "svc-branch": self._branch}
        session = self.session
        if environment is not None and environment != self.settings.environment:
            fresh = self._sessions.get(environment) or Session(dataclasses.replace(self.settings, environment=environment), self._timeout, self._retries)
            session = self._sessions.setdefault(environment, fresh)
        return session, {name: _header(value) for name, value in scope.items() if value}


def _answered(answer: Answer, offset: int = 0) -> Mapping[str, Any]:
    """What an answer says. Raises ClientError for a refusal."""
    if answer.status == 200 and isinstance(answer.body, dict):
        return answer.body
    raise _failure(answer, offset)


def _failure(answer: Answer, offset: int) -> ClientError:
    """offset: the number of rows before those that were sent."""
    said = answer.body if isinstance(answer.body, dict) else {}
    errors = said.get("errors")
    if isinstance(errors, list) and errors:
        return QueryError([error_of(_placed(error, offset)) for error in errors], answer.status)
    message = said.get("message")
    if not isinstance(message, str):
        return UnexpectedAnswer(f"the server answered {answer.status}: {answer.body!r}")
    return UnexpectedAnswer(f"the server answered {answer.status}: {with_hint(message, _hint(said.get('details')))}")


def _hint(details: Any) -> Optional[str]:
    """What a refusal of a method advises."""
    found = (detail.get("debug") for detail in details if isinstance(detail, dict)) if isinstance(details, list) else ()
    return next((str(debug["hint"]) for debug in found if isinstance(debug, dict) and debug.get("hint")), None)


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
    return plain_column(values)


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
