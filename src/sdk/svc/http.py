"""Calls of other systems over HTTP from resolvers, bounded in time and in size.

    from svc.http import http_get

    @online
    def rate(currency: Order.currency) -> Order.rate:
        return http_get("https://rates.example.com/latest", params={"of": currency}).json()["rate"]

Without SVC_HTTP_ALLOWED_HOSTS only public addresses are called, so that a URL of somebody else leads
nowhere into the own network. With it only the hosts that it names are, wherever they are:
`api.example.com, *.internal.example.com, 10.0.0.7:8080`. It is a variable of the environment, as
secrets are.
"""

from __future__ import annotations

import json as json_module
from typing import TYPE_CHECKING, Any, Mapping, Optional, Union

__all__ = ["HttpRefused", "HttpResponse", "http_get", "http_post"]


class HttpRefused(ValueError):
    """A call that is not made, or whose answer is not read: its URL, its address, its length."""


class HttpResponse:
    """What a call was answered with, whatever the status."""

    __slots__ = ("body", "headers", "status", "url")

    def __init__(self, status: int, headers: dict[str, str], body: bytes, url: str) -> None:
        #: Such as 200.
        self.status = status
        #: By their names in lower case; those that came several times are joined by commas.
        self.headers = headers
        self.body = body
        #: The URL that answered, after redirects.
        self.url = url

    @property
    def ok(self) -> bool:
        """Whether the status is from 200 to 299."""
        return 200 <= self.status < 300

    @property
    def text(self) -> str:
        """The body as UTF-8; bytes that are none are replaced."""
        return self.body.decode("utf-8", "replace")

    def json(self) -> Any:
        """The JSON in the body. Raises ValueError when it is none."""
        return json_module.loads(self.body)

    def __repr__(self) -> str:
        return f"HttpResponse(status={self.status}, url={self.url!r}, {len(self.body)} bytes)"


def http_get(
    url: str,
    *,
    params: Optional[Mapping[str, Any]] = None,
    headers: Optional[Mapping[str, str]] = None,
    timeout: float = 5.0,
    max_bytes: int = 1_048_576,
) -> HttpResponse:
    """The answer of a GET. Up to five redirects are followed, and `headers` are sent to the first host
    alone. Raises HttpRefused for a URL or an address that is not called and for an answer of more
    than `max_bytes`, TimeoutError after `timeout` seconds for all of it, OSError when the host does
    not answer.
    """
    from ._client.outgoing import call, with_params

    return call("GET", with_params(url, params), dict(headers or {}), None, timeout, max_bytes)


def http_post(
    url: str,
    *,
    json: Any = None,
    data: Union[str, bytes, None] = None,
    headers: Optional[Mapping[str, str]] = None,
    timeout: float = 5.0,
    max_bytes: int = 1_048_576,
) -> HttpResponse:
    """The answer of a POST of `json`, or of `data` as it is. Redirects are not followed. Raises what
    `http_get` raises.
    """
    from ._client.outgoing import call

    if json is not None and data is not None:
        raise HttpRefused("http_post takes json= or data=, not both")
    given = {name.lower(): value for name, value in (headers or {}).items()}
    if json is not None:
        body = json_module.dumps(json, allow_nan=False).encode()
        given.setdefault("content-type", "application/json")
    else:
        body = data.encode() if isinstance(data, str) else data or b""
    return call("POST", url, given, body, timeout, max_bytes)


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        from ._surface.public_names import no_such_name

        raise no_such_name(__name__, name)
