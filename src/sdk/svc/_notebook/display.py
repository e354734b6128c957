"""What a notebook's code shows beside what it prints."""

from __future__ import annotations

from typing import Any, Callable, Dict, Optional

from .rich import bundle, plain

Show = Callable[[Dict[str, str]], None]
_show: Optional[Show] = None


def display(*values: Any) -> None:
    """Shows values in the notebook, each in the forms that it has: a DataFrame as a table, a figure as
    an image. Outside of a notebook it prints them.
    """
    for value in values:
        if _show is None:
            print(plain(value))
        else:
            _show(bundle(value))


def shown_by(show: Show) -> None:
    """Has values shown by a function, for the process of a kernel."""
    global _show
    _show = show
