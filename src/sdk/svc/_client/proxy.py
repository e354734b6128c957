"""The choice of a request's proxy, by the rules of curl, which the command line follows too:
``http_proxy`` (in lower case alone), ``https_proxy`` and ``HTTPS_PROXY``, else ``all_proxy`` and
``ALL_PROXY``; none for the hosts of ``no_proxy`` or ``NO_PROXY``, and never one for this machine.
"""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass, field
from typing import Mapping, Optional
from urllib.parse import unquote, urlsplit

from .address import is_in_network, is_loopback, parse_address
from .config import ConfigError

_VARIABLES = {"http": ("http_proxy", "all_proxy", "ALL_PROXY"), "https": ("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")}


@dataclass(frozen=True)
class Proxy:
    """A proxy; ``shown`` is for messages: its address without user and password, and the variable
    that names it.
    """

    host: str
    port: int
    secure: bool
    shown: str
    headers: Mapping[str, str] = field(repr=False)


def find_proxy(url: str, env: Mapping[str, str]) -> Optional[Proxy]:
    """The proxy for a request to an address; None for none. Raises ConfigError when the variable
    names one that cannot be used.
    """
    target = urlsplit(url)
    host = target.hostname or ""
    variable = next((name for name in _VARIABLES[target.scheme] if env.get(name)), None)
    if variable is None or is_loopback(host):
        return None
    port = target.port or (443 if target.scheme == "https" else 80)
    if _is_exempt(host, port, env.get("no_proxy") or env.get("NO_PROXY") or ""):
        return None
    return _parse(env[variable].strip(), variable)


def _parse(given: str, variable: str) -> Proxy:
    text = given if re.match(r"[a-z][a-z0-9+.-]*://", given, re.IGNORECASE) else f"http://{given}"
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if parts.scheme.lower() not in ("http", "https") or not parts.hostname:
        kind = f"names a proxy of the kind {parts.scheme!r}" if parts.hostname else "is no address of a proxy"
        raise ConfigError(
            f"the environment variable {variable} {kind}, which svc cannot use; write it as http://host:port or https://host:port, "
            "or name the hosts that are reached without one in NO_PROXY"
        )
    secure = parts.scheme.lower() == "https"
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    shown = f"{parts.scheme.lower()}://{host}{'' if port is None else f':{port}'} (environment variable {variable})"
    headers = {}
    if parts.username is not None:
        credentials = f"{unquote(parts.username)}:{unquote(parts.password or '')}".encode("utf-8")
        headers["proxy-authorization"] = f"Basic {base64.b64encode(credentials).decode('ascii')}"
    return Proxy(parts.hostname, port or (443 if secure else 80), secure, shown, headers)


def _is_exempt(host: str, port: int, entries: str) -> bool:
    plain, address = _plain(host), parse_address(host)
    for entry in re.split(r"[\s,]+", entries):
        if not entry:
            continue
        if entry == "*":
            return True
        if address is not None and "/" in entry:
            if is_in_network(address, entry):
                return True
            continue
        match = re.fullmatch(r"(\[[^\]]*\]|[^:]*)(?::(\d+))?", entry)
        name, wanted = match.groups() if match else (entry, None)
        if wanted is not None and int(wanted) != port:
            continue
        if address is not None:
            if parse_address(name) == address:
                return True
            continue
        domain = _plain(re.sub(r"^\*?\.(?=.)", "", name))
        if plain == domain or plain.endswith(f".{domain}"):
            return True
    return False


def _plain(host: str) -> str:
    return host.lower()[:-1] if host.endswith(".") else host.lower()
