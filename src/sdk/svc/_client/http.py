"""HTTP of the client: connections that are kept and used again, and the token exchange. Safe to use from several threads."""

from __future__ import annotations

import http.client
import json
import threading
import time
from typing import Any, Callable, Mapping, Optional
from urllib.parse import SplitResult, urlsplit
from urllib.request import getproxies, proxy_bypass

from .config import ClientSettings, is_loopback, normalize_address

_IDLE = 8
_STALE = (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError, http.client.CannotSendRequest)


class ClientError(Exception):
    """A call that failed; subclasses say how."""


class AuthenticationError(ClientError):
    """The server did not take the client ID and secret."""


class ServerUnreachable(ClientError):
    """No answer came: the server is not there, or took too long."""


class UnexpectedAnswer(ClientError):
    """An answer that no svc server gives, or the server's own failure."""


class Answer:
    """Status and JSON of an answer."""

    __slots__ = ("status", "body")

    def __init__(self, status: int, body: Any) -> None:
        self.status = status
        self.body = body


class HttpServer:
    """One server, and the connections to it that wait for the next call."""

    def __init__(self, url: str, timeout: float) -> None:
        self.url = url
        self._parts: SplitResult = urlsplit(url)
        self._timeout = timeout
        self._idle: list[http.client.HTTPConnection] = []
        self._lock = threading.Lock()

    def post(self, path: str, body: Mapping[str, Any], headers: Mapping[str, str]) -> Answer:
        """Posts JSON. Raises ServerUnreachable and UnexpectedAnswer."""
        content = json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode("utf-8")
        sent = {"content-type": "application/json", "accept": "application/json", **headers}
        status, kind, data = self._exchange(f"{self._parts.path}{path}", content, sent)
        if not kind.lower().partition(";")[0].strip().endswith("json"):
            raise UnexpectedAnswer(f"{self.url}{path} answered {status} with {kind or 'nothing'} instead of JSON: is it an svc server?")
        try:
            return Answer(status, json.loads(data))
        except ValueError:
            raise UnexpectedAnswer(f"{self.url}{path} answered {status} with JSON that cannot be read") from None

    def close(self) -> None:
        """Closes the waiting connections."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def __del__(self) -> None:
        self.close()

    def _exchange(self, path: str, content: bytes, headers: Mapping[str, str]) -> tuple[int, str, bytes]:
        while True:
            with self._lock:
                kept = self._idle.pop() if self._idle else None
            connection = kept or self._connect()
            target = f"{self.url}{path[len(self._parts.path):]}" if getattr(connection, "svc_proxied", False) else path
            try:
                connection.request("POST", target, content, dict(headers))
                response = connection.getresponse()
                data = response.read()
            except _STALE as error:
                connection.close()
                if kept is not None:
                    continue
                raise self._unreachable(error) from None
            except TimeoutError:
                connection.close()
                raise ServerUnreachable(f"{self.url} did not answer within {self._timeout:g} s") from None
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
        hint = "; is the server running? `svc server start` starts one here" if is_loopback(self._parts.hostname or "") else ""
        return ServerUnreachable(f"{self.url} cannot be reached: {error or type(error).__name__}{hint}")

    def _connect(self) -> http.client.HTTPConnection:
        host, port, secure = self._parts.hostname or "", self._parts.port, self._parts.scheme == "https"
        proxy = None if is_loopback(host) or proxy_bypass(host) else getproxies().get(self._parts.scheme)
        through = urlsplit(normalize_address(proxy, f"{self._parts.scheme}_proxy")) if proxy else None
        at, at_port = (through.hostname or "", through.port) if through else (host, port)
        if not secure:
            connection = http.client.HTTPConnection(at, at_port, timeout=self._timeout)
            connection.svc_proxied = through is not None  # type: ignore[attr-defined]
            return connection
        import ssl

        tls = http.client.HTTPSConnection(at, at_port, timeout=self._timeout, context=ssl.create_default_context())
        if through:
            tls.set_tunnel(host, port or 443)
        return tls


class Session:
    """A client's token and servers. The token is kept in memory, exchanged once whoever asks, and again shortly before it ends."""

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
        """Posts to the query server with a token; with a fresh one when the server does not take it. Raises ClientError."""
        token = self._get()
        answer = self._query_server().post(path, body, {**headers, "authorization": f"Bearer {token}"})
        if answer.status == 401:
            token = self._get(refused=token)
            answer = self._query_server().post(path, body, {**headers, "authorization": f"Bearer {token}"})
        if answer.status == 401:
            raise AuthenticationError(f"{self._query_server().url} does not take the token that {self.api.url} gave: {_said(answer.body)}")
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
            raise AuthenticationError(f"{self.api.url} rejected the client ID and secret: {_said(got)}")
        token, life = got.get("access_token"), got.get("expires_in")
        if answer.status != 200 or not isinstance(token, str) or not isinstance(life, (int, float)):
            raise UnexpectedAnswer(f"{self.api.url} answered the token exchange with {answer.status} and no token: {_said(got)}")
        self._token = token
        self._refresh_at = self._now() + life - min(60.0, life / 10)
        if self._queries is None:
            engines = got.get("engines")
            environment = settings.environment or got.get("primary_environment")
            address = settings.query_server or (engines.get(environment) if isinstance(engines, dict) else None)
            server = normalize_address(address, "the token exchange") if isinstance(address, str) else self.api.url
            self._queries = self.api if server == self.api.url else HttpServer(server, self._timeout)


def _said(body: Any) -> str:
    """What an answer says in words."""
    if isinstance(body, dict):
        for key in ("error_description", "message", "error"):
            if isinstance(body.get(key), str):
                return str(body[key])
        errors = body.get("errors")
        if isinstance(errors, list):
            return "; ".join(str(error.get("message", error)) if isinstance(error, dict) else str(error) for error in errors)
    return "no reason given"
