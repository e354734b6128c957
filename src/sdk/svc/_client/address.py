"""Internet addresses of hosts, and tests for this machine's own."""

from __future__ import annotations

import ipaddress
import re
from typing import Optional, Union

Address = Union[ipaddress.IPv4Address, ipaddress.IPv6Address]

_THIS_MACHINE = [ipaddress.ip_network(network) for network in ("127.0.0.0/8", "0.0.0.0/32", "::/127")]


def parse_address(host: str) -> Optional[Address]:
    """The address that a host is, with or without brackets; the two forms of an IPv4 address are
    one. None for names.
    """
    try:
        address = ipaddress.ip_address(host[1:-1] if host.startswith("[") and host.endswith("]") else host)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def is_in_network(address: Address, network: str) -> bool:
    """Whether an address is in a network such as ``10.0.0.0/8``; False when the text names no
    network.
    """
    try:
        return address in ipaddress.ip_network(network, strict=False)
    except ValueError:
        return False


def is_loopback(host: str) -> bool:
    """Whether a host is this machine: ``localhost`` and names below it, 127.0.0.0/8, ``::1``, and
    the addresses that mean all of its own.
    """
    if re.fullmatch(r"(.+\.)?localhost\.?", host, re.IGNORECASE):
        return True
    address = parse_address(host)
    return address is not None and any(address in network for network in _THIS_MACHINE)
