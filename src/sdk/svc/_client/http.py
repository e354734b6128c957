"""HTTP of the client: connections that are kept and used again, and the token exchange. Safe to use
from several threads.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import math
import os
import re
import threading
import time
from typing import Any, Callable, Mapping, Optional
from urllib.parse import SplitResult, urlsplit

from .address import is_loopback
from .config import ClientSettings, normalize_address
from .proxy import Proxy, find_proxy

_IDLE = 8
#: Seconds beyond the timeout that the server has to report that the time is up.
_GRACE = 1.0
_STALE = (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError, http.client.CannotSendRequest)


#: Gets or posts at a path, and gives what the server answered. Raises ClientError.
Call = Callable[[str, str, Optional[Mapping[str, Any]]], Mapping[str, Any]]


class _SinkFailed(Exception):
    """A body could not be taken, as on a full disk: an OSError that says nothing of the server."""

    def __init__(self, error: OSError) -> None:
        super().__init__(str(error))
        self.error = error


class ClientError(Exception):
    """A call that failed; subclasses say how."""


class AuthenticationError(ClientError):
    """The server did not take the client ID and secret."""


class ServerUnreachable(ClientError):
    """No answer came: the server is not there, or took too long."""


class UnexpectedAnswer(ClientError):
    """A response that is not from an svc server, or the server's own failure."""


class Answer:
    """Status and JSON of an answer."""

    __slots__ = ("status", "body")

    def __init__(self, status: int, body: Any) -> None:
        self.status = status
        self.body = body


class HttpServer:
    """One server, with idle connections to it. Each request carries the timeout; when it passes,
    the server answers with the values it has.
    """

    def __init__(self, url: str, timeout: float) -> None:
        self.url = url
        self._parts: SplitResult = urlsplit(url)
        self._proxy: Optional[Proxy] = find_proxy(url, os.environ)
        self.timeout = timeout
        self._patience = timeout + _GRACE
        self._idle: list[http.client.HTTPConnection] = []
        self._lock = threading.Lock()

    def post(self, path: str, body: Mapping[str, Any], headers: Mapping[str, str]) -> Answer:
        """Posts JSON. Raises ServerUnreachable and UnexpectedAnswer."""
        content = json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode("utf-8")
        sent = {"content-type": "application/json", "connect-timeout-ms": self._timeout_ms(), **headers}
        return self._json("POST", path, content, sent)

    def get(self, path: str, headers: Mapping[str, str]) -> Answer:
        """Gets JSON. Raises ServerUnreachable and UnexpectedAnswer."""
        return self._json("GET", path, None, headers)

    def download(self, path: str, sink: Callable[[bytes], Any], start: int = 0) -> int:
        """Passes the bytes at a path to `sink`, from an offset on, and returns the status: 206 for
        the rest, 200 for the whole. Other answers give no bytes. Raises ServerUnreachable, when
        some bytes may have been passed on, and what `sink` raises.
        """
        ranges = {"range": f"bytes={start}-"} if start else {}
        try:
            status, _, _ = self._exchange("GET", f"{self._parts.path}{path}", None, {"accept-encoding": "identity", **ranges}, sink)
        except _SinkFailed as failure:
            raise failure.error from None
        return status

    def upload(self, path: str, content: bytes) -> None:
        """Puts bytes at a signed path. Raises ServerUnreachable and UnexpectedAnswer."""
        headers = {"content-type": "application/octet-stream", "content-length": str(len(content))}
        status, _, data = self._exchange("PUT", f"{self._parts.path}{path}", content, headers)
        if status not in (200, 201):
            raise UnexpectedAnswer(f"{self.url} answered an upload with {status}: {data[:200].decode('utf-8', 'replace')}")

    def _json(self, method: str, path: str, content: Optional[bytes], headers: Mapping[str, str]) -> Answer:
        status, kind, data = self._exchange(method, f"{self._parts.path}{path}", content, {"accept": "application/json", **headers})
        if status == 407 and self._proxy:
            raise self._refused_by_proxy(self._proxy, "407 Proxy Authentication Required")
        if not kind.lower().partition(";")[0].strip().endswith("json"):
            asked = f"is it an svc server, or does the proxy {self._proxy.shown} answer?" if self._proxy else "is it an svc server?"
            raise UnexpectedAnswer(f"{self.url}{path} answered {status} with {kind or 'nothing'} instead of JSON: {asked}")
        try:
            return Answer(status, json.loads(data))
        except ValueError:
            raise UnexpectedAnswer(f"{self.url}{path} answered {status} with JSON that cannot be read") from None

    def _timeout_ms(self) -> str:
        return str(min(math.ceil(self.timeout * 1000), 10**10 - 1))

    def close(self) -> None:
        """Closes the waiting connections."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def __del__(self) -> None:
        self.close()

    def _exchange(
        self,
        method: str,
        path: str,
        content: Optional[bytes],
        headers: Mapping[str, str],
        sink: Optional[Callable[[bytes], Any]] = None,
    ) -> tuple[int, str, bytes]:
        while True:
            with self._lock:
                kept = self._idle.pop() if self._idle else None
            connection = kept or self._connect()
            plain = self._proxy if self._parts.scheme == "http" else None
            target = f"{self.url}{path[len(self._parts.path):]}" if plain else path
            answered = False
            try:
                with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                    # A body that is not read to its end is answered, and the connection closed,
                    # while it is still sent.
                    connection.request(method, target, content, {**headers, **(plain.headers if plain else {})})
                response = connection.getresponse()
                answered = True
                data = b""
                if sink is None or response.status not in (200, 206):
                    data = response.read()
                else:
                    _pass_on(response, sink)
            except _STALE as error:
                connection.close()
                if kept is not None and not (answered and sink):
                    continue
                raise self._unreachable(error) from None
            except TimeoutError:
                connection.close()
                raise ServerUnreachable(f"{self.url} did not answer within {self.timeout:g} s") from None
            except (OSError, http.client.HTTPException) as error:
                connection.close()
                raise self._unreachable(error) from None
            except BaseException:
                connection.close()
                raise
            with self._lock:
                keep = not response.will_close and len(self._idle) < _IDLE
                if keep:
                    self._idle.append(connection)
            if not keep:
                connection.close()
            return response.status, response.getheader("content-type") or "", data

    def _unreachable(self, error: Exception) -> ServerUnreachable:
        if self._proxy and str(error).startswith("Tunnel connection failed: "):
            return self._refused_by_proxy(self._proxy, str(error).partition(": ")[2])
        said = error or type(error).__name__
        if self._proxy:
            return ServerUnreachable(f"{self.url} cannot be reached through the proxy {self._proxy.shown}: {said}; {self._without_proxy()}")
        hint = "; is the server running? `svc server start` starts one here" if is_loopback(self._parts.hostname or "") else ""
        return ServerUnreachable(f"{self.url} cannot be reached: {said}{hint}")

    def _refused_by_proxy(self, proxy: Proxy, said: str) -> ServerUnreachable:
        return ServerUnreachable(f"the proxy {proxy.shown} did not let the request to {self.url} through: {said}; {self._without_proxy()}")

    def _without_proxy(self) -> str:
        return f"if the server is reached without a proxy, name its host in NO_PROXY: {self._parts.hostname}"

    def _connect(self) -> http.client.HTTPConnection:
        host, port, secure = self._parts.hostname or "", self._parts.port, self._parts.scheme == "https"
        proxy = self._proxy
        at, at_port = (proxy.host, proxy.port) if proxy else (host, port)
        if not secure and not (proxy and proxy.secure):
            return http.client.HTTPConnection(at, at_port, timeout=self._patience)
        import ssl

        if secure and proxy and proxy.secure:
            raise ServerUnreachable(f"{self.url} cannot be reached through the proxy {proxy.shown}: name a proxy for https as http://host:port")
        tls = http.client.HTTPSConnection(at, at_port, timeout=self._patience, context=ssl.create_default_context())
        if secure and proxy:
            tls.set_tunnel(host, port or 443, headers=dict(proxy.headers))
        return tls


def _pass_on(response: http.client.HTTPResponse, sink: Callable[[bytes], Any]) -> None:
    """Passes a body on as it comes. Raises IncompleteRead when it is cut off, and _SinkFailed."""
    length = int(response.getheader("content-length") or -1)
    got = 0
    while chunk := response.read(1 << 20):
        got += len(chunk)
        try:
            sink(chunk)
        except OSError as error:
            raise _SinkFailed(error) from None
    if got < length:
        raise http.client.IncompleteRead(b"", length - got)


class Session:
    """A client's token and servers. The token is kept in memory, exchanged once for all threads,
    and again shortly before it expires.
    """

    def __init__(self, settings: ClientSettings, timeout: float, now: Callable[[], float] = time.monotonic) -> None:
        self.settings = settings
        self.api = HttpServer(settings.api_server, timeout)
        self._timeout = timeout
        self._now = now
        self._lock = threading.Lock()
        self._token: Optional[str] = None
        self._refresh_at = 0.0
        self._queries: Optional[HttpServer] = None

    def post(self, path: str, body: Mapping[str, Any], headers: Mapping[str, str]) -> Answer:
        """Posts to the query server with a token; again with a new one when the server rejects it.
        Raises ClientError.
        """
        return self._authorized(self._query_server, lambda server, token: server.post(path, body, {**headers, **token}))

    def get(self, path: str, headers: Mapping[str, str]) -> Answer:
        """Gets JSON from the API server, as `post` does from the query server. Raises ClientError."""
        return self._authorized(lambda: self.api, lambda server, token: server.get(path, {**headers, **token}))

    def _authorized(self, find: Callable[[], HttpServer], call: Callable[[HttpServer, Mapping[str, str]], Answer]) -> Answer:
        token = self._get()
        answer = call(find(), {"authorization": f"Bearer {token}"})
        if answer.status == 401:
            token = self._get(refused=token)
            answer = call(find(), {"authorization": f"Bearer {token}"})
        if answer.status == 401:
            raise AuthenticationError(f"{find().url} does not take the token that {self.api.url} gave: {_message_of(answer.body)}")
        return answer

    def close(self) -> None:
        """Closes the connections."""
        self.api.close()
        if self._queries is not None:
            self._queries.close()

    def _query_server(self) -> HttpServer:
        return self._queries or self.api

    def _get(self, refused: Optional[str] = None) -> str:
        with self._lock:
            if self._token is None or self._token == refused or self._now() >= self._refresh_at:
                self._exchange()
            assert self._token is not None
            return self._token

    def _exchange(self) -> None:
        settings = self.settings
        body = {"client_id": settings.client_id, "client_secret": settings.client_secret, "grant_type": "client_credentials"}
        answer = self.api.post("/v1/oauth/token", body, {})
        got = answer.body if isinstance(answer.body, dict) else {}
        if answer.status in (400, 401):
            raise AuthenticationError(f"{self.api.url} rejected the client ID and secret: {_message_of(got)}")
        token, life = got.get("access_token"), got.get("expires_in")
        if answer.status != 200 or not isinstance(token, str) or not re.fullmatch(r"[\x21-\x7e]+", token) or not isinstance(life, (int, float)):
            raise UnexpectedAnswer(f"{self.api.url} answered the token exchange with {answer.status} and no token: {_message_of(got)}")
        self._token = token
        self._refresh_at = self._now() + life - min(60.0, life / 10)
        if self._queries is None:
            engines = got.get("engines")
            environment = settings.environment or got.get("primary_environment")
            address = settings.query_server or (engines.get(environment) if isinstance(engines, dict) else None)
            server = normalize_address(address, "the token exchange") if isinstance(address, str) else self.api.url
            self._queries = self.api if server == self.api.url else HttpServer(server, self._timeout)


def with_hint(message: str, hint: Optional[str]) -> str:
    """A message, with the hint when there is one."""
    return f"{message} {hint}" if hint else message


def _message_of(body: Any) -> str:
    """The error message of a response body."""
    if isinstance(body, dict):
        for key in ("error_description", "message", "error"):
            if isinstance(body.get(key), str):
                return with_hint(body[key], body.get("hint"))
    return "no reason given"
