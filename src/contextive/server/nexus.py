"""The NEXUS requests at `/api/mcp`: a manifest, and `{tool, input}` answered with `{result}` or `{error}`.

A body with `jsonrpc` on the same path is MCP and goes to the `nexus` profile.
"""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from contextive.errors import ContextiveError, InternalError, Unavailable, UpstreamError
from contextive.registry import InputNeeded, Surface, Tool, ToolResult
from contextive.server.guard import replay_body
from contextive.server.host import Host
from contextive.server.json_body import RepeatedKey, count_keys, decode_json, has_repeated_key
from contextive.server.profiles import PROFILES
from contextive.server.protocol import LOGGED_KEY, REQUEST_ID_KEY
from contextive.server.rest import caller_of

_PROFILE = PROFILES["nexus"]


class NexusApi:
    """The ASGI application at `/api/mcp`."""

    def __init__(self, host: Host, mcp: ASGIApp) -> None:
        self._host = host
        self._mcp = mcp

    ##= docs/spec/host.md#endpoints
    ##% The path `/api/mcp` MUST serve a manifest and accept calls in the NEXUS dialect.
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        wants_stream = "text/event-stream" in request.headers.get("accept", "")
        if request.method == "GET" and not wants_stream:
            await self._manifest(request)(scope, receive, send)
        elif request.method == "POST":
            body = await request.body()
            decoded = _decode(body)
            if _is_rpc(decoded):
                await self._mcp(scope, replay_body(body, receive), send)
            elif isinstance(decoded, dict) and has_repeated_key(decoded, count_keys(body)):
                await _error(400, RepeatedKey().full_message())(scope, receive, send)
            else:
                await (await self._invoke(request, decoded))(scope, receive, send)
        elif request.method in ("GET", "DELETE"):
            await self._mcp(scope, receive, send)
        else:
            await JSONResponse({"error": "Method not allowed"}, 405, {"Allow": "GET, POST, DELETE"})(
                scope, receive, send
            )

    ##= docs/spec/notes.md#manifest
    ##% A GET request to `/api/mcp` MUST be answered with 200, `application/json` and a manifest of the tools.
    ##= docs/spec/notes.md#manifest
    ##% The manifest MUST contain the name, the description and the input schema of each tool.
    def _manifest(self, request: Request) -> Response:
        surface = self._surface(request)
        return JSONResponse(
            {
                "name": _PROFILE.server_name,
                "version": _PROFILE.version,
                "description": _PROFILE.purpose,
                "tools": [
                    {"name": tool.name, "description": tool.description, "inputSchema": _input_schema(tool)}
                    for tool in surface.tools.values()
                ],
            }
        )

    ##= docs/spec/notes.md#calls
    ##% A POST request to `/api/mcp` with the string `tool` and the object `input` MUST call that tool with that
    ##% input.
    ##= docs/spec/notes.md#failures
    ##% An internal error MUST be answered with 500 and `Internal server error`, without any details.
    async def _invoke(self, request: Request, body: Any) -> Response:
        if not isinstance(body, dict):
            return _error(400, "Invalid JSON body")
        name, arguments = body.get("tool"), body.get("input", {})
        if not isinstance(name, str) or not name:
            return _error(400, "Missing 'tool' field")
        surface = self._surface(request)
        tool = surface.tools.get(name)
        ##= docs/spec/notes.md#failures
        ##% A missing or unknown tool MUST be answered with 400 and a message that says so.
        if tool is None:
            return _error(400, f"Unknown tool: {name[:128]}")
        if not isinstance(arguments, dict):
            return _error(400, "The 'input' field must be an object")
        ##= docs/spec/notes.md#failures
        ##% A missing parameter MUST be answered with 400 and a message that names it.
        for parameter in tool.input_schema.get("required", ()):
            if not isinstance(arguments.get(parameter), str) or not arguments[parameter]:
                return _error(400, f"Missing required parameter: {parameter}")
        context = self._host.context(
            caller_of(request), door="nexus", profile=_PROFILE, request_id=request.scope[REQUEST_ID_KEY]
        )
        request.scope[LOGGED_KEY] = True  # the dispatcher logs every call, even a failed one
        ##= docs/spec/notes.md#calls
        ##% An answer at `/api/mcp` MUST be complete unless the call asks for the concise form.
        if "detail" in tool.input_schema.get("properties", {}):
            arguments = {"detail": "full", **arguments}
        try:
            result = await self._host.dispatcher.call(surface, name, arguments, context)
        except InputNeeded:
            return _error(503, Unavailable("This tool needs an MCP client.").message)
        except (InternalError, UpstreamError):
            return _error(500, "Internal server error")
        except ContextiveError as error:
            return _error(error.http_status, error.message)
        return JSONResponse(_answer(tool, result))

    def _surface(self, request: Request) -> Surface:
        return self._host.surface_for(_PROFILE, caller_of(request))


##= docs/spec/notes.md#calls
##% The output of a tool MUST be returned in the field `result` of a JSON object, that of `list_pages` and `search` as an
##% array.
def _answer(tool: Tool, result: ToolResult) -> dict[str, Any]:
    """The output as `result`. An array that does not hold everything is followed by the cursor of the next part."""
    data = result.data
    if data is None:
        return {"result": result.text}
    if tool.list_field is None:
        return {"result": data}
    rest = {"next_cursor": data["next_cursor"]} if data.get("next_cursor") else {}
    return {"result": data[tool.list_field], **rest}


def _input_schema(tool: Tool) -> dict[str, Any]:
    schema = tool.input_schema
    return {"type": "object", "properties": schema.get("properties", {}), "required": schema.get("required", [])}


##= docs/spec/notes.md#failures
##% A body that is not JSON MUST be answered with 400 and `Invalid JSON body`.
def _decode(body: bytes) -> Any:
    try:
        return decode_json(body)
    except ValueError:
        return None


##= docs/spec/host.md#endpoints
##% A body with `jsonrpc` at `/api/mcp` MUST be handled as MCP.
def _is_rpc(body: Any) -> bool:
    message = body[0] if isinstance(body, list) and body else body
    return isinstance(message, dict) and "jsonrpc" in message


##= docs/spec/notes.md#calls
##% An error MUST be returned in the field `error` of a JSON object, as a message that says what was wrong.
def _error(status: int, message: str) -> Response:
    return JSONResponse({"error": message}, status_code=status)
