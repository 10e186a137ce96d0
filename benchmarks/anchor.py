"""The anchor: one tool on the bare low-level SDK, served by the SDK's own transports.

`python -m benchmarks.anchor stdio`, or `http PORT [json]`. Its answer has the shape and the size of
`contextive_server_info`, as structured content and as text, so that both servers send the same amount of data.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server

_ANSWER: dict[str, Any] = {
    "name": "bare-mcp-echo",
    "version": "0.1.0",
    "mode": "stdio",
    "profile": "contextive",
    "scope": "reader",
    "enabledToolPacks": ["introspect"],
    "providerCount": 0,
}
_TOOL = types.Tool(
    name="echo",
    description="Returns a fixed answer.",
    input_schema={"type": "object", "properties": {}, "additionalProperties": False},
    output_schema={"type": "object"},
)


async def _list_tools(
    _ctx: ServerRequestContext[Any, Any], _params: types.PaginatedRequestParams | None
) -> types.ListToolsResult:
    return types.ListToolsResult(tools=[_TOOL])


async def _call_tool(
    _ctx: ServerRequestContext[Any, Any], _params: types.CallToolRequestParams
) -> types.CallToolResult:
    return types.CallToolResult(
        content=[types.TextContent(text=json.dumps(_ANSWER))], structured_content=_ANSWER, is_error=False
    )


def _build() -> Server[Any]:
    return Server("bare-echo", version="0.1.0", on_list_tools=_list_tools, on_call_tool=_call_tool)


def _serve_stdio() -> None:
    import anyio
    from mcp.server.stdio import stdio_server

    async def run() -> None:
        server = _build()
        async with stdio_server() as (read_stream, write_stream):
            await server.run(read_stream, write_stream, server.create_initialization_options())

    anyio.run(run)


def _serve_http(port: int, json_response: bool) -> None:
    import uvicorn

    uvicorn.run(
        _build().streamable_http_app(json_response=json_response),
        host="127.0.0.1",
        port=port,
        log_level="warning",
        access_log=False,
        ws="none",
    )


if __name__ == "__main__":
    if sys.argv[1] == "stdio":
        _serve_stdio()
    else:
        _serve_http(int(sys.argv[2]), json_response=sys.argv[3:] == ["json"])
