"""Runs of resolvers: a resolver computed by itself, for all its rows, and stored."""

from __future__ import annotations

import uuid
from datetime import datetime
from typing import Any, Mapping, Optional
from urllib.parse import quote

from .blocking import Blocking
from .errors import ClientError
from .session import Call
from .steps import Steps
from .tables import optional_time
from .waiting import wait_for_end

_OPEN = ("received", "running")


class ResolverRunFailed(ClientError):
    """A run that failed; its `id` says which."""

    def __init__(self, message: str, id: str) -> None:
        super().__init__(message)
        self.id = id


class RunState:
    """What is known of a run, and the steps to know more."""

    def __init__(self, call: Call, said: Mapping[str, Any]) -> None:
        self._call = call
        self.said = said

    def refreshed(self) -> Steps[Mapping[str, Any]]:
        """What the server says now."""
        if self.said["status"] in _OPEN:
            self.said = yield from _found(self._call, str(self.said["id"]))
        return self.said

    def ended(self, timeout: Optional[float]) -> Steps[None]:
        """Waits for the end. Raises TimeoutError and ResolverRunFailed."""
        id, resolver = self.said["id"], self.said["resolver"]
        said = yield from wait_for_end(self.refreshed, _OPEN, f"the run {id} of {resolver}", timeout)
        if said["status"] == "failed":
            raise ResolverRunFailed(f"the run {id} of {resolver} failed: {said['error'] or 'the server gives no reason'}", str(id))


class RunFacts:
    """The facts of a run."""

    def __init__(self, state: RunState) -> None:
        self._state = state

    def _latest(self) -> Mapping[str, Any]:
        return self._state.said

    @property
    def id(self) -> str:
        """Its id."""
        return str(self._state.said["id"])

    @property
    def resolver(self) -> str:
        """The resolver's name with its module."""
        return str(self._state.said["resolver"])

    @property
    def status(self) -> str:
        """``received``, ``running``, ``succeeded`` or ``failed``. A run in which some rows failed has
        succeeded; one in which all of them did has failed.
        """
        return str(self._latest()["status"])

    @property
    def rows(self) -> int:
        """Number of rows that were tried so far."""
        return int(self._latest()["rows"])

    @property
    def failed_rows(self) -> int:
        """Number of them for which the resolver, or an input of it, failed."""
        return int(self._latest()["failed_rows"])

    @property
    def error(self) -> str:
        """Why it failed, or the first error of a row; empty when there is none."""
        return str(self._latest()["error"])

    @property
    def created_at(self) -> datetime:
        """When it was asked for; its values count as observed then."""
        made: datetime = optional_time(self._state.said["created_at"])
        return made

    @property
    def ended_at(self) -> Optional[datetime]:
        """When it ended; None before."""
        ended: Optional[datetime] = optional_time(self._latest()["ended_at"])
        return ended

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.id!r}, resolver={self.resolver!r}, status={self._state.said['status']!r})"


class ResolverRun(RunFacts):
    """A run of a resolver. The server goes on with it, whatever becomes of this object; what it says
    here is what the server says now.
    """

    def __init__(self, run: Blocking, state: RunState) -> None:
        super().__init__(state)
        self._run = run

    def wait(self, timeout: Optional[float] = None) -> ResolverRun:
        """Waits for the end and returns the run itself.

        timeout: seconds; without it there is no limit. Raises TimeoutError; the run goes on.
        Raises ResolverRunFailed when it failed.
        """
        self._run(self._state.ended(timeout))
        return self

    def _latest(self) -> Mapping[str, Any]:
        return self._run(self._state.refreshed())


def trigger(call: Call, resolver: str, body: Mapping[str, Any]) -> Steps[RunState]:
    """Asks for a run. Without a key of the caller's it has one of its own, so that a call that is
    sent again, because its connection broke, is still one run. Raises ClientError and TypeError.
    """
    if not isinstance(resolver, str):
        raise TypeError(f"a resolver is given by its name, not as {resolver!r}")
    said: dict[str, Any] = {"resolver": resolver, **{field: value for field, value in body.items() if value is not None}}
    said["idempotency_key"] = said.get("idempotency_key") or uuid.uuid4().hex
    return RunState(call, (yield from call("POST", "/v1/runs", said)))


def find(call: Call, id: str) -> Steps[RunState]:
    """The run of an id. Raises ClientError and ValueError."""
    if not isinstance(id, str) or not id:
        raise ValueError(f"a run is named by its id, not {id!r}")
    return RunState(call, (yield from _found(call, id)))


def _found(call: Call, id: str) -> Steps[Mapping[str, Any]]:
    return call("GET", f"/v1/runs/{quote(id, safe='')}", None)
