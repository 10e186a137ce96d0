"""Batches of protocol 2025-03-26 over HTTP: an array in, an array out, each message served on its own."""

from __future__ import annotations

import json
from typing import Any

from mcp_types import INVALID_REQUEST, JSONRPCRequest
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from contextive.server.guard import replay_body
from contextive.server.jsonrpc import Batch, Refusal, parse_line

_VERSIONS = (None, "2025-03-26")
"""Header values of clients that may send batches; in that version the header did not exist yet."""


class BatchSplitter:
    """Passes single messages through and serves a batch one message after the other."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        body = await Request(scope, receive).body()
        if not body.lstrip().startswith(b"["):
            await self._app(scope, replay_body(body, receive), send)
            return
        await (await self._serve(scope, body, receive))(scope, receive, send)

    async def _serve(self, scope: Scope, body: bytes, receive: Receive) -> Response:
        headers = Headers(scope=scope)
        parsed = parse_line(body)
        if isinstance(parsed, Refusal):
            return JSONResponse(parsed.body(), 400)
        allowed = headers.get("mcp-protocol-version") in _VERSIONS and headers.get("mcp-session-id")
        if not isinstance(parsed, Batch) or not allowed:
            refusal = Refusal(
                INVALID_REQUEST, "Invalid request: batches belong to sessions of protocol 2025-03-26 only."
            )
            return JSONResponse(refusal.body(), 400)
        answers: list[dict[str, Any]] = []
        for item in parsed.items:
            if isinstance(item, Refusal):
                answers.append(item.body())
            elif isinstance(item, JSONRPCRequest) and item.method == "initialize":
                answers.append(
                    Refusal(INVALID_REQUEST, "Invalid request: initialize may not be in a batch.", item.id).body()
                )
            else:
                message = item.model_dump_json(by_alias=True, exclude_unset=True).encode()
                answers += await self._one(scope, message, receive)
        return JSONResponse(answers) if answers else Response(status_code=202)

    async def _one(self, scope: Scope, message: bytes, receive: Receive) -> list[dict[str, Any]]:
        collected = bytearray()

        async def collect(part: Message) -> None:
            if part["type"] == "http.response.body":
                collected.extend(part.get("body", b""))

        headers = [(name, value) for name, value in scope["headers"] if name not in (b"content-length",)]
        headers.append((b"content-length", str(len(message)).encode()))
        await self._app({**scope, "headers": headers}, replay_body(message, receive), collect)
        return _messages(bytes(collected))


def _messages(body: bytes) -> list[dict[str, Any]]:
    """The JSON-RPC messages in a JSON or an event-stream body that answer something."""
    text = body.decode("utf-8", "replace")
    chunks = (
        [text]
        if text.lstrip().startswith("{")
        else [line[5:].strip() for line in text.splitlines() if line.startswith("data:")]
    )
    found = [json.loads(chunk) for chunk in chunks if chunk.startswith("{")]
    return [message for message in found if "id" in message and "method" not in message]
