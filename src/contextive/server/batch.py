"""Checks the body of an MCP request over HTTP as strictly as a line on stdio, and splits batches.

A batch (protocol 2025-03-26) is an array of messages, answered with an array. Each message is served separately.
"""

from __future__ import annotations

import json
from typing import Any

from mcp_types import HEADER_MISMATCH, INVALID_REQUEST, PROTOCOL_VERSION_META_KEY, JSONRPCRequest
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from contextive.server.guard import BODY_KEY, replay_body
from contextive.server.headers import RequestHeaders
from contextive.server.jsonrpc import Batch, Refusal, parse_line
from contextive.server.jsonrpc import Message as RpcMessage
from contextive.server.logs import log_refusal
from contextive.server.protocol import REQUEST_ID_KEY

_BATCH_VERSIONS = (None, "2025-03-26")
"""Protocol version headers of clients that may send batches. The header did not exist yet in that version."""


class BatchSplitter:
    """Forwards single messages, refuses invalid ones, and serves a batch one message after the other."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._open: set[tuple[str, str]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        match parse_line(scope[BODY_KEY]):
            case Batch(items):
                await (await self._serve(scope, items, receive))(scope, receive, send)
            case Refusal() as refusal:
                await JSONResponse(refusal.body(), 400)(scope, receive, send)
            case JSONRPCRequest(method="initialize", params=None) as bare:
                # Re-encoded without params: the SDK would reject whatever the client sent as params.
                status, body = await self._send_one(bare, scope, receive)
                await Response(body, status, media_type=_media_type(body))(scope, receive, send)
            case message:
                await self._forward(message, scope, receive, send)

    ##= docs/spec/host.md#malformed-messages
    ##% A request that reuses the id of a request in flight MUST be refused.
    async def _forward(self, message: RpcMessage | None, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward a message to its session, unless a request with the same id is still open there.

        The SDK would give the second request the stream of the first, which would then wait forever. It compares ids
        as text.
        """
        headers = RequestHeaders(scope)
        session = headers.get(b"mcp-session-id")
        if isinstance(message, JSONRPCRequest) and _version_mismatch(message, headers):
            refusal = Refusal(HEADER_MISMATCH, "Header and body name different protocol versions.", message.id)
            await JSONResponse(refusal.body(), 400)(scope, receive, send)
            return
        if not isinstance(message, JSONRPCRequest) or session is None:
            await self._app(scope, receive, send)
            return
        key = (session, str(message.id))
        if key in self._open:
            refusal = Refusal(INVALID_REQUEST, "Invalid request: a request with this id is still open.", message.id)
            await JSONResponse(refusal.body(), 400)(scope, receive, send)
            return
        self._open.add(key)
        try:
            await self._app(scope, receive, send)
        finally:
            self._open.discard(key)

    ##= docs/spec/host.md#batches
    ##% A session with protocol version 2025-03-26 MUST accept a batch and answer it with one array.
    async def _serve(self, scope: Scope, items: tuple[RpcMessage | Refusal, ...], receive: Receive) -> Response:
        headers = RequestHeaders(scope)
        if headers.get(b"mcp-protocol-version") not in _BATCH_VERSIONS or not headers.get(b"mcp-session-id"):
            refusal = Refusal(
                INVALID_REQUEST, "Invalid request: batches belong to sessions of protocol 2025-03-26 only."
            )
            return JSONResponse(refusal.body(), 400)
        answers: list[dict[str, Any]] = []
        for item in items:
            if isinstance(item, JSONRPCRequest) and item.method == "initialize":
                item = Refusal(INVALID_REQUEST, "Invalid request: initialize may not be in a batch.", item.id)
            if isinstance(item, Refusal):
                log_refusal(str(item.code), requestId=scope.get(REQUEST_ID_KEY))
                answers.append(item.body())
            else:
                status, body = await self._send_one(item, scope, receive)
                if status == 404:  # the session is gone, and with it all answers of the batch
                    return Response(body, status, media_type="application/json")
                answers += _messages(body)
        return JSONResponse(answers) if answers else Response(status_code=202)

    async def _send_one(self, message: RpcMessage, scope: Scope, receive: Receive) -> tuple[int, bytes]:
        """Serve one message; return the status and body of the response."""
        encoded = message.model_dump_json(by_alias=True, exclude_unset=True).encode()
        status, collected = 0, bytearray()

        async def collect(part: Message) -> None:
            nonlocal status
            if part["type"] == "http.response.start":
                status = part["status"]
            elif part["type"] == "http.response.body":
                collected.extend(part.get("body", b""))

        headers = [(name, value) for name, value in scope["headers"] if name not in (b"content-length",)]
        headers.append((b"content-length", str(len(encoded)).encode()))
        await self._forward(message, {**scope, "headers": headers}, replay_body(encoded, receive), collect)
        return status, bytes(collected)


def _version_mismatch(message: JSONRPCRequest, headers: RequestHeaders) -> bool:
    """Whether a stateless request has the header of a handshake version. The SDK would go by the header."""
    meta = (message.params or {}).get("_meta")
    named = meta.get(PROTOCOL_VERSION_META_KEY) if isinstance(meta, dict) else None
    header = headers.get(b"mcp-protocol-version")
    return named is not None and header in HANDSHAKE_PROTOCOL_VERSIONS and header != named


def _media_type(body: bytes) -> str:
    return "application/json" if body.lstrip().startswith(b"{") else "text/event-stream"


def _messages(body: bytes) -> list[dict[str, Any]]:
    """The JSON-RPC responses in a JSON or event-stream body."""
    text = body.decode("utf-8", "replace")
    chunks = (
        [text]
        if text.lstrip().startswith("{")
        else [line[5:].strip() for line in text.splitlines() if line.startswith("data:")]
    )
    found = [json.loads(chunk) for chunk in chunks if chunk.startswith("{")]
    return [message for message in found if "id" in message and "method" not in message]
