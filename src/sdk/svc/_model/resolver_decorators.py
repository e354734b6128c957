"""The decorators `online` and `offline`."""

from __future__ import annotations

import sys
from datetime import timedelta
from typing import Any, Callable, Literal, NoReturn, Optional, Sequence, TypeVar, Union, overload

from .._frames.unit_call import callable_in_tests
from .._surface.unknown_options import kept
from .cron import Cron
from .field import Tags
from .registry import registry
from .resolver import OFFLINE, ONLINE, ResolverDefinition, ResolverOptions

F = TypeVar("F", bound=Callable[..., Any])


def _decorate(kind: str, fn: Optional[F], options: ResolverOptions) -> Any:
    if fn is None:

        def decorate(decorated: F) -> Any:
            return _register(ResolverDefinition(decorated, kind, options, sys._getframe(1)))

        return decorate
    return _register(ResolverDefinition(fn, kind, options, sys._getframe(2)))


def _register(definition: ResolverDefinition) -> Callable[..., Any]:
    registry.add_resolver(definition)
    return callable_in_tests(definition)


@overload
def online(fn: F, /) -> F: ...


@overload
def online(
    *,
    tags: Optional[Tags] = None,
    environment: Union[str, Sequence[str], None] = None,
    timeout: Union[str, timedelta, None] = None,
    cron: Union[str, timedelta, Cron, None] = None,
    owner: Optional[str] = None,
    name: Optional[str] = None,
    total: Optional[bool] = None,
    translate: Optional[bool] = None,
    when: Any = None,
    resource_hint: Optional[Literal["cpu", "io"]] = None,
    venv: Optional[str] = None,
    unique_on: Any = None,
    partitioned_by: Any = None,
    max_staleness: Union[str, timedelta, None] = None,
) -> Callable[[F], F]: ...


def online(
    fn: Optional[F] = None,
    /,
    *,
    tags: Optional[Tags] = None,
    environment: Union[str, Sequence[str], None] = None,
    timeout: Union[str, timedelta, None] = None,
    cron: Union[str, timedelta, Cron, None] = None,
    owner: Optional[str] = None,
    name: Optional[str] = None,
    total: Optional[bool] = None,
    translate: Optional[bool] = None,
    when: Any = None,
    resource_hint: Optional[Literal["cpu", "io"]] = None,
    venv: Optional[str] = None,
    unique_on: Any = None,
    partitioned_by: Any = None,
    max_staleness: Union[str, timedelta, None] = None,
    **others: NoReturn,
) -> Any:
    """Makes a function a resolver for online and offline queries. It can be called in tests like
    before; for a parameter that is a DataFrame it takes a list of rows as well, and applies the
    filters and columns that the parameter declares.

        @online(timeout="200ms")
        def domain(email: User.email) -> User.domain:
            return email.split("@")[1]

    A parameter that is Optional or has a default does not stop the function: where its feature is
    None, has no row or failed, it is given None, or the default.

    tags: what a query must carry for the resolver to be considered.
    environment: the environments that it exists in; default: all.
    timeout: the longest run of one call, such as "200ms".
    cron: when it runs by itself while its deployment is live, a duration such as "1d" or a cron
        expression in UTC. A run computes and stores its features: of the rows that it returns when
        it takes no arguments, else of every row that the history knows. `Cron("1d", ...)` says
        which of these rows run.
    owner: who answers for it.
    name: the last part of its FQN, when it differs from the function's name.
    total: whether the DataFrame that it returns has every row of its class, so that other rows do
        not exist.
    translate: False = the function always runs in Python. Else one that is no more than arithmetic,
        text and comparisons of its parameters is computed by the server, with the same results.
    when: a condition on the row, such as `User.kind == "x" and User.score is not None`: only rows for
        which it is true are computed by this resolver. Of several resolvers of a feature each row is
        computed by the first one whose condition is true, in the order of the file, and else by the
        one without a condition. A row for which none is true gets the feature's default.
    resource_hint: "io" for a function that mostly waits, as for the answer of an API: its calls run
        on threads, up to 32 at once in each worker process, and nothing waits behind them. Default:
        "cpu", one call at a time in each process. An `async def` runs beside others anyway.
    venv: the name under `venvs` of svc.yaml of the requirements that the function needs: it runs in
        worker processes of their own, which have these packages alone. Import there what the
        environment's requirements lack: inside of the function, or in `before_all(venv=...)`.
    unique_on: columns of the DataFrame that it returns, such as `[Txn.user_id, Txn.day]`: no two rows of
        one call have the same values there, or the call fails and names both rows. Rows with None in
        one of them are not compared.
    partitioned_by: columns of the DataFrame that it takes, such as `[User.country]`: rows of a query or a
        run that have the same values there are in one call, however many rows there are, and calls
        for other values may run beside it. Default: the rows that are computed together, at most
        10,000, are one call.
    max_staleness: how old a stored value of its outputs may be to serve a query, such as "1d", for
        those whose feature and class say nothing.
    """
    unknown = kept("online", others)
    promises = (unique_on, partitioned_by, max_staleness)
    options = ResolverOptions(tags, environment, timeout, cron, owner, name, total, translate, when, resource_hint, venv, *promises, unknown)
    return _decorate(ONLINE, fn, options)


@overload
def offline(fn: F, /) -> F: ...


@overload
def offline(
    *,
    tags: Optional[Tags] = None,
    environment: Union[str, Sequence[str], None] = None,
    timeout: Union[str, timedelta, None] = None,
    cron: Union[str, timedelta, Cron, None] = None,
    owner: Optional[str] = None,
    name: Optional[str] = None,
    total: Optional[bool] = None,
    translate: Optional[bool] = None,
    when: Any = None,
    resource_hint: Optional[Literal["cpu", "io"]] = None,
    venv: Optional[str] = None,
    unique_on: Any = None,
    partitioned_by: Any = None,
    max_staleness: Union[str, timedelta, None] = None,
) -> Callable[[F], F]: ...


def offline(
    fn: Optional[F] = None,
    /,
    *,
    tags: Optional[Tags] = None,
    environment: Union[str, Sequence[str], None] = None,
    timeout: Union[str, timedelta, None] = None,
    cron: Union[str, timedelta, Cron, None] = None,
    owner: Optional[str] = None,
    name: Optional[str] = None,
    total: Optional[bool] = None,
    translate: Optional[bool] = None,
    when: Any = None,
    resource_hint: Optional[Literal["cpu", "io"]] = None,
    venv: Optional[str] = None,
    unique_on: Any = None,
    partitioned_by: Any = None,
    max_staleness: Union[str, timedelta, None] = None,
    **others: NoReturn,
) -> Any:
    """Makes a function a resolver for offline queries and jobs only. Takes what `online` takes."""
    unknown = kept("offline", others)
    promises = (unique_on, partitioned_by, max_staleness)
    options = ResolverOptions(tags, environment, timeout, cron, owner, name, total, translate, when, resource_hint, venv, *promises, unknown)
    return _decorate(OFFLINE, fn, options)


realtime = online
batch = offline
