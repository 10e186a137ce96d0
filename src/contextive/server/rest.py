"""The REST API: tools by name, health, readiness and metrics."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from contextive.errors import CapabilityMissing, ContextiveError, InvalidRequest, ToolNotFound
from contextive.packs.introspect import Health, health_report
from contextive.registry import Caller, Client, InputNeeded, NoClient
from contextive.registry.threads import run_in_service_thread
from contextive.server.description import describe_tool
from contextive.server.guard import error_body, error_headers
from contextive.server.host import Host
from contextive.server.json_body import RepeatedKey, count_keys, decode_json, has_repeated_key
from contextive.server.progress_stream import answer_with_progress, wants_progress
from contextive.server.protocol import CALLER_KEY, LOGGED_KEY, REQUEST_ID_KEY

_HEALTH_SECONDS = 1.0


class RestApi:
    """`/api/v1/tools`, `/healthz`, `/readyz` and `/metrics`."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._health_lock = asyncio.Lock()
        self._health: tuple[float, Health] | None = None

    def routes(self) -> list[BaseRoute]:
        return [
            Route("/api/v1/tools", self.list_tools, methods=["GET"]),
            Route("/api/v1/tools/{name}", self.call_tool, methods=["POST"]),
            Route("/healthz", self.healthz, methods=["GET"]),
            Route("/readyz", self.readyz, methods=["GET"]),
            Route("/metrics", self.metrics, methods=["GET"]),
        ]

    async def list_tools(self, request: Request) -> Response:
        surface = self._host.surface_for(self._host.profile, caller_of(request))
        return JSONResponse({"status": "success", "tools": [describe_tool(tool) for tool in surface.tools.values()]})

    ##= docs/spec/host.md#endpoints
    ##% The path `/api/v1/tools/{name}` MUST call the tool of that name with the arguments in the request body.
    async def call_tool(self, request: Request) -> Response:
        if wants_progress(request):
            return await answer_with_progress(lambda client: self._call_or_error(request, client))
        return await self._call_or_error(request, NoClient())

    async def _call_or_error(self, request: Request, client: Client) -> Response:
        try:
            return await self._call(request, client)
        except ContextiveError as error:
            return error_response(error, request)
        except InputNeeded as needed:
            missing = CapabilityMissing(tuple(sorted({q.capability for q in needed.questions.values()})))
            return error_response(missing, request)

    async def _call(self, request: Request, client: Client) -> Response:
        caller, name = caller_of(request), str(request.path_params["name"])
        profile = self._host.profile
        surface = self._host.surface_for(profile, caller)
        arguments = json_object(await request.body())
        request_id = request.scope[REQUEST_ID_KEY]
        context = self._host.context(caller, door="rest", profile=profile, request_id=request_id, client=client)
        request.scope[LOGGED_KEY] = True  # the dispatcher logs every call, even a failed one
        result = await self._host.dispatcher.call(surface, name, arguments, context)
        return JSONResponse(
            {
                "status": "error" if result.is_error else "success",
                "result": result.data if result.data is not None else result.text,
                "as_of": result.as_of.as_dict(),
                "request_id": context.request_id,
            }
        )

    async def _current_health(self) -> Health:
        """The health report. No token is needed for it, so requests within a second share one report."""
        async with self._health_lock:
            if self._health is None or time.monotonic() - self._health[0] > _HEALTH_SECONDS:
                report = health_report(await run_in_service_thread(self._host.checks))
                self._health = (time.monotonic(), report)
            return self._health[1]

    async def healthz(self, _request: Request) -> Response:
        report = await self._current_health()
        return JSONResponse(
            {
                "status": "ok" if report.status == "healthy" else "degraded",
                "checks": _checks_by_name(report),
                "timestamp": report.timestamp,
            }
        )

    ##= docs/spec/gateway.md#routes
    ##% The path `/readyz` MUST answer with 503 while the index cannot be opened.
    async def readyz(self, _request: Request) -> Response:
        """Whether the index can be opened and read. Other problems are reported with status 200."""
        report = await self._current_health()
        if report.status == "healthy":
            return JSONResponse({"status": "ready", "timestamp": report.timestamp})
        body = {"status": "degraded", "dependencies": _checks_by_name(report), "timestamp": report.timestamp}
        is_open = all(check.ok for check in report.checks if check.name == "index")
        return JSONResponse(body, 200 if is_open else 503)

    async def metrics(self, _request: Request) -> Response:
        content_type = self._host.enable_metrics().content_type
        return Response(await run_in_service_thread(self._host.render_metrics), headers={"content-type": content_type})


def _checks_by_name(report: Health) -> dict[str, dict[str, Any]]:
    return {check.name: {"ok": check.ok, "detail": check.detail} for check in report.checks}


def caller_of(request: Request) -> Caller:
    caller = request.scope[CALLER_KEY]
    assert isinstance(caller, Caller)
    return caller


def error_response(error: ContextiveError, request: Request) -> Response:
    return JSONResponse(
        error_body(error, request.scope[REQUEST_ID_KEY]),
        status_code=404 if isinstance(error, ToolNotFound) else error.http_status,
        headers=dict(error_headers(error)),
    )


def json_object(body: bytes) -> dict[str, Any]:
    if not body.strip():
        return {}
    try:
        value = decode_json(body)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise InvalidRequest("The body must be one JSON object of arguments.", hint='Send {"argument": value}.')
    if has_repeated_key(value, count_keys(body)):
        raise RepeatedKey
    return value
