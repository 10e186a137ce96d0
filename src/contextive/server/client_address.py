"""Which address a request comes from, behind proxies that are trusted to report it."""

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
# Every repetition is bounded, so the time to read a hop is too.
_HOP = re.compile(
    r"(?:\[([0-9A-Fa-f:.]{2,45})\]|([0-9.]{7,15}))(?::(?:[0-9]{1,5}|_[A-Za-z0-9._-]{1,64}))?|([0-9A-Fa-f:.]{2,45})"
)
_PAIR = re.compile(r"([A-Za-z0-9_-]{1,64})=(?:\"([^\"\\]*)\"|([^\"\\\s]*))")


@dataclass(frozen=True, slots=True)
class TrustedProxies:
    """The proxies whose `Forwarded` and `X-Forwarded-For` headers are believed."""

    networks: tuple[Network, ...] = ()

    @classmethod
    def of(cls, names: Iterable[str]) -> TrustedProxies:
        """From addresses and networks as the configuration, which has checked them, writes them."""
        return cls(tuple(ipaddress.ip_network(name) for name in names))

    ##= docs/spec/host.md#client-addresses
    ##% The client address MUST be the address of the connection, unless that is one of `server.trustedProxies`.
    ##= docs/spec/host.md#client-addresses
    ##% Behind trusted proxies, the client address MUST be the rightmost forwarded address that is not a trusted
    ##% proxy.
    def limit_key(self, peer: str, headers: RequestHeaders) -> str:
        """What requests are counted by: the address of the client, or the /64 network of one of IPv6."""
        found = _address(peer)
        if found is None:
            return peer
        if self._trusts(found):
            found = self._forwarded_address(found, headers)
        if found.version == 6:
            # Whoever has one such address usually has all 2^64 of its network.
            return str(ipaddress.ip_network((int(found) >> 64 << 64, 64)))
        return str(found)

    ##= docs/spec/host.md#client-addresses
    ##% If `Forwarded` and `X-Forwarded-For` name different clients, both MUST be ignored.
    def _forwarded_address(self, proxy: Address, headers: RequestHeaders) -> Address:
        # A proxy that writes one of the two passes on the other as its client sent it.
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

    They are split at every comma. One inside a quoted string makes elements that cannot be read, never a wrong address:
    what a client wrote cannot swallow what a proxy has added to its right.
    """
    return reversed(",".join(lines).split(","))


def _forwarded_for(element: str) -> str:
    """The `for` of one element of a `Forwarded` header (RFC 7239); empty where there is not exactly one."""
    found = []
    for part in element.split(";"):
        pair = _PAIR.fullmatch(part.strip(" \t"))
        if pair is None:
            return ""
        if pair[1].lower() == "for":
            found.append(pair[2] if pair[2] is not None else pair[3])
    return found[0] if len(found) == 1 else ""


def _read_hop(text: str) -> Address | None:
    """An address with or without port, brackets round IPv6; None for anything else, such as `unknown`."""
    found = _HOP.fullmatch(text.strip(" \t"))
    return _address(found[1] or found[2] or found[3]) if found else None


def _address(text: str) -> Address | None:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    return address.ipv4_mapped or address if isinstance(address, ipaddress.IPv6Address) else address
