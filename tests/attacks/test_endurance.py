"""Endless bodies, clients that disconnect early, and what a server leaves behind when it ends."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.processes import open_descriptors
from tests.raw_clients import rpc, wait_until

from .target import ADMIN, ERAS, AttackTarget, Era, open_target

MEBIBYTE = 1 << 20
LIMIT = 4 * MEBIBYTE
HEAD_SECONDS = 10.0
LEAVING = 1_000


def head(target: AttackTarget, *lines: str, path: str = "/mcp", token: str = ADMIN) -> bytes:
    """Return the head of a POST request as bytes, with any extra lines."""
    assert target.web is not None
    usual = [
        f"POST {path} HTTP/1.1",
        f"Host: 127.0.0.1:{target.web.port}",
        f"Authorization: Bearer {token}",
        "Content-Type: application/json",
        "Accept: application/json, text/event-stream",
    ]
    return "\r\n".join([*usual, *lines, "", ""]).encode()


@pytest.fixture(scope="module")
def loris(target: AttackTarget) -> Iterator[tuple[float, list[socket.socket]]]:
    """Connections that send nothing or never finish a request, opened before all other attacks of this module."""
    if target.web is None:
        yield time.monotonic(), []
        return
    beginnings = (b"", b"G", b"POST /mcp HTTP/1.1\r\n", head(target)[:-2], b"GET /healthz HTTP/1.1\r\nX-Slow: ")
    with contextlib.ExitStack() as stack:
        opened = []
        for number in range(150):
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", target.web.port), timeout=20))
            connection.sendall(beginnings[number % len(beginnings)])
            opened.append(connection)
        yield time.monotonic(), opened


def test_slow_loris_does_not_delay_other_clients(
    target: AttackTarget, loris: tuple[float, list[socket.socket]]
) -> None:
    for era in ERAS:
        target.fire("get_page", {"slug": "siren"}, era=era)
    target.assert_unharmed()


def test_endless_bodies_do_not_delay_other_clients(target: AttackTarget) -> None:
    if target.web is None:
        # The same over stdio: half a line, a pause, and then the other half.
        line = json.dumps(rpc("tools/call", {"name": "get_page", "arguments": {"slug": "siren"}}, "halves")).encode()
        target.process.send_bytes(line[:40])
        time.sleep(0.2)
        assert target.lines(line[40:] + b"\n", 1)[0]["id"] == "halves"
        target.assert_unharmed()
        return
    with contextlib.ExitStack() as stack:
        for lines, body in (
            (["Content-Length: 1000"], b'{"jsonrpc"'),
            (["Transfer-Encoding: chunked"], b'5\r\n{"jso\r\n'),
            (["Transfer-Encoding: chunked"], b"ffffffffffffffffff\r\n{"),
            (["Content-Length: 1000", "Expect: 100-continue"], b""),
        ) * 10:
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", target.web.port), timeout=20))
            connection.sendall(head(target, *lines) + body)
        for era in ERAS:
            target.fire("get_page", {"slug": "siren"}, era=era)
        target.assert_unharmed()


def test_a_string_of_ten_megabytes_is_refused(target: AttackTarget) -> None:
    body = json.dumps(rpc("tools/call", {"name": "search", "arguments": {"query": "x" * 10 * MEBIBYTE}})).encode()
    if target.web is None:
        assert target.lines(body + b"\n", 1)[0]["error"]["code"] == -32600
    else:
        assert " 413 " in target.raw(head(target, f"Content-Length: {len(body)}") + body).partition("\r\n")[0] + " "
    target.assert_unharmed()


def test_a_body_at_the_limit_is_read_and_one_byte_more_is_refused(target: AttackTarget) -> None:
    for extra in (1, 0):
        body = b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":"'
        body += b"x" * (LIMIT + extra - len(body) - 3) + b'"}}'
        assert len(body) == LIMIT + extra
        if target.web is None:
            (reply,) = target.lines(body + b"\n", 1)
            assert ("error" in reply) == bool(extra)
        else:
            shot = target.request("POST", "/mcp", body, {"Accept": "text/event-stream", **target.session().headers})
            assert (shot.status == 413) == bool(extra)
    target.assert_unharmed(entries=1)


LIES = {
    "length-too-short": (["Content-Length: 10"], json.dumps(rpc("ping")).encode()),
    "length-negative": (["Content-Length: -1"], b"{}"),
    "length-not-a-number": (["Content-Length: 0x10"], b"{}"),
    "length-huge": (["Content-Length: 99999999999999999999"], b"{}"),
    "two-lengths": (["Content-Length: 2", "Content-Length: 40"], b"{}"),
    "chunk-size-not-a-number": (["Transfer-Encoding: chunked"], b"zz\r\n{}\r\n0\r\n\r\n"),
    "compressed": (["Content-Encoding: gzip", "Content-Length: 2"], b"\x1f\x8b"),
    "head-without-end": (["X-Long: " + "x" * 200_000], b""),
    "many-headers": ([f"X-{number}: 1" for number in range(20_000)], b""),
}


@pytest.mark.parametrize("case", LIES)
def test_a_request_that_lies_about_its_size_is_refused(target: AttackTarget, case: str) -> None:
    if target.web is None:
        pytest.skip("stdio has no length header")
    lines, body = LIES[case]
    text = target.raw(head(target, *lines) + body, timeout=1.0)
    assert text.startswith(("HTTP/1.1 4", "HTTP/1.1 431")), text[:300]
    target.assert_unharmed(entries=0)


# -- clients that disconnect ------------------------------------------------------------------------------------------


def memory(pid: int) -> int:
    """Resident bytes of a process."""
    return int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGESIZE")


def test_a_thousand_early_disconnects_leak_nothing(target: AttackTarget) -> None:
    if target.web is None:
        pytest.skip("over stdio the server ends with its only client, which another test covers")
    pid = target.process.process.pid
    before = len(target.process.log_since(0))
    session = target.session()
    arguments = {"name": "get_page", "arguments": {"slug": "harbour"}}
    handshake = json.dumps(rpc("tools/call", arguments)).encode()
    in_session = [f"{name}: {value}" for name, value in session.headers.items()]
    rest = json.dumps({"slug": "harbour"}).encode()

    def leave(number: int) -> None:
        way = number % 4
        with socket.create_connection(("127.0.0.1", target.http_client().port), timeout=5) as connection:
            if way == 0:
                body = json.dumps(rpc("tools/call", arguments, number)).encode()
                connection.sendall(head(target, *in_session, f"Content-Length: {len(body)}") + body)
            elif way == 1:
                connection.sendall(head(target, f"Content-Length: {len(rest)}", path="/api/v1/tools/get_page") + rest)
            elif way == 2:
                connection.sendall(head(target, *in_session, f"Content-Length: {len(handshake)}") + handshake[:20])
            else:
                stream = head(target, *in_session).replace(b"POST", b"GET", 1)
                connection.sendall(stream)
                connection.recv(1)
            if number % 8 < 4:  # closed with a reset instead of a FIN
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")

    for number in range(LEAVING // 5):  # warm-up: caches and threads grow once
        leave(number)
    target.assert_unharmed(entries=0)
    wait_until(lambda: open_descriptors(pid) < 150, "the first connections are closed")
    descriptors, resident = open_descriptors(pid), memory(pid)
    for number in range(LEAVING):
        leave(number)
    target.assert_unharmed(entries=0)
    wait_until(lambda: open_descriptors(pid) <= descriptors + 5, f"no more descriptors than {descriptors}")
    assert memory(pid) - resident < 40 * MEBIBYTE
    log = b"".join(target.process.log_since(before)).decode()
    assert "never retrieved" not in log
    assert "Traceback" not in log, log[log.index("Traceback") - 500 :][:5000]


def test_slow_loris_connections_are_closed_in_the_end(
    target: AttackTarget, loris: tuple[float, list[socket.socket]]
) -> None:
    since, opened = loris
    for connection in opened:
        connection.settimeout(max(0.1, HEAD_SECONDS + 5 - (time.monotonic() - since)))
        with contextlib.suppress(ConnectionError):
            while connection.recv(4096):
                pass
    target.assert_unharmed()


# -- stdio -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("era", ERAS)
def test_the_output_of_a_plugin_is_not_sent_to_the_client(target: AttackTarget, era: Era) -> None:
    for _ in range(5):
        shot = target.fire("odd_print", {}, era=era)
        assert shot.code is None, shot.text
        assert "printed by a handler" not in shot.text
    target.assert_unharmed()


def children(pid: int) -> list[int]:
    """Return the process ids of all descendants of a process."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        for word in (task / "children").read_text(encoding="ascii").split():
            found += [int(word), *children(int(word))]
    return found


@pytest.mark.parametrize("busy", [False, True], ids=["idle", "in the middle of calls"])
def test_no_process_remains_after_a_client_closes_stdin(tmp_path: Path, busy: bool) -> None:
    with open_target("stdio", tmp_path) as target:
        pipe = target.process
        if busy:
            for number in range(20):
                call: dict[str, Any] = {"name": "km-ingest-trigger" if number == 0 else "km-search", "arguments": {}}
                call["arguments"] = {} if number == 0 else {"query": f"harbour {number}"}
                pipe.send(rpc("tools/call", call, f"busy-{number}"))
        started = children(pipe.process.pid)
        pipe.close_stdin()
        assert pipe.end_within(2.0) == 0
        assert [pid for pid in started if Path(f"/proc/{pid}").exists()] == []
