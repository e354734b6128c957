"""An AsyncSvcClient whose calls are waited for, so that tests of SvcClient are tests of both."""

import asyncio
import inspect
from typing import Any

from svc.client import AsyncSvcClient


class Waited:
    """The client, with an event loop of its own."""

    def __init__(self, **options: Any) -> None:
        self._loop = asyncio.new_event_loop()
        self.client = AsyncSvcClient(**options)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.client, name)
        if not inspect.iscoroutinefunction(found):
            return found
        return lambda *args, **options: self._loop.run_until_complete(found(*args, **options))

    def close(self) -> None:
        if self._loop.is_closed():
            return
        self._loop.run_until_complete(self._closed())
        self._loop.close()

    async def _closed(self) -> None:
        await self.client.close()
        # Transports say goodbye in the loop's next turn.
        await asyncio.sleep(0)
