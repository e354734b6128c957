"""The token and the servers of one environment's calls."""

from __future__ import annotations

import json
import re
import time
from typing import Any, Callable, Mapping, Optional

from .config import ClientSettings, normalize_address
from .errors import AuthenticationError, UnexpectedAnswer, message_of
from .inflating import ACCEPTED, inflated
from .retries import Retries
from .server import Server
from .steps import Alone, Request, Response, Steps

#: The media type of tables of Arrow.
ARROW_STREAM = "application/vnd.apache.arrow.stream"
#: Gets or posts at a path, and gives what the server answered. Raises ClientError.
Call = Callable[[str, str, Optional[Mapping[str, Any]]], Steps[Mapping[str, Any]]]


class Answer:
    """Status and JSON of an answer, or the bytes of its table."""

    __slots__ = ("status", "body")

    def __init__(self, status: int, body: Any) -> None:
        self.status = status
        self.body = body


class Session:
    """A client's token and servers. The token is kept in memory, exchanged once for all callers, and
    again shortly before it expires. Each call has the timeout for all that it does; when it passes,
    the server answers with the values it has.
    """

    def __init__(self, settings: ClientSettings, timeout: float, retries: Retries, now: Callable[[], float] = time.monotonic) -> None:
        self.settings = settings
        self.api = Server(settings.api_server)
        self.timeout = timeout
        self._retries = retries
        self._now = now
        self._token: Optional[str] = None
        self._refresh_at = 0.0
        self._queries: Optional[Server] = None
        #: Servers of files, by URL.
        self._others: dict[str, Server] = {}

    def server_at(self, url: str) -> Server:
        """The server of a URL without a path."""
        if url == self.api.url:
            return self.api
        return self._others.get(url) or self._others.setdefault(url, Server(url))

    def post(self, path: str, body: Mapping[str, Any], headers: Mapping[str, str], idempotent: bool = True) -> Steps[Answer]:
        """Posts to the query server with a token; again with a new one when the server rejects it.

        idempotent: whether it has no further effect when it is posted twice. Raises ClientError.
        """
        content = json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode("utf-8")
        return (yield from self._authorized(lambda: self._queries or self.api, "POST", path, content, headers, idempotent))

    def ask(self, path: str, body: Mapping[str, Any], headers: Mapping[str, str], idempotent: bool) -> Steps[Answer]:
        """Posts to the API server, as `post` does to the query server. Raises ClientError."""
        content = json.dumps(body, ensure_ascii=False, allow_nan=False).encode("utf-8")
        return (yield from self._authorized(lambda: self.api, "POST", path, content, headers, idempotent))

    def post_table(self, path: str, content: bytes, headers: Mapping[str, str]) -> Steps[Answer]:
        """Posts a stream of Arrow, as `post` does JSON; the body of what is answered in this form is
        its bytes. Raises ClientError.
        """
        tables = {"content-type": ARROW_STREAM, "accept": ARROW_STREAM, **headers}
        return (yield from self._authorized(lambda: self._queries or self.api, "POST", path, content, tables, True))

    def get(self, path: str, headers: Mapping[str, str]) -> Steps[Answer]:
        """Gets JSON from the API server, as `post` does from the query server. Raises ClientError."""
        return (yield from self._authorized(lambda: self.api, "GET", path, None, headers, True))

    def download(self, server: Server, path: str, sink: Callable[[bytes], Any], start: int = 0) -> Steps[int]:
        """Passes the bytes at a signed path to `sink`, from an offset on, and returns the status: 206
        for the rest, 200 for the whole. Other answers give no bytes. Raises ServerUnreachable, when
        some bytes may have been passed on, and what `sink` raises.
        """
        headers = {"accept-encoding": "identity", **({"range": f"bytes={start}-"} if start else {})}
        response: Response = yield Request(server, "GET", path, headers, None, self.timeout, sink=sink)
        return response.status

    def upload(self, path: str, content: bytes) -> Steps[None]:
        """Puts bytes at a signed path. Raises ServerUnreachable and UnexpectedAnswer."""
        headers = {"content-type": "application/octet-stream"}
        response = yield from self._retries.send(Request(self.api, "PUT", path, headers, content, self.timeout))
        if response.status not in (200, 201):
            said = response.content[:200].decode("utf-8", "replace")
            raise UnexpectedAnswer(f"{self.api.url} answered an upload with {response.status}: {said}")

    def _authorized(
        self, find: Callable[[], Server], method: str, path: str, content: Optional[bytes], headers: Mapping[str, str], idempotent: bool
    ) -> Steps[Answer]:
        ends = time.monotonic() + self.timeout
        token = yield from self._bearer(ends)
        answer = yield from self._sent(find(), method, path, content, {**headers, "authorization": f"Bearer {token}"}, ends, idempotent)
        if answer.status == 401:
            token = yield from self._bearer(ends, refused=token)
            answer = yield from self._sent(find(), method, path, content, {**headers, "authorization": f"Bearer {token}"}, ends, idempotent)
        if answer.status == 401:
            raise AuthenticationError(f"{find().url} does not take the token that {self.api.url} gave: {message_of(answer.body)}")
        return answer

    def _sent(
        self,
        server: Server,
        method: str,
        path: str,
        content: Optional[bytes],
        headers: Mapping[str, str],
        ends: float,
        idempotent: bool = True,
    ) -> Steps[Answer]:
        sent = {"accept": "application/json", "accept-encoding": ACCEPTED, **({} if content is None else {"content-type": "application/json"}), **headers}
        response = yield from self._retries.send(Request(server, method, path, sent, content, self.timeout, ends, idempotent))
        return _answer_of(server, path, response)

    def _bearer(self, ends: float, refused: Optional[str] = None) -> Steps[str]:
        if not self._has_token(refused):
            yield Alone(self, self._renew(ends, refused))
        assert self._token is not None
        return self._token

    def _has_token(self, refused: Optional[str]) -> bool:
        return self._token is not None and self._token != refused and self._now() < self._refresh_at

    def _renew(self, ends: float, refused: Optional[str]) -> Steps[None]:
        if not self._has_token(refused):
            yield from self._exchange(ends)

    def _exchange(self, ends: float) -> Steps[None]:
        settings = self.settings
        body = {"client_id": settings.client_id, "client_secret": settings.client_secret, "grant_type": "client_credentials"}
        answer = yield from self._sent(self.api, "POST", "/v1/oauth/token", json.dumps(body).encode("utf-8"), {}, ends)
        got = answer.body if isinstance(answer.body, dict) else {}
        if answer.status in (400, 401):
            raise AuthenticationError(f"{self.api.url} rejected the client ID and secret: {message_of(got)}")
        token, life = got.get("access_token"), got.get("expires_in")
        if answer.status != 200 or not isinstance(token, str) or not re.fullmatch(r"[\x21-\x7e]+", token) or not isinstance(life, (int, float)):
            raise UnexpectedAnswer(f"{self.api.url} answered the token exchange with {answer.status} and no token: {message_of(got)}")
        self._token = token
        self._refresh_at = self._now() + life - min(60.0, life / 10)
        if self._queries is None:
            engines = got.get("engines")
            environment = settings.environment or got.get("primary_environment")
            address = settings.query_server or (engines.get(environment) if isinstance(engines, dict) else None)
            server = normalize_address(address, "the token exchange") if isinstance(address, str) else self.api.url
            self._queries = self.api if server == self.api.url else Server(server)


def _answer_of(server: Server, path: str, response: Response) -> Answer:
    """A response as JSON, or as the bytes of a table. Raises ServerUnreachable and UnexpectedAnswer."""
    status, kind = response.status, response.headers.get("content-type", "")
    if status == 407 and server.proxy:
        raise server.refused_by_proxy("407 Proxy Authentication Required")
    if kind != ARROW_STREAM and not kind.lower().partition(";")[0].strip().endswith("json"):
        asked = f"is it an svc server, or does the proxy {server.proxy.shown} answer?" if server.proxy else "is it an svc server?"
        raise UnexpectedAnswer(f"{server.url}{path} answered {status} with {kind or 'nothing'} instead of JSON: {asked}")
    try:
        content = inflated(response.content, response.headers.get("content-encoding", ""))
    except ValueError as error:
        raise UnexpectedAnswer(f"{server.url}{path} answered {status} with a body that {error}") from None
    if kind == ARROW_STREAM:
        return Answer(status, content)
    try:
        return Answer(status, json.loads(content))
    except ValueError:
        raise UnexpectedAnswer(f"{server.url}{path} answered {status} with JSON that cannot be read") from None
