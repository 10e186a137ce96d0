"""One HTTP connection without a network: how long it waits for a head and for a reader, and how an answer leaves."""

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


class Wire(asyncio.Transport):
    """What the server sends, piece by piece."""

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


def connect(app: App) -> tuple[TimeoutProtocol, Wire]:
    config = uvicorn.Config(app, log_config=None, access_log=False, server_header=False, date_header=False, ws="none")
    config.load()
    protocol, wire = TimeoutProtocol(config, ServerState(), {}, write_seconds=lambda: WRITE_SECONDS), Wire()
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


async def turns(count: int = 10) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


@run_async
async def test_an_answer_leaves_in_one_piece() -> None:
    protocol, wire = connect(echo)
    for number in range(3):
        protocol.data_received(HEAD + b"body")
        await turns()
        assert len(wire.pieces) == number + 1
        assert wire.pieces[-1].startswith(b"HTTP/1.1 200")
        assert wire.pieces[-1].endswith(b"\r\n\r\nbody")


@run_async
async def test_requests_that_come_together_are_answered_in_their_order() -> None:
    protocol, wire = connect(echo)
    protocol.data_received(HEAD + b"one!" + HEAD + b"two!" + HEAD + b"last")
    await turns(30)
    assert [piece[-4:] for piece in wire.pieces] == [b"one!", b"two!", b"last"]


@run_async
async def test_the_head_of_a_stream_does_not_wait_for_its_first_word() -> None:
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
    await turns()
    assert len(wire.pieces) == 1
    assert wire.pieces[0].startswith(b"HTTP/1.1 200")
    speak.set()
    await turns()
    assert b"".join(wire.pieces[1:]) == b"4\r\nword\r\n0\r\n\r\n"


@run_async
async def test_who_writes_much_in_one_turn_does_not_pile_it_up() -> None:
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
    await turns()
    assert seen[0] >= 10
    assert b"".join(wire.pieces).count(b"x") == 1_000_000


@run_async
async def test_a_closed_connection_has_sent_what_was_written() -> None:
    protocol, wire = connect(echo)
    protocol.data_received(b"nonsense\r\n\r\n")
    assert wire.is_closed
    assert b"".join(wire.pieces).startswith(b"HTTP/1.1 400")


@pytest.mark.parametrize("body", [b"body", b"bo"])
@run_async
async def test_the_application_is_told_that_a_body_is_there_only_where_it_is(body: bytes) -> None:
    scopes: list[dict[str, Any]] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        scopes.append(dict(scope))
        await echo(scope, receive, send)

    protocol, _ = connect(app)
    protocol.data_received(HEAD + body)
    await turns()
    protocol.data_received(HEAD[:10])  # of the next one, or more of this one; nothing that is waited for
    assert [BODY_ARRIVED_KEY in scope for scope in scopes] == [body == b"body"]
    protocol.connection_lost(None)


@run_async
async def test_who_says_nothing_is_closed_and_who_is_answered_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
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
    await turns()
    assert len(busy.pieces) == 1
    protocol.data_received(HEAD[:10])  # the time for this head began with the end of the last answer
    await asyncio.sleep(0.6)
    assert busy.is_closed


@run_async
async def test_every_request_on_a_connection_has_the_whole_time_for_its_head(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "_HEAD_SECONDS", 1.0)
    protocol, wire = connect(echo)
    for _ in range(4):
        await asyncio.sleep(0.4)
        protocol.data_received(HEAD + b"body")
        await turns()
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
async def test_an_answer_that_nobody_reads_is_cut_and_one_that_is_read_slowly_is_not() -> None:
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
async def test_an_open_stream_is_cut_only_when_there_is_no_room_for_more() -> None:
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
async def test_the_application_sees_every_length_of_a_request(lengths: list[bytes], found: list[bytes]) -> None:
    seen: list[list[bytes]] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append([value for name, value in scope["headers"] if name == b"content-length"])
        await echo(scope, receive, send)

    protocol, _ = connect(app)
    request = b"\r\n".join([b"POST / HTTP/1.1", b"Host: localhost", *lengths, b"", b"body"])
    protocol.data_received(HEAD + b"body" + request[:30])
    await turns()
    protocol.data_received(request[30:] + HEAD + b"body")
    await turns(30)
    assert seen == [[b"4"], found, [b"4"]]
    protocol.connection_lost(None)
