"""The query that a resolver runs for, as the resolver can read it."""

from __future__ import annotations

from contextvars import ContextVar
from types import MappingProxyType
from typing import Any, Dict, Mapping, Optional, Tuple

#: The context of a query that was sent without one.
NO_CONTEXT: Mapping[str, Any] = MappingProxyType({})


class CallInfo:
    """The call that code runs in."""

    __slots__ = ("resolver", "query_id", "trace_id", "tags", "query_context", "traceparent", "carried")

    def __init__(
        self,
        resolver: str,
        query_id: str = "",
        trace_id: str = "",
        tags: Tuple[str, ...] = (),
        query_context: Mapping[str, Any] = NO_CONTEXT,
        traceparent: str = "",
        carried: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.resolver = resolver
        self.query_id = query_id
        self.trace_id = trace_id
        self.tags = tags
        self.query_context = query_context
        self.traceparent = traceparent
        #: Further headers of the caller, which are passed on with it.
        self.carried = carried


#: The call of the code that runs; None outside of calls.
current_call: "ContextVar[Optional[CallInfo]]" = ContextVar("svc_current_call", default=None)


def frozen(value: Any) -> Any:
    """The value with read-only mappings and tuples for objects and lists, at every depth."""
    if isinstance(value, dict):
        return MappingProxyType({name: frozen(item) for name, item in value.items()})
    if isinstance(value, list):
        return tuple([frozen(item) for item in value])
    return value


def query_context() -> Mapping[str, Any]:
    """The values that the query was sent with (``--query-context``, ``query_context=``), by name;
    empty outside of a query.

    Nothing in it can be changed, at any depth: objects are read-only mappings, lists are tuples.
    """
    call = current_call.get()
    return NO_CONTEXT if call is None else call.query_context


def query_tags() -> Tuple[str, ...]:
    """The tags that the query was sent with; empty outside of a query."""
    call = current_call.get()
    return () if call is None else call.tags


def query_id() -> str:
    """The id of the query that is being answered; empty outside of a query."""
    call = current_call.get()
    return "" if call is None else call.query_id


def traceparent() -> str:
    """The W3C ``traceparent`` header that makes what is called from here a part of the query's
    trace; empty when there is none.

    Send it along: ``requests.get(url, headers={"traceparent": svc.traceparent()})``. Its second
    part is the id of the trace.
    """
    call = current_call.get()
    return "" if call is None else call.traceparent


def trace_headers() -> Dict[str, str]:
    """The headers for what is called from here: ``traceparent()`` under its name, and
    ``tracestate`` and ``baggage`` as the caller of the query sent them; empty when there are none.

    Send them along: ``requests.get(url, headers=svc.trace_headers())``. They are never stored.
    """
    call = current_call.get()
    if call is None or call.traceparent == "":
        return {}
    return {"traceparent": call.traceparent, **call.carried}
