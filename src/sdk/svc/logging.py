"""The logger of resolvers.

    from svc.logging import svc_logger
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

__all__ = ["svc_logger"]

#: Log lines of resolvers; the server keeps them with the query that they belong to.
svc_logger = logging.getLogger("svc")

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        from ._surface.public_names import no_such_name

        raise no_such_name(__name__, name)
