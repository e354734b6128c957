"""Analyzes folders like `_boot.py analyze`, each in a fork of one interpreter that has the package
loaded: python -I -B -X utf8 analyze-many.py <folder of the package>. Lines of stdin are
`[root, out]` in JSON.
"""

import json
import os
import sys


def analyze(root: str, out: str) -> int:
    sys.path.insert(0, root)
    os.environ["TARGET_ROOT"] = root
    return main(["--root", root, "--out", out]) or 0


sys.path.insert(0, sys.argv[1])
from svc._analysis.analyze import main  # noqa: E402

for line in sys.stdin.read().splitlines():
    child = os.fork()
    if child == 0:
        try:
            os._exit(analyze(*json.loads(line)))
        except SystemExit as end:
            os._exit(end.code if isinstance(end.code, int) else 1)
    status = os.waitpid(child, 0)[1]
    if status != 0:
        sys.exit(f"{line}: status {status}")
