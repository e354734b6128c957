"""Entry point of the processes that run a project's code.

    python -I -B -X utf8 <sdk>/svc/_boot.py analyze --root <folder> --files <list.json> --out <graph.json> [...]
    python -I -B -X utf8 <sdk>/svc/_boot.py worker  --root <folder> --socket <path> [...]
    python -I -B -X utf8 <sdk>/svc/_boot.py task    --root <folder> --socket <path> --request <task.json> [...]
    python -I -B -X utf8 <sdk>/svc/_boot.py evaluation --root <folder> --socket <path> --request <file.json> [...]
    python -I -B -X utf8 <sdk>/svc/_boot.py kernel  --root <folder> --socket <path> [...]

Puts the folder of the package and the project's root on `sys.path`, and sets `TARGET_ROOT`, the
folder that resolvers load their files from. The package, and with it what it needs of the standard
library, is imported before the root is on the path, so that no file of the project can take the
place of `types` or `logging`. The mode reads the remaining arguments.

The process that the server started forks before it imports anything, and only the child goes on.
The parent that user code sees, and may kill, is therefore never the server. The parent ends as its
child does, by the same signal or with the same code; SIGTERM makes it end the child, which may have
ended by itself: it still ends as that did. When the server is gone, which closes the pipe that is
the parent's stdin, the parent kills the whole process group, whatever the child is doing.

The first process of a container, which no signal of its own ends, exits with 128 and the signal's
number instead, passes on SIGABRT to the child and the SIGTERM of a task to all processes, and waits
for those that lost their parents. It has a connection to the server of its own: when that is closed,
it ends, and with it the container; when the child has ended, it tells there what was used, as

USED    cpuMs: milliseconds of processors
"""

from __future__ import annotations

import os
import signal
import stat
import sys
from _thread import start_new_thread

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket


def fork_child(keeps_term: bool, server: str) -> None:
    """Forks and returns in the child, whose stdin is empty; the parent waits for it and ends with
    it. Where there is no `fork` it returns in this process. With `keeps_term` only the child ends
    by SIGTERM, which leaves it time. `server` is the path of the server's socket, which the first
    process of a container needs.
    """
    if not hasattr(os, "fork"):
        return
    child = os.fork()
    if child == 0:
        empty = os.open(os.devnull, os.O_RDONLY)
        os.dup2(empty, 0)
        os.close(empty)
        return
    is_first = server != "" and os.getpid() == 1
    kept = (lambda *_: _tell_all(signal.SIGTERM)) if is_first else signal.SIG_IGN
    signal.signal(signal.SIGTERM, kept if keeps_term else lambda *_: _end(child))
    # The group is sent it to make the child say where it is; of a container only the first process.
    signal.signal(signal.SIGABRT, (lambda *_: os.kill(child, signal.SIGABRT)) if is_first else signal.SIG_IGN)
    mode = os.fstat(0).st_mode
    if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode):
        start_new_thread(_end_group_with_stdin, ())
    if not is_first:
        _end_like(_status_of(child))
    import socket

    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.connect(server)
        start_new_thread(_end_with_server, (connection,))
        status = _status_of(child, -1)
        _tell_use(connection)
        _end_like(status)


def _status_of(child: int, awaited: int = 0) -> int:
    while True:
        pid, status = os.waitpid(awaited or child, 0)
        if pid == child:
            return status


def _end(child: int) -> None:
    try:
        os.kill(child, signal.SIGKILL)
    except ProcessLookupError:
        pass  # it has ended, and the parent is about to end like it


def _tell_all(number: int) -> None:
    try:
        os.kill(-1, number)  # of a container all but this one
    except ProcessLookupError:
        pass


def _end_with_server(connection: socket.socket) -> None:
    try:
        while connection.recv(1):
            pass
    except OSError:
        pass
    os._exit(128 + signal.SIGKILL)


def _tell_use(connection: socket.socket) -> None:
    import json

    used = os.times()
    frame = json.dumps({"type": "USED", "cpuMs": round(sum(used[:4]) * 1000)}).encode()
    try:
        connection.sendall(len(frame).to_bytes(4, "big") + frame)
    except OSError:
        pass  # the server is gone


def _end_group_with_stdin() -> None:
    try:
        while os.read(0, 1):
            pass
    except OSError:
        pass
    os.killpg(os.getpgrp(), signal.SIGKILL)


def _end_like(status: int) -> None:
    if os.WIFSIGNALED(status):
        import resource

        number = os.WTERMSIG(status)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
        if os.getpid() == 1:
            os._exit(128 + number)
        os.kill(os.getpid(), number)
    os._exit(os.WEXITSTATUS(status))


def project_root(argv: list[str]) -> str:
    """The absolute path that `--root` names."""
    root = _value_of("--root", argv)
    if not root:
        raise SystemExit("svc: --root <folder> is missing")
    return os.path.realpath(root)


def _value_of(flag: str, argv: list[str]) -> str:
    return argv[argv.index(flag) + 1] if flag in argv[:-1] else ""


def main(argv: list[str]) -> int:
    """Runs a mode and returns the exit code."""
    mode, rest = (argv[0], argv[1:]) if argv else ("", [])
    if mode not in ("analyze", "worker", "task", "evaluation", "kernel"):
        print("usage: _boot.py analyze|worker|task|evaluation|kernel --root <folder> ...", file=sys.stderr)
        return 2
    root = project_root(rest)
    fork_child(mode == "task", _value_of("--socket", rest))
    sys.dont_write_bytecode = False  # of the package, whose folder is its own; never of the project
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != here]  # its `logging` is `svc.logging`, not Python's
    sys.path.insert(0, os.path.dirname(here))
    if mode == "analyze":
        from svc._analysis.analyze import main as run
    elif mode == "task":
        from svc._task.task import main as run
    elif mode == "evaluation":
        from svc._evaluation.process import main as run
    elif mode == "kernel":
        from svc._notebook.kernel import main as run
    else:
        from svc._worker.worker import main as run
    sys.dont_write_bytecode = True
    sys.path.insert(0, root)
    os.environ["TARGET_ROOT"] = root
    return run(rest) or 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
