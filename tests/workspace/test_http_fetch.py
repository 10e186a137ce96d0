"""Downloading specifications: limits, checks of the response, and storage."""

from __future__ import annotations

import gzip
import itertools
import socket
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from contextive.errors import InvalidRequest, TimedOut, TooLarge, Unavailable, UpstreamError
from contextive.workspace.http_fetch import FetchPolicy, fetch_specification
from tests.workspace.web import LOOSE, TEXT, Site, redirect, refusal, response

# -- successful downloads ----------------------------------------------------------------------------------------------


def test_a_text_is_stored_unchanged_and_directories_are_created(site: Site, destination: Path) -> None:
    fetch_specification(site.url(), destination, policy=LOOSE)
    assert destination.read_bytes() == TEXT
    assert [path.name for path in destination.parent.iterdir()] == ["spec.txt"]


def test_the_request_asks_for_plain_uncompressed_text(site: Site, destination: Path) -> None:
    site.pages["/spec.md?v=1"] = response(TEXT)
    fetch_specification(site.url("/spec.md?v=1#part"), destination, policy=LOOSE)
    lines = site.requests[-1].split("\r\n")
    assert lines[0] == "GET /spec.md?v=1 HTTP/1.1"
    assert f"Host: 127.0.0.1:{site.port}" in lines
    assert "Accept: text/plain, text/markdown;q=0.9, */*;q=0.1" in lines
    assert "Accept-Encoding: identity" in lines


def test_non_ascii_letters_in_a_path_are_percent_encoded(site: Site, destination: Path) -> None:
    site.pages["/sp%C3%A9c.md"] = response(TEXT)
    fetch_specification(site.url("/spéc.md"), destination, policy=LOOSE)
    assert destination.read_bytes() == TEXT


def test_a_chunked_body_is_decoded(site: Site, destination: Path) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/markdown\r\nTransfer-Encoding: chunked\r\n\r\n"
    site.pages["/spec.md"] = head + b"6\r\n# One\n\r\n5\r\n\nTwo\n\r\n0\r\n\r\n"
    fetch_specification(site.url(), destination, policy=LOOSE)
    assert destination.read_bytes() == b"# One\n\nTwo\n"


def test_proxy_variables_are_ignored(site: Site, destination: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    fetch_specification(site.url(), destination, policy=LOOSE)
    assert destination.read_bytes() == TEXT


# -- time and size -----------------------------------------------------------------------------------------------------

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"


def _drip(site: Site, first: bytes, piece: bytes) -> Callable[[socket.socket], None]:
    def drip(connection: socket.socket) -> None:
        connection.sendall(first)
        while not site.closing.wait(0.05):
            connection.sendall(piece)

    return drip


@pytest.mark.parametrize(
    ("first", "piece"),
    [
        (b"", b""),
        (b"HTTP/1.1 200 OK\r\nX: ", b"x"),
        (HEAD + b"Content-Length: 9999\r\n\r\n", b"x"),
        (HEAD + b"\r\n", b"x"),
    ],
    ids=["silence", "slow head", "slow body of known length", "slow body"],
)
def test_a_slow_server_times_out(first: bytes, piece: bytes, site: Site, destination: Path) -> None:
    site.pages["/spec.md"] = _drip(site, first, piece)
    started = time.monotonic()
    assert isinstance(refusal(site.url(), destination, replace(LOOSE, timeout_seconds=0.4)), TimedOut)
    assert time.monotonic() - started < 3


def test_redirects_share_one_time_limit(site: Site, destination: Path) -> None:
    def slow(number: int) -> Callable[[socket.socket], None]:
        def answer(connection: socket.socket) -> None:
            time.sleep(0.2)
            connection.sendall(redirect(f"/{number + 1}.md"))

        return answer

    site.pages |= {f"/{number}.md": slow(number) for number in range(6)}
    assert isinstance(refusal(site.url("/0.md"), destination, replace(LOOSE, timeout_seconds=0.5)), TimedOut)
    assert len(site.requests) < 5


def test_a_hanging_resolver_times_out(destination: Path) -> None:
    def hanging(_host: str, _port: int) -> list[str]:
        time.sleep(2)
        return []

    started = time.monotonic()
    policy = FetchPolicy(resolve=hanging, timeout_seconds=0.2)
    assert isinstance(refusal("https://example.org/x.md", destination, policy), TimedOut)
    assert time.monotonic() - started < 1.5


@pytest.mark.parametrize("known", [True, False], ids=["announced", "endless"])
def test_a_body_over_the_limit_is_refused(known: bool, site: Site, destination: Path) -> None:
    head = HEAD + (b"Content-Length: 10000000000\r\n\r\n" if known else b"\r\n")

    def endless(connection: socket.socket) -> None:
        connection.sendall(head)
        while True:
            connection.sendall(b"x" * 65536)

    site.pages["/spec.md"] = endless
    assert isinstance(refusal(site.url(), destination, replace(LOOSE, max_bytes=100_000)), TooLarge)


def test_a_body_of_exactly_the_limit_is_accepted(site: Site, destination: Path) -> None:
    fetch_specification(site.url(), destination, policy=replace(LOOSE, max_bytes=len(TEXT)))
    assert isinstance(refusal(site.url(), destination, replace(LOOSE, max_bytes=len(TEXT) - 1)), TooLarge)


def test_endless_chunks_and_headers_are_refused(site: Site, destination: Path) -> None:
    def chunks(connection: socket.socket) -> None:
        connection.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
        while True:
            connection.sendall(b"10000\r\n" + b"x" * 65536 + b"\r\n")

    def headers(connection: socket.socket) -> None:
        connection.sendall(HEAD)
        for number in itertools.count():
            connection.sendall(b"X-%d: x\r\n" % number)

    site.pages |= {"/chunks.md": chunks, "/headers.md": headers}
    assert isinstance(refusal(site.url("/chunks.md"), destination, replace(LOOSE, max_bytes=100_000)), TooLarge)
    assert isinstance(refusal(site.url("/headers.md"), destination), UpstreamError)


# -- checks of the response --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "answer",
    [
        response(gzip.compress(TEXT), Content_Encoding="gzip"),
        response(TEXT, Content_Encoding="br"),
        response(TEXT, Transfer_Encoding="gzip, chunked"),
        response(TEXT, status="404 Not Found"),
        response(TEXT, status="500 Oops"),
        response(TEXT, status="206 Partial Content"),
        response(b"", None, status="204 No Content"),
        response(b"", None, status="304 Not Modified"),
        response(TEXT, length=len(TEXT) + 1),
        response(b""),
        response(b" \n"),
        response(b"%PDF-1.7\n\0\0"),
        response(b"A pot M\xfcST brew."),
        response(TEXT, "application/pdf"),
        response(TEXT, "application/json"),
        response(TEXT, "text/xml"),
        response(TEXT, "image/png"),
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\n# One\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n# One\r\n",
        b"SSH-2.0-OpenSSH_9\r\n\r\n",
        b"",
    ],
)
def test_an_incomplete_or_invalid_response_is_refused(answer: bytes, site: Site, destination: Path) -> None:
    site.pages["/spec.md"] = answer
    assert isinstance(refusal(site.url(), destination), UpstreamError)


@pytest.mark.parametrize(
    ("path", "content_type", "accepted"),
    [
        ("/spec.md", "text/plain", True),
        ("/spec", "text/plain", True),
        ("/spec", "text/markdown; charset=UTF-8", True),
        ("/spec.md", "application/octet-stream", True),
        ("/SPEC.TXT", "application/octet-stream", True),
        ("/spec", "application/octet-stream", False),
        ("/spec.md", None, True),
        ("/spec", None, False),
        ("/spec.md/x", "application/octet-stream", False),
    ],
)
def test_the_content_type_or_else_the_suffix_decides(
    path: str, content_type: str | None, accepted: bool, site: Site, destination: Path
) -> None:
    site.pages[path] = response(TEXT, content_type)
    if accepted:
        fetch_specification(site.url(path), destination, policy=LOOSE)
        assert destination.read_bytes() == TEXT
    else:
        assert isinstance(refusal(site.url(path), destination), UpstreamError)


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (TEXT, "text/html"),
        (TEXT, "application/xhtml+xml"),
        (b"<!DOCTYPE html><title>x</title>", "text/plain"),
        (b"\xef\xbb\xbf\n <HTML lang=en>", "text/plain"),
        (b"<!-- hello --> <html>", "text/markdown"),
    ],
)
def test_a_web_page_is_refused_with_a_hint(body: bytes, content_type: str, site: Site, destination: Path) -> None:
    site.pages["/spec.md"] = response(body, content_type)
    error = refusal(site.url(), destination)
    assert "web page" in error.message
    assert error.hint is not None
    assert "plain text" in error.hint


@pytest.mark.parametrize(
    "body", [b"<!-- note -->\n# Title\n", b"<div>\n# Title\n", b"# <html>\n", b"\xef\xbb\xbfRFC 1\n"]
)
def test_markdown_with_some_html_is_accepted(body: bytes, site: Site, destination: Path) -> None:
    site.pages["/spec.md"] = response(body)
    fetch_specification(site.url(), destination, policy=LOOSE)
    assert destination.read_bytes() == body


# -- storage -----------------------------------------------------------------------------------------------------------


def test_an_existing_file_is_replaced(site: Site, destination: Path) -> None:
    destination.parent.mkdir(parents=True)
    destination.write_bytes(b"old")
    fetch_specification(site.url(), destination, policy=LOOSE)
    assert destination.read_bytes() == TEXT


def test_a_link_at_the_destination_is_replaced_and_its_target_unchanged(
    site: Site, destination: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.write_bytes(b"precious")
    destination.parent.mkdir(parents=True)
    destination.symlink_to(outside)
    fetch_specification(site.url(), destination, policy=LOOSE)
    assert outside.read_bytes() == b"precious"
    assert not destination.is_symlink()
    assert destination.read_bytes() == TEXT


def test_a_parent_directory_that_links_out_of_the_project_is_refused(
    site: Site, destination: Path, tmp_path: Path
) -> None:
    outside, project = tmp_path / "outside", tmp_path / "project"
    outside.mkdir()
    project.mkdir()
    (project / "specifications").symlink_to(outside)
    linked = project / "specifications" / "host" / "spec.txt"
    with pytest.raises(InvalidRequest):
        fetch_specification(site.url(), linked, policy=LOOSE, within=project)
    assert list(outside.iterdir()) == []
    fetch_specification(site.url(), project / "real" / "spec.txt", policy=LOOSE, within=project)


@pytest.mark.parametrize("obstacle", ["directory", "file above", "link loop"])
def test_a_destination_that_cannot_be_written_is_reported(obstacle: str, site: Site, destination: Path) -> None:
    match obstacle:
        case "directory":
            destination.mkdir(parents=True)
        case "file above":
            destination.parents[1].write_bytes(b"x")
        case _:
            destination.parents[1].mkdir()
            destination.parent.symlink_to(destination.parent)
    assert isinstance(refusal(site.url(), destination), Unavailable)
