"""The HTTP API of the knowledge gateway: the routes of `packs/knowledge/routes.py`, each of which calls a tool.

A route only translates: it takes the arguments from path, query and body, and returns the result without an envelope.
The dispatcher does scopes, argument checks, time limits, logs and metrics. A route without an MCP tool calls an
operation, which is declared like a tool.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from contextive.errors import ContextiveError, InvalidIdentifier, InvalidRequest, NotFound, ToolNotFound, Unavailable
from contextive.packs.knowledge.gateway_tools import gateway_pack
from contextive.packs.knowledge.routes import LARGE_PER_MINUTE, ROUTES, WEIGHTS_PER_MINUTE, GatewayRoute
from contextive.registry import Caller, Surface, Tool
from contextive.registry.registry import safe_repr
from contextive.server.guard import LIMIT_KEY
from contextive.server.host import Host
from contextive.server.json_body import RepeatedKey
from contextive.server.profiles import PROFILES
from contextive.server.protocol import LOGGED_KEY, REQUEST_ID_KEY
from contextive.server.rate_limits import RateLimiter
from contextive.server.rest import caller_of, error_response, json_object

PROFILE = PROFILES["duskmantle"]
_WINDOW_SECONDS = 60.0


##= docs/spec/gateway.md#routes
##% Routes with large responses MUST have a separate rate limit for each caller.
class RouteLimits:
    """Additional rate limits of single routes, counted by the same key as the general limit."""

    def __init__(self, limiters: Mapping[int, RateLimiter]) -> None:
        self._limiters = limiters

    @classmethod
    def of(cls, rate_requests: int) -> RouteLimits:
        """Route limits, which are off if the general limit is off."""
        return cls(
            {n: RateLimiter(n if rate_requests else 0, _WINDOW_SECONDS) for n in (LARGE_PER_MINUTE, WEIGHTS_PER_MINUTE)}
        )

    def count(self, route: GatewayRoute, limit_key: str) -> None:
        if route.per_minute is not None:
            self._limiters[route.per_minute].count(f"{route.path}:{limit_key}")


class GatewayApi:
    """All gateway routes, and the OpenAPI document for them."""

    def __init__(self, host: Host, limits: Callable[[], RouteLimits]) -> None:
        self._host = host
        self._limits = limits
        host.enable_metrics().add_tools(tool.name for tool in gateway_pack.tools)

    def routes(self) -> list[BaseRoute]:
        found: list[BaseRoute] = [Route("/api/v1/openapi.json", self.openapi, methods=["GET"])]
        return found + [Route(route.path, self._endpoint(route), methods=[route.method]) for route in ROUTES]

    async def openapi(self, request: Request) -> Response:
        from contextive.server.openapi import describe_api

        caller = caller_of(request)
        profile = self._host.profile
        tools = self._host.surface_for(profile, caller).tools
        try:
            route_tools = self.surface(caller).tools
        except Unavailable:
            route_tools = {}
        return JSONResponse(describe_api(tools, [(r, route_tools[r.tool]) for r in ROUTES if r.tool in route_tools]))

    def surface(self, caller: Caller) -> Surface:
        """The tools and operations of the routes that this caller may use."""
        if "knowledge" not in self._host.assembly.registry.packs:
            raise Unavailable("The knowledge pack is disabled.", hint="See toolPacks.knowledge.enabled.")
        offered = self._host.surface_for(PROFILE, caller)
        has_all_tools = caller.tools is None
        operations = {
            tool.name: tool for tool in gateway_pack.tools if has_all_tools and caller.scope.covers(tool.scope)
        }
        withheld = {tool.name: tool.scope for tool in gateway_pack.tools if tool.name not in operations}
        return Surface({**offered.tools, **operations}, (), {}, {**offered.withheld, **withheld}, offered.only)

    def _endpoint(self, route: GatewayRoute) -> Callable[[Request], Any]:
        async def endpoint(request: Request) -> Response:
            try:
                return await self._serve(route, request)
            except ContextiveError as error:
                response = error_response(error, request)
                if isinstance(error, InvalidRequest) and not isinstance(error, InvalidIdentifier | RepeatedKey):
                    response.status_code = route.invalid_status
                return response

        return endpoint

    ##= docs/spec/gateway.md#routes
    ##% Each API route MUST call its tool, with the scope, the checks, the limits, the log line and the metrics of
    ##% that tool.
    ##= docs/spec/gateway.md#routes
    ##% A request for a report before the first run MUST be answered with 404.
    async def _serve(self, route: GatewayRoute, request: Request) -> Response:
        caller = caller_of(request)
        surface = self.surface(caller)
        tool = surface.tools.get(route.tool)
        if tool is None:
            refusal = surface.refusal(route.tool)
            if isinstance(refusal, ToolNotFound):
                refusal = ToolNotFound("This route is blocked.", hint="See toolPacks.knowledge in the configuration.")
            raise refusal
        self._limits().count(route, request.scope[LIMIT_KEY])
        arguments, headers = await self._arguments(route, tool, request)
        context = self._host.context(caller, door="gateway", profile=PROFILE, request_id=request.scope[REQUEST_ID_KEY])
        request.scope[LOGGED_KEY] = True  # the dispatcher logs every call, even a failed one
        result = await self._host.dispatcher.call(surface, route.tool, arguments, context)
        if route.report and not (result.data.get("run") or {}).get("run_id"):
            raise NotFound(f"{route.report} report not found", hint="The first ingest run creates it.")
        return JSONResponse(route.answer_from(arguments, result.data), headers=headers)

    ##= docs/spec/gateway.md#routes
    ##% A clamped limit MUST be reported in a header.
    async def _arguments(
        self, route: GatewayRoute, tool: Tool, request: Request
    ) -> tuple[dict[str, Any], dict[str, str]]:
        headers: dict[str, str] = {}
        if route.method == "POST":
            body = json_object(await request.body())
            return {**route.defaults, **route.arguments_of(body)}, headers
        arguments: dict[str, Any] = dict(route.defaults)
        if route.path_argument is not None:
            arguments[route.path_argument] = request.path_params[route.path_argument]
        properties = tool.input_schema["properties"]
        for name, argument in route.query.items():
            text = request.query_params.get(name)
            if text is not None and (
                text or argument != "cursor"
            ):  # an address can only write "no cursor" as empty text
                arguments[argument] = _parse_query_value(name, text, properties[argument].get("type", "string"))
        required = tool.input_schema.get("required", ())
        if missing := [
            name for name, argument in route.query.items() if argument in required and argument not in arguments
        ]:
            raise InvalidRequest(
                f"{route.openapi_path} needs the parameter {missing[0]!r}.", hint=f"Add ?{missing[0]}=… to the address."
            )
        if route.clamped_limit is not None:
            requested, maximum = arguments["limit"], getattr(self._host.config.limits, route.clamped_limit.setting)
            arguments["limit"] = limit = max(1, min(requested, maximum))
            headers[route.clamped_limit.header] = str(limit)
            if limit != requested:
                headers["Warning"] = f'299 - "limit was clamped to {limit}"'
        return arguments, headers


def _parse_query_value(name: str, text: str, kind: str) -> Any:
    match kind:
        case "integer":
            digits = text.removeprefix("-")
            if not digits.isascii() or not digits.isdigit() or len(digits) > 15:
                raise InvalidRequest(f"{name} must be a whole number, not {safe_repr(text, 40)}.")
            return int(text)
        case "boolean":
            word = text.lower()
            if word not in ("true", "false", "1", "0"):
                raise InvalidRequest(f"{name} must be true or false, not {safe_repr(text, 40)}.")
            return word in ("true", "1")
        case _:
            return text
