"""Waiting for the end of what a server works on."""

from __future__ import annotations

import time
from typing import Any, Callable, Collection, Mapping, Optional

from .steps import Pause, Steps

_FIRST_PAUSE = 0.05
_LONGEST_PAUSE = 2.0


def wait_for_end(
    ask: Callable[[], Steps[Mapping[str, Any]]], open: Collection[str], what: str, timeout: Optional[float]
) -> Steps[Mapping[str, Any]]:
    """Asks, with growing pauses, until the ``status`` of the answer is none of those in which the
    work goes on, and returns that answer.

    timeout: seconds; None for no limit. Raises TimeoutError, which names what was waited for.
    """
    ends = None if timeout is None else time.monotonic() + timeout
    pause = _FIRST_PAUSE
    while True:
        said = yield from ask()
        if said["status"] not in open:
            return said
        left = None if ends is None else ends - time.monotonic()
        if left is not None and left <= 0:
            raise TimeoutError(f"{what} did not end within {timeout:g} s; it goes on")
        yield Pause(pause if left is None else min(pause, left))
        pause = min(pause * 1.5, _LONGEST_PAUSE)
