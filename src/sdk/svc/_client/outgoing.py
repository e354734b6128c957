"""How `svc.http` calls: which addresses, over connections with one deadline for all that they do."""

from __future__ import annotations

import http.client
import io
import ipaddress
import os
import socket
import ssl
import time
from typing import Any, Mapping, Optional, Union
from urllib.parse import SplitResult, urlencode, urljoin, urlsplit

from ..http import HttpRefused, HttpResponse

#: The variable with the hosts that may be called.
ALLOWED_HOSTS = "SVC_HTTP_ALLOWED_HOSTS"

_REDIRECTS = (301, 302, 303, 307, 308)
_MOST_REDIRECTS = 5
_MOST_SECONDS = 300.0
_MOST_BYTES = 64 * 1024 * 1024
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")


def with_params(url: str, params: Optional[Mapping[str, Any]]) -> str:
    """The URL with further parameters in its query."""
    if not params:
        return url
    before, mark, fragment = url.partition("#")
    return f"{before}{'&' if '?' in before else '?'}{urlencode(params, doseq=True)}{mark}{fragment}"


def call(method: str, url: str, headers: dict[str, str], body: Optional[bytes], timeout: float, max_bytes: int) -> HttpResponse:
    """The answer of a call. Raises HttpRefused, TimeoutError, OSError."""
    if isinstance(timeout, bool) or not 0 < timeout <= _MOST_SECONDS:
        raise HttpRefused(f"timeout must be a number of seconds from 0 to {_MOST_SECONDS:g}, not {timeout!r}")
    if isinstance(max_bytes, bool) or not isinstance(max_bytes, int) or not 0 < max_bytes <= _MOST_BYTES:
        raise HttpRefused(f"max_bytes must be a whole number from 1 to {_MOST_BYTES}, not {max_bytes!r}")
    deadline = time.monotonic() + timeout
    first = _checked(url)
    for _ in range(_MOST_REDIRECTS + 1):
        at = _checked(url)
        is_first = (at.scheme, at.hostname, at.port) == (first.scheme, first.hostname, first.port)
        answer = _once(method, at, headers if is_first else {}, body, deadline, max_bytes)
        target = answer.headers.get("location")
        if method != "GET" or answer.status not in _REDIRECTS or target is None:
            return answer
        url = urljoin(answer.url, target)
        if at.scheme == "https" and not url.startswith("https:"):
            raise HttpRefused(f"{answer.url} redirects to {url}, which is not encrypted")
    raise HttpRefused(f"{first.geturl()} redirects more than {_MOST_REDIRECTS} times")


def _checked(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise HttpRefused(f"{url!r} is no URL: {error}") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise HttpRefused(f"{url!r} is no URL of http or https")
    if parts.username is not None:
        raise HttpRefused(f"a URL for {parts.hostname} has a user in it: give headers={{'Authorization': ...}} instead")
    if not url.isascii() or any(character <= " " or character == "\x7f" for character in url):
        raise HttpRefused(f"{url!r} is no URL: write spaces and letters beyond ASCII as %20 and the like")
    return parts


def _once(method: str, at: SplitResult, headers: dict[str, str], body: Optional[bytes], deadline: float, max_bytes: int) -> HttpResponse:
    connection = _Connection(at, deadline)
    sent = {"accept-encoding": "identity", "user-agent": "svc", **{name.lower(): value for name, value in headers.items()}}
    target = (at.path or "/") + (f"?{at.query}" if at.query else "")
    try:
        connection.request(method, target, body, sent)
        answer = connection.getresponse()
        received = answer.read(max_bytes + 1)
    except OSError:
        # faults of certificates are ValueErrors too
        raise
    except (http.client.HTTPException, UnicodeError) as error:
        raise OSError(f"{at.hostname} does not answer as HTTP has it: {error!r}") from None
    except ValueError as error:
        raise HttpRefused(f"the call of {at.hostname} is not made: {error}") from None
    finally:
        connection.end()
    if len(received) > max_bytes:
        raise HttpRefused(f"{at.hostname} answers with more than {max_bytes} bytes: give max_bytes=")
    named: dict[str, str] = {}
    for name, value in answer.getheaders():
        named[name.lower()] = f"{named[name.lower()]}, {value}" if name.lower() in named else value
    return HttpResponse(answer.status, named, received, at.geturl())


class _Connection(http.client.HTTPConnection):
    """A connection to one of the addresses of a host that may be called."""

    def __init__(self, at: SplitResult, deadline: float) -> None:
        self._at = at
        self._deadline = deadline
        self._default = 443 if at.scheme == "https" else 80
        self._raw: Optional[socket.socket] = None
        super().__init__(at.hostname or "", at.port or self._default)

    @property
    def default_port(self) -> int:  # type: ignore[override]
        return self._default

    def connect(self) -> None:
        self._raw = _connected(self.host, self.port, self._deadline)
        if self._at.scheme == "https":
            self._raw.settimeout(_left(self._deadline))
            self._raw = ssl.create_default_context().wrap_socket(self._raw, server_hostname=self.host)
        self.sock: Any = _Timed(self._raw, self._deadline)

    def end(self) -> None:
        """Closes the connection."""
        self.close()
        if self._raw is not None:
            self._raw.close()


def _connected(host: str, port: int, deadline: float) -> socket.socket:
    is_listed = _is_listed(host, port)
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    refused, failed = None, None
    for family, kind, protocol, _, address in found:
        if not is_listed and not _is_public(str(address[0])):
            refused = address[0]
            continue
        raw = socket.socket(family, kind, protocol)
        try:
            raw.settimeout(_left(deadline))
            raw.connect(address)
            return raw
        except OSError as error:
            raw.close()
            failed = error
    if failed is not None:
        raise failed
    raise HttpRefused(f"{host} has the address {refused}, which is not public: name it in {ALLOWED_HOSTS} where it may be called")


def _is_listed(host: str, port: int) -> bool:
    """Whether the variable names a host; without the variable none is. Raises HttpRefused for a host
    that it does not name.
    """
    named = [item.strip().lower() for item in os.environ.get(ALLOWED_HOSTS, "").split(",") if item.strip()]
    if not named:
        return False
    place = f"[{host}]" if ":" in host else host
    for item in named:
        if item in (place, host, f"{place}:{port}") or (item.startswith("*.") and host.endswith(item[1:])):
            return True
    raise HttpRefused(f"{place}:{port} is none of the hosts that {ALLOWED_HOSTS} names")


def _is_public(text: str) -> bool:
    address: Union[ipaddress.IPv4Address, ipaddress.IPv6Address] = ipaddress.ip_address(text.partition("%")[0])
    if isinstance(address, ipaddress.IPv6Address):
        inside = address.ipv4_mapped or address.sixtofour or (address.teredo[1] if address.teredo else None)
        if address in _NAT64:
            inside = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if inside is not None:
            address = inside
    return address.is_global and not address.is_multicast and not address.is_reserved


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError("the call took longer than its timeout")
    return left


class _Timed:
    """A socket that ends with the deadline, however slowly the other side sends."""

    def __init__(self, raw: socket.socket, deadline: float) -> None:
        self._raw = raw
        self._deadline = deadline

    def sendall(self, data: Any) -> None:
        self._raw.settimeout(_left(self._deadline))
        self._raw.sendall(data)

    def makefile(self, *_: Any, **__: Any) -> io.BufferedReader:
        return io.BufferedReader(_Incoming(self._raw, self._deadline))

    def close(self) -> None:
        """Nothing: the connection lets go of its socket before the answer is read."""


class _Incoming(io.RawIOBase):
    def __init__(self, raw: socket.socket, deadline: float) -> None:
        self._raw = raw
        self._deadline = deadline

    def readable(self) -> bool:
        return True

    def readinto(self, into: Any) -> int:
        self._raw.settimeout(_left(self._deadline))
        return self._raw.recv_into(into)
