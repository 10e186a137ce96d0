"""Clients that request large responses and read nothing, over real sockets with small buffers."""

from __future__ import annotations

import contextlib
import json
import socket
import time
from collections.abc import Iterator

import pytest

from tests.raw_clients import HttpClient, WebServer, envelope, modern_headers, rpc, wait_until
from tests.server.conftest import ServerFactory

SIZE = 16_000_000
WRITE_SECONDS = 2.0
CUT_OFF = "closed a connection whose client did not read the response"


@pytest.fixture(scope="module")
def server(shared_server_factory: ServerFactory) -> Iterator[WebServer]:
    limits = {"writeSeconds": WRITE_SECONDS, "maxResultBytes": 2 * SIZE, "rateRequests": 0}
    with shared_server_factory.http({"limits": limits}) as running:
        yield running


@contextlib.contextmanager
def slow_client(web: HttpClient, request: bytes) -> Iterator[socket.socket]:
    """A connection with a small receive buffer that has sent a request and read nothing."""
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.settimeout(30)
        client.connect(("127.0.0.1", web.port))
        client.sendall(request)
        yield client


def post(path: str, body: object, headers: dict[str, str] | None = None) -> bytes:
    data = json.dumps(body).encode()
    fields = {"Host": "localhost", "Content-Type": "application/json", **(headers or {}), "Content-Length": len(data)}
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return f"POST {path} HTTP/1.1\r\n{head}\r\n".encode() + data


def cut_count(server: WebServer) -> int:
    return server.process.log_text.count(CUT_OFF)


def was_cut_off(client: socket.socket) -> bool:
    """Whether the connection ends before the complete response has arrived."""
    found = 0
    try:
        while chunk := client.recv(1_000_000):
            found += len(chunk)
    except ConnectionError:
        return True
    return found < SIZE


PARAMS = {"name": "odd_big", "arguments": {"size": SIZE}}
MODERN = {"Accept": "application/json, text/event-stream", **modern_headers("tools/call", PARAMS)}
LARGE = {
    "plain": post("/api/v1/tools/odd_big", {"size": SIZE}),
    "plain, closing": post("/api/v1/tools/odd_big", {"size": SIZE}, {"Connection": "close"}),
    "mcp": post("/mcp", rpc("tools/call", envelope(PARAMS)), MODERN),
}


##= docs/spec/host.md#requests
##% A response that waits for its client MUST be aborted when the client reads none of it for `limits.writeSeconds`.
@pytest.mark.parametrize("case", LARGE)
def test_an_unread_response_is_cut_off(server: WebServer, case: str) -> None:
    before = cut_count(server)
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(slow_client(server.web, LARGE[case])) for _ in range(3)]
        wait_until(lambda: cut_count(server) == before + 3, "all three are cut", timeout=30)
        assert all(was_cut_off(client) for client in clients)
    assert server.web.get("/healthz").status == 200
    assert "Traceback" not in server.process.log_text


def test_an_unread_event_stream_response_is_cut_off(server: WebServer) -> None:
    session = server.web.open_session()
    before = cut_count(server)
    headers = {"Accept": "application/json, text/event-stream", **session.headers}
    with slow_client(server.web, post("/mcp", rpc("tools/call", PARAMS), headers)) as client:
        wait_until(lambda: cut_count(server) == before + 1, "it is cut", timeout=30)
        assert was_cut_off(client)
    assert session.ask("ping")["result"] == {}


def test_a_slowly_read_response_arrives_completely(server: WebServer) -> None:
    before = cut_count(server)
    started = time.monotonic()
    with slow_client(server.web, LARGE["plain, closing"]) as client:
        found = pauses = 0
        while chunk := client.recv(100_000):
            found += len(chunk)
            if found > pauses * SIZE / 40:
                pauses += 1
                time.sleep(WRITE_SECONDS / 20)  # the client is slow; nothing is waited for here
    assert found > SIZE
    assert time.monotonic() - started > 2 * WRITE_SECONDS
    assert cut_count(server) == before


##= docs/spec/host.md#requests
##% An open event stream MUST NOT be aborted while its heartbeats still fit into the send buffer.
def test_an_event_stream_that_is_not_read_for_a_while_stays_open(server: WebServer) -> None:
    session = server.web.open_session()
    before = cut_count(server)
    with session.listen() as stream, slow_client(server.web, LARGE["plain"]):
        # When the other connection is cut off, more than the full time has passed.
        wait_until(lambda: cut_count(server) == before + 1, "the other connection is cut off", timeout=30)
        assert session.web.request("DELETE", session.path, headers=session.headers).status == 200
        assert stream.rest() == [], "the stream ended with the session, and not before"
    assert cut_count(server) == before + 1
