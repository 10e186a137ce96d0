"""The plain HTTP doors: tools by name, health, readiness and metrics. Each one only translates."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime
from typing import Any

from pydantic_core import from_json
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from contextive.errors import CapabilityMissing, ContextiveError, Forbidden, InvalidRequest, ToolNotFound
from contextive.packs.introspect import Health, health_report
from contextive.registry import Caller, InputNeeded
from contextive.registry.threads import run_in_thread
from contextive.server.description import describe_tool
from contextive.server.guard import error_body, error_headers
from contextive.server.host import Host
from contextive.server.protocol import CALLER_KEY, REQUEST_ID_KEY

_HEALTH_SECONDS = 1.0


class RestDoor:
    """`/api/v1/tools`, `/healthz`, `/readyz` and `/metrics`."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._examining = asyncio.Lock()
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

    async def call_tool(self, request: Request) -> Response:
        try:
            return await self._call(request)
        except ContextiveError as error:
            return error_response(error, request)
        except InputNeeded as needed:
            missing = CapabilityMissing(tuple(sorted({q.capability for q in needed.questions.values()})))
            return error_response(missing, request)

    async def _call(self, request: Request) -> Response:
        caller, name = caller_of(request), str(request.path_params["name"])
        profile = self._host.profile
        surface = self._host.surface_for(profile, caller)
        arguments = json_object(await request.body())
        context = self._host.context(caller, door="rest", profile=profile, request_id=request.scope[REQUEST_ID_KEY])
        try:
            result = await self._host.dispatcher.call(surface, name, arguments, context)
        except ToolNotFound:
            if name in self._host.widest_surface(profile).tools:
                raise not_allowed(caller, name) from None
            raise
        return JSONResponse(
            {
                "status": "error" if result.is_error else "success",
                "result": result.data if result.data is not None else result.text,
                "as_of": result.as_of.as_dict(),
                "request_id": context.request_id,
            }
        )

    async def healthz(self, _request: Request) -> Response:
        """Anybody may ask this, so many askers within a second share one answer."""
        async with self._examining:
            if self._health is None or time.monotonic() - self._health[0] > _HEALTH_SECONDS:
                report = health_report(await run_in_thread(self._host.checks))
                self._health = (time.monotonic(), report)
            report = self._health[1]
        return JSONResponse(
            {
                "status": "ok" if report.status == "healthy" else "degraded",
                "checks": {check.name: {"ok": check.ok, "detail": check.detail} for check in report.checks},
                "timestamp": report.timestamp,
            }
        )

    async def readyz(self, _request: Request) -> Response:
        """Whether questions can be answered: the index opens, and can be read."""
        async with self._examining:
            found = await run_in_thread(self._host.dependencies)
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        if all(check.ok for check in found):
            return JSONResponse({"status": "ready", "timestamp": now})
        dependencies = {check.name: {"ok": check.ok, "detail": check.detail} for check in found}
        return JSONResponse({"status": "degraded", "dependencies": dependencies, "timestamp": now}, 503)

    async def metrics(self, _request: Request) -> Response:
        metrics = self._host.enable_metrics()
        return Response(metrics.render(), headers={"content-type": metrics.content_type})


def caller_of(request: Request) -> Caller:
    caller = request.scope[CALLER_KEY]
    assert isinstance(caller, Caller)
    return caller


def not_allowed(caller: Caller, tool: str) -> Forbidden:
    """Why a caller may not call a tool that others may."""
    if caller.tools is not None and tool not in caller.tools:
        return Forbidden(f"This token does not allow {tool}.", hint=f"It allows: {', '.join(sorted(caller.tools))}.")
    return Forbidden(f"{tool} needs the maintainer scope.", hint="Use a maintainer token.")


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
        value = from_json(body, allow_inf_nan=False)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise InvalidRequest("The body must be one JSON object of arguments.", hint='Send {"argument": value}.')
    return value
