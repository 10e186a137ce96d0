"""The web application: the site at `/`, `/mcp`, `/mcp/{profile}`, `/api/mcp`, `/api/v1/*`, `/healthz`, `/readyz`, `/metrics`."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from typing import Any

import uvicorn
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from contextive.errors import ConfigError, ContextiveError, InternalError, InvalidRequest, NotFound
from contextive.server.auth import is_loopback, refuse_open_bind
from contextive.server.batch import BatchSplitter
from contextive.server.browser_sessions import BrowserSessions
from contextive.server.connections import TimeoutProtocol
from contextive.server.gateway import GatewayApi, RouteLimits
from contextive.server.guard import RequestGuard, RequestPolicy
from contextive.server.host import Host
from contextive.server.logs import FIELDS
from contextive.server.nexus import NexusApi
from contextive.server.profiles import PROFILES
from contextive.server.rate_limits import CallerLimits
from contextive.server.rest import RestApi, error_response
from contextive.server.running_site import announced, new_instance
from contextive.server.sdk import open_transports
from contextive.server.site_requests import SiteAccess, wants_page
from contextive.server.website import Website

logger = logging.getLogger(__name__)


class HttpServer:
    """The web application of one host, and the parts that are replaced when the configuration changes."""

    def __init__(self, host: Host, bind_host: str) -> None:
        self._host = host
        self._bind_host = bind_host
        refuse_open_bind(bind_host, host.authenticator())
        self._apply_config()
        host.on_config_change(self._apply_config)
        host.enable_metrics()
        self._managers = {name: self._manager(name) for name in PROFILES}
        self._mcp: dict[str, ASGIApp] = {
            name: BatchSplitter(manager.asgi_app) for name, manager in self._managers.items()
        }
        self._access = SiteAccess(BrowserSessions(), lambda: self._authenticator)
        self.instance = new_instance()
        self._site = Website(host, self._access, lambda: self._limits, self.instance)
        self.app = self._build()

    ##= docs/spec/host.md#tokens
    ##% A token that is removed from the configuration MUST stop working without a restart.
    def _apply_config(self) -> None:
        config = self._host.config
        authenticator = self._host.authenticator()
        if is_loopback(self._bind_host):
            self._authenticator = authenticator
        elif authenticator:
            self._authenticator = authenticator.requiring_token()
        else:
            logger.error("the new configuration has no tokens for a non-loopback address; the old tokens stay valid")
        self._limits = CallerLimits.of(config)
        self._route_limits = RouteLimits.of(config.limits.rate_requests)

    def _manager(self, profile: str) -> StreamableHTTPSessionManager:
        config = self._host.config
        return StreamableHTTPSessionManager(
            self._host.mcp_handlers(profile).server,
            json_response=config.server.json_response,
            # RequestGuard has already checked Host, Origin and size for every route.
            security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
            max_request_body_size=config.limits.max_body_bytes,
            session_idle_timeout=config.server.session_idle_seconds,
            max_sessions=config.server.max_sessions,
        )

    ##= docs/spec/notes.md#failures
    ##% Web pages of another origin MUST NOT get an answer unless `server.allowedOrigins` names that origin.
    def _build(self) -> ASGIApp:
        config = self._host.config
        routes = [
            Route("/mcp", _AsgiEndpoint(self._serve_default_profile)),
            Route("/mcp/{profile}", _AsgiEndpoint(self._serve_profile)),
            Route("/api/mcp", _AsgiEndpoint(NexusApi(self._host, self._mcp["nexus"]))),
            *RestApi(self._host).routes(),
            *GatewayApi(self._host, lambda: self._route_limits).routes(),
            *self._site.routes(),
        ]
        app = _AppWithMcpShortcut(
            self._serve_default_profile,
            routes=routes,
            lifespan=self._lifespan,
            exception_handlers={HTTPException: self._http_error, Exception: self._internal_error},
        )
        app.router.redirect_slashes = False
        policy = RequestPolicy(
            bind_host=self._bind_host,
            public_hosts=frozenset(name.lower() for name in config.server.public_hosts),
            allowed_origins=frozenset(origin.lower() for origin in config.server.allowed_origins),
            max_body_bytes=config.limits.max_body_bytes,
        )
        guarded: ASGIApp = RequestGuard(
            app,
            policy=policy,
            authenticator=lambda: self._authenticator,
            limits=lambda: self._limits,
            site=self._access,
        )
        if policy.allowed_origins:
            guarded = CORSMiddleware(
                guarded,
                allow_origins=list(config.server.allowed_origins),
                allow_methods=["GET", "POST", "DELETE"],
                allow_headers=[
                    "Authorization",
                    "Content-Type",
                    "Last-Event-ID",
                    "Mcp-Method",
                    "Mcp-Name",
                    "Mcp-Protocol-Version",
                    "Mcp-Session-Id",
                    "X-Request-ID",
                ],
                expose_headers=["Mcp-Session-Id", "X-Request-ID"],
            )
        return guarded

    async def _serve_default_profile(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._mcp[self._host.profile.name](scope, receive, send)

    ##= docs/spec/host.md#endpoints
    ##% The path `/mcp` MUST serve the configured profile, and `/mcp/{profile}` the profile of that name.
    async def _serve_profile(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self._mcp.get(scope["path_params"]["profile"])
        if app is None:
            unknown = NotFound("Unknown profile.", hint=f"Profiles: {', '.join(PROFILES)}.")
            await error_response(unknown, Request(scope))(scope, receive, send)
            return
        await app(scope, receive, send)

    @contextlib.asynccontextmanager
    async def _lifespan(self, _app: Starlette) -> AsyncIterator[None]:
        async with contextlib.AsyncExitStack() as stack:
            for manager in self._managers.values():
                await stack.enter_async_context(manager.run())
            yield

    ##= docs/spec/host.md#shutdown
    ##% Before it exits, the server MUST close its open connections and streams.
    async def end_streams(self) -> None:
        """Close all open streams with a final frame, so that the web server does not wait for them."""
        await self._site.live.close()
        for name, manager in self._managers.items():
            self._host.mcp_handlers(name).hub.close()
            for transport in open_transports(manager):
                await transport.terminate()

    async def _http_error(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        if error.status_code == 404 and _is_for_people(request):
            nothing = NotFound("There is nothing at this address.", hint="See the views above, or search.")
            return self._site.problem(request, nothing)
        wrapped: ContextiveError
        if error.status_code == 404:
            wrapped = NotFound("There is nothing at this path.", hint="See docs/protocol.md for the paths.")
        else:
            allowed = (error.headers or {}).get("Allow")
            wrapped = InvalidRequest(f"{error.detail}.", hint=f"Use {allowed}." if allowed else None)
        response = error_response(wrapped, request)
        response.status_code = error.status_code
        extra: dict[str, Any] = dict(error.headers or {})
        response.headers.update(extra)
        return response

    async def _internal_error(self, request: Request, _error: Exception) -> Response:
        """The response to an unexpected exception. Starlette re-raises it to `RequestGuard`, which logs it."""
        if _is_for_people(request):
            return self._site.internal_error(request)
        return error_response(InternalError("Internal error.", hint="The log has the details."), request)


def _is_for_people(request: Request) -> bool:
    path: str = request.scope["path"]
    return wants_page(request.scope) and not path.startswith(("/api/", "/mcp"))


class _AppWithMcpShortcut(Starlette):
    """All routes. Nearly all requests are to `/mcp`; these skip Starlette's middleware and router."""

    def __init__(self, mcp: ASGIApp, **more: Any) -> None:
        super().__init__(**more)
        self._mcp = mcp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] == "/mcp":
            await self._mcp(scope, receive, send)
        else:
            await super().__call__(scope, receive, send)


class _AsgiEndpoint:
    """Lets a route point to a plain ASGI application."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)


class _Uvicorn(uvicorn.Server):
    """uvicorn without its signal handlers: `serve.py` installs its own for both transports."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


##= docs/spec/host.md#commands
##% The command `contextive-mcp serve --http` MUST serve many clients over HTTP.
##= docs/spec/host.md#requests
##% Proxy headers MUST NOT change the caller or its scope.
async def serve_http(
    host: Host,
    stop: asyncio.Event,
    *,
    bind_host: str,
    port: int,
    on_ready: Callable[[str], None] | None = None,
) -> None:
    """Serve until `stop` is set, then end open streams and return."""
    http = HttpServer(host, bind_host)
    listener = _listen(bind_host, port)
    config = uvicorn.Config(
        http.app,
        # uvicorn expects a class and only calls it.
        http=partial(TimeoutProtocol, write_seconds=lambda: host.config.limits.write_seconds),  # type: ignore[arg-type]
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        lifespan="on",
        ws="none",
        timeout_graceful_shutdown=max(1, round(host.config.server.shutdown_seconds)),
    )
    server = _Uvicorn(config)

    async def end() -> None:
        await stop.wait()
        await http.end_streams()
        server.should_exit = True

    ending = asyncio.create_task(end())
    url = f"http://{_url_host(bind_host)}:{listener.getsockname()[1]}"
    logger.info("serving", extra={FIELDS: {"url": f"{url}/mcp", "profile": host.profile.name}})
    if on_ready is not None:
        on_ready(f"{url}/")
    elif sys.stdout is not None and sys.stdout.isatty():
        # For the person at the terminal; the log on standard error is for programs.
        sys.stdout.write(f"Serving {host.loaded.project.name} at {url}/mcp. Ctrl-C stops the server.\n")
        sys.stdout.write(f"Add this address to an MCP client, or open {url} in a browser.\n")
        sys.stdout.flush()
    try:
        with announced(host.state_dir, listener.getsockname()[1], http.instance):
            await server.serve(sockets=[listener])
    finally:
        ending.cancel()


def _listen(bind_host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in bind_host else socket.AF_INET
    # IPPROTO_TCP is needed: asyncio disables Nagle's algorithm only on sockets created with it.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((bind_host.strip("[]"), port))
        listener.listen(1024)
    except OSError as failure:
        listener.close()
        raise ConfigError(
            f"Cannot listen on {bind_host}:{port} ({failure.strerror or 'refused'}).",
            hint="Choose another --port, or end the program that uses it.",
        ) from None
    listener.setblocking(False)
    return listener


def _url_host(bind_host: str) -> str:
    return f"[{bind_host.strip('[]')}]" if ":" in bind_host else bind_host
