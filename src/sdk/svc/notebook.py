"""What the code of a notebook can use.

    from svc.notebook import display
"""

from __future__ import annotations

from ._notebook.display import display

__all__ = ["display"]
