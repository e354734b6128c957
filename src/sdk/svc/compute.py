"""Functions that callers run with arguments of their own, by `svc compute call` or the client.

    from svc.compute import function
"""

from __future__ import annotations

import sys
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Callable, NoReturn, Optional, Sequence, TypeVar, Union

from ._model.field import Tags
from ._model.function import FunctionDefinition, FunctionOptions
from ._model.registry import registry
from ._surface.unknown_options import kept

__all__ = ["function"]

_F = TypeVar("_F", bound=Callable[..., Any])


def function(
    target: Optional[_F] = None,
    /,
    *,
    batch: bool = False,
    timeout: Union[str, timedelta, None] = None,
    concurrency: Optional[int] = None,
    name: Optional[str] = None,
    environment: Union[str, Sequence[str], None] = None,
    owner: Optional[str] = None,
    tags: Optional[Tags] = None,
    venv: Optional[str] = None,
    **others: NoReturn,
) -> Any:
    """Makes a function one that callers run: it is called for each row of their arguments, whose
    columns are its parameters. The function stays as it is, for tests.

        @function(timeout="5m", concurrency=4)
        def fee(amount: float, country: str = "CH") -> float:
            return amount * RATES[country]

    A deployment that changes its text or its types makes its next version, by which it can still be
    called. It runs in workers of its own, so that it never takes time from queries; an `async def`
    is called for many rows at once.

    batch: whether it is called once with the columns of all rows, as lists, and returns a list with
        a value for each row.
    timeout: the longest run of one call, of all its rows, at most 1h; default: 60s.
    concurrency: the most calls that run at once; others wait. Default: as many as come.
    name: what it is called by; default: the function's own name.
    environment, owner, tags, venv: as of `online`.
    """
    unknown = kept("function", others)
    options = FunctionOptions(
        tags, environment, timeout, None, owner, name, venv=venv, others=unknown, batch=batch, concurrency=concurrency
    )

    def decorate(fn: _F) -> _F:
        registry.add_function(FunctionDefinition(fn, options, sys._getframe(1)))
        return fn

    if target is None:
        return decorate
    registry.add_function(FunctionDefinition(target, options, sys._getframe(1)))
    return target


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        from ._surface.public_names import no_such_name

        raise no_such_name(__name__, name)
