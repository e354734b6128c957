"""A worker: imports a project and runs its resolvers for the server.

Synchronous resolvers run on the main thread, one call after the other, straight from the data
connection: no call is handed from thread to thread. A second thread reads the control connection.
To interrupt a call it sends this process's main thread a signal, whose handler raises
CallCancelled; that also ends waiting in system calls, locks and `time.sleep`. `async def` resolvers
run on an event loop in a third thread, from which those with `resource_hint="io"` are handed to
threads of their own.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import signal
import sys
import threading
from functools import lru_cache
from typing import Any, Dict, List, Mapping, Optional, Set

from .._diagnostics import rules
from .._diagnostics.findings import Finding, Span
from .._diagnostics.source import project_path, source_of
from .._loading.code_cache import use_code_cache
from .._loading.load import few_collections, load_project, no_collections
from .._model.context import current_call
from .._model.hooks import AFTER, BEFORE, HookDefinition
from .._model.registry import registry
from .._model.resolver import ResolverSpec
from .checks import PREFIX, CheckRunner
from .frame_runner import runner_for
from .limits import limit_memory
from .logs import LogSink, LogStream, take_over, write_line
from .protocol import Connection, Message
from .raised import Project
from .runner import CallCancelled, call_info
from .threads import ThreadLane, current_id

_MAIN, _CONTROL = 1, 2
#: Seconds without a call after which the garbage of the import is collected, once.
_IDLE = 1.0


class Runners(Dict[str, Any]):
    """The runners by FQN, and those that check values by their names, each made at its first call."""

    def __init__(self, specs: Mapping[str, ResolverSpec], project: Project) -> None:
        super().__init__()
        self._specs = specs
        self._project = project

    def __missing__(self, fqn: str) -> Any:
        runner = self[fqn] = CheckRunner(fqn) if fqn.startswith(PREFIX) else runner_for(self._specs[fqn], self._project)
        return runner


class Worker:
    """The resolvers of a process and its two connections."""

    def __init__(self, data: Connection, control: Connection, project: Project) -> None:
        self._data = data
        self._control = control
        self._project = project
        self._main_thread = threading.main_thread().ident or 0
        self._runners: Mapping[str, Any] = {}
        #: The thread that claimed a call first: the main thread to run it, or the control thread to
        #: return it.
        self._claims: Dict[int, int] = {}
        self._running = 0
        self._last = 0
        self._interrupted = 0
        self._shielded = False
        #: Whether this process is a fork made by a resolver, not the worker.
        self._is_child = False
        self._loop: Any = None
        self._loop_thread: Optional[threading.Thread] = None
        #: Calls of the event loop, which the control thread has handed on, and their tasks.
        self._concurrent: Set[int] = set()
        self._tasks: Dict[int, Any] = {}
        self._profiler: Any = None
        self.lane = ThreadLane(self._leave_child)
        self.sink = LogSink(self._send_log)
        self.stdout = LogStream(self.sink, "info", "stdout", sys.stdout)
        self.stderr = LogStream(self.sink, "warning", "stderr", sys.stderr)

    def start(self) -> None:
        """Sends HELLO, redirects output, and starts to listen on the control connection."""
        hello = {"type": "HELLO", "launcher": os.getppid(), "python": "%d.%d.%d" % sys.version_info[:3]}
        self._data.send({**hello, "role": "data"})
        self._control.send({**hello, "role": "control"})
        take_over(self.sink, self.stdout, self.stderr)
        os.register_at_fork(after_in_child=self._in_child)
        threading.Thread(target=self._listen, name="svc-control", daemon=True).start()

    def fail(self, diagnostics: List[Dict[str, Any]]) -> None:
        """Sends the findings that stopped the import."""
        self._data.send({"type": "FAILED", "diagnostics": diagnostics})

    def await_begin(self) -> None:
        """Waits until the server, which may still analyze the project, lets its hooks run."""
        while True:
            message = self._data.receive()
            if message is None:
                end_with_server()
            elif message["type"] == "BEGIN":
                return

    def run_before(self, hooks: List[HookDefinition]) -> Optional[Finding]:
        """Runs the hooks `before_all`, in the order of definition, and stops at the first that
        fails; returns the finding about it, else None.
        """
        for hook in hooks:
            error = self._run_hook(hook)
            if error is not None:
                return _hook_finding(hook, self._project.describe(error))
        return None

    def run_after(self, hooks: List[HookDefinition]) -> None:
        """Runs the hooks `after_all`, in reverse order of definition. Their exceptions are logged.
        """
        for hook in reversed(hooks):
            error = self._run_hook(hook)
            if error is not None:
                described = self._project.describe(error)
                self.sink.emit("error", f"{_hook_failure(hook, described)}\n{described['stack']}".rstrip(), "svc")

    def _run_hook(self, hook: HookDefinition) -> Optional[BaseException]:
        """Calls a hook; an async one on the loop of the async resolvers, so that both can share
        objects that belong to a loop.
        """
        try:
            if hook.is_async:
                import asyncio

                self._start_loop()
                asyncio.run_coroutine_threadsafe(hook.fn(), self._loop).result()
            else:
                hook.fn()
        except BaseException as error:
            return error
        finally:
            if self._is_child:
                os._exit(0)
            self._end_call()
        return None

    def profile(self, specs: List[Any], root: str) -> None:
        """Starts to sample the resolvers."""
        from .profiler import Profiler

        resolvers = {spec.definition.inner.__code__: spec.fqn for spec in specs if hasattr(spec.definition.inner, "__code__")}
        self._profiler = Profiler(resolvers, self._busy_threads, self._control.send, os.path.realpath(root))
        self._profiler.start()

    def _busy_threads(self) -> List[int]:
        """The threads on which a resolver may be running: the main thread, and that of the loop."""
        busy = [self._main_thread] if self._running else []
        if self._tasks and self._loop_thread is not None:
            busy.append(self._loop_thread.ident or 0)
        return [*busy, *self.lane.running()]

    def serve(self, runners: Mapping[str, Any], resolvers: Dict[str, Dict[str, Any]], has_after_hooks: bool) -> None:
        """Answers calls until the server drains this worker."""
        self._runners = runners
        if any(resolver["isAsync"] for resolver in resolvers.values()):
            self._start_loop()
        signal.signal(signal.SIGUSR1, self._on_signal)
        self._data.send({"type": "READY", "resolvers": resolvers, "hasAfterHooks": has_after_hooks})
        receive, has_garbage = self._data.receive, True
        while True:
            if has_garbage and not self._data.is_readable(_IDLE) and not self._concurrent:
                _collect_frozen()
                has_garbage = False
            message = receive()
            if message is None:
                end_with_server()
            elif message["type"] == "CALL":
                self._answer(message)
            elif message["type"] == "DRAIN":
                self.sink.report_dropped()
                if self._profiler is not None:
                    self._profiler.flush()
                return

    def _answer(self, message: Message) -> None:
        call = self._last = message["id"]
        if self._claims.setdefault(call, _MAIN) != _MAIN:
            del self._claims[call]
            return
        info = call_info(message)
        try:
            self._running = call
            current_call.set(info)
            result = self._runners[message["resolver"]].run(message)
            self._running = 0
        except CallCancelled:
            self._running = 0
            result = {"type": "RESULT", "id": call, "cancelled": True}
        except BaseException as error:
            self._running = 0
            result = self._broken(message, error)
        if self._is_child:
            os._exit(0)
        if result.get("cancelled") and _has_children():
            self._await_end({**result, "leftovers": True})
        self._end_call()
        del self._claims[call]
        self._send_result(self._data, message, result)

    def _send_result(self, connection: Connection, message: Message, result: Message) -> None:
        try:
            connection.send(result)
        except (ValueError, TypeError, RecursionError, MemoryError) as error:
            connection.send(self._broken(message, error))

    def _broken(self, message: Message, error: BaseException) -> Message:
        described = self._project.describe(error)
        return {
            "type": "RESULT",
            "id": message["id"],
            "columns": {},
            "errors": [{**described, "row": row} for row in range(message["rows"])],
            "ranMs": 0,
        }

    def _in_child(self) -> None:
        """Makes a fork leave the worker's connections alone: its output goes to the worker's pipes,
        and it ends with the resolver's call.
        """
        self._is_child = True
        self.sink.redirect(write_line)
        self._data.close()
        self._control.close()

    def _leave_child(self) -> None:
        """Ends a fork that a resolver made on a thread, where nothing else would."""
        if self._is_child:
            os._exit(0)

    def _await_end(self, result: Message) -> None:
        """Has the server kill this process together with the processes that an interrupted call
        left running.
        """
        self._data.send(result)
        while True:
            signal.pause()

    def _end_call(self) -> None:
        self.stdout.end_call()
        self.stderr.end_call()
        self.sink.report_dropped()
        current_call.set(None)

    def _send_log(self, message: Message) -> None:
        """Sends a LOG frame. An interruption waits until the frame is complete."""
        if self.lane.is_current() and not self._is_child:
            # A thread of the lane may be interrupted within a frame, that of the loop never.
            self._loop.call_soon_threadsafe(self._control.send, message)
            return
        if threading.get_ident() != self._main_thread:
            self._control.send(message)
            return
        self._shielded = True
        try:
            self._control.send(message)
        finally:
            self._shielded = False
        if self._running and self._interrupted == self._running:
            self._interrupt()

    def _on_signal(self, _number: int, _frame: Any) -> None:
        if self._running and self._interrupted == self._running and not self._shielded:
            self._interrupt()

    def _interrupt(self) -> None:
        self._interrupted = 0
        raise CallCancelled("the call's time is up")

    def _listen(self) -> None:
        while True:
            message = self._control.receive()
            if message is None:
                end_with_server()
            elif message["type"] == "CANCEL":
                self._cancel(message["id"], message["interrupt"])
            elif message["type"] == "CALL":
                self._concurrent.add(message["id"])
                self._loop.call_soon_threadsafe(self._start_task, message)

    def _cancel(self, call: int, interrupt: bool) -> None:
        if call in self._concurrent:
            # First: the loop has its turn when no function takes the time any more.
            self.lane.interrupt(call)
            self._loop.call_soon_threadsafe(self._cancel_task, call)
        elif call > self._last and self._claims.setdefault(call, _CONTROL) == _CONTROL:
            self._control.send({"type": "RESULT", "id": call, "cancelled": True})
        elif interrupt and self._running == call:
            self._interrupted = call
            signal.pthread_kill(self._main_thread, signal.SIGUSR1)

    def _start_loop(self) -> None:
        if self._loop is not None:
            return
        import asyncio

        self._loop = asyncio.new_event_loop()
        self._loop_thread = threading.Thread(target=self._loop.run_forever, name="svc-loop", daemon=True)
        self._loop_thread.start()

    def _start_task(self, message: Message) -> None:
        current_call.set(call_info(message))
        current_id.set(message["id"])
        self._tasks[message["id"]] = self._loop.create_task(self._answer_async(message))

    def _cancel_task(self, call: int) -> None:
        task = self._tasks.get(call)
        if task is not None:
            task.cancel()
        else:  # it was answered while it was interrupted
            self.lane.answered(call)

    async def _answer_async(self, message: Message) -> None:
        import asyncio

        try:
            result = await self._runners[message["resolver"]].run_async(message)
        except asyncio.CancelledError:
            result = {"type": "RESULT", "id": message["id"], "cancelled": True}
        except BaseException as error:
            result = self._broken(message, error)
        if self._is_child:
            os._exit(0)
        self._end_call()
        del self._tasks[message["id"]]
        self._concurrent.discard(message["id"])
        self.lane.answered(message["id"])
        self._send_result(self._control, message, result)


def _has_children() -> bool:
    """Whether this process has children that it has not waited for. The check reaps none of them.
    """
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except (ChildProcessError, AttributeError):
        return False
    return True


def _collect_frozen() -> None:
    """Collects the garbage among the objects that no collection looks at, which they then are
    again.
    """
    gc.unfreeze()
    gc.collect()
    gc.freeze()


def end_with_server() -> None:
    """Kills this process and everything that it started, once the server is gone."""
    if os.getpgrp() == os.getppid():
        os.killpg(0, signal.SIGKILL)
    os._exit(0)


def main(argv: List[str]) -> int:
    """Runs a worker: connects, imports the project, and serves until it is drained."""
    parser = argparse.ArgumentParser(prog="_boot.py worker")
    parser.add_argument("--root", required=True, help="folder of the project's source")
    parser.add_argument("--files", required=True, help="JSON list of the Python files to import, relative to the root")
    parser.add_argument("--socket", required=True, help="path of the server's Unix socket")
    parser.add_argument("--memory-limit", type=int, help="cap on the address space in bytes")
    parser.add_argument("--profile", action="store_true", help="sample what resolvers are doing")
    parser.add_argument("--code", help="file of compiled modules")
    parser.add_argument("--venv", default="", help="venv whose resolvers it runs; default: those of none")
    parser.add_argument("--classes", help="JSON list of further files, of feature classes, that are left out when they cannot be imported")
    arguments = parser.parse_args(argv)
    if arguments.memory_limit is not None:
        limit_memory(arguments.memory_limit)
    files, classes = _read_list(arguments.files), _read_list(arguments.classes) if arguments.classes else []
    project = Project(arguments.root)
    worker = Worker(Connection(arguments.socket), Connection(arguments.socket), project)
    worker.start()
    use_code_cache(arguments.code)
    with few_collections():
        findings = load_project(arguments.root, files)
        left_out = load_project(arguments.root, classes) if classes and not findings else []
        use_code_cache(None)
        findings = findings or (left_out if _lacks_resolver(arguments.venv) else [])
        if findings:
            worker.fail([finding.json() for finding in findings])
            return 1
        with no_collections():  # of what is nearly all of use to the end of the process
            threaded = {fqn: worker.lane.concurrent(spec) for fqn, spec in registry.resolvers.items() if spec.is_threaded}
            specs = {**registry.resolvers, **threaded, **registry.streams, **registry.sinks, **registry.functions}
            resolvers = {fqn: _describe_resolver(spec, project) for fqn, spec in specs.items()}
            gc.freeze()
    worker.await_begin()
    environment = os.environ.get("SVC_ENVIRONMENT_NAME", "")
    hooks = [hook for hook in registry.hooks if hook.runs_in(environment, arguments.venv)]
    failed = worker.run_before([hook for hook in hooks if hook.kind == BEFORE])
    if failed is not None:
        worker.fail([failed.json()])
        return 1
    if arguments.profile:
        worker.profile(list(specs.values()), arguments.root)
    after = [hook for hook in hooks if hook.kind == AFTER]
    worker.serve(Runners(specs, project), resolvers, bool(after))
    worker.run_after(after)
    return 0


def _read_list(path: str) -> List[str]:
    with open(path, encoding="utf-8") as stream:
        found: List[str] = json.load(stream)
    return found


def _lacks_resolver(venv: str) -> bool:
    """Whether a resolver of a venv makes no sense without the modules that were left out."""
    definitions = [*registry.definitions, *registry.stream_definitions, *registry.sink_definitions]
    known = {*registry.resolvers, *registry.streams, *registry.sinks}
    functions = {spec.name for spec in registry.functions.values()}
    return any(item.fqn not in known for item in definitions if item.options.venv == venv) or any(
        item.name not in functions for item in registry.function_definitions if item.options.venv == venv
    )


def _hook_failure(hook: HookDefinition, described: Dict[str, Any]) -> str:
    place = f" ({described['file']}:{described['line']})" if described.get("file") else ""
    what = ": ".join(filter(None, (described["kind"], described["message"])))
    return f"the hook '{hook.name}' (@{hook.kind}) failed: {what}{place}"


def _hook_finding(hook: HookDefinition, described: Dict[str, Any]) -> Finding:
    file, line = described.get("file") or project_path(hook.origin.filename), described.get("line") or hook.origin.line
    source = source_of(os.path.join(os.environ.get("TARGET_ROOT", ""), *file.split("/"))) if file else None
    span = source.span_of_line(line) if source else Span(file, line, 1, line, 1) if file else None
    return rules.ImportFailed.hook(problem=_hook_failure(hook, described)).at(span)


def _describe_resolver(spec: Any, project: Project) -> Dict[str, Any]:
    origin = spec.definition.origin
    uses_now = any(item.is_now or item.is_frame for item in spec.inputs)
    return {"isAsync": spec.is_async, "usesNow": uses_now, "file": _real_path(project, origin.filename), "line": origin.line}


@lru_cache(maxsize=None)
def _real_path(project: Project, filename: str) -> str:
    return project.relative(os.path.realpath(filename)) or ""
