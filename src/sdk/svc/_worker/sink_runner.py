"""The runner of sinks: called with rows, and what the function returns goes nowhere."""

from __future__ import annotations

import time
from typing import Any, Dict, List

from .frame_runner import FrameRunner
from .runner import Errors


class SinkRunner(FrameRunner):
    """The runner of a sink, whose function is called once for the rows of a CALL frame."""

    def _result(self, message: Dict[str, Any], returned: List[Any], errors: Errors, started: float) -> Dict[str, Any]:
        result: Dict[str, Any] = {"type": "RESULT", "id": message["id"], "columns": {}, "ranMs": (time.perf_counter() - started) * 1000}
        if errors:
            result["errors"] = errors
        return result
