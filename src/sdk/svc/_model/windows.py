"""Windows of windowed features: their lengths, and the names of the features that hold one window
each.
"""

from __future__ import annotations

import math
import re
from typing import Any, Optional

from .._surface.names import format_duration, parse_duration

#: The window `all`: 36,500 days, in seconds.
ALL_SECONDS = 36_500 * 86_400

_WINDOWED_NAME = re.compile(r"(?P<base>.+?)__(?P<seconds>[1-9]\d*)__\Z")


def window_seconds(written: Any) -> Optional[int]:
    """A window's length in seconds; None when the value is no window: no duration, not positive,
    endless, or not whole seconds.
    """
    if isinstance(written, str) and written.strip().lower() == "all":
        return ALL_SECONDS
    micros = parse_duration(written)
    if micros is None or micros == math.inf or micros <= 0 or micros % 1_000_000:
        return None
    return int(micros) // 1_000_000


def format_window(seconds: int) -> str:
    """A window as a user writes it: `10m`, `7d`, `all`."""
    return "all" if seconds == ALL_SECONDS else format_duration(seconds * 1_000_000)


def windowed_name(base: str, seconds: int) -> str:
    """The name of the feature that holds one window: `fails__600__`."""
    return f"{base}__{seconds}__"


def split_windowed_name(name: str) -> tuple[str, Optional[int]]:
    """The name without the window, and the window's seconds; None when the name has none."""
    match = _WINDOWED_NAME.match(name)
    return (match["base"], int(match["seconds"])) if match else (name, None)


def readable_path(path: str) -> str:
    """A path as shown to people: `user.fails[10m]` for `user.fails__600__`."""
    base, seconds = split_windowed_name(path)
    return path if seconds is None else f"{base}[{format_window(seconds)}]"
