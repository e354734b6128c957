"""The backend of matplotlib in kernels: figures are shown below the cell that draws them.

A kernel sets ``MPLBACKEND`` to this module, which is imported with ``matplotlib.pyplot``.
"""

from __future__ import annotations

import sys
from typing import Any

from matplotlib.backend_bases import FigureManagerBase  # type: ignore[import-not-found]
from matplotlib.backends.backend_agg import FigureCanvasAgg  # type: ignore[import-not-found]

from . import display


class FigureManager(FigureManagerBase):  # type: ignore[misc]
    """The manager of a figure, without a window."""

    @classmethod
    def pyplot_show(cls, **_: Any) -> None:
        """Shows all figures."""
        show()


class FigureCanvas(FigureCanvasAgg):  # type: ignore[misc]
    """A canvas that is drawn in memory."""

    manager_class = FigureManager


def show(*_: Any, **__: Any) -> None:
    """Shows all figures and closes them, so that none is shown twice."""
    pyplot = sys.modules["matplotlib.pyplot"]
    for number in pyplot.get_fignums():
        display.display(pyplot.figure(number))
    pyplot.close("all")
