"""Only allowed addresses are contacted, whatever the URL, the resolver and the server return."""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import replace
from pathlib import Path

import pytest

from contextive.errors import InvalidRequest, TimedOut, UpstreamError
from contextive.workspace import http_fetch
from contextive.workspace.http_fetch import FetchPolicy, fetch_specification, is_public
from tests.workspace.web import LOOSE, TEXT, Authority, Site, redirect, refusal, response, serving

# -- allowed URLs ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org/spec.md",
        "file:///etc/passwd",
        "gopher://example.org/x",
        "ftp://example.org/x",
        "//example.org/x",
        "example.org/x",
        "",
        "https://",
        "https:///spec.md",
        "https://user@example.org/x",
        "https://user:secret@example.org/x",
        "https://@example.org/x",
        "https://example.org:22/x",
        "https://example.org:0/x",
        "https://example.org:99999/x",
        "https://example.org:port/x",
        "https://0/x",
        "https://2130706433/x",
        "https://0x7f000001/x",
        "https://0x7f.1/x",
        "https://017700000001/x",
        "https://0177.0.0.1/x",
        "https://127.1/x",
        "https://127.0.0.1./x",
        "https://127.0.0.1/x",
        "https://169.254.169.254/latest/meta-data/",
        "https://[::1]/x",
        "https://[::ffff:127.0.0.1]/x",
        "https://[fe80::1%25eth0]/x",
        "https://[::1/x",
        "https://[v1.x]/x",
        "https://exa mple.org/x",
        "https://example.org/a\r\nHost: evil",
        "https://example.org\\@evil.org/x",
        "https://ex\N{CYRILLIC SMALL LETTER A}mple.org/x",
        "https://example.org\N{FULLWIDTH SOLIDUS}x/",
        "https://-example.org/x",
        "https://example..org/x",
        "https://" + "a" * 64 + ".org/x",
        "https://example.org/" + "x" * 3000,
        "https://\udcff.org/x",
    ],
)
def test_a_url_that_is_not_allowed_is_refused_without_a_connection(
    url: str, destination: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object) -> None:
        raise AssertionError("no connection is allowed")

    monkeypatch.setattr(http_fetch, "_connect_to_any", never)
    policy = FetchPolicy(resolve=lambda _host, _port: ["127.0.0.1"])
    error = refusal(url, destination, policy)
    assert isinstance(error, InvalidRequest)
    assert "secret" not in error.full_message()


def test_a_password_in_the_url_is_not_in_the_error(destination: Path) -> None:
    assert "hunter2" not in refusal("https://me:hunter2@example.org/x", destination, FetchPolicy()).full_message()


@pytest.mark.parametrize(
    "address",
    [
        "0.0.0.0",
        "10.1.2.3",
        "100.64.0.1",
        "127.0.0.1",
        "127.255.255.254",
        "169.254.169.254",
        "172.16.0.1",
        "192.0.0.1",
        "192.0.2.1",
        "192.88.99.1",
        "192.168.1.1",
        "198.18.0.1",
        "224.0.0.1",
        "239.255.255.255",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::7f00:1",
        "::ffff:127.0.0.1",
        "::ffff:8.8.8.8",
        "64:ff9b::7f00:1",
        "64:ff9b::a9fe:a9fe",
        "64:ff9b:1::1",
        "100::1",
        "2001:db8::1",
        "2001::1",
        "2002:7f00:1::1",
        "2002:a9fe:a9fe::1",
        "fc00::1",
        "fd12:3456::1",
        "fe80::1",
        "fe80::1%eth0",
        "fec0::1",
        "ff02::1",
    ],
)
def test_private_and_special_addresses_are_not_public(address: str) -> None:
    assert not is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize("address", ["8.8.8.8", "1.1.1.1", "2606:4700::1111", "64:ff9b::808:808"])
def test_public_addresses_are_public(address: str) -> None:
    assert is_public(ipaddress.ip_address(address))


def test_one_private_address_among_public_ones_is_enough_to_refuse(
    destination: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_fetch, "_connect_to_any", lambda *_: pytest.fail("no connection is allowed"))
    policy = FetchPolicy(resolve=lambda _host, _port: ["8.8.8.8", "10.0.0.1", "2606:4700::1111"])
    assert isinstance(refusal("https://example.org/x.md", destination, policy), InvalidRequest)


@pytest.mark.parametrize("answer", [[], ["not an address"], ["8.8.8.8", "nonsense"]])
def test_a_name_without_valid_addresses_is_an_upstream_error(answer: list[str], destination: Path) -> None:
    error = refusal("https://example.org/x.md", destination, FetchPolicy(resolve=lambda _host, _port: answer))
    assert isinstance(error, UpstreamError)


def test_a_failing_resolver_is_an_upstream_error(destination: Path) -> None:
    def failing(_host: str, _port: int) -> list[str]:
        raise socket.gaierror("no such host in the office network")

    error = refusal("https://example.org/x.md", destination, FetchPolicy(resolve=failing))
    assert isinstance(error, UpstreamError)
    assert "office" not in error.full_message()


def test_a_name_is_resolved_once_and_the_connection_uses_that_address(site: Site, destination: Path) -> None:
    """DNS rebinding: a second lookup would return another address, but there is none."""
    answers = iter([["127.0.0.1"]])
    policy = replace(LOOSE, resolve=lambda _host, _port: next(answers))
    fetch_specification(site.url(host="spec.example"), destination, policy=policy)
    assert destination.read_bytes() == TEXT
    assert f"Host: spec.example:{site.port}" in site.requests[0]


def test_a_name_that_becomes_private_between_two_redirects_is_refused(
    site: Site, destination: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_fetch, "is_public", lambda address: str(address) == "127.0.0.1")
    site.pages["/first.md"] = redirect("/spec.md")
    answers = iter([["127.0.0.1"], ["127.0.0.2"]])
    policy = replace(LOOSE, allow_private=False, resolve=lambda _host, _port: next(answers))
    error = refusal(site.url("/first.md", host="spec.example"), destination, policy)
    assert isinstance(error, UpstreamError)
    assert site.paths == ["/first.md"]
    assert "127.0.0" not in error.full_message()


def test_the_next_address_is_tried_when_one_does_not_answer(site: Site, destination: Path) -> None:
    policy = replace(LOOSE, resolve=lambda _host, _port: ["127.0.0.3", "127.0.0.1"])
    fetch_specification(site.url(host="spec.example"), destination, policy=policy)
    assert destination.read_bytes() == TEXT


def test_a_missing_server_is_an_upstream_error(destination: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    assert isinstance(refusal(f"http://127.0.0.1:{port}/x.md", destination), UpstreamError)


# -- redirects ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "303 See", "307 Temporary", "308 Permanent"])
def test_a_redirect_is_followed(status: str, site: Site, destination: Path) -> None:
    site.pages["/old"] = redirect("spec.md", status)
    fetch_specification(site.url("/old"), destination, policy=LOOSE)
    assert site.paths == ["/old", "/spec.md"]


@pytest.mark.parametrize(("count", "arrives"), [(5, True), (6, False)])
def test_five_redirects_are_followed_and_no_more(count: int, arrives: bool, site: Site, destination: Path) -> None:
    site.pages |= {f"/{step}.md": redirect(f"/{step + 1}.md") for step in range(count)}
    site.pages[f"/{count}.md"] = response(TEXT)
    if arrives:
        fetch_specification(site.url("/0.md"), destination, policy=LOOSE)
    else:
        assert isinstance(refusal(site.url("/0.md"), destination), UpstreamError)
    assert len(site.requests) == 6


def test_redirect_loops_are_detected(site: Site, destination: Path) -> None:
    site.pages |= {"/a": redirect("/b"), "/b": redirect("/a#again")}
    assert "loop" in refusal(site.url("/a"), destination).message
    assert site.paths == ["/a", "/b"]


@pytest.mark.parametrize(
    "location",
    [
        "http://169.254.169.254/latest/meta-data/",
        "http://[::1]:{port}/spec.md",
        "http://localhost:{port}/spec.md",
        "http://127.0.0.2:{port}/spec.md",
        "//127.0.0.2:{port}/spec.md",
        "http://2130706433:{port}/spec.md",
        "file:///etc/passwd",
        "gopher://127.0.0.1/x",
        "http://user:secret@127.0.0.1:{port}/spec.md",
        "http://[bad/spec.md",
        "",
    ],
)
def test_a_redirect_to_a_url_that_is_not_allowed_is_an_upstream_error(
    location: str, site: Site, destination: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_fetch, "is_public", lambda address: str(address) == "127.0.0.1")
    site.pages["/old"] = redirect(location.format(port=site.port))
    policy = replace(LOOSE, allow_private=False, resolve=lambda _host, _port: ["127.0.0.2"])
    error = refusal(site.url("/old"), destination, policy)
    assert isinstance(error, UpstreamError)
    assert "169.254" not in error.full_message()
    assert site.paths == ["/old"]


# -- TLS ---------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority.make(tmp_path_factory.mktemp("authority"))


def test_https_works_if_the_certificate_matches_the_name(authority: Authority, destination: Path) -> None:
    policy = FetchPolicy(
        allow_private=True, ports=None, resolve=lambda _host, _port: ["127.0.0.1"], tls=authority.trusted()
    )
    with serving({"/spec.md": response(TEXT)}, tls=authority.server("spec.example")) as site:
        fetch_specification(site.url(scheme="https", host="spec.example"), destination, policy=policy)
    assert destination.read_bytes() == TEXT


@pytest.mark.parametrize("fault", ["name", "authority", "expired"])
def test_an_invalid_certificate_is_refused(fault: str, authority: Authority, destination: Path, tmp_path: Path) -> None:
    trusted = Authority.make(tmp_path).trusted() if fault == "authority" else authority.trusted()
    server = authority.server("other.example" if fault == "name" else "spec.example", expired=fault == "expired")
    policy = FetchPolicy(allow_private=True, ports=None, resolve=lambda _host, _port: ["127.0.0.1"], tls=trusted)
    with serving({"/spec.md": response(TEXT)}, tls=server) as site:
        error = refusal(site.url(scheme="https", host="spec.example"), destination, policy)
        assert isinstance(error, UpstreamError)
        assert "certificate" in error.message
        assert site.requests == []


def test_a_private_certificate_authority_is_not_trusted_by_default(authority: Authority, destination: Path) -> None:
    policy = FetchPolicy(allow_private=True, ports=None, resolve=lambda _host, _port: ["127.0.0.1"])
    with serving({"/spec.md": response(TEXT)}, tls=authority.server("spec.example")) as site:
        assert "certificate" in refusal(site.url(scheme="https", host="spec.example"), destination, policy).message


def test_a_redirect_from_https_to_http_is_refused(authority: Authority, site: Site, destination: Path) -> None:
    policy = replace(LOOSE, resolve=lambda _host, _port: ["127.0.0.1"], tls=authority.trusted())
    with serving({"/spec.md": redirect(site.url())}, tls=authority.server("spec.example")) as secure:
        error = refusal(secure.url(scheme="https", host="spec.example"), destination, policy)
    assert isinstance(error, UpstreamError)
    assert site.requests == []


def test_a_truncated_tls_stream_is_refused(authority: Authority, destination: Path) -> None:
    def cut(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nA pot MUST")

    policy = replace(LOOSE, resolve=lambda _host, _port: ["127.0.0.1"], tls=authority.trusted())
    with serving({"/spec.md": cut}, tls=authority.server("spec.example")) as site:
        assert isinstance(refusal(site.url(scheme="https", host="spec.example"), destination, policy), UpstreamError)


def test_a_server_without_tls_is_an_upstream_error(site: Site, destination: Path) -> None:
    def garbage(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 400 Bad\r\n\r\n")

    site.pages["/spec.md"] = garbage
    assert isinstance(
        refusal(site.url(scheme="https"), destination, replace(LOOSE, timeout_seconds=1)), TimedOut | UpstreamError
    )
