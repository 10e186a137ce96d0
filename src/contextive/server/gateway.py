"""The HTTP API of the knowledge gateway: one table of routes, each of which leads to a tool.

A route only translates: arguments from path, query and body, and the answer without an envelope. Scopes, argument checks, time
limits, logs and metrics are those of the dispatcher. What has a route and no tool is an operation, declared in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from contextive.errors import ContextiveError, InvalidIdentifier, InvalidRequest, NotFound, ToolNotFound, Unavailable
from contextive.packs.knowledge.operations import operations
from contextive.registry import Caller, Surface, Tool
from contextive.registry.registry import shown
from contextive.server.guard import LIMIT_KEY
from contextive.server.host import Host
from contextive.server.json_body import RepeatedKey
from contextive.server.limits import RateLimiter
from contextive.server.profiles import PROFILES
from contextive.server.protocol import LOGGED_KEY, REQUEST_ID_KEY
from contextive.server.rest import caller_of, error_response, json_object

PROFILE = PROFILES["duskmantle"]
SLOW, WEIGHTS = 30, 60
"""Requests a minute of one caller, on routes whose answers are large and on the weights."""
_WINDOW_SECONDS = 60.0
_SEARCH_FILTERS = frozenset(
    {
        "subsystems", "artifact_types", "namespaces", "tags", "symbols", "symbol_kinds", "symbol_languages",
        "updated_after", "max_age_days",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class GatewayRoute:
    """One route, and the tool behind it."""

    method: Literal["GET", "POST"]
    path: str
    tool: str
    summary: str
    path_argument: str | None = None
    query: Mapping[str, str] = field(default_factory=dict)
    """Names in the query, and the arguments that they stand for."""
    defaults: Mapping[str, int] = field(default_factory=dict)
    """Arguments that the tool itself wants and that a request may leave out."""
    per_minute: int | None = None
    report: str | None = None
    """The name of the report, which is not found before the first run."""
    invalid_status: int = 400

    @property
    def shown_path(self) -> str:
        """The path as OpenAPI writes it."""
        return self.path.replace(":path}", "}")


def _same(*names: str) -> dict[str, str]:
    return {name: name for name in names}


##= docs/spec/gateway.md#routes
##% The path `/api/v1/coverage` MUST answer as `km-coverage-summary` does, and `/api/v1/lifecycle` as
##% `km-lifecycle-report`.
##= docs/spec/gateway.md#routes
##% An id in a path MUST be understood with plain and with encoded slashes.
ROUTES: tuple[GatewayRoute, ...] = (
    GatewayRoute("POST", "/api/v1/search", "km-search", "Hybrid search", invalid_status=422),
    GatewayRoute(
        "GET", "/api/v1/search/weights", "gateway-search-weights", "The weights of search", per_minute=WEIGHTS
    ),
    GatewayRoute(
        "GET",
        "/api/v1/graph/nodes/{node_id:path}",
        "km-graph-node",
        "A node and its relationships",
        path_argument="node_id",
        query=_same("relationships", "limit"),
    ),
    GatewayRoute(
        "GET",
        "/api/v1/graph/subsystems/{name:path}/graph",
        "gateway-subsystem-graph",
        "A subsystem and the graph around it",
        path_argument="name",
        query=_same("depth", "limit"),
    ),
    GatewayRoute(
        "GET",
        "/api/v1/graph/subsystems/{name:path}",
        "km-graph-subsystem",
        "A subsystem, what surrounds it and its files",
        path_argument="name",
        query=_same("depth", "limit", "cursor", "include_artifacts"),
    ),
    GatewayRoute(
        "GET",
        "/api/v1/graph/search",
        "km-graph-search",
        "Nodes by a part of their name",
        query={"q": "term", "limit": "limit"},
    ),
    GatewayRoute(
        "GET",
        "/api/v1/graph/orphans",
        "gateway-graph-orphans",
        "Nodes that nothing connects with the rest",
        query=_same("label", "cursor", "limit"),
    ),
    GatewayRoute(
        "GET",
        "/api/v1/graph/symbols/{symbol_id:path}/tests",
        "km-graph-tests-of",
        "The tests of a symbol",
        path_argument="symbol_id",
    ),
    GatewayRoute(
        "POST", "/api/v1/graph/cypher", "gateway-graph-cypher", "Not spoken; use km-graph-query", per_minute=SLOW
    ),
    GatewayRoute(
        "GET", "/api/v1/coverage", "km-coverage-summary", "What the index holds", per_minute=SLOW, report="Coverage"
    ),
    GatewayRoute(
        "GET",
        "/api/v1/lifecycle",
        "km-lifecycle-report",
        "What has come loose, grown old or is not tested",
        per_minute=SLOW,
        report="Lifecycle",
    ),
    GatewayRoute(
        "GET",
        "/api/v1/lifecycle/history",
        "gateway-lifecycle-history",
        "The counts of earlier lifecycle reports",
        query=_same("limit"),
        defaults={"limit": 30},
        per_minute=SLOW,
    ),
    GatewayRoute(
        "GET",
        "/api/v1/audit/history",
        "gateway-audit-history",
        "Ingest runs, newest first",
        query=_same("limit"),
        defaults={"limit": 10},
        per_minute=SLOW,
    ),
)


##= docs/spec/gateway.md#routes
##% Routes with large answers MUST have a limit of their own for each caller.
class RouteLimits:
    """The limits that single routes have beside the general one, counted as that one counts."""

    def __init__(self, limiters: Mapping[int, RateLimiter]) -> None:
        self._limiters = limiters

    @classmethod
    def of(cls, rate_requests: int) -> RouteLimits:
        """Limits that are off where the general one is."""
        return cls({n: RateLimiter(n if rate_requests else 0, _WINDOW_SECONDS) for n in (SLOW, WEIGHTS)})

    def count(self, route: GatewayRoute, limit_key: str) -> None:
        if route.per_minute is not None:
            self._limiters[route.per_minute].count(f"{route.path}:{limit_key}")


class GatewayDoor:
    """All routes of the table, and the document that describes them."""

    def __init__(self, host: Host, limits: Callable[[], RouteLimits]) -> None:
        self._host = host
        self._limits = limits
        host.enable_metrics().know(tool.name for tool in operations.tools)

    def routes(self) -> list[BaseRoute]:
        found: list[BaseRoute] = [Route("/api/v1/openapi.json", self.openapi, methods=["GET"])]
        return found + [Route(route.path, self._endpoint(route), methods=[route.method]) for route in ROUTES]

    async def openapi(self, request: Request) -> Response:
        from contextive.server.openapi import describe_api

        caller = caller_of(request)
        profile = self._host.profile
        tools = self._host.surface_for(profile, caller).tools
        try:
            behind = self.surface(caller).tools
        except Unavailable:
            behind = {}
        return JSONResponse(describe_api(tools, [(r, behind[r.tool]) for r in ROUTES if r.tool in behind]))

    def surface(self, caller: Caller) -> Surface:
        """The tools and operations behind the routes, as far as this caller may use them."""
        if "knowledge" not in self._host.assembly.registry.packs:
            raise Unavailable("The knowledge pack is switched off here.", hint="See toolPacks.knowledge.enabled.")
        offered = self._host.surface_for(PROFILE, caller)
        free = caller.tools is None
        more = {tool.name: tool for tool in operations.tools if free and caller.scope.covers(tool.scope)}
        withheld = offered.withheld.union(tool.name for tool in operations.tools if tool.name not in more)
        return Surface({**offered.tools, **more}, (), {}, withheld, offered.only)

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
    ##% Each route of the API MUST call the tool behind it, with the scope, the checks, the limits, the log line and the
    ##% metrics of that tool.
    ##= docs/spec/gateway.md#routes
    ##% A report before the first run MUST be answered with 404.
    async def _serve(self, route: GatewayRoute, request: Request) -> Response:
        caller = caller_of(request)
        surface = self.surface(caller)
        tool = surface.tools.get(route.tool)
        if tool is None:
            refusal = surface.refusal(route.tool)
            if isinstance(refusal, ToolNotFound):
                refusal = ToolNotFound(
                    "This route is blocked here.", hint="See toolPacks.knowledge in the configuration."
                )
            raise refusal
        self._limits().count(route, request.scope[LIMIT_KEY])
        arguments, headers = await self._arguments(route, tool, request)
        context = self._host.context(caller, door="gateway", profile=PROFILE, request_id=request.scope[REQUEST_ID_KEY])
        request.scope[LOGGED_KEY] = True  # the dispatcher tells the log of every call, however it ends
        result = await self._host.dispatcher.call(surface, route.tool, arguments, context)
        if route.report and not (result.data.get("run") or {}).get("run_id"):
            raise NotFound(f"{route.report} report not found", hint="It is made by the first ingest run.")
        return JSONResponse(_answer(route, arguments, result.data), headers=headers)

    ##= docs/spec/gateway.md#routes
    ##% A limit that was clamped MUST be told in a header.
    async def _arguments(
        self, route: GatewayRoute, tool: Tool, request: Request
    ) -> tuple[dict[str, Any], dict[str, str]]:
        headers: dict[str, str] = {}
        if route.method == "POST":
            body = json_object(await request.body())
            return (search_arguments(body) if route.tool == "km-search" else body), headers
        arguments: dict[str, Any] = dict(route.defaults)
        if route.path_argument is not None:
            arguments[route.path_argument] = request.path_params[route.path_argument]
        properties = tool.input_schema["properties"]
        for name, argument in route.query.items():
            if (text := request.query_params.get(name)) is not None:
                arguments[argument] = _typed(name, text, properties[argument].get("type", "string"))
        required = tool.input_schema.get("required", ())
        if missing := [
            name for name, argument in route.query.items() if argument in required and argument not in arguments
        ]:
            raise InvalidRequest(
                f"{route.shown_path} needs the parameter {missing[0]!r}.", hint=f"Add ?{missing[0]}=… to the address."
            )
        if route.tool == "gateway-audit-history":
            wanted, most = arguments["limit"], self._host.config.limits.audit_history
            arguments["limit"] = limit = max(1, min(wanted, most))
            headers["X-KM-Audit-Limit"] = str(limit)
            if limit != wanted:
                headers["Warning"] = f'299 - "limit was clamped to {limit}"'
        return arguments, headers


##= docs/spec/gateway.md#routes
##% The path `/api/v1/search` MUST take the arguments of `km-search`, and refuse a search that makes no sense with 422.
def search_arguments(body: Mapping[str, Any]) -> dict[str, Any]:
    """The body of a search as arguments of `km-search`: nulls and unknown filters are left out, feedback joins the context."""
    arguments = {key: value for key, value in body.items() if value is not None}
    filters = arguments.get("filters")
    if isinstance(filters, dict):
        arguments["filters"] = {k: v for k, v in filters.items() if v is not None and k in _SEARCH_FILTERS}
    if "feedback" in arguments:
        given = arguments.pop("feedback")
        vote, note = (given.get("vote"), given.get("note")) if isinstance(given, dict) else (None, None)
        is_vote = vote is None or (isinstance(vote, int | float) and not isinstance(vote, bool) and -1 <= vote <= 1)
        if not isinstance(given, dict) or not is_vote or not (note is None or isinstance(note, str)):
            raise InvalidRequest("feedback is an object with vote (-1 to 1) and note.", hint="Or leave it out.")
        context = arguments.get("context", {})
        if isinstance(context, dict):
            arguments["context"] = {**context, "feedback": {"vote": vote, "note": note}}
    return arguments


def _answer(route: GatewayRoute, arguments: Mapping[str, Any], data: Any) -> Any:
    match route.tool:
        case "gateway-audit-history":
            return data["runs"]
        case "km-search" if arguments.get("context", {}).get("feedback", {}).get("vote") is not None:
            metadata = {key: value for key, value in data["metadata"].items() if key != "feedback_prompt"}
            return {**data, "metadata": metadata}
        case _:
            return data


def _typed(name: str, text: str, kind: str) -> Any:
    match kind:
        case "integer":
            digits = text.removeprefix("-")
            if not digits.isascii() or not digits.isdigit() or len(digits) > 15:
                raise InvalidRequest(f"{name} is a whole number, not {shown(text, 40)}.")
            return int(text)
        case "boolean":
            word = text.lower()
            if word not in ("true", "false", "1", "0"):
                raise InvalidRequest(f"{name} is true or false, not {shown(text, 40)}.")
            return word in ("true", "1")
        case _:
            return text
