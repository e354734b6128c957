"""Environment variables that user code reads and the server does not pass on."""

from __future__ import annotations

import os
from typing import Optional


def missing_variable(error: BaseException) -> Optional[str]:
    """The variable that ``os.environ`` did not have; None when the exception is another."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None or not isinstance(error, KeyError) or trace.tb_frame.f_code is not type(os.environ).__getitem__.__code__:
        return None
    return str(error.args[0])
