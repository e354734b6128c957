"""Monitors of metrics, which are deployed with the code.

    from svc.monitoring import Monitor
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._model.monitor import Monitor

__all__ = ["Monitor"]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        from ._surface.public_names import no_such_name

        raise no_such_name(__name__, name)
