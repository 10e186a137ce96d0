"""One HTTP connection without a network: timeouts for the headers and for the reader, and how responses are sent."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import uvicorn
from starlette.types import Message, Receive, Scope, Send
from uvicorn.server import ServerState

from contextive.server import connections
from contextive.server.connections import BODY_ARRIVED_KEY, TimeoutProtocol
from tests.async_tests import run_async

HEAD = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\n"
WRITE_SECONDS = 0.2
App = Callable[[Scope, Receive, Send], Awaitable[None]]


class RecordingTransport(asyncio.Transport):
    """A transport that records each write of the server."""

    def __init__(self) -> None:
        super().__init__({"peername": ("127.0.0.1", 1), "sockname": ("127.0.0.1", 2)})
        self.pieces: list[bytes] = []
        self.unread = 0
        self.closed = asyncio.Event()
        self.aborted = asyncio.Event()

    @property
    def is_closed(self) -> bool:
        return self.closed.is_set()

    def write(self, data: bytes | bytearray | memoryview) -> None:
        assert not self.is_closed
        self.pieces.append(bytes(data))

    def close(self) -> None:
        self.closed.set()

    def abort(self) -> None:
        self.aborted.set()
        self.closed.set()

    def is_closing(self) -> bool:
        return self.is_closed

    def get_write_buffer_size(self) -> int:
        return self.unread

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...


def connect(app: App) -> tuple[TimeoutProtocol, RecordingTransport]:
    config = uvicorn.Config(app, log_config=None, access_log=False, server_header=False, date_header=False, ws="none")
    config.load()
    protocol, wire = (
        TimeoutProtocol(config, ServerState(), {}, write_seconds=lambda: WRITE_SECONDS),
        RecordingTransport(),
    )
    protocol.connection_made(wire)
    return protocol, wire


def start(length: int | None) -> Message:
    headers = [] if length is None else [(b"content-length", str(length).encode())]
    return {"type": "http.response.start", "status": 200, "headers": headers}


def part(body: bytes, *, more: bool = False) -> Message:
    return {"type": "http.response.body", "body": body, "more_body": more}


async def echo(_scope: Scope, receive: Receive, send: Send) -> None:
    body = (await receive())["body"]
    await send(start(len(body)))
    await send(part(body))


async def loop_iterations(count: int = 10) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


@run_async
async def test_a_response_is_sent_in_one_write() -> None:
    protocol, wire = connect(echo)
    for number in range(3):
        protocol.data_received(HEAD + b"body")
        await loop_iterations()
        assert len(wire.pieces) == number + 1
        assert wire.pieces[-1].startswith(b"HTTP/1.1 200")
        assert wire.pieces[-1].endswith(b"\r\n\r\nbody")


@run_async
async def test_pipelined_requests_are_answered_in_order() -> None:
    protocol, wire = connect(echo)
    protocol.data_received(HEAD + b"one!" + HEAD + b"two!" + HEAD + b"last")
    await loop_iterations(30)
    assert [piece[-4:] for piece in wire.pieces] == [b"one!", b"two!", b"last"]


@run_async
async def test_the_headers_of_a_stream_do_not_wait_for_its_first_event() -> None:
    speak = asyncio.Event()

    async def stream(_scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await send(start(None))
        await speak.wait()
        await send(part(b"word", more=True))
        await speak.wait()
        await send(part(b""))

    protocol, wire = connect(stream)
    protocol.data_received(HEAD + b"body")
    await loop_iterations()
    assert len(wire.pieces) == 1
    assert wire.pieces[0].startswith(b"HTTP/1.1 200")
    speak.set()
    await loop_iterations()
    assert b"".join(wire.pieces[1:]) == b"4\r\nword\r\n0\r\n\r\n"


@run_async
async def test_large_writes_in_one_loop_iteration_are_not_buffered_without_limit() -> None:
    seen: list[int] = []

    async def large(_scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await send(start(None))
        for _ in range(100):
            await send(part(b"x" * 10_000, more=True))
        seen.append(len(wire.pieces))
        await send(part(b""))

    protocol, wire = connect(large)
    protocol.data_received(HEAD + b"body")
    await loop_iterations()
    assert seen[0] >= 10
    assert b"".join(wire.pieces).count(b"x") == 1_000_000


@run_async
async def test_closing_a_connection_sends_what_was_written() -> None:
    protocol, wire = connect(echo)
    protocol.data_received(b"nonsense\r\n\r\n")
    assert wire.is_closed
    assert b"".join(wire.pieces).startswith(b"HTTP/1.1 400")


@pytest.mark.parametrize("body", [b"body", b"bo"])
@run_async
async def test_the_scope_says_that_the_body_arrived_only_if_it_did(body: bytes) -> None:
    scopes: list[dict[str, Any]] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        scopes.append(dict(scope))
        await echo(scope, receive, send)

    protocol, _ = connect(app)
    protocol.data_received(HEAD + body)
    await loop_iterations()
    protocol.data_received(HEAD[:10])  # the start of the next request, or more of this body; nothing waits for it
    assert [BODY_ARRIVED_KEY in scope for scope in scopes] == [body == b"body"]
    protocol.connection_lost(None)


@run_async
async def test_a_silent_connection_is_closed_and_one_being_answered_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "_HEAD_SECONDS", 0.2)
    go_on = asyncio.Event()

    async def slow(scope: Scope, receive: Receive, send: Send) -> None:
        await go_on.wait()
        await echo(scope, receive, send)

    _, silent = connect(slow)
    protocol, busy = connect(slow)
    protocol.data_received(HEAD + b"body")
    await asyncio.sleep(0.6)
    assert (silent.is_closed, busy.is_closed) == (True, False)
    go_on.set()
    await loop_iterations()
    assert len(busy.pieces) == 1
    protocol.data_received(HEAD[:10])  # the time for these headers began when the last response ended
    await asyncio.sleep(0.6)
    assert busy.is_closed


@run_async
async def test_every_request_on_a_connection_has_the_full_time_for_its_headers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "_HEAD_SECONDS", 1.0)
    protocol, wire = connect(echo)
    for _ in range(4):
        await asyncio.sleep(0.4)
        protocol.data_received(HEAD + b"body")
        await loop_iterations()
    assert not wire.is_closed
    assert len(wire.pieces) == 4
    protocol.connection_lost(None)


@run_async
async def test_a_lost_connection_leaves_no_timer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "_HEAD_SECONDS", 0.05)
    protocol, wire = connect(echo)
    protocol.connection_lost(ConnectionResetError())
    await asyncio.sleep(0.2)
    assert not wire.is_closed


##= docs/spec/host.md#requests
##% A response that waits for its client MUST be aborted when the client reads none of it for `limits.writeSeconds`.
@run_async
async def test_an_unread_response_is_cut_off_and_a_slowly_read_one_is_not() -> None:
    protocol, wire = connect(echo)
    wire.unread = 30
    protocol.data_received(HEAD + b"body")
    for _ in range(20):
        await asyncio.sleep(WRITE_SECONDS / 5)
        assert not wire.is_closed
        wire.unread -= 1
    async with asyncio.timeout(30):
        await wire.aborted.wait()


##= docs/spec/host.md#requests
##% An open event stream MUST NOT be aborted while its heartbeats still fit into the send buffer.
@run_async
async def test_an_open_stream_is_cut_off_only_when_its_write_buffer_is_full() -> None:
    end = asyncio.Event()

    async def stream(_scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await send(start(None))
        await send(part(b": heartbeat", more=True))
        await end.wait()

    protocol, wire = connect(stream)
    wire.unread = 10
    protocol.data_received(HEAD + b"body")
    await asyncio.sleep(WRITE_SECONDS * 4)
    assert not wire.is_closed
    protocol.pause_writing()
    async with asyncio.timeout(30):
        await wire.aborted.wait()
    protocol.connection_lost(None)
    end.set()


@pytest.mark.parametrize(
    ("lengths", "found"),
    [
        ([b"Content-Length: 4"], [b"4"]),
        ([b"Content-Length: 4", b"X: content-length: 4"], [b"4"]),
        ([b"Content-Length: 4", b"content-length:4"], [b"4", b"4"]),
        ([b"CONTENT-LENGTH: 4, 4", b"Content-Length: 4"], [b"4", b"4", b"4"]),
    ],
)
@run_async
async def test_the_application_sees_every_content_length_of_a_request(lengths: list[bytes], found: list[bytes]) -> None:
    seen: list[list[bytes]] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append([value for name, value in scope["headers"] if name == b"content-length"])
        await echo(scope, receive, send)

    protocol, _ = connect(app)
    request = b"\r\n".join([b"POST / HTTP/1.1", b"Host: localhost", *lengths, b"", b"body"])
    protocol.data_received(HEAD + b"body" + request[:30])
    await loop_iterations()
    protocol.data_received(request[30:] + HEAD + b"body")
    await loop_iterations(30)
    assert seen == [[b"4"], found, [b"4"]]
    protocol.connection_lost(None)
