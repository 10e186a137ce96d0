"""Checks an `initialize` request and explains to client developers what is wrong with it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_REQUEST, ClientCapabilities
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic import ValidationError

_DATE = re.compile(r"^[0-9]{4}-[0-9]{2}-[0-9]{2}\Z")
_FORMAT = "YYYY-MM-DD"


##= docs/spec/spexus.md#malformed-requests
##% An `initialize` without a parameters object MUST be refused with -32600.
##= docs/spec/spexus.md#malformed-requests
##% An `initialize` without a non-empty client name and a non-empty client version MUST be refused with -32600.
def check_initialize(params: Mapping[str, Any] | None, pinned_version: str | None) -> None:
    """Raise for a malformed `initialize`, with what was received and what is expected.

    A profile with a pinned version requires a date as version; the others pass any string on to negotiation.
    """
    supported = [pinned_version] if pinned_version is not None else list(HANDSHAKE_PROTOCOL_VERSIONS)
    if params is None:
        raise _malformed("params must be an object", None, supported)
    version = params.get("protocolVersion")
    if not isinstance(version, str):
        raise _malformed("protocolVersion must be a string", version, supported)
    ##= docs/spec/spexus.md#malformed-requests
    ##% A protocol version that is not in the format YYYY-MM-DD MUST be refused with -32600.
    if pinned_version is not None and not _DATE.match(version):
        raise _malformed("protocolVersion is not a date", version, supported)
    client = params.get("clientInfo")
    if not isinstance(client, Mapping):
        raise _malformed("clientInfo must be an object with name and version", version, supported)
    for field in ("name", "version"):
        if not isinstance(client.get(field), str) or (pinned_version is not None and not client[field]):
            raise _malformed(f"clientInfo.{field} must be a non-empty string", version, supported)
    if not isinstance(params.get("_meta", {}), Mapping):
        raise _malformed("params._meta must be an object", version, supported)
    ##= docs/spec/spexus.md#malformed-requests
    ##% Missing or malformed client capabilities MUST be treated as no capabilities.
    if isinstance(params, dict) and not _well_formed(params.get("capabilities")):
        # Older clients may omit capabilities; malformed ones count as none.
        params["capabilities"] = {}


def _well_formed(capabilities: object) -> bool:
    try:
        ClientCapabilities.model_validate(capabilities)
    except ValidationError:
        return False
    return True


##= docs/spec/spexus.md#response-envelope
##% A failed `initialize` MUST be answered with a JSON-RPC 2.0 error instead of a result.
##= docs/spec/spexus.md#malformed-requests
##% The error for a refused `initialize` MUST name the supported versions, the received version, and the expected
##% format.
def _malformed(message: str, received: object, supported: list[str]) -> MCPError:
    version = received[:64] if isinstance(received, str) else received if isinstance(received, int | float) else None
    return MCPError(
        INVALID_REQUEST,
        f"Malformed initialize: {message}.",
        {
            "code": "invalid_request",
            "supported_versions": supported,
            "received_version": version,
            "expected_format": _FORMAT,
        },
    )
