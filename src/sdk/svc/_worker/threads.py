"""The threads on which resolvers run that wait for others (`resource_hint="io"`), beside each other
and beside the main thread.
"""

from __future__ import annotations

import sys
import threading
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from dataclasses import replace
from typing import Any, Callable, Dict, Iterator, List, Optional, Set, Tuple

from .._model.resolver import ResolverSpec
from .runner import CallCancelled

#: Calls of the function of a resolver that run at once in a worker; others wait for one to end.
THREADS = 32

#: Seconds of a turn of one thread, as Python has it, and the shortest one of many.
_TURN = 0.005
_SHORTEST_TURN = 0.0002

#: The id of the call that a task of the loop answers; 0 elsewhere.
current_id: ContextVar[int] = ContextVar("current_id", default=0)


class ThreadLane:
    """Threads that are begun when they are needed, at most `THREADS`."""

    def __init__(self, after_call: Callable[[], None]) -> None:
        #: Called on the thread when a function has ended.
        self._after_call = after_call
        self._pool: Any = None
        self._threads: Set[int] = set()
        self._running: Set[int] = set()
        self._lock = threading.Lock()
        #: The functions of each call that have not ended.
        self._jobs: Dict[int, Set[_Job]] = {}
        #: Calls that were interrupted and not answered yet: none of their functions begins.
        self._interrupted: Set[int] = set()
        #: Functions of other calls that wait until those are answered.
        self._waiting: List[Any] = []

    def is_current(self) -> bool:
        """Whether the current thread is one of them."""
        return threading.get_ident() in self._threads

    def running(self) -> Set[int]:
        """Those on which a resolver is running."""
        return set(self._running)

    def interrupt(self, call: int) -> None:
        """Interrupts the functions of a call, those too that have not begun, from any thread. Whoever
        runs them is told by the loop, which may get to it late: threads that compute without pause
        take its time from it.
        """
        with self._lock:
            self._interrupted.add(call)
            jobs = list(self._jobs.get(call, ()))
        for job in jobs:
            job.interrupt()

    def answered(self, call: int) -> None:
        """Lets functions begin again that waited for a call to be answered; called by the loop."""
        with self._lock:
            self._interrupted.discard(call)
            if self._interrupted:
                return
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)

    async def _turn(self, call: int) -> None:
        """Waits until other calls that were interrupted are answered: what began now would compute in
        the time that they are given to end.
        """
        import asyncio

        while self._interrupted and call not in self._interrupted:
            self._waiting.append(asyncio.get_running_loop().create_future())
            await self._waiting[-1]

    def concurrent(self, spec: ResolverSpec) -> ResolverSpec:
        """The resolver as one that is awaited, whose function runs on a thread."""

        async def call(*row: Any) -> Any:
            return await self._call(spec.fn, row)

        return replace(spec, fn=call, is_async=True)

    async def _call(self, function: Callable[..., Any], row: Tuple[Any, ...]) -> Any:
        """Calls a function on a thread. When it is cancelled the thread is interrupted, and awaited
        until it gives way.
        """
        import asyncio

        call = current_id.get()
        await self._turn(call)
        job = _Job(function, row, self._running, self._after_call)
        with self._jobs_of(call, job):
            submitted = self._started().submit(copy_context().run, job.run)
            ended = asyncio.wrap_future(submitted)
            try:
                value, error = await asyncio.shield(ended)
            except asyncio.CancelledError:
                if not submitted.cancel():
                    job.interrupt()
                    await asyncio.wait([ended])
                raise
            if isinstance(error, CallCancelled):
                # The interruption was faster than the loop, which is about to cancel the call.
                await asyncio.get_running_loop().create_future()
        if error is not None:
            raise error
        return value

    @contextmanager
    def _jobs_of(self, call: int, job: _Job) -> Iterator[None]:
        """Has a job among those of its call."""
        with self._lock:
            self._jobs.setdefault(call, set()).add(job)
            is_late = call in self._interrupted
        if is_late:
            job.interrupt()
        try:
            yield
        finally:
            with self._lock:
                jobs = self._jobs[call]
                jobs.discard(job)
                if not jobs:
                    del self._jobs[call]

    def _started(self) -> Any:
        if self._pool is None:
            import ctypes  # for interruptions: beside threads that compute, an import would take too long
            from concurrent.futures import ThreadPoolExecutor

            self._pool = ThreadPoolExecutor(THREADS, "svc-io", lambda: self._threads.add(threading.get_ident()))
        return self._pool


class _Job:
    """One call of a function."""

    def __init__(self, function: Callable[..., Any], row: Tuple[Any, ...], running: Set[int], after_call: Callable[[], None]) -> None:
        self._function = function
        self._row = row
        self._running = running
        self._after_call = after_call
        self._lock = threading.Lock()
        #: The thread that runs the function; 0 before and after.
        self._thread = 0
        self._interrupted = False

    def run(self) -> Tuple[Any, Optional[BaseException]]:
        """The value of the function, or what it raised."""
        outcome: Tuple[Any, Optional[BaseException]]
        try:
            try:
                self._begin()
                outcome = self._function(*self._row), None
            except BaseException as error:
                outcome = None, error
            finally:
                self._end()
        except CallCancelled as error:  # it came when the function had just ended
            self._end()
            outcome = None, error
        self._after_call()
        return outcome

    def interrupt(self) -> None:
        """Raises CallCancelled into the function, once, as soon as it runs Python code; one that has
        not begun never does.
        """
        with self._lock:
            if self._thread and not self._interrupted:
                _raise_in(self._thread, CallCancelled)
            self._interrupted = True

    def _begin(self) -> None:
        thread = threading.get_ident()
        with self._lock:
            if self._interrupted:
                raise CallCancelled("the call's time is up")
            self._thread = thread
            self._running.add(thread)
            _share_time(self._running)

    def _end(self) -> None:
        with self._lock:
            begun, self._thread = self._thread, 0
            self._running.discard(begun)
            _share_time(self._running)
            if self._interrupted and begun:
                _raise_in(threading.get_ident(), None)


def _share_time(threads: Set[int]) -> None:
    """Shortens the turns of threads that compute by their number, so that the loop, the server's word
    and an interruption wait no longer for a turn because there are many.
    """
    sys.setswitchinterval(max(_TURN / max(len(threads), 1), _SHORTEST_TURN))


def _raise_in(thread: int, error: Any) -> None:
    """Has a thread raise an exception; None takes back one that has not been raised yet."""
    import ctypes

    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), None if error is None else ctypes.py_object(error))
