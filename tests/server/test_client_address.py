"""The address by which requests are counted, with and without trusted proxies."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextive.server.client_address import TrustedProxies
from contextive.server.headers import RequestHeaders
from tests.registry.property_tests import property_test

PROXIES = TrustedProxies.of(["10.0.0.0/8", "192.0.2.1", "2001:db8:1::/48"])
CLIENT = "203.0.113.9"
TEXTS = st.text(st.sampled_from('0123456789abf.:[],;="\\_ for\t'), max_size=40)


def key(*lines: tuple[str, str], peer: str = "10.0.0.1", proxies: TrustedProxies = PROXIES) -> str:
    raw = [(name.lower().encode(), value.encode("latin-1")) for name, value in lines]
    return proxies.limit_key(peer, RequestHeaders({"headers": raw}))


##= docs/spec/host.md#client-addresses
##% The client address MUST be the address of the connection, unless that is one of `server.trustedProxies`.
@property_test
@given(st.lists(st.tuples(st.sampled_from(["Forwarded", "X-Forwarded-For"]), TEXTS), max_size=3))
def test_without_a_trusted_proxy_no_header_changes_the_address(lines: list[tuple[str, str]]) -> None:
    assert key(*lines, proxies=TrustedProxies()) == "10.0.0.1"
    assert key(*lines, peer="198.51.100.1") == "198.51.100.1"


##= docs/spec/host.md#client-addresses
##% Behind trusted proxies, the client address MUST be the rightmost forwarded address that is not a trusted proxy.
@pytest.mark.parametrize(
    "value",
    [
        CLIENT,
        f"{CLIENT}:4711",
        f"  {CLIENT}\t",
        f"1.1.1.1, {CLIENT}",
        f"1.1.1.1,{CLIENT},10.2.3.4,192.0.2.1",
        f"unknown, nonsense, {CLIENT}, 10.2.3.4:80, [2001:db8:1::7]:443, 2001:db8:1::8",
        f"::ffff:{CLIENT}",
        f"[::ffff:{CLIENT}]:1",
    ],
)
def test_the_rightmost_address_that_is_not_a_proxy_is_the_client(value: str) -> None:
    assert key(("X-Forwarded-For", value)) == CLIENT


@pytest.mark.parametrize(
    "value",
    [
        f"for={CLIENT}",
        f"For={CLIENT};proto=https;by=10.0.0.1",
        f'for="{CLIENT}:4711"',
        f'for="{CLIENT}:_port"',
        f'for=1.1.1.1, for={CLIENT};host="context.example.org"',
        f'for={CLIENT} , proto=https; for=10.2.3.4 , for="[2001:db8:1::7]:4711"',
        f'for="unclosed, for={CLIENT}',
    ],
)
def test_the_forwarded_header_of_rfc_7239_is_read(value: str) -> None:
    assert key(("Forwarded", value)) == CLIENT


def test_several_lines_of_a_header_are_one_list() -> None:
    assert key(("X-Forwarded-For", "1.1.1.1"), ("X-Forwarded-For", CLIENT), ("X-Forwarded-For", "10.9.9.9")) == CLIENT


##= docs/spec/host.md#client-addresses
##% If a forwarded address cannot be parsed, the search MUST end at the proxy that reported it.
@pytest.mark.parametrize(
    "wrong",
    [
        "",
        "unknown",
        "_hidden",
        "localhost",
        "1.2.3",
        "1.2.3.4.5",
        "1.2.3.256",
        "1.2.3.4:123456",
        "[1.2.3.4",
        "2001:db8::1]:80",
        "[::1]x",
        "fe80::1%eth0",
        "\xb2.2.2.2",
        '"1.2.3.4"',
    ],
)
def test_an_unreadable_hop_counts_as_the_proxy_that_reported_it(wrong: str) -> None:
    assert key(("X-Forwarded-For", f"{CLIENT}, {wrong}")) == "10.0.0.1"
    assert key(("X-Forwarded-For", f"{CLIENT}, {wrong}, 10.2.3.4")) == "10.2.3.4"


@pytest.mark.parametrize(
    "element",
    [
        "for=unknown",
        "for=_hidden",
        'for="_hidden:80"',
        "proto=https",
        f"for={CLIENT};for=1.1.1.1",
        'for="10.1.1.1',
        f"for={CLIENT};x",
        f'for="{CLIENT}\\"',
        # A proxy quotes the Host header of its client: a comma inside must not start an element.
        f'for=1.1.1.1;host="a, for={CLIENT}"',
        f'for=1.1.1.1;host="a, for={CLIENT};x=";proto=https',
        f'for=1.1.1.1;host="a, for={CLIENT};x=\\"";proto=https',
    ],
)
def test_an_unreadable_forwarded_element_counts_as_the_proxy(element: str) -> None:
    assert key(("Forwarded", f"for={CLIENT}, {element}")) == "10.0.0.1"


##= docs/spec/host.md#client-addresses
##% If `Forwarded` and `X-Forwarded-For` name different clients, both MUST be ignored.
def test_two_headers_are_trusted_if_they_name_the_same_client() -> None:
    assert key(("Forwarded", f"for={CLIENT}"), ("X-Forwarded-For", f"1.1.1.1, {CLIENT}")) == CLIENT
    assert key(("Forwarded", "for=1.1.1.1"), ("X-Forwarded-For", CLIENT)) == "10.0.0.1"
    assert key(("Forwarded", "garbage"), ("X-Forwarded-For", CLIENT)) == "10.0.0.1"


def test_if_all_hops_are_proxies_the_leftmost_within_the_limit_is_the_client() -> None:
    assert key(("X-Forwarded-For", "10.0.0.7, 10.0.0.8")) == "10.0.0.7"
    chain = [f"10.0.{number // 250}.{number % 250}" for number in range(1000)]
    assert key(("X-Forwarded-For", ", ".join(chain))) == chain[-32]


def test_an_ipv6_address_counts_as_its_network() -> None:
    found = {key(peer=f"2001:db8:2:3::{number:x}") for number in range(5)}
    assert found == {"2001:db8:2:3::/64"}
    assert key(("X-Forwarded-For", "2001:db8:2:4:ffff::1")) == "2001:db8:2:4::/64"
    assert key(peer="::ffff:10.1.2.3") == "10.1.2.3"


def test_a_peer_without_an_address_is_counted_by_its_name() -> None:
    assert key(("X-Forwarded-For", CLIENT), peer="unknown") == "unknown"


@property_test
@given(TEXTS, TEXTS)
def test_a_client_cannot_choose_its_address_through_a_proxy_that_appends(forwarded: str, listed: str) -> None:
    """The address that the proxy appends counts, whatever the client wrote before it."""
    assert key(("X-Forwarded-For", f"{listed}, {CLIENT}")) == CLIENT
    assert key(("Forwarded", f"{forwarded}, for={CLIENT}")) == CLIENT
    assert key(("Forwarded", forwarded), ("X-Forwarded-For", f"{listed}, {CLIENT}")) in (CLIENT, "10.0.0.1")


@pytest.mark.parametrize("text", ['for="', "10.0.0.1,", ",", ";", '"', "\\", "[", "a=", ":", "1", " "])
def test_long_headers_are_read_in_linear_time(text: str) -> None:
    value = text * (1_000_000 // len(text))
    started = time.process_time()
    key(("Forwarded", value))
    key(("X-Forwarded-For", value))
    assert time.process_time() - started < 5
