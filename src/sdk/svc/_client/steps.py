"""Calls as steps. What a call does is written once, as a generator of the steps that somebody has to
carry out for it, whose results it is given: `blocking.py` waits for each one in its thread,
`asynchronous.py` awaits it.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any, Callable, Generator, Mapping, Optional, TypeVar, Union

from .server import Server

Result = TypeVar("Result")

#: Seconds beyond the end of a call that the server has to report that the time is up.
_GRACE = 1.0


@dataclass(frozen=True)
class Request:
    """A request to be sent, whose result is a Response.

    Raises ServerUnreachable, and what `sink` raises.
    """

    server: Server
    method: str
    #: Below the server's URL, with its query.
    path: str
    headers: Mapping[str, str]
    content: Optional[bytes]
    #: Seconds that its call may take; without `ends`, those for each part of the answer.
    timeout: float
    #: The end of its call, in seconds of `time.monotonic`.
    ends: Optional[float] = None
    #: Whether it can be sent again when it is not known what became of it.
    idempotent: bool = True
    #: Takes the bytes of an answer with 200 or 206 as they come.
    sink: Optional[Callable[[bytes], Any]] = None

    def patience(self) -> float:
        """Seconds from now on for the whole answer, or for each part of it; more than none."""
        left = self.timeout if self.ends is None else self.ends - time.monotonic()
        return max(left + _GRACE, 0.001)

    def sent_headers(self) -> dict[str, str]:
        """The headers as they are sent now: with the time that the server has, and what a proxy is
        told.
        """
        left = None if self.ends is None else max(1, min(math.ceil((self.ends - time.monotonic()) * 1000), 10**10 - 1))
        forwarder = self.server.forwarder
        return {
            **({} if left is None else {"connect-timeout-ms": str(left)}),
            **self.headers,
            **(forwarder.headers if forwarder else {}),
        }


@dataclass(frozen=True)
class Response:
    """The answer to a request: `headers` by names in lower case; `content` is empty when a sink has
    taken it.
    """

    status: int
    headers: Mapping[str, str]
    content: bytes


@dataclass(frozen=True)
class Pause:
    """A time to wait, in seconds."""

    seconds: float


@dataclass(frozen=True)
class Work:
    """Work of the machine that takes long, such as reading files; its result is what it returns."""

    run: Callable[[], Any]


@dataclass(frozen=True)
class Alone:
    """Steps that one caller at a time takes, of all with the same key; the result is theirs."""

    key: object
    steps: Generator[Step, Any, Any]


Step = Union[Request, Pause, Work, Alone]
Steps = Generator[Step, Any, Result]
