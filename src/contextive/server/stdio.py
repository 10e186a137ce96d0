"""MCP over stdio: both protocol eras on one connection, message by message.

The SDK's own loop ties a connection to the era of its first request, but some clients probe with one era and continue
with the other. Here each request is routed by its own envelope, through one dispatcher, to the SDK's handler for its
era.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

import mcp_types as types
from mcp.server.connection import Connection
from mcp.server.runner import ServerRunner, aclose_shielded, modern_on_request
from mcp.shared.dispatcher import DispatchContext
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import InboundLadderRejection, classify_inbound_request
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from mcp.shared.transport_context import TransportContext
from mcp_types import INVALID_REQUEST, PROTOCOL_VERSION_META_KEY
from pydantic_core import PydanticSerializationError, to_json

from contextive.server.jsonrpc import Batch, Message, Refusal, parse_line
from contextive.server.logs import log_refusal
from contextive.server.pipes import LineReader, LineWriter
from contextive.server.protocol import McpHandlers

logger = logging.getLogger(__name__)

BATCH_VERSION = "2025-03-26"
_QUEUE_LIMIT = 256
_EOF_GRACE_SECONDS = 1.5
_STOP_GRACE_SECONDS = 0.3


async def serve_stdio(handlers: McpHandlers, stop: asyncio.Event, pipe: tuple[int, int], max_line_bytes: int) -> None:
    """Serve one client until it disconnects or `stop` is set. `pipe` comes from `claim_stdio`."""
    await StdioPipe(handlers, max_line_bytes).run(*pipe, stop)


@dataclass
class _OpenBatch:
    """A batch whose answers are collected until its last request is settled."""

    waiting: int
    answers: list[dict[str, Any]] = field(default_factory=list)


class StdioPipe:
    """Standard input and output as the streams that the SDK's dispatcher reads and writes."""

    def __init__(self, handlers: McpHandlers, max_line_bytes: int) -> None:
        self._handlers = handlers
        self._reader = LineReader(max_line_bytes, self._on_line, lambda: self._close(_EOF_GRACE_SECONDS))
        self._writer = LineWriter(lambda: self._close(0.0))
        self._inbox: deque[Message | Batch | Refusal | SessionMessage] = deque()
        self._arrived = asyncio.Event()
        self._in_flight: dict[str | int, _OpenBatch | None] = {}
        self._settled = asyncio.Event()
        self._grace: float | None = None
        self._replies: set[asyncio.Task[None]] = set()
        self._dispatcher: JSONRPCDispatcher[TransportContext] = JSONRPCDispatcher(
            _Inbox(self), _Outbox(self), inline_methods=frozenset({"initialize"})
        )
        self._connection = Connection.for_loop(self._dispatcher)

    ##= docs/spec/host.md#protocol-versions
    ##% The server MUST serve the stateless version 2026-07-28.
    ##= docs/spec/host.md#protocol-versions
    ##% Handshake and stateless requests MUST work on one stdio connection and on one HTTP path, in any order.
    async def run(self, fd_in: int, fd_out: int, stop: asyncio.Event) -> None:
        server = self._handlers.server
        legacy = ServerRunner(server, self._connection, {})
        modern = modern_on_request(server, {})

        async def on_request(
            dctx: DispatchContext[TransportContext], method: str, params: Mapping[str, Any] | None
        ) -> dict[str, Any]:
            if method != "initialize" and (method == "server/discover" or _has_envelope(params)):
                route = classify_inbound_request({"method": method, "params": params})
                if isinstance(route, InboundLadderRejection):
                    log_refusal(str(route.code))
                    raise MCPError(route.code, route.message, route.data)
                return await modern(dctx, method, params)
            return await legacy.on_request(dctx, method, params)

        stopper = asyncio.create_task(self._wait_for(stop))
        await self._writer.start(fd_out)
        await self._reader.start(fd_in)
        try:
            await self._dispatcher.run(on_request, legacy.on_notify)
        finally:
            stopper.cancel()
            await aclose_shielded(self._connection)
            self._reader.close()
            if self._replies:
                await asyncio.wait(self._replies, timeout=_STOP_GRACE_SECONDS)
            await self._writer.close(_STOP_GRACE_SECONDS)

    async def _wait_for(self, stop: asyncio.Event) -> None:
        await stop.wait()
        self._close(_STOP_GRACE_SECONDS)

    # -- inbound -------------------------------------------------------------------------------------------------------

    ##= docs/spec/host.md#malformed-messages
    ##% A malformed message MUST NOT end the process.
    def _on_line(self, line: bytes | None) -> None:
        too_large = Refusal(INVALID_REQUEST, "Invalid request: the message is over the size limit.")
        item = too_large if line is None else parse_line(line)
        if item is not None:
            self._enqueue(item)

    def _enqueue(self, item: Message | Batch | Refusal | SessionMessage) -> None:
        self._inbox.append(item)
        self._arrived.set()
        if len(self._inbox) >= _QUEUE_LIMIT:
            self._reader.pause()

    def _process_item(self, item: Message | Batch | Refusal | SessionMessage) -> SessionMessage | None:
        """The message to dispatch for an item, or None if it was answered here. Called in the order of arrival."""
        match item:
            case SessionMessage():
                return item
            case Refusal():
                self._refuse(item, None)
                return None
            case Batch(items):
                self._open_batch(items)
                return None
            case _:
                return self._admit(item, None)

    ##= docs/spec/host.md#batches
    ##% A session with protocol version 2025-03-26 MUST accept a batch and answer it with one array.
    ##= docs/spec/host.md#batches
    ##% A batch MUST be refused in every other protocol version.
    def _open_batch(self, items: tuple[Message | Refusal, ...]) -> None:
        version = self._connection.protocol_version
        if version != BATCH_VERSION or not self._connection.initialize_accepted:
            refusal = Refusal(INVALID_REQUEST, f"Invalid request: batches belong to protocol {BATCH_VERSION} only.")
            self._refuse(refusal, None)
            return
        batch = _OpenBatch(
            waiting=1
        )  # one for the batch itself, so that it cannot end while its items are being admitted
        admitted: list[SessionMessage] = []
        for item in items:
            if isinstance(item, Refusal):
                self._refuse(item, batch)
            elif isinstance(item, types.JSONRPCRequest) and item.method == "initialize":
                refusal = Refusal(INVALID_REQUEST, "Invalid request: initialize may not be in a batch.", item.id)
                self._refuse(refusal, batch)
            elif (message := self._admit(item, batch)) is not None:
                admitted.append(message)
        self._inbox.extendleft(reversed(admitted))
        self._settle_in_batch(batch)

    ##= docs/spec/host.md#tool-calls
    ##% A client that cancels a call MUST get no response to it.
    ##= docs/spec/host.md#malformed-messages
    ##% A request that reuses the id of a request in flight MUST be refused.
    def _admit(self, message: Message, batch: _OpenBatch | None) -> SessionMessage | None:
        if not isinstance(message, types.JSONRPCRequest):
            return SessionMessage(message)
        request_id = message.id
        if request_id in self._in_flight:
            refusal = Refusal(INVALID_REQUEST, "Invalid request: a request with this id is still open.", request_id)
            self._refuse(refusal, batch)
            return None
        self._in_flight[request_id] = batch
        if batch is not None:
            batch.waiting += 1

        async def unanswered() -> None:
            self._settle(request_id)

        return SessionMessage(message, ServerMessageMetadata(on_request_unanswered=unanswered))

    ##= docs/spec/host.md#shutdown
    ##% When the client closes standard input, the server MUST exit within two seconds.
    def _close(self, grace: float) -> None:
        """Accept no more input. Requests in flight get `grace` seconds to finish; listen streams end immediately."""
        if self._grace is None or grace < self._grace:
            self._grace = grace
            self._handlers.hub.close()
            self._arrived.set()

    async def next_message(self) -> SessionMessage:
        while True:
            while self._inbox:
                message = self._process_item(self._inbox.popleft())
                if len(self._inbox) == _QUEUE_LIMIT // 2:
                    self._reader.resume()
                if message is not None:
                    return message
            if self._grace is not None:
                await self._drain()
                raise StopAsyncIteration
            self._arrived.clear()
            await self._arrived.wait()

    ##= docs/spec/host.md#shutdown
    ##% Calls in flight SHOULD get a short time to finish before the server exits.
    async def _drain(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._grace):
                while self._in_flight:
                    self._settled.clear()
                    await self._settled.wait()

    # -- outbound ------------------------------------------------------------------------------------------------------

    ##= docs/spec/spexus.md#response-envelope
    ##% The response to `initialize` MUST have the field `jsonrpc` with the value 2.0.
    async def send(self, message: Message) -> None:
        if not isinstance(message, types.JSONRPCResponse | types.JSONRPCError):
            await self._writer.write(_encode(message.model_dump(by_alias=True, exclude_unset=True)))
            return
        body = message.model_dump(by_alias=True, exclude_unset=True)
        batch = self._in_flight.get(message.id) if message.id is not None else None
        if batch is not None:
            batch.answers.append(body)
        else:
            await self._writer.write(_encode(body))
        if message.id is not None:
            self._settle(message.id)

    def _settle(self, request_id: str | int) -> None:
        batch = self._in_flight.pop(request_id, None)
        self._settled.set()
        if batch is not None:
            self._settle_in_batch(batch)

    def _settle_in_batch(self, batch: _OpenBatch) -> None:
        batch.waiting -= 1
        if batch.waiting == 0 and batch.answers:
            self._reply(batch.answers)

    def _refuse(self, refusal: Refusal, batch: _OpenBatch | None) -> None:
        log_refusal(str(refusal.code))
        if batch is None:
            self._reply(refusal.body())
        else:
            batch.answers.append(refusal.body())

    def _reply(self, body: dict[str, Any] | list[dict[str, Any]]) -> None:
        """Write a reply that does not come from the dispatcher, without blocking the reader."""
        task = asyncio.ensure_future(self._writer.write(_encode(body)))
        self._replies.add(task)
        task.add_done_callback(self._replies.discard)


class _Stream:
    async def aclose(self) -> None:
        return None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> bool | None:
        return None


class _Inbox(_Stream):
    """The stream that the dispatcher reads."""

    def __init__(self, pipe: StdioPipe) -> None:
        self._pipe = pipe

    async def receive(self) -> SessionMessage | Exception:
        return await self._pipe.next_message()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        return await self._pipe.next_message()


class _Outbox(_Stream):
    """The stream that the dispatcher writes to."""

    def __init__(self, pipe: StdioPipe) -> None:
        self._pipe = pipe

    async def send(self, item: SessionMessage, /) -> None:
        await self._pipe.send(item.message)


def _has_envelope(params: Mapping[str, Any] | None) -> bool:
    """Whether a request has the `_meta` envelope of the stateless era."""
    meta = params.get("_meta") if params else None
    return isinstance(meta, Mapping) and PROTOCOL_VERSION_META_KEY in meta


##= docs/spec/spexus.md#response-envelope
##% The response to `initialize` MUST be valid JSON.
def _encode(body: dict[str, Any] | list[dict[str, Any]]) -> bytes:
    try:
        return to_json(body)
    except (PydanticSerializationError, UnicodeEncodeError):
        # A lone surrogate from a file name or a note: UTF-8 cannot encode it, escaped JSON can.
        return json.dumps(body).encode("ascii")
