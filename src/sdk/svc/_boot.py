"""Entry point of the processes that run a project's code.

    python -I -B -X utf8 <sdk>/svc/_boot.py analyze --root <folder> --files <list.json> --out <graph.json> [...]
    python -I -B -X utf8 <sdk>/svc/_boot.py worker  --root <folder> --socket <path> [...]

Puts the folder of the package and the project's root on `sys.path`, and sets `TARGET_ROOT`, the folder that resolvers load their files from.
The package, and with it what it needs of the standard library, is imported before the root is on the path, so that no file of the project
can take the place of `types` or `logging`. The rest of the arguments is the business of the mode.
"""

from __future__ import annotations

import os
import sys


def project_root(argv: list[str]) -> str:
    """The absolute path that `--root` names."""
    if "--root" not in argv[:-1]:
        raise SystemExit("svc: --root <folder> is missing")
    return os.path.realpath(argv[argv.index("--root") + 1])


def main(argv: list[str]) -> int:
    """Runs a mode and returns the exit code."""
    mode, rest = (argv[0], argv[1:]) if argv else ("", [])
    if mode not in ("analyze", "worker"):
        print("usage: _boot.py analyze|worker --root <folder> ...", file=sys.stderr)
        return 2
    root = project_root(rest)
    sys.dont_write_bytecode = False  # of the package, whose folder is its own; never of the project
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    if mode == "analyze":
        from svc._analysis.analyze import main as run
    else:
        from svc._worker.worker import main as run
    sys.dont_write_bytecode = True
    sys.path.insert(0, root)
    os.environ["TARGET_ROOT"] = root
    return run(rest) or 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
