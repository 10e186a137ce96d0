"""Shutdown of the HTTP server, and clients that disconnect."""

from __future__ import annotations

import contextlib
import json
import signal
import socket
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.plugins.packages import write_config
from tests.processes import clean_environment, open_descriptors
from tests.raw_clients import (
    PROGRAM,
    EventStream,
    WebServer,
    envelope,
    modern_headers,
    rpc,
    wait_until,
)
from tests.server.conftest import ServerFactory

SUBSCRIPTION_ID = "io.modelcontextprotocol/subscriptionId"
LISTEN = {"notifications": {"toolsListChanged": True, "resourceSubscriptions": ["/server"]}}


def listen_headers() -> dict[str, str]:
    accepted = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
    return {**accepted, **modern_headers("subscriptions/listen")}


def listen_body() -> bytes:
    return json.dumps(rpc("subscriptions/listen", envelope(LISTEN), "ear")).encode()


##= docs/spec/host.md#shutdown
##% Before it exits, the server MUST close its open connections and streams.
##= docs/spec/host.md#shutdown
##% At shutdown, the server MUST end every open event stream with its final frame.
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_open_streams_end_cleanly_when_the_server_stops(server_factory: ServerFactory, number: signal.Signals) -> None:
    with server_factory.http() as running:
        session = running.web.open_session()
        post = running.web.stream("POST", "/mcp", listen_body(), listen_headers())
        with session.listen() as session_stream, post as listening:
            assert listening.next()["method"] == "notifications/subscriptions/acknowledged"
            ended: list[object] = []
            thread = threading.Thread(target=lambda: ended.extend([session_stream.rest(), listening.rest()]))
            thread.start()
            running.process.signal(number)
            assert running.process.end_within(1.5) == 0
            thread.join(5)
            assert len(ended) == 2, "both streams were ended by the server"
        assert "Traceback" not in running.process.log_text


def test_a_slow_call_does_not_delay_shutdown_longer_than_configured(server_factory: ServerFactory) -> None:
    with (
        server_factory.http({"server": {"shutdownSeconds": 1}}) as running,
        socket.create_connection(("127.0.0.1", running.web.port)) as connection,
    ):
        body = b'{"seconds": 60.0}'
        connection.sendall(
            b"POST /api/v1/tools/odd_block HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Content-Length: %d\r\n\r\n" % len(body) + body
        )
        # A second request on another connection is answered only after the first was accepted.
        assert running.web.get("/healthz").status == 200
        running.process.signal(signal.SIGTERM)
        assert running.process.end_within(2.5) == 0


##= docs/spec/host.md#reload
##% When a reload changes a list that clients see, the server MUST notify every client whose list changed.
def test_changes_reach_the_streams_of_both_eras(server_factory: ServerFactory) -> None:
    file = server_factory.config({"toolPacks": {"odd": {}}})
    with server_factory.http_with(file) as running:
        session = running.web.open_session()
        assert session.ask("resources/subscribe", {"uri": "contextive:///server"})["result"] == {}
        post = running.web.stream("POST", "/mcp", listen_body(), listen_headers())
        with session.listen() as session_stream, post as listening:
            first = listening.next()
            assert first["method"] == "notifications/subscriptions/acknowledged"
            write_config(file, {"toolPacks": {}})
            received = collect(listening, 2)
            assert [m["method"] for m in received] == [
                "notifications/tools/list_changed",
                "notifications/resources/updated",
            ]
            assert {m["params"]["_meta"][SUBSCRIPTION_ID] for m in received} == {"ear"}
            assert received[1]["params"]["uri"] == "/server"
            methods = [m["method"] for m in collect(session_stream, 4)]
            assert methods == [
                "notifications/tools/list_changed",
                "notifications/resources/list_changed",
                "notifications/prompts/list_changed",
                "notifications/resources/updated",
            ]


def collect(stream: EventStream, count: int) -> list[Any]:
    return [stream.next() for _ in range(count)]


def open_sockets(pid: int) -> int:
    found = 0
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            found += str(entry.readlink()).startswith("socket:")
    return found


def test_a_thousand_vanished_clients_leave_no_open_descriptor(server_factory: ServerFactory) -> None:
    with server_factory.http({"limits": {"rateRequests": 0}}) as running:
        session = running.web.open_session()
        pid = running.process.process.pid
        before = open_sockets(pid)
        vanish(running, session.headers, 1000)
        wait_until(lambda: open_sockets(pid) <= before + 3, "the descriptors are free again", timeout=20)
        assert open_descriptors(pid) < 200  # the files of the index, and one connection per thread that uses it
        assert session.ask("ping")["result"] == {}
        assert running.web.get("/healthz").status == 200
        assert "Traceback" not in running.process.log_text


def vanish(running: WebServer, headers: dict[str, str], times: int) -> None:
    """Open connections, send a request or part of one, and disconnect without reading the response."""
    header_lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items()).encode()
    head = (
        b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Accept: application/json, text/event-stream\r\n" + header_lines
    )
    stream = b"GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n" + header_lines + b"\r\n"
    healthz = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    for number in range(times):
        call = json.dumps(rpc("tools/call", {"name": "odd_big", "arguments": {"size": 200_000}}, f"v{number}")).encode()
        whole = head + b"Content-Length: %d\r\n\r\n" % len(call) + call
        kinds = [whole, whole[: len(whole) // 2], b"", b"GET /he", healthz, stream]
        with socket.create_connection(("127.0.0.1", running.web.port), timeout=10) as connection:
            connection.sendall(kinds[number % len(kinds)])


def test_a_port_in_use_is_a_clear_error(server_factory: ServerFactory) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = subprocess.run(
            [*PROGRAM, "serve", "--http", "--port", str(port)],
            cwd=server_factory.folder,
            env=clean_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=20,
        )
    assert done.returncode == 1
    assert f"Cannot listen on 127.0.0.1:{port}" in done.stderr
    assert "Traceback" not in done.stderr
