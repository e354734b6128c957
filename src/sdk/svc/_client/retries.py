"""The retry policy: a request is sent again only when that cannot have an effect twice, only for
passing failures, with a random wait that is no shorter than the server asks for, never beyond the
time of its call, and never more than a small share of all requests. The command line's is the same
(`src/client/retry.ts`).
"""

from __future__ import annotations

import random
import threading
import time
from datetime import timezone
from email.utils import parsedate_to_datetime
from typing import Optional

from .errors import ServerUnreachable
from .steps import Pause, Request, Response, Steps

#: Upper bounds of the first wait in seconds; they double with every attempt. The second is for a
#: server that refuses and does not say when to come back: it is asked once more.
_BASE = 0.1
_REFUSED_BASE = 1.0
_REFUSED_ATTEMPTS = 2
#: The longest wait; when the server asks for a longer one, there are no more attempts.
_LONGEST = 10.0
#: Retries for a burst, and those that a request which succeeds earns.
_BURST = 10.0
_SHARE = 0.1

#: Statuses of a server, or a proxy before it, that is not ready or has too much to do. With the
#: second ones the request may have been begun.
_REFUSED = (429, 503)
_BROKEN = (502,)


class Retries:
    """The retries of one client: how many each request may have, and what is left for all of them.
    Safe to use from several threads.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._left = _BURST

    def send(self, request: Request) -> Steps[Response]:
        """Sends a request, and again as the policy allows. Raises the last failure."""
        tried = 0
        while True:
            tried += 1
            failure: Optional[ServerUnreachable] = None
            response: Optional[Response] = None
            if request.ends is not None and time.monotonic() >= request.ends:
                raise request.server.too_late(request.timeout, sent=False)
            try:
                response = yield request
            except ServerUnreachable as error:
                failure = error
            wait = self._wait(request, tried, failure, response)
            if wait is None:
                if failure is not None:
                    raise failure
                assert response is not None
                return response
            yield Pause(wait)

    def _wait(self, request: Request, tried: int, failure: Optional[ServerUnreachable], response: Optional[Response]) -> Optional[float]:
        """Seconds until the next attempt; None for none."""
        asked: Optional[float] = None
        refused = False
        if failure is not None:
            passes = failure.passing and (request.idempotent or not failure.sent)
        else:
            assert response is not None
            refused = response.status in _REFUSED or response.status in _BROKEN
            asked = retry_after(response.headers.get("retry-after")) if refused else None
            # A refusal with a time stands before the work; without one it may come out of it.
            passes = refused and (request.idempotent or (response.status in _REFUSED and asked is not None))
            if not refused:
                self._earn()
        unasked = refused and asked is None
        if not passes or tried > (min(self._most, _REFUSED_ATTEMPTS - 1) if unasked else self._most):
            return None
        longest = (_REFUSED_BASE if unasked else _BASE) * 2 ** (tried - 1)
        wait = asked if asked is not None else random.random() * min(_LONGEST, longest)
        if wait > _LONGEST or (request.ends is not None and time.monotonic() + wait >= request.ends) or not self._take():
            return None
        return wait

    def _earn(self) -> None:
        with self._lock:
            self._left = min(_BURST, self._left + _SHARE)

    def _take(self) -> bool:
        with self._lock:
            if self._left < 1:
                return False
            self._left -= 1
            return True


def retry_after(value: Optional[str]) -> Optional[float]:
    """Seconds that a ``Retry-After`` header asks for: a number of them, or a date. None when it is
    missing or malformed.
    """
    text = (value or "").strip()
    try:
        if text.replace(".", "", 1).isdecimal():
            return float(text)
        at = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError):
        return None
    return max(0.0, (at if at.tzinfo else at.replace(tzinfo=timezone.utc)).timestamp() - time.time())
