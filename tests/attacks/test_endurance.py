"""B2, B6, B10, B11: bodies without end, clients that leave, and what a server leaves behind when it goes."""

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
    """The head of a POST as bytes, with whatever lines the attacker likes."""
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
    """Connections that say nothing, or never come to the point; opened before all other attacks of this module."""
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


def test_b2_slow_loris_keeps_nobody_else_waiting(
    target: AttackTarget, loris: tuple[float, list[socket.socket]]
) -> None:
    for era in ERAS:
        target.fire("get_page", {"slug": "siren"}, era=era)
    target.assert_unharmed()


def test_b2_bodies_that_never_end_keep_nobody_else_waiting(target: AttackTarget) -> None:
    if target.web is None:
        # The same on a pipe: the first half of a line, and the other half when somebody else had waited long enough.
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


def test_b2_a_string_of_ten_megabytes_is_refused(target: AttackTarget) -> None:
    body = json.dumps(rpc("tools/call", {"name": "search", "arguments": {"query": "x" * 10 * MEBIBYTE}})).encode()
    if target.web is None:
        assert target.lines(body + b"\n", 1)[0]["error"]["code"] == -32600
    else:
        assert " 413 " in target.raw(head(target, f"Content-Length: {len(body)}") + body).partition("\r\n")[0] + " "
    target.assert_unharmed()


def test_b2_one_byte_over_the_limit_is_refused_and_one_at_the_limit_is_read(target: AttackTarget) -> None:
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
    "B2-length-too-short": (["Content-Length: 10"], json.dumps(rpc("ping")).encode()),
    "B2-length-negative": (["Content-Length: -1"], b"{}"),
    "B2-length-no-number": (["Content-Length: 0x10"], b"{}"),
    "B2-length-huge": (["Content-Length: 99999999999999999999"], b"{}"),
    "B2-two-lengths": (["Content-Length: 2", "Content-Length: 40"], b"{}"),
    "B2-chunk-size-no-number": (["Transfer-Encoding: chunked"], b"zz\r\n{}\r\n0\r\n\r\n"),
    "B2-compressed": (["Content-Encoding: gzip", "Content-Length: 2"], b"\x1f\x8b"),
    "B2-head-without-end": (["X-Long: " + "x" * 200_000], b""),
    "B2-many-headers": ([f"X-{number}: 1" for number in range(20_000)], b""),
}


@pytest.mark.parametrize("case", LIES)
def test_a_request_that_lies_about_its_size_is_refused(target: AttackTarget, case: str) -> None:
    if target.web is None:
        pytest.skip("a line of a pipe has no length but its own")
    lines, body = LIES[case]
    text = target.raw(head(target, *lines) + body, timeout=1.0)
    assert text.startswith(("HTTP/1.1 4", "HTTP/1.1 431")), text[:300]
    target.assert_unharmed(entries=0)


# -- B6: clients that leave ----------------------------------------------------------------------------------------------


def memory(pid: int) -> int:
    """Resident bytes of a process."""
    return int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGESIZE")


def test_b6_a_thousand_clients_that_leave_during_the_answer_cost_nothing(target: AttackTarget) -> None:
    if target.web is None:
        pytest.skip("the one client of a pipe that leaves ends the server: B11")
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
            if number % 8 < 4:  # gone with a reset, not with a farewell
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")

    for number in range(LEAVING // 5):  # what grows once, such as caches and threads, has grown by now
        leave(number)
    target.assert_unharmed(entries=0)
    wait_until(lambda: open_descriptors(pid) < 150, "the first ones are forgotten")
    descriptors, resident = open_descriptors(pid), memory(pid)
    for number in range(LEAVING):
        leave(number)
    target.assert_unharmed(entries=0)
    wait_until(lambda: open_descriptors(pid) <= descriptors + 5, f"no more descriptors than {descriptors}")
    assert memory(pid) - resident < 40 * MEBIBYTE
    told = b"".join(target.process.log_since(before)).decode()
    assert "never retrieved" not in told
    assert "Traceback" not in told, told[told.index("Traceback") - 500 :][:5000]


def test_b2_slow_loris_is_closed_in_the_end(target: AttackTarget, loris: tuple[float, list[socket.socket]]) -> None:
    since, opened = loris
    for connection in opened:
        connection.settimeout(max(0.1, HEAD_SECONDS + 5 - (time.monotonic() - since)))
        with contextlib.suppress(ConnectionError):
            while connection.recv(4096):
                pass
    target.assert_unharmed()


# -- B10, B11: the pipe --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("era", ERAS)
def test_b10_what_a_plugin_prints_is_not_on_the_wire(target: AttackTarget, era: Era) -> None:
    for _ in range(5):
        shot = target.fire("odd_print", {}, era=era)
        assert shot.code is None, shot.text
        assert "printed by a handler" not in shot.text
    target.assert_unharmed()


def children(pid: int) -> list[int]:
    """The processes that one has started, and theirs."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        for word in (task / "children").read_text(encoding="ascii").split():
            found += [int(word), *children(int(word))]
    return found


@pytest.mark.parametrize("busy", [False, True], ids=["idle", "in the middle of calls"])
def test_b11_a_client_that_closes_the_pipe_leaves_no_process_behind(tmp_path: Path, busy: bool) -> None:
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
