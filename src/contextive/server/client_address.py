"""Finds the client address of a request that came through trusted proxies."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TypeAlias

from contextive.server.headers import RequestHeaders

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network

_MAX_HOPS = 32
# Every repetition is bounded, which bounds the matching time.
_HOP = re.compile(
    r"(?:\[([0-9A-Fa-f:.]{2,45})\]|([0-9.]{7,15}))(?::(?:[0-9]{1,5}|_[A-Za-z0-9._-]{1,64}))?|([0-9A-Fa-f:.]{2,45})"
)
_PAIR = re.compile(r"([A-Za-z0-9_-]{1,64})=(?:\"([^\"\\]*)\"|([^\"\\\s]*))")


@dataclass(frozen=True, slots=True)
class TrustedProxies:
    """The proxies whose `Forwarded` and `X-Forwarded-For` headers are trusted."""

    networks: tuple[Network, ...] = ()

    @classmethod
    def of(cls, names: Iterable[str]) -> TrustedProxies:
        """From addresses and networks of the configuration, which are already validated."""
        return cls(tuple(ipaddress.ip_network(name) for name in names))

    ##= docs/spec/host.md#client-addresses
    ##% The client address MUST be the address of the connection, unless that is one of `server.trustedProxies`.
    ##= docs/spec/host.md#client-addresses
    ##% Behind trusted proxies, the client address MUST be the rightmost forwarded address that is not a trusted
    ##% proxy.
    def limit_key(self, peer: str, headers: RequestHeaders) -> str:
        """The key by which requests are counted: the client's address, or its /64 network for IPv6."""
        found = _address(peer)
        if found is None:
            return peer
        if self._trusts(found):
            found = self._forwarded_address(found, headers)
        if found.version == 6:
            # A client with one IPv6 address usually has all 2^64 addresses of its network.
            return str(ipaddress.ip_network((int(found) >> 64 << 64, 64)))
        return str(found)

    ##= docs/spec/host.md#client-addresses
    ##% If `Forwarded` and `X-Forwarded-For` name different clients, both MUST be ignored.
    def _forwarded_address(self, proxy: Address, headers: RequestHeaders) -> Address:
        # A proxy sets one of the two headers and may pass on the other as the client sent it.
        forwarded, x_forwarded_for = headers.get_all(b"forwarded"), headers.get_all(b"x-forwarded-for")
        found = {
            self._first_untrusted(proxy, hops)
            for lines, hops in (
                (forwarded, map(_forwarded_for, _from_right(forwarded))),
                (x_forwarded_for, _from_right(x_forwarded_for)),
            )
            if lines
        }
        return found.pop() if len(found) == 1 else proxy

    ##= docs/spec/host.md#client-addresses
    ##% If a forwarded address cannot be parsed, the search MUST end at the proxy that reported it.
    def _first_untrusted(self, proxy: Address, hops: Iterable[str]) -> Address:
        nearest = proxy
        for hop in islice(hops, _MAX_HOPS):
            address = _read_hop(hop)
            if address is None:
                break
            nearest = address
            if not self._trusts(address):
                break
        return nearest

    def _trusts(self, address: Address) -> bool:
        return any(address in network for network in self.networks)


def _from_right(lines: list[str]) -> Iterator[str]:
    """The elements of a list header, the newest first.

    They are split at every comma. A comma inside a quoted string results in unparseable elements, never in a wrong
    address: text from a client cannot swallow what a proxy appended to it.
    """
    return reversed(",".join(lines).split(","))


def _forwarded_for(element: str) -> str:
    """The `for` value of one element of a `Forwarded` header (RFC 7239); empty unless there is exactly one."""
    found = []
    for part in element.split(";"):
        pair = _PAIR.fullmatch(part.strip(" \t"))
        if pair is None:
            return ""
        if pair[1].lower() == "for":
            found.append(pair[2] if pair[2] is not None else pair[3])
    return found[0] if len(found) == 1 else ""


def _read_hop(text: str) -> Address | None:
    """The address of a hop, with or without a port; None for anything else, such as `unknown`."""
    found = _HOP.fullmatch(text.strip(" \t"))
    return _address(found[1] or found[2] or found[3]) if found else None


def _address(text: str) -> Address | None:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    return address.ipv4_mapped or address if isinstance(address, ipaddress.IPv6Address) else address
