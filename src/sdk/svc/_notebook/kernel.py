"""The process of a notebook's kernel: it runs cells one after the other, in one module whose names
persist, and tells the server what they give.

Frames to the server: HELLO as of a worker, then

READY   python: version of the interpreter
OUTPUT  run; outputs: of kind stream (stream, text), display and result (data by MIME type), or error
        (name, message, traceback)
DEPLOY  branch; source: of a module
DONE    run; state: succeeded, failed or interrupted; mark: what was written to the process's own
        file descriptors before it is of the cell

Frames from the server:

RUN         run: its name; number: of the run among those of the kernel; source; limit: characters
            that it may give
INTERRUPT   no fields: what runs is interrupted, as Ctrl-C does
DEPLOYED    deployment: its id, empty = it failed; error: why, in words
"""

from __future__ import annotations

import argparse
import asyncio
import builtins
import faulthandler
import inspect
import logging
import os
import queue
import signal
import sys
import threading
from types import ModuleType
from typing import Any, Dict, List, NoReturn, Optional

from .._diagnostics.source import set_project_root
from .._loading.hook import install
from .._worker.limits import limit_memory
from .._worker.logs import level_from
from .._worker.protocol import Connection, Message
from .._worker.raised import Project
from .._worker.worker import end_with_server
from . import deploying, display
from .cells import CellFiles, Compiled, compile_cell
from .definitions import Definitions
from .output import Output, Stream
from .rich import bundle

_FIGURES = "svc._notebook.figures"


class Kernel:
    """The names of a notebook, and the connection on which its cells come."""

    def __init__(self, connection: Connection, project: Project, files: CellFiles, title: str) -> None:
        self._connection = connection
        self._title = title
        self._project = project
        self._files = files
        self._inbox: queue.SimpleQueue[Message] = queue.SimpleQueue()
        self._deployed: queue.SimpleQueue[Message] = queue.SimpleQueue()
        self._definitions = Definitions()
        self._is_running = False
        self._loop: Optional[asyncio.AbstractEventLoop] = None
        self._raw = (sys.stdout, sys.stderr)
        self._output = Output(connection.send)
        self.module = ModuleType("__main__")
        self.module.__dict__["__builtins__"] = builtins
        sys.modules["__main__"] = self.module
        sys.stdout = Stream(self._output, "stdout", self._raw[0])  # type: ignore[assignment]
        sys.stderr = Stream(self._output, "stderr", self._raw[1])  # type: ignore[assignment]
        display.shown_by(self._display)
        deploying.done_by(self._deploy)
        setattr(builtins, "display", display.display)
        setattr(builtins, "input", _no_input)

    def serve(self) -> NoReturn:
        """Runs cells until the server has gone."""
        signal.signal(signal.SIGINT, self._on_interrupt)
        threading.Thread(target=self._receive, name="svc-kernel", daemon=True).start()
        self._connection.send({"type": "READY", "python": sys.version.split()[0]})
        while True:
            self._run(self._inbox.get())

    def _receive(self) -> None:
        while True:
            message = self._connection.receive()
            if message is None:
                end_with_server()
            elif message["type"] == "RUN":
                self._inbox.put(message)
            elif message["type"] == "DEPLOYED":
                self._deployed.put(message)
            elif message["type"] == "INTERRUPT":
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    def _on_interrupt(self, _signal: int, _frame: Any) -> None:
        if self._is_running:
            raise KeyboardInterrupt

    def _run(self, message: Message) -> None:
        run, source = message["run"], message["source"]
        self._output.begin(run, message["limit"])
        own = os.getpid()
        try:
            state = self._ended(message["number"], source)
        except KeyboardInterrupt:  # between the cell's last step and here
            state = "interrupted"
        self._is_running = False
        if os.getpid() != own:  # a fork that came back from the cell
            os._exit(0)
        self._output.end()
        mark = f"\x1e{run}\x1e"
        for stream in self._raw:
            _flush(stream)
            os.write(stream.fileno(), f"{mark}\n".encode())
        self._connection.send({"type": "DONE", "run": run, "state": state, "mark": mark})

    def _ended(self, number: int, source: str) -> str:
        """Runs a cell and returns its state; what it raises is an output."""
        try:
            path = self._files.write(number, source)
            compiled = compile_cell(source, path)
            self.module.__dict__["__file__"] = path
            self._is_running = True
            value = self._value(compiled)
            if value is not None:
                self.module.__dict__["_"] = value
                self._add("result", bundle(value))
            self._show_figures()
            self._is_running = False
            self._definitions.add(source)
            return "succeeded"
        except BaseException as error:
            self._is_running = False
            self._fail(error)
            return "interrupted" if isinstance(error, KeyboardInterrupt) else "failed"

    def _value(self, compiled: Compiled) -> Any:
        """Runs a cell and returns the value of its last expression; one that awaits at its top is run by
        the event loop.
        """
        parts = [code for code in compiled if code is not None]
        if not any(code.co_flags & inspect.CO_COROUTINE for code in parts):
            given = [eval(code, self.module.__dict__) for code in parts]
            return None if compiled.value is None else given[-1]
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            asyncio.set_event_loop(self._loop)
        return self._loop.run_until_complete(self._awaited(compiled))

    async def _awaited(self, compiled: Compiled) -> Any:
        value = None
        for code in compiled:
            value = None if code is None else eval(code, self.module.__dict__)
            if code is not None and code.co_flags & inspect.CO_COROUTINE:
                value = await value
        return value

    def _show_figures(self) -> None:
        figures = sys.modules.get(_FIGURES)
        if figures is not None and "matplotlib.pyplot" in sys.modules:
            figures.show()

    def _deploy(self, branch: str) -> str:
        """Deploys what cells have defined to a branch, and returns the deployment's id."""
        source = self._definitions.module(self._title)
        if not source:
            raise deploying.NotDeployed("no cell that ran before this one defines a feature class or a resolver")
        while not self._deployed.empty():  # of a call that was interrupted
            self._deployed.get()
        self._connection.send({"type": "DEPLOY", "branch": branch, "source": source})
        answer = self._deployed.get()
        if answer["error"]:
            raise deploying.NotDeployed(answer["error"])
        return str(answer["deployment"])

    def _display(self, data: Dict[str, str]) -> None:
        self._add("display", data)

    def _add(self, kind: str, data: Dict[str, str]) -> None:
        self._output.add({"kind": kind, "data": data}, sum(map(len, data.values())))

    def _fail(self, error: BaseException) -> None:
        said = self._project.describe(error, with_stack=False)
        try:
            trace = self._files.traceback(error)[-_TRACEBACK_LENGTH:]
        except Exception:
            trace = ""
        trace = trace.encode("utf-8", "backslashreplace").decode("utf-8")
        self._output.add({"kind": "error", "name": said["kind"], "message": said["message"], "traceback": trace}, len(trace))


_TRACEBACK_LENGTH = 16_000


def _flush(stream: Any) -> None:
    try:
        stream.flush()
    except (OSError, ValueError):
        pass  # the cell closed it


def _no_input(_prompt: object = "", /) -> str:
    raise EOFError("a kernel has no keyboard: give the value in the cell")


def main(argv: List[str]) -> NoReturn:
    """Runs the process, which ends with its server or by a signal."""
    parser = argparse.ArgumentParser(prog="_boot.py kernel")
    parser.add_argument("--root", required=True, help="folder of the project's source")
    parser.add_argument("--socket", required=True, help="path of the server's Unix socket")
    parser.add_argument("--cells", required=True, help="folder for the sources of cells")
    parser.add_argument("--title", required=True, help="title of the notebook")
    parser.add_argument("--memory-limit", type=int, help="cap on the address space in bytes")
    arguments = parser.parse_args(argv)
    if arguments.memory_limit is not None:
        limit_memory(arguments.memory_limit)
    connection = Connection(arguments.socket)
    connection.send({"type": "HELLO", "launcher": os.getppid()})
    set_project_root(arguments.root)
    install(arguments.root)
    faulthandler.enable(all_threads=False)
    os.environ.setdefault("MPLBACKEND", f"module://{_FIGURES}")
    logging.basicConfig(level=level_from(os.environ.get("SVC_LOG_LEVEL", "WARNING")), format="%(levelname)s %(name)s: %(message)s", stream=_Now())
    Kernel(connection, Project(arguments.root), CellFiles(arguments.cells), arguments.title).serve()


class _Now:
    """The stream that `sys.stderr` is when something is written."""

    def write(self, text: str) -> int:
        return sys.stderr.write(text)

    def flush(self) -> None:
        sys.stderr.flush()
