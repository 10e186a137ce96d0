"""The few places where the public interface of the SDK is not enough, kept together so that an upgrade has one page to read.

Checked against mcp 2.3; `pyproject.toml` pins the minor version.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext
from mcp.server.streamable_http import StreamableHTTPServerTransport
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager


def connection_of(ctx: ServerRequestContext[Any, Any]) -> Connection:
    """The connection behind a request. The session has no public way to it, and only it knows when the peer has gone."""
    return ctx.session._connection


##= docs/spec/spexus.md#protocol-version
##% A session MUST continue in the version that was returned for its `initialize`.
def pin_requested_version(ctx: ServerRequestContext[Any, Any], version: str) -> None:
    """Make an `initialize` ask for `version`, so that answer and connection agree on it.

    The runner reads the wire parameters a second time after the middleware chain, so a rewritten context would not reach
    the connection; the mapping itself has to change.
    """
    params = cast("dict[str, Any]", ctx.params)
    params["protocolVersion"] = version


def open_transports(manager: StreamableHTTPSessionManager) -> Iterable[StreamableHTTPServerTransport]:
    """The transports of all open sessions, to be ended at shutdown before the web server waits for their streams."""
    return list(manager._server_instances.values())
