"""Results of the client's calls: values, errors, and metadata of the query."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Iterator, Mapping, Optional, Union

from .._model.feature_class import FeatureClass
from .._surface.names import did_you_mean
from .errors import ClientError, with_hint
from .values import decode_field, fields_along, plain, result_name, to_datetime

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow


@dataclass(frozen=True)
class ExceptionDetail:
    """An exception that user code raised: its type, message and trace, and where it was raised."""

    kind: str
    message: str
    stacktrace: str = ""
    file: Optional[str] = None
    line: Optional[int] = None


@dataclass(frozen=True)
class ErrorDetail:
    """One error of a query. `code` and `category` are names such as ``RESOLVER_FAILED`` and
    ``FIELD``.
    """

    code: str
    category: str
    message: str
    feature: Optional[str] = None
    resolver: Optional[str] = None
    exception: Optional[ExceptionDetail] = None
    #: The row of a bulk query, from 0.
    row: Optional[int] = None

    def __str__(self) -> str:
        where = [] if self.row is None else [f"row {self.row}"]
        where += [self.feature] if self.feature else []
        said = self.message or self.code
        if self.exception and self.exception.message not in said:
            said += f" ({self.exception.kind}: {self.exception.message})"
        if self.resolver and self.resolver not in said:
            said += f" [{self.resolver}]"
        return f"{', '.join(where)}: {said}" if where else said


class QueryError(ClientError):
    """A query that was refused as a whole, or whose errors were to be raised. `errors` has them one
    by one.
    """

    def __init__(self, errors: list[ErrorDetail], status: Optional[int] = None) -> None:
        super().__init__("\n".join(str(error) for error in errors) or f"the query was answered with {status}")
        self.errors = errors
        self.status = status


@dataclass(frozen=True)
class FeatureMeta:
    """The origin of a value."""

    chosen_resolver_fqn: str
    cache_hit: bool
    primitive_type: Optional[str] = None
    version: int = 1


@dataclass(frozen=True)
class FeatureResult:
    """One feature of an answer. `value` is None when `error` says why there is none."""

    field: str
    value: Any
    pkey: Any = None
    ts: Optional[datetime] = None
    error: Optional[ErrorDetail] = None
    meta: Optional[FeatureMeta] = None


@dataclass(frozen=True)
class QueryMeta:
    """Metadata of an answered query."""

    query_id: str = ""
    deployment_id: str = ""
    environment_id: str = ""
    environment_name: str = ""
    query_hash: str = ""
    execution_duration: Optional[timedelta] = None
    query_timestamp: Optional[datetime] = None
    inferred_outputs: tuple[str, ...] = ()
    explain_output: Optional[str] = None
    #: Id of the query's trace, 32 hex digits, when it was traced.
    trace_id: Optional[str] = None
    #: The number of stages kept of a query with `store_plan_stages`.
    plan_stages: int = 0
    #: The type of each output by FQN: a name such as ``"int64"``, or for lists and structs a dict.
    types: Mapping[str, Any] = field(default_factory=dict, hash=False)
    #: What to know although there is an answer, such as outputs that are deprecated.
    warnings: tuple[str, ...] = ()


class QueryResult:
    """The answer to a query: one value per output, and the errors.

    `data`: a FeatureResult per output, in order. `errors`: the failures; the other outputs have
    values all the same. `meta`: about the query.
    """

    def __init__(self, data: list[FeatureResult], errors: list[ErrorDetail], meta: QueryMeta) -> None:
        self.data = data
        self.errors = errors
        self.meta = meta
        self._by_name = {item.field: item for item in data}

    def get_feature(self, feature: Any) -> FeatureResult:
        """The result of an output: `get_feature(User.name)` or `get_feature("user.name")`. Raises
        KeyError when it is none of the outputs.
        """
        name = result_name(feature)
        found = self._by_name.get(name)
        if found is None:
            raise KeyError(f"{name!r} is not among the outputs{did_you_mean(name, self._by_name)}")
        return found

    def get_feature_value(self, feature: Any) -> Any:
        """The value of an output; None when it failed, and `errors` says why. Raises KeyError when
        it is none of the outputs.
        """
        return self.get_feature(feature).value

    __getitem__ = get_feature_value

    def __contains__(self, feature: Any) -> bool:
        return result_name(feature) in self._by_name

    def __iter__(self) -> Iterator[FeatureResult]:
        return iter(self.data)

    def __len__(self) -> int:
        return len(self.data)

    def to_dict(self) -> dict[str, Any]:
        """The values by FQN."""
        return {item.field: item.value for item in self.data}

    def raise_for_errors(self) -> QueryResult:
        """Raises QueryError when anything failed; else gives the result itself."""
        if self.errors:
            raise QueryError(self.errors)
        return self

    def __repr__(self) -> str:
        return _table("QueryResult", [(item.field, f"failed: {item.error}" if item.error else repr(item.value)) for item in self.data], self.errors)


class BulkQueryResult:
    """The answer to a bulk query: a column of values per output, all of one length.

    `data`: the columns by FQN; a value that failed is None, and `errors` has it with its `row`.
    `meta`: about the query.
    """

    def __init__(self, data: dict[str, list[Any]], errors: list[ErrorDetail], meta: QueryMeta) -> None:
        self._data = data
        self.errors = errors
        self.meta = meta

    @property
    def data(self) -> dict[str, list[Any]]:
        """The columns by FQN."""
        return self._data

    def get_feature_values(self, feature: Any) -> list[Any]:
        """The values of an output, one a row. Raises KeyError when it is none of the outputs."""
        name = result_name(feature)
        if name not in self.data:
            raise KeyError(f"{name!r} is not among the outputs{did_you_mean(name, self.data)}")
        return self.data[name]

    __getitem__ = get_feature_values

    def __len__(self) -> int:
        return max((len(values) for values in self.data.values()), default=0)

    def to_dict(self) -> dict[str, list[Any]]:
        """The columns by FQN."""
        return dict(self.data)

    def to_rows(self) -> list[dict[str, Any]]:
        """The rows, each with its values by FQN."""
        return [{name: values[row] for name, values in self.data.items()} for row in range(len(self))]

    def to_arrow(self) -> pyarrow.Table:
        """The values as a table of pyarrow, a column per output, of the types that `meta.types`
        states. Rows of relations are lists of structs, decimals have the digits of their values, and
        values of the type ``json`` are its text.
        """
        from .frames import to_arrow

        return to_arrow(self.data, self.meta.types)

    def to_pandas(self) -> pandas.DataFrame:
        """The values as a DataFrame of pandas; integers and booleans keep their types where some are
        missing (``Int64``, ``boolean``).
        """
        from .frames import to_pandas

        return to_pandas(self.data, self.meta.types)

    def to_polars(self) -> polars.DataFrame:
        """The values as a DataFrame of polars, typed as `to_arrow` says."""
        from .frames import to_polars

        return to_polars(self.data, self.meta.types)

    def raise_for_errors(self) -> BulkQueryResult:
        """Raises QueryError when anything failed; else gives the result itself."""
        if self.errors:
            raise QueryError(self.errors)
        return self

    def __repr__(self) -> str:
        shown = [(name, _short(values)) for name, values in self.data.items()]
        return _table(f"BulkQueryResult of {len(self)} rows", shown, self.errors)


def _short(values: list[Any]) -> str:
    return repr(values) if len(values) <= 5 else f"[{', '.join(repr(value) for value in values[:5])}, ...]"


def _table(title: str, rows: list[tuple[str, str]], errors: list[ErrorDetail]) -> str:
    width = max((len(name) for name, _ in rows), default=0)
    count = f", {len(errors)} error{'s' if len(errors) != 1 else ''}" if errors else ""
    return "\n".join([f"<{title}{count}>", *(f"  {name:<{width}}  {value}" for name, value in rows)])


def error_of(json: Mapping[str, Any]) -> ErrorDetail:
    """An error of the API."""
    raised = json.get("exception")
    return ErrorDetail(
        json.get("code", ""),
        json.get("category", ""),
        with_hint(json.get("message", ""), json.get("hint")),
        json.get("feature"),
        json.get("resolver"),
        ExceptionDetail(
            raised.get("kind", ""), raised.get("message", ""), raised.get("stacktrace", ""), raised.get("file"), raised.get("line")
        )
        if raised
        else None,
        json.get("row"),
    )


def meta_of(json: Optional[Mapping[str, Any]]) -> QueryMeta:
    """The metadata of a query in the API's JSON."""
    given = json or {}
    seconds, when = given.get("execution_duration_s"), given.get("query_timestamp")
    texts = {name: given.get(name) or "" for name in ("query_id", "deployment_id", "environment_id", "environment_name", "query_hash")}
    return QueryMeta(
        **texts,
        execution_duration=None if seconds is None else timedelta(seconds=seconds),
        query_timestamp=to_datetime(when) if when else None,
        inferred_outputs=tuple(given.get("inferred_outputs") or ()),
        warnings=tuple(given.get("warnings") or ()),
        explain_output=given.get("explain_output"),
        trace_id=given.get("trace_id"),
        plan_stages=given.get("plan_stages") or 0,
        types=given.get("types") or {},
    )


def query_result(body: Mapping[str, Any], known: Mapping[str, FeatureClass]) -> QueryResult:
    """The answer of ``/v1/query/online``."""
    meta = meta_of(body.get("meta"))
    return QueryResult(
        [_feature_result(item, known, meta.types) for item in body.get("data", ())],
        [error_of(error) for error in body.get("errors") or ()],
        meta,
    )


def outcome_of(body: Mapping[str, Any], known: Mapping[str, FeatureClass]) -> Union[QueryResult, QueryError]:
    """What one of the queries of ``/v1/query/multi`` came to."""
    if "code" not in body:
        return query_result(body, known)
    return QueryError([error_of(error) for error in body.get("errors") or ()], 400)


def _feature_result(json: Mapping[str, Any], known: Mapping[str, FeatureClass], types: Mapping[str, Any]) -> FeatureResult:
    fields = fields_along(json["field"], known)
    keys = fields[-1].owner_class.primary_keys if fields else []
    meta, when, error = json.get("meta"), json.get("ts"), json.get("error")
    return FeatureResult(
        json["field"],
        decode_field(json.get("value"), fields, types.get(json["field"])),
        decode_field(json["pkey"], [keys[0]]) if json.get("pkey") is not None and keys else plain(json.get("pkey")),
        to_datetime(when) if when else None,
        error_of(error) if error else None,
        FeatureMeta(meta.get("chosen_resolver_fqn", ""), bool(meta.get("cache_hit")), meta.get("primitive_type"), meta.get("version", 1))
        if meta
        else None,
    )


def bulk_result(body: Mapping[str, Any], known: Mapping[str, FeatureClass]) -> BulkQueryResult:
    """The answer of ``/v1/query/bulk``."""
    meta = meta_of(body.get("meta"))
    columns: dict[str, list[Any]] = {}
    for name, values in (body.get("data") or {}).items():
        fields, kind = fields_along(name, known), meta.types.get(name)
        columns[name] = [decode_field(value, fields, kind) for value in values]
    return BulkQueryResult(columns, [error_of(error) for error in body.get("errors") or ()], meta)
