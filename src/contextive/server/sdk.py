"""All uses of private interfaces of the MCP SDK, in one file so that they are easy to check after an upgrade.

Checked against mcp 2.3. The tests run with the newest version that `pyproject.toml` allows.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext
from mcp.server.streamable_http import StreamableHTTPServerTransport
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager


def connection_of(ctx: ServerRequestContext[Any, Any]) -> Connection:
    """The connection of a request. Only it knows when the peer disconnects, but the session does not expose it."""
    return ctx.session._connection


##= docs/spec/spexus.md#protocol-version
##% A session MUST continue in the version that was returned for its `initialize`.
def pin_requested_version(ctx: ServerRequestContext[Any, Any], version: str) -> None:
    """Change the version that an `initialize` requests, so that the response and the connection both use it.

    The runner reads the parameters again after the middleware chain, so a changed context would not reach the
    connection; the mapping itself has to change.
    """
    params = cast("dict[str, Any]", ctx.params)
    params["protocolVersion"] = version


def open_transports(manager: StreamableHTTPSessionManager) -> Iterable[StreamableHTTPServerTransport]:
    """The transports of all open sessions, to be closed at shutdown before the web server waits for their streams."""
    return list(manager._server_instances.values())
