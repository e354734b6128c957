"""What the code of a notebook can use.

    from svc.notebook import deploy, display
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._notebook.deploying import NotDeployed, deploy
from ._notebook.display import display

__all__ = ["NotDeployed", "deploy", "display"]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        from ._surface.public_names import no_such_name

        raise no_such_name(__name__, name)
