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
ended by itself: it still ends as that did. The first process of a container, which no signal of its
own ends, exits with 128 and the signal's number instead, passes SIGABRT on to the child, and waits
for processes that lost their parents. When the server is gone, which closes the pipe
that is the parent's stdin, the parent kills the whole process group, whatever the child is doing.
"""

from __future__ import annotations

import os
import signal
import stat
import sys
from _thread import start_new_thread


def fork_child(keeps_term: bool) -> None:
    """Forks and returns in the child, whose stdin is empty; the parent waits for it and ends with
    it. Where there is no `fork` it returns in this process. With `keeps_term` only the child ends
    by SIGTERM, which leaves it time.
    """
    if not hasattr(os, "fork"):
        return
    child = os.fork()
    if child == 0:
        empty = os.open(os.devnull, os.O_RDONLY)
        os.dup2(empty, 0)
        os.close(empty)
        return
    signal.signal(signal.SIGTERM, signal.SIG_IGN if keeps_term else lambda *_: _end(child))
    is_first = os.getpid() == 1
    # The group is sent it to make the child say where it is; of a container only the first process.
    signal.signal(signal.SIGABRT, (lambda *_: os.kill(child, signal.SIGABRT)) if is_first else signal.SIG_IGN)
    mode = os.fstat(0).st_mode
    if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode):
        start_new_thread(_end_group_with_stdin, ())
    _end_like(_status_of(child, is_first))


def _status_of(child: int, is_first: bool) -> int:
    while True:
        pid, status = os.waitpid(-1 if is_first else child, 0)
        if pid == child:
            return status


def _end(child: int) -> None:
    try:
        os.kill(child, signal.SIGKILL)
    except ProcessLookupError:
        pass  # it has ended, and the parent is about to end like it


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
    if "--root" not in argv[:-1]:
        raise SystemExit("svc: --root <folder> is missing")
    return os.path.realpath(argv[argv.index("--root") + 1])


def main(argv: list[str]) -> int:
    """Runs a mode and returns the exit code."""
    mode, rest = (argv[0], argv[1:]) if argv else ("", [])
    if mode not in ("analyze", "worker", "task", "evaluation", "kernel"):
        print("usage: _boot.py analyze|worker|task|evaluation|kernel --root <folder> ...", file=sys.stderr)
        return 2
    root = project_root(rest)
    fork_child(mode == "task")
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
