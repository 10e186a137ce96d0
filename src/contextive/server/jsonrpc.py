"""Parses one line of JSON-RPC into messages to serve, or into the error to answer with. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import mcp_types as types
from mcp_types import INVALID_REQUEST, PARSE_ERROR

from contextive.server.json_body import count_keys, decode_json, has_repeated_key

Message: TypeAlias = types.JSONRPCRequest | types.JSONRPCNotification | types.JSONRPCResponse | types.JSONRPCError

_MAX_BATCH = 100


@dataclass(frozen=True, slots=True)
class Refusal:
    """The JSON-RPC error that answers an invalid message."""

    code: int
    message: str
    request_id: str | int | None = None

    def body(self) -> dict[str, Any]:
        return {"jsonrpc": "2.0", "id": self.request_id, "error": {"code": self.code, "message": self.message}}


@dataclass(frozen=True, slots=True)
class Batch:
    """An array of messages (protocol 2025-03-26), each parsed separately."""

    items: tuple[Message | Refusal, ...]


##= docs/spec/host.md#malformed-messages
##% A line that is not JSON MUST be answered with -32700.
##= docs/spec/host.md#batches
##% A batch of more than 100 messages MUST be refused.
def parse_line(line: bytes) -> Message | Batch | Refusal | None:
    """Parse one line; None for a blank line."""
    if not line.strip():
        return None
    try:
        value = decode_json(line)
    except ValueError:
        return Refusal(PARSE_ERROR, "Parse error: the line is not a single valid JSON value.")
    key_count = count_keys(line)
    if not isinstance(value, list):
        return _parse_with_unique_keys(value, key_count)
    if not value:
        return Refusal(INVALID_REQUEST, "Invalid request: an empty batch.")
    if len(value) > _MAX_BATCH:
        return Refusal(INVALID_REQUEST, f"Invalid request: a batch of more than {_MAX_BATCH} messages.")
    return Batch(tuple(map(_parse_with_unique_keys, value, key_count)))


def _parse_with_unique_keys(value: Any, key_count: Any) -> Message | Refusal:
    """Parse a decoded value, unless one of its keys was repeated. In that case its id is not certain either."""
    if has_repeated_key(value, key_count):
        return Refusal(INVALID_REQUEST, "Invalid request: the message has the same key twice; send each key once.")
    return parse_message(value)


##= docs/spec/host.md#malformed-messages
##% A JSON value that is not a JSON-RPC message MUST be answered with -32600.
##= docs/spec/spexus.md#response-envelope
##% The response to `initialize` MUST have the same id as its request, of the same type.
def parse_message(value: Any) -> Message | Refusal:
    """Parse one decoded JSON value."""
    if not isinstance(value, dict):
        return Refusal(INVALID_REQUEST, "Invalid request: a message is a JSON object.")
    request_id = value.get("id")
    usable_id = request_id if isinstance(request_id, str | int) and not isinstance(request_id, bool) else None
    if value.get("jsonrpc") != "2.0":
        return Refusal(INVALID_REQUEST, 'Invalid request: jsonrpc must be "2.0".', usable_id)
    if "id" in value and usable_id is None and "method" in value:
        return Refusal(INVALID_REQUEST, "Invalid request: id must be a string or an integer.")
    if "method" not in value:
        return _parse_reply(value, usable_id)
    method, params = value["method"], value.get("params")
    if not isinstance(method, str):
        return Refusal(INVALID_REQUEST, "Invalid request: method must be a string.", usable_id)
    if method == "initialize" and not isinstance(params, dict):
        params = None  # check_initialize gives a more detailed error
    if params is not None and not isinstance(params, dict):
        return Refusal(INVALID_REQUEST, "Invalid request: params must be an object.", usable_id)
    if "id" not in value:
        return types.JSONRPCNotification(jsonrpc="2.0", method=method, params=params)
    assert usable_id is not None
    return types.JSONRPCRequest(jsonrpc="2.0", id=usable_id, method=method, params=params)


def _parse_reply(value: dict[str, Any], request_id: str | int | None) -> Message | Refusal:
    if isinstance(value.get("result"), dict) and request_id is not None:
        return types.JSONRPCResponse(jsonrpc="2.0", id=request_id, result=value["result"])
    error = value.get("error")
    if isinstance(error, dict) and isinstance(error.get("code"), int) and isinstance(error.get("message"), str):
        return types.JSONRPCError(
            jsonrpc="2.0",
            id=request_id,
            error=types.ErrorData(code=error["code"], message=error["message"], data=error.get("data")),
        )
    return Refusal(INVALID_REQUEST, "Invalid request: neither a method nor a result.", request_id)
