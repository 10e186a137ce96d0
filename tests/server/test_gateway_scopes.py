"""Access to every tool and every route with every kind of credential."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.routing import Route

from contextive.config import ConfigRequest, load_config
from contextive.packs import BUILTIN, load_builtin
from contextive.packs.knowledge.gateway_tools import gateway_pack
from contextive.packs.knowledge.routes import ROUTES, GatewayRoute
from contextive.registry import Scope
from contextive.server.guard import RequestGuard
from contextive.server.host import Host
from contextive.server.http import HttpServer
from contextive.server.profiles import PROFILES
from contextive.server.tokens import TokenFile
from tests.processes import is_forbidden
from tests.raw_clients import LATEST_HANDSHAKE, HttpClient, HttpResponse, WebServer, rpc
from tests.server.conftest import ADMIN, READER
from tests.server.gateways import indexed_gateway

DECLARED = {tool.name: tool for name in BUILTIN for tool in load_builtin(name).tools}
ROUTE_TOOLS = {**DECLARED, **{tool.name: tool for tool in gateway_pack.tools}}
TOOLS = sorted(DECLARED)
OPEN_PATHS = ("/healthz", "/readyz", "/sign-in", "/assets/x", "/instance")
"""Paths without authentication. Every other path of the server needs a token."""
PATH_VALUES = {"profile": "duskmantle", "name": "km-search"}
JSON = {"Content-Type": "application/json"}
ALLOWED = ("km-search", "km-graph-node", "km-ingest-list")
WRONG = {"no-such-argument": True}
"""A call with this passes the access check, fails at the argument check, and does nothing."""


@dataclass(frozen=True)
class TokenSet:
    """One token of each kind."""

    reader: str
    maintainer: str
    revoked: str
    expired: str
    limited: str
    limited_reader: str


@dataclass(frozen=True)
class ScopedGateway:
    server: WebServer
    keys: TokenSet
    tokens: TokenFile
    config: Path

    @property
    def web(self) -> HttpClient:
        return self.server.web


@pytest.fixture(scope="module")
def gate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ScopedGateway]:
    with indexed_gateway(tmp_path_factory.mktemp("scopes")) as (station, server):
        tokens = TokenFile(station.root / ".contextive", station.user / "contextive" / "token.key")
        keys = TokenSet(
            reader=station.create_token("plain"),
            maintainer=tokens.issue("keeper", Scope.MAINTAINER),
            revoked=tokens.issue("former", Scope.MAINTAINER),
            expired=tokens.issue("late", Scope.MAINTAINER, expires_at=time.time() - 1),
            limited=tokens.issue("narrow", Scope.MAINTAINER, tools=ALLOWED),
            limited_reader=tokens.issue("narrower", Scope.READER, tools=ALLOWED),
        )
        tokens.revoke("former")
        yield ScopedGateway(server, keys, tokens, station.root / "contextive.config.json")


def call(web: HttpClient, tool: str) -> HttpResponse:
    return web.post(f"/api/v1/tools/{tool}", WRONG)


def ask(web: HttpClient, route: GatewayRoute) -> HttpResponse:
    """Send a request that fails only at its arguments, or that does very little."""
    path = (
        route.openapi_path.replace("{node_id}", "Nothing").replace("{name}", "Nowhere").replace("{symbol_id}", "x::y")
    )
    return web.post(path, {"query": 5}) if route.method == "POST" else web.get(path)


def verdict(answer: HttpResponse) -> str:
    match answer.status:
        case 401:
            assert answer.json["error"]["code"] == "unauthorized"
            return "unauthorized"
        case 403:
            assert answer.json["error"]["code"] == "forbidden"
            return "forbidden"
        case status:
            assert status in (200, 400, 404, 422), answer.text
            return "allowed"


##= docs/spec/gateway.md#tool-scopes
##% A reader MUST be able to search, to read the graph and to see coverage with the token in `KM_READER_TOKEN`.
##= docs/spec/gateway.md#tool-scopes
##% Over HTTP, feedback, backups, documents, recipes and ingest control MUST require the maintainer scope, which the
##% token in `KM_ADMIN_TOKEN` has.
@pytest.mark.parametrize("tool", TOOLS)
def test_who_may_call_a_tool(gate: ScopedGateway, tool: str) -> None:
    needs_maintainer = DECLARED[tool].scope is not Scope.READER
    for token in (None, "wrong-token-0123456789", gate.keys.revoked, gate.keys.expired):
        assert verdict(call(gate.web.as_bearer(token), tool)) == "unauthorized"
    for token in (READER, gate.keys.reader):
        assert verdict(call(gate.web.as_bearer(token), tool)) == ("forbidden" if needs_maintainer else "allowed")
    for token in (ADMIN, gate.keys.maintainer):
        assert verdict(call(gate.web.as_bearer(token), tool)) == "allowed"
    assert verdict(call(gate.web.as_bearer(gate.keys.limited), tool)) == ("allowed" if tool in ALLOWED else "forbidden")
    may = tool in ALLOWED and not needs_maintainer
    assert verdict(call(gate.web.as_bearer(gate.keys.limited_reader), tool)) == ("allowed" if may else "forbidden")


##= docs/spec/gateway.md#routes
##% Each API route MUST call its tool, with the scope, the checks, the limits, the log line and the metrics of that
##% tool.
@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.openapi_path}")
def test_who_may_use_a_route(gate: ScopedGateway, route: GatewayRoute) -> None:
    needs_maintainer = ROUTE_TOOLS[route.tool].scope is Scope.MAINTAINER
    for token in (None, "wrong-token-0123456789", gate.keys.revoked, gate.keys.expired):
        assert verdict(ask(gate.web.as_bearer(token), route)) == "unauthorized"
    for token in (READER, gate.keys.reader):
        assert verdict(ask(gate.web.as_bearer(token), route)) == ("forbidden" if needs_maintainer else "allowed")
    for token in (ADMIN, gate.keys.maintainer):
        assert verdict(ask(gate.web.as_bearer(token), route)) == "allowed"
    assert verdict(ask(gate.web.as_bearer(gate.keys.limited), route)) == (
        "allowed" if route.tool in ALLOWED else "forbidden"
    )


def test_the_scopes_of_the_routes_are_those_of_the_gateway_contract() -> None:
    maintained = {route.openapi_path for route in ROUTES if ROUTE_TOOLS[route.tool].scope is Scope.MAINTAINER}
    assert maintained == {
        "/api/v1/search/weights",
        "/api/v1/graph/cypher",
        "/api/v1/lifecycle",
        "/api/v1/lifecycle/history",
        "/api/v1/audit/history",
    }


def every_path(folder: Path) -> list[tuple[str, str]]:
    """Method and path of all routes, taken from the application itself, so that new routes are included."""
    request = ConfigRequest(project=folder, builtin_packs=frozenset(BUILTIN), environ={})
    http = HttpServer(Host(load_config(request), mode="http"), "127.0.0.1")
    assert isinstance(http.app, RequestGuard)
    assert isinstance(http.app._app, Starlette)
    found = []
    for route in http.app._app.routes:
        assert isinstance(route, Route)
        path = re.sub(r"\{(\w+)(:\w+)?\}", lambda match: PATH_VALUES.get(match[1], "x"), route.path)
        found += [(method, path) for method in sorted(route.methods or {"POST", "GET", "DELETE"}) if method != "HEAD"]
    return found


def test_only_health_and_signing_in_work_without_a_token(gate: ScopedGateway, tmp_path: Path) -> None:
    paths = every_path(tmp_path)
    assert {"/mcp", "/mcp/duskmantle", "/api/mcp", "/metrics", "/api/v1/tools/km-search"} <= {path for _, path in paths}
    for method, path in paths:
        for token in (None, "wrong-token-0123456789", gate.keys.revoked, gate.keys.expired):
            answer = gate.web.as_bearer(token).request(method, path, b"{}" if method == "POST" else None, JSON)
            assert (answer.status == 401) is (path not in OPEN_PATHS), (method, path, answer.status)
            if path not in OPEN_PATHS:
                assert answer.headers["www-authenticate"].startswith("Bearer")
    for path in ("/metrics", "/api/v1/tools", "/api/v1/openapi.json"):
        assert {gate.web.as_bearer(token).get(path).status for token in (READER, ADMIN, gate.keys.reader)} == {200}


@pytest.mark.parametrize("profile", [name for name, profile in PROFILES.items() if profile.packs])
def test_every_profile_lists_and_calls_by_scope(gate: ScopedGateway, profile: str) -> None:
    offered = {name: tool for name, tool in DECLARED.items() if tool.pack in PROFILES[profile].packs}
    for token, scope in ((READER, Scope.READER), (gate.keys.reader, Scope.READER), (ADMIN, Scope.MAINTAINER)):
        version = PROFILES[profile].pinned_version or LATEST_HANDSHAKE
        session = gate.web.as_bearer(token).open_session(version, f"/mcp/{profile}")
        allowed = {name for name, tool in offered.items() if scope.covers(tool.scope)}
        listed = {tool["name"] for tool in session.ask("tools/list")["result"]["tools"]}
        assert listed == allowed if PROFILES[profile].lists_everything else listed < allowed
        for name in offered:
            answer = session.ask("tools/call", {"name": name, "arguments": WRONG})
            if name in allowed:
                assert "invalid_request" in answer["result"]["content"][0]["text"], name
            else:
                assert is_forbidden(answer["result"]), name


##= docs/spec/gateway.md#issued-tokens
##% A token MAY have an expiry time and a list of tools.
##= docs/spec/gateway.md#issued-tokens
##% A caller whose token has a list of tools MUST be offered these tools and nothing else.
def test_a_limited_token_is_offered_its_tools_and_nothing_else(gate: ScopedGateway) -> None:
    web = gate.web.as_bearer(gate.keys.limited)
    listed = [tool["name"] for tool in web.get("/api/v1/tools").json["tools"]]
    session = web.open_session()
    assert sorted(listed) == sorted(ALLOWED)
    assert sorted(t["name"] for t in session.ask("tools/list")["result"]["tools"]) == sorted(ALLOWED)
    assert session.ask("resources/list")["result"]["resources"] == []
    assert session.ask("prompts/list")["result"]["prompts"] == []
    assert is_forbidden(session.ask("tools/call", {"name": "km-help"})["result"])
    assert "error" in session.ask("resources/read", {"uri": "contextive:///tools/km-help"})
    paths = web.get("/api/v1/openapi.json").json["paths"]
    assert "/api/v1/search" in paths
    assert "/api/v1/graph/orphans" not in paths


##= docs/spec/gateway.md#issued-tokens
##% A session and its streams MUST end when the token that opened them stops working.
def test_a_session_ends_with_its_token(gate: ScopedGateway) -> None:
    web = gate.web.as_bearer(gate.tokens.issue("brief", Scope.READER))
    session = web.open_session()
    assert session.ask("ping")["result"] == {}
    gate.tokens.revoke("brief")
    assert web.mcp(rpc("ping"), session.headers).status == 401


##= docs/spec/gateway.md#issued-tokens
##% The log MUST show the name of a token and never the token itself.
def test_the_log_has_the_name_of_a_token_but_not_the_token(gate: ScopedGateway) -> None:
    gate.web.as_bearer(gate.keys.maintainer).post("/api/v1/tools/km-help", {}, {"X-Request-ID": "issued-1"})
    line = gate.server.process.wait_for_log(lambda found: found.get("requestId") == "issued-1")
    assert line["caller"] == "token:keeper"
    assert gate.keys.maintainer not in gate.server.process.log_text


def test_a_stream_ends_with_its_token_before_its_next_event(gate: ScopedGateway) -> None:
    web = gate.web.as_bearer(gate.tokens.issue("listener", Scope.READER))
    session = web.open_session()
    with session.listen() as stream:
        gate.tokens.revoke("listener")
        gate.config.write_text('{"toolPacks": {"trace": {"enabled": false}}}', encoding="utf-8")
        assert stream.rest() == []
