"""A server as requests are addressed to it, directly or through a proxy, and what is said when it
does not answer.
"""

from __future__ import annotations

import os
from typing import Optional
from urllib.parse import SplitResult, urlsplit

from .address import is_loopback
from .errors import ServerUnreachable
from .proxy import Proxy, find_proxy


class Server:
    """One server, and the proxy to it. Raises ConfigError when the environment names a proxy that
    cannot be used.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.proxy: Optional[Proxy] = find_proxy(url, os.environ)
        self._parts: SplitResult = urlsplit(url)
        self.host = self._parts.hostname or ""
        self.secure = self._parts.scheme == "https"
        self.port = self._parts.port or (443 if self.secure else 80)
        #: The proxy that is given whole requests; one for encrypted ones is asked for a tunnel.
        self.forwarder: Optional[Proxy] = None if self.secure else self.proxy

    @property
    def tunnel(self) -> Optional[Proxy]:
        """The proxy that is asked for a tunnel. Raises ServerUnreachable for one that is encrypted
        itself.
        """
        if not self.secure or self.proxy is None:
            return None
        if self.proxy.secure:
            shown = self.proxy.shown
            raise ServerUnreachable(f"{self.url} cannot be reached through the proxy {shown}: name a proxy for https as http://host:port")
        return self.proxy

    def target(self, path: str) -> str:
        """The target of a request for a path below the server's URL."""
        return f"{self.url}{path}" if self.forwarder else f"{self._parts.path}{path}"

    @property
    def host_header(self) -> str:
        """The host as requests name it."""
        name = f"[{self.host}]" if ":" in self.host else self.host
        return name if self._parts.port is None or self.port == (443 if self.secure else 80) else f"{name}:{self.port}"

    def refused_by_proxy(self, said: str) -> ServerUnreachable:
        """The error of a proxy that let nothing through."""
        shown = self.proxy.shown if self.proxy else ""
        return ServerUnreachable(f"the proxy {shown} did not let the request to {self.url} through: {said}; {self._without_proxy()}")

    def unreachable(self, error: Exception, sent: bool) -> ServerUnreachable:
        """The error of a connection that failed.

        sent: whether the request may have been received.
        """
        said = str(error) or type(error).__name__
        # Certificates that are not right now will not be so in a moment.
        passing = not isinstance(error, ValueError)
        if self.proxy and said.startswith("Tunnel connection failed: "):
            return self.refused_by_proxy(said.partition(": ")[2])
        if self.proxy:
            return ServerUnreachable(
                f"{self.url} cannot be reached through the proxy {self.proxy.shown}: {said}; {self._without_proxy()}",
                sent=sent,
                passing=passing,
            )
        hint = "; is the server running? `svc server start` starts one here" if is_loopback(self.host) else ""
        return ServerUnreachable(f"{self.url} cannot be reached: {said}{hint}", sent=sent, passing=passing)

    def too_late(self, timeout: float, sent: bool = True) -> ServerUnreachable:
        """The error of an answer that did not come in time."""
        return ServerUnreachable(f"{self.url} did not answer within {timeout:g} s", sent=sent)

    def _without_proxy(self) -> str:
        return f"if the server is reached without a proxy, name its host in NO_PROXY: {self.host}"
