"""A sampling profiler of resolvers: a thread looks at the stacks of the threads that run resolvers,
counts what it sees, and sends the counts to the server once a second. A call pays nothing for it
but its share of the sampling thread's work.
"""

from __future__ import annotations

import os
import random
import sys
import threading
import time
from types import CodeType, FrameType
from typing import Any, Callable, Dict, List, Optional, Tuple

#: Seconds between two samples, on average. They are taken at random times around it, so that work
#: that recurs in step with them is not missed.
INTERVAL = 0.005
#: Seconds between two frames to the server.
SEND_EVERY = 1.0
#: Most functions of a stack; those further inwards are left out.
DEPTH = 64
#: Most different stacks between two frames to the server; samples of others are counted only.
STACKS = 1_000
#: Longest text of a function.
LENGTH = 200

Stack = Tuple[CodeType, ...]


class Profiler:
    """Samples of one worker.

    ``resolvers`` has the FQN by the code of each resolver's function; ``threads`` returns the ids
    of threads on which a resolver may be running now; ``send`` takes frames.
    """

    def __init__(
        self,
        resolvers: Dict[CodeType, str],
        threads: Callable[[], List[int]],
        send: Callable[[Dict[str, Any]], None],
        root: str,
    ) -> None:
        self._resolvers = resolvers
        self._threads = threads
        self._send = send
        prefixes = [root, *filter(os.path.isabs, sys.path)]
        self._prefixes = sorted({os.path.join(prefix, "") for prefix in prefixes}, key=len, reverse=True)
        self._names: Dict[CodeType, str] = {}
        self._counts: Dict[Stack, int] = {}
        self._dropped = 0
        self._flushing = threading.Lock()

    def start(self) -> None:
        """Starts to sample."""
        threading.Thread(target=self._run, name="svc-profiler", daemon=True).start()

    def _run(self) -> None:
        sent = time.monotonic()
        while True:
            time.sleep(INTERVAL * (0.5 + random.random()))
            threads = self._threads()
            if threads:
                frames = sys._current_frames()
                for thread in threads:
                    frame = frames.get(thread)
                    if frame is not None:
                        self._note(frame)
                del frames
            if time.monotonic() - sent >= SEND_EVERY:
                self.flush()
                sent = time.monotonic()

    def _note(self, frame: Optional[FrameType]) -> None:
        codes: List[CodeType] = []
        begin = -1
        while frame is not None:
            if frame.f_code in self._resolvers:
                begin = len(codes)
            codes.append(frame.f_code)
            frame = frame.f_back
        if begin < 0:
            return
        stack = tuple(codes[begin::-1][:DEPTH])
        known = self._counts.get(stack)
        if known is None and len(self._counts) >= STACKS:
            self._dropped += 1
        else:
            self._counts[stack] = (known or 0) + 1

    def flush(self) -> None:
        """Sends what was counted since the last time."""
        with self._flushing:
            counts, self._counts = self._counts, {}
            dropped, self._dropped = self._dropped, 0
            if not counts and not dropped:
                return
            stacks = [[self._resolvers[stack[0]], [self._name(code) for code in stack], count] for stack, count in counts.items()]
            self._send({"type": "PROFILE", "stacks": stacks, "dropped": dropped})

    def _name(self, code: CodeType) -> str:
        name = self._names.get(code)
        if name is None:
            file = code.co_filename
            for prefix in self._prefixes:
                if file.startswith(prefix):
                    file = file[len(prefix) :]
                    break
            function = getattr(code, "co_qualname", code.co_name)
            text = f"{function} ({file.replace(os.sep, '/')}:{code.co_firstlineno})"
            name = text[:LENGTH].encode("utf-8", "backslashreplace").decode("utf-8")
            self._names[code] = name
        return name
