"""The process of one task: it runs a script, a module or a function of a project, and tells the
server what it prints, how it ended and what it returned.

The request is a JSON file of the server, removed once it is read:

path      a file relative to the root, or
module    a dotted name
callable  names from the module to the function, such as ``Class.method``; empty = the file or the
          module is run as ``python file`` and ``python -m module`` would
args      positional arguments
kwargs    arguments by name
texts     whether the arguments were given as texts, so that parameters have to be of type str

Frames to the server: HELLO, LOG and PROFILE as of a worker, then

END       error: as of a resolver's exception, absent = none; result: what the function returned as
          JSON, absent = nothing, or no JSON
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import json
import os
import runpy
import sys
import threading
from typing import Any, Callable, Dict, List, Mapping, Optional

from .._diagnostics.source import set_project_root
from .._loading.hook import install
from .._loading.load import is_imported, module_name
from .._worker.limits import limit_memory
from .._worker.logs import LogSink, LogStream, take_over, write_line
from .._worker.protocol import Connection
from .._worker.raised import Project

#: Longest result in characters of JSON; a longer one is not kept.
RESULT_LENGTH = 64 * 1024


class WrongTask(Exception):
    """A task that cannot be run as it was asked for."""


class Output:
    """What the process prints, sent to the server."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.sink = LogSink(connection.send)
        self._streams = (
            LogStream(self.sink, "info", "stdout", sys.stdout),
            LogStream(self.sink, "warning", "stderr", sys.stderr),
        )
        take_over(self.sink, *self._streams)
        os.register_at_fork(after_in_child=self._in_child)

    def flush(self) -> None:
        """Sends unfinished lines, and the number of lines that were dropped."""
        for stream in self._streams:
            stream.end_call()
        self.sink.report_dropped(at_end=True)

    def _in_child(self) -> None:
        """Makes a fork leave the connection alone."""
        self.sink.redirect(write_line)
        self._connection.close()


def run_target(request: Mapping[str, Any], root: str) -> Any:
    """Runs what a request names; returns what a function returned. Raises what it raises, and
    WrongTask when there is nothing to run.
    """
    if not request["callable"]:
        sys.argv = [request["path"] or request["module"], *_command_line(request["args"], request["kwargs"])]
        if request["module"]:
            runpy.run_module(request["module"], run_name="__main__", alter_sys=True)
        else:
            sys.path.insert(0, os.path.dirname(_file(root, request["path"])))
            runpy.run_path(_file(root, request["path"]), run_name="__main__")
        return None
    function = _function(request, root)
    _check_arguments(function, request)
    result = function(*request["args"], **request["kwargs"])
    if inspect.iscoroutine(result):
        import asyncio

        return asyncio.run(result)
    return result


def _command_line(args: List[Any], kwargs: Mapping[str, Any]) -> List[str]:
    """Arguments as texts: `--name=value` for those with names, JSON for what is no text."""

    def text(value: Any) -> str:
        return value if isinstance(value, str) else json.dumps(value)

    return [*map(text, args), *(f"--{name}={text(value)}" for name, value in kwargs.items())]


def _file(root: str, path: str) -> str:
    return os.path.join(root, *path.split("/"))


def _function(request: Mapping[str, Any], root: str) -> Callable[..., Any]:
    path, module, names = request["path"], request["module"], request["callable"].split(".")
    if path and not (is_imported(path) and path.count(".") == 1):
        scope: Any = runpy.run_path(_file(root, path), run_name=os.path.splitext(os.path.basename(path))[0])
        found = scope.get(names[0], _MISSING)
    else:
        found = getattr(importlib.import_module(module or module_name(path)), names[0], _MISSING)
    where = path or module
    if found is _MISSING:
        raise WrongTask(f"{where} defines no '{names[0]}'")
    for name in names[1:]:
        static = inspect.getattr_static(found, name, _MISSING)
        if static is _MISSING:
            raise WrongTask(f"'{found.__name__}' of {where} has no '{name}'")
        owner = found() if inspect.isclass(found) and not isinstance(static, (staticmethod, classmethod, type)) else found
        found = getattr(owner, name)
    if not callable(found):
        raise WrongTask(f"'{request['callable']}' of {where} is no function")
    return found


def _check_arguments(function: Callable[..., Any], request: Mapping[str, Any]) -> None:
    """Raises WrongTask when a function does not take the arguments."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return
    try:
        bound = signature.bind(*request["args"], **request["kwargs"])
    except TypeError as error:
        raise WrongTask(f"{request['callable']}{signature} does not take these arguments: {error}") from None
    if not request["texts"]:
        return
    for name in bound.arguments:
        annotation = signature.parameters[name].annotation
        if not _is_text(annotation):
            shown = "has no type" if annotation is inspect.Parameter.empty else f"is of type {inspect.formatannotation(annotation)}"
            raise WrongTask(
                f"the parameter '{name}' of {request['callable']} {shown}, and --arg gives texts: "
                "declare it as str, or give a value of its type with --args-file"
            )


def _is_text(annotation: Any) -> bool:
    return annotation is str or annotation in ("str", "Optional[str]", "str | None", Optional[str])


_MISSING: Any = object()


def _result_json(result: Any) -> Optional[str]:
    """What a function returned, as JSON; None for nothing, and with a line on stderr for what is not
    kept.
    """
    if result is None:
        return None
    try:
        text = json.dumps(result, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        why = f"it is no JSON: {type(error).__name__}: {error}"
    else:
        if len(text) <= RESULT_LENGTH:
            return text
        why = f"as JSON it has {len(text):,} characters, of {RESULT_LENGTH:,} that are kept at most; write it to a file or a dataset"
    sys.stderr.write(f"what the function returned is not kept: {why}\n")
    return None


def main(argv: List[str]) -> int:
    """Runs a task and returns its exit code."""
    parser = argparse.ArgumentParser(prog="_boot.py task")
    parser.add_argument("--root", required=True, help="folder of the project's source")
    parser.add_argument("--socket", required=True, help="path of the server's Unix socket")
    parser.add_argument("--request", required=True, help="JSON file with what to run")
    parser.add_argument("--memory-limit", type=int, help="cap on the address space in bytes")
    parser.add_argument("--profile", action="store_true", help="sample what the task is doing")
    arguments = parser.parse_args(argv)
    if arguments.memory_limit is not None:
        limit_memory(arguments.memory_limit)
    with open(arguments.request, encoding="utf-8") as stream:
        request: Dict[str, Any] = json.load(stream)
    os.unlink(arguments.request)
    connection = Connection(arguments.socket)
    connection.send({"type": "HELLO", "launcher": os.getppid()})
    output = Output(connection)
    project = Project(arguments.root)
    set_project_root(arguments.root)
    install(arguments.root)
    profiler = _profiler(request, connection, arguments.root) if arguments.profile else None
    own = os.getpid()
    end: Dict[str, Any] = {"type": "END"}
    code = 0
    try:
        result = _result_json(run_target(request, arguments.root))
        if result is not None:
            end["result"] = result
    except SystemExit as exit:
        if isinstance(exit.code, str):
            sys.stderr.write(exit.code + "\n")
        code = exit.code if isinstance(exit.code, int) else 0 if exit.code is None else 1
    except WrongTask as error:
        end["error"] = {"kind": "", "message": str(error), "stack": "", "file": "", "line": 0}
        code = 2
    except BaseException as error:
        end["error"] = project.describe(error)
        code = 1
    if os.getpid() != own:  # a fork that came back from the task's code
        output.flush()
        os._exit(code & 255)
    output.flush()
    if profiler is not None:
        profiler.flush()
    connection.send(end)
    return code


def _profiler(request: Mapping[str, Any], connection: Connection, root: str) -> Any:
    from .._worker.profiler import Profiler

    name = "::".join(filter(None, (request["path"] or request["module"], request["callable"].replace(".", "::"))))
    main_thread = threading.main_thread().ident or 0
    profiler = Profiler({run_target.__code__: name[:200]}, lambda: [main_thread], connection.send, os.path.realpath(root))
    profiler.start()
    return profiler
