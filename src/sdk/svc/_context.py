"""What a resolver can learn of the query it runs for."""

from __future__ import annotations

from contextvars import ContextVar
from types import MappingProxyType
from typing import Any, Mapping, Optional, Tuple

_EMPTY: Mapping[str, Any] = MappingProxyType({})


class CallInfo:
    """The call that code runs in."""

    __slots__ = ("resolver", "query_id", "trace_id", "tags", "query_context")

    def __init__(
        self,
        resolver: str,
        query_id: str = "",
        trace_id: str = "",
        tags: Tuple[str, ...] = (),
        query_context: Mapping[str, Any] = _EMPTY,
    ) -> None:
        self.resolver = resolver
        self.query_id = query_id
        self.trace_id = trace_id
        self.tags = tags
        self.query_context = query_context


#: The call of the code that runs; None outside of calls.
current_call: "ContextVar[Optional[CallInfo]]" = ContextVar("svc_current_call", default=None)


def query_context() -> Mapping[str, Any]:
    """The values that the query was sent with (``--query-context``, ``query_context=``), by name; empty outside of a query."""
    call = current_call.get()
    return _EMPTY if call is None else call.query_context


def query_tags() -> Tuple[str, ...]:
    """The tags that the query was sent with; empty outside of a query."""
    call = current_call.get()
    return () if call is None else call.tags


def query_id() -> str:
    """The id of the query that is being answered; empty outside of a query."""
    call = current_call.get()
    return "" if call is None else call.query_id
