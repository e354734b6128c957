"""Windowed features, one value per window of time, and resolvers of streams: rows of a class from
the messages of a topic.

    from svc.streams import Windowed, group_by_windowed, make_stream_resolver, sink, stream, windowed
"""

from __future__ import annotations

import sys
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Callable, Literal, Mapping, NoReturn, Optional, Sequence, TypeVar, Union, overload

from ._model.field import MISSING, GroupedOptions, Tags, WindowedOptions
from ._model.registry import registry
from ._model.sink import SinkDefinition, SinkOptions
from ._model.stream import BARE, StreamCall, StreamDefinition, StreamOptions
from ._model.validation import Number, Validation
from ._surface.unknown_options import kept
from ._types.annotations import Windowed
from .sources import DataSource, KafkaSource, TopicSource

__all__ = ["KafkaSource", "TopicSource", "Windowed", "group_by_windowed", "make_stream_resolver", "sink", "stream", "windowed"]

_F = TypeVar("_F", bound=Callable[..., Any])


def windowed(
    *windows: Union[str, timedelta],
    default: Any = MISSING,
    max_staleness: Union[str, timedelta, None] = None,
    expression: Any = None,
    offline_expression: Any = None,
    owner: Optional[str] = None,
    tags: Optional[Tags] = None,
    description: Optional[str] = None,
    name: Optional[str] = None,
    store_online: Optional[bool] = None,
    store_offline: Optional[bool] = None,
    cache_nulls: Union[bool, Literal["evict_nulls"], None] = None,
    cache_defaults: Union[bool, Literal["evict_defaults"], None] = None,
    offline_ttl: Union[str, timedelta, None] = None,
    etl_offline_to_online: Optional[bool] = None,
    deprecated: bool = False,
    min: Optional[Number] = None,
    max: Optional[Number] = None,
    min_length: Optional[int] = None,
    max_length: Optional[int] = None,
    contains: Any = None,
    strict: Optional[bool] = None,
    validations: Optional[Sequence[Validation]] = None,
    materialization: Union[bool, Mapping[str, Any], None] = None,
    **others: NoReturn,
) -> Any:
    """The windows of a feature of type `Windowed[...]`:

        fails: Windowed[int] = windowed("10m", "1d", "all", default=0,
            expression=_.logins[_.ok == False, _.at > _.svc_window, _.at <= _.svc_now].count())

    Each window is a feature of its own, `User.fails["10m"]`; `User.fails` means all of them.

    windows: lengths of time such as "10m", "1h30m" or "7d"; "all" is 36,500 days.
    expression: how a window is computed; `_.svc_window` is its start and `_.svc_now` its end.
        Without one, resolvers give the values.
    offline_expression: how offline queries compute it instead, of what was known at each row's time.
    materialization: keeps the aggregate of each window by buckets of time, so that a query merges
        those and reads only the rows of the window's edges. True chooses the length of buckets; a
        dict may have `bucket_duration`, `bucket_durations` (such as {"1d": ["30d"]}: buckets of a
        day for the window of 30 days), `bucket_start` (a time at which a bucket begins),
        `backfill_schedule`, `backfill_resolver` (whose rows are read) and
        `continuous_buffer_duration` (rows of that time before a query are always read). Until
        `svc aggregate backfill` ran, windows are computed from their rows.
    The rest is as for `feature`.
    """
    unknown = kept("windowed", others)
    return WindowedOptions(
        max_staleness,
        default,
        owner,
        tags,
        description,
        False,
        name,
        expression,
        store_online,
        store_offline,
        cache_nulls,
        deprecated,
        min,
        max,
        min_length,
        max_length,
        contains,
        strict,
        validations,
        cache_defaults=cache_defaults,
        offline_ttl=offline_ttl,
        etl_offline_to_online=etl_offline_to_online,
        offline_expression=offline_expression,
        others=unknown,
        windows=windows,
        materialization=materialization,
    )


def group_by_windowed(
    *windows: Union[str, timedelta],
    group_by: Any,
    expression: Any,
    max_staleness: Union[str, timedelta, None] = None,
    owner: Optional[str] = None,
    tags: Optional[Tags] = None,
    description: Optional[str] = None,
    name: Optional[str] = None,
    store_online: Optional[bool] = None,
    store_offline: Optional[bool] = None,
    offline_ttl: Union[str, timedelta, None] = None,
    etl_offline_to_online: Optional[bool] = None,
    deprecated: bool = False,
    validations: Optional[Sequence[Validation]] = None,
    materialization: Union[bool, Mapping[str, Any], None] = None,
    **others: NoReturn,
) -> Any:
    """The windows of a feature whose value is rows: the aggregate of each group.

        @dataclass
        class KindSpend:
            kind: str
            total: float

        by_kind: Windowed[list[KindSpend]] = group_by_windowed("30d", group_by=_.kind,
            expression=_.txns[_.amount, _.at > _.svc_window, _.at <= _.svc_now].sum())

    The type is a list of a @dataclass with a field for each column of `group_by`, in their order, and
    then one for the aggregate. A group is there if a row of the window is; there are 1,000 at most.
    They come in the order of the columns' values, None first.

    group_by: what rows are grouped by, `_.kind` or a list of up to 8 such expressions of the row.
    expression: one aggregation, as of `windowed`.
    The rest is as for `windowed`.
    """
    unknown = kept("group_by_windowed", others)
    return GroupedOptions(
        max_staleness=max_staleness,
        owner=owner,
        tags=tags,
        description=description,
        name=name,
        expression=expression,
        store_online=store_online,
        store_offline=store_offline,
        deprecated=deprecated,
        validations=validations,
        offline_ttl=offline_ttl,
        etl_offline_to_online=etl_offline_to_online,
        others=unknown,
        windows=windows,
        materialization=materialization,
        group_by=group_by,
    )


@overload
def stream(function: _F, /) -> _F: ...


@overload
def stream(
    *,
    source: Optional[DataSource] = None,
    parse: Optional[Callable[[bytes], Any]] = None,
    name: Optional[str] = None,
    lateness: Union[str, timedelta, None] = None,
    timeout: Union[str, timedelta, None] = None,
    environment: Union[str, Sequence[str], None] = None,
    owner: Optional[str] = None,
    tags: Optional[Tags] = None,
    venv: Optional[str] = None,
    resource_group: Optional[str] = None,
) -> Callable[[_F], _F]: ...


def stream(
    function: Optional[_F] = None,
    /,
    *,
    source: Optional[DataSource] = None,
    parse: Optional[Callable[[bytes], Any]] = None,
    name: Optional[str] = None,
    lateness: Union[str, timedelta, None] = None,
    timeout: Union[str, timedelta, None] = None,
    environment: Union[str, Sequence[str], None] = None,
    owner: Optional[str] = None,
    tags: Optional[Tags] = None,
    venv: Optional[str] = None,
    resource_group: Optional[str] = None,
    **others: NoReturn,
) -> Any:
    """Makes a function a resolver of the messages of a topic: while its deployment is live, the row
    that it returns for each message is stored. The function stays as it is, for tests.

        @stream(source=KafkaSource(name="txns"))
        def on(message: TxnMsg) -> Features[Txn.id, Txn.amount]:
            return Txn(id=message.id, amount=message.amount)

    A function of a DataFrame takes the messages that came together, and returns any number of rows:

        @stream(source=KafkaSource(name="txns"))
        def on(messages: DataFrame[TxnMsg]) -> DataFrame[Txn.id, Txn.amount]:
            return DataFrame({Txn.id: messages.column("id"), Txn.amount: messages.column("amount")})

    Its parameter says what a message is: a dataclass or a pydantic model (a JSON object), `dict`,
    `str` or `bytes`; in a DataFrame a dataclass or a pydantic model. What it returns holds the
    primary key; None leaves the message out. The time of a row is its feature time if it has one,
    else the message's.

    A message that cannot be read, or for which the function raises, is put aside with the reason:
    `svc streams dead-letters list`. When all messages fail in the same way, the stream stops.

    source: a `KafkaSource` or a `TopicSource`.
    parse: makes the message of its bytes, in a format of its own such as Avro or protobuf; None
        leaves the message out.
    name: the last part of its FQN, when it differs from the function's name.
    lateness: how much older than the newest message of its partition one may be and still count in
        windows that are kept; default: 1h. Older ones are stored all the same.
    timeout: the longest time for one message; default: 10s.
    environment: the environments that it exists in; default: all.
    owner, tags: metadata; the docstring is the description.
    venv, resource_group: as of `online`: the requirements that it runs with, and the workers.
    """
    unknown = kept("stream", others)
    if function is not None:  # written without parentheses: a finding says so
        registry.add_stream(StreamDefinition(function, StreamOptions(source=BARE), sys._getframe(1)))
        return function
    options = StreamOptions(
        tags,
        environment,
        timeout,
        None,
        owner,
        name,
        venv=venv,
        resource_group=resource_group,
        others=unknown,
        source=source,
        parse=parse,
        lateness=lateness,
    )

    def decorate(fn: _F) -> _F:
        registry.add_stream(StreamDefinition(fn, options, sys._getframe(1)))
        return fn

    return decorate


def sink(
    function: Optional[_F] = None,
    /,
    *,
    buffer_size: int = 100,
    debounce: Union[str, timedelta] = "100ms",
    max_delay: Union[str, timedelta] = "1s",
    name: Optional[str] = None,
    timeout: Union[str, timedelta, None] = None,
    environment: Union[str, Sequence[str], None] = None,
    owner: Optional[str] = None,
    tags: Optional[Tags] = None,
    venv: Optional[str] = None,
    **others: NoReturn,
) -> Any:
    """Makes a function a sink: it is called with rows of a class soon after queries, jobs and streams
    have computed any of their columns but the key. The function stays as it is, for tests.

        @sink(buffer_size=500, max_delay="5s")
        def tell(rows: DataFrame[User.id, User.score]) -> None:
            http_post("https://example.com/scores", json=rows.to_dicts())

    A column that the operation did not know is None. Nobody waits for the call, so that it never
    slows an answer. One that raises is repeated, so that a row may come twice; after the fifth
    failure its rows are dropped and counted.

    buffer_size: the most rows of a call, and the number at which it is made at once.
    debounce: how long after the last row a call is made of fewer.
    max_delay: how long a row waits at most for others.
    timeout: the longest run of one call; default: 10s.
    tags: what a query must carry for the sink to be given its rows.
    name, environment, owner, venv: as of `online`.
    """
    unknown = kept("sink", others)
    options = SinkOptions(
        tags, environment, timeout, None, owner, name, venv=venv, others=unknown, buffer_size=buffer_size, debounce=debounce, max_delay=max_delay
    )

    def decorate(fn: _F) -> _F:
        registry.add_sink(SinkDefinition(fn, options, sys._getframe(1)))
        return fn

    if function is None:
        return decorate
    registry.add_sink(SinkDefinition(function, options, sys._getframe(1)))
    return function


def make_stream_resolver(
    *,
    name: str,
    source: DataSource,
    message_type: type,
    output_features: Mapping[Any, Any],
    lateness: Union[str, timedelta, None] = None,
    environment: Union[str, Sequence[str], None] = None,
    owner: Optional[str] = None,
    tags: Optional[Tags] = None,
    description: Optional[str] = None,
    **others: NoReturn,
) -> None:
    """A resolver of the messages of a topic that runs no Python: the features of a row are
    expressions of the fields of a message.

        make_stream_resolver(name="on_txn", source=txns, message_type=TxnMsg,
            output_features={Txn.id: _.id, Txn.at: F.from_unix_seconds(_.t)})

    message_type: a dataclass; messages are JSON objects with its fields.
    output_features: an expression for each feature, the primary key among them.
    The rest is as for `stream`.
    """
    unknown = kept("make_stream_resolver", others)
    options = StreamOptions(tags, environment, None, None, owner, name, others=unknown, source=source, lateness=lateness)
    registry.add_stream_call(StreamCall(options, message_type, output_features, description, sys._getframe(1)))


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        from ._surface.public_names import no_such_name

        raise no_such_name(__name__, name)
