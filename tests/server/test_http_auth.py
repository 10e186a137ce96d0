"""Access over HTTP: tokens, scopes, sessions, brute force and rate limits."""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from contextive.errors import ConfigError
from contextive.server.auth import Authenticator, refuse_open_bind
from tests.plugins import odd_pack
from tests.plugins.packages import write_config
from tests.processes import clean_environment, is_forbidden
from tests.raw_clients import PROGRAM, HttpClient, WebServer, rpc, wait_until
from tests.server.conftest import ADMIN, READER, ServerFactory

TOKENS = {"KM_READER_TOKEN": READER, "KM_ADMIN_TOKEN": ADMIN}
NAMED = "third-token-00112233445566"
PROTECTED = ["/metrics", "/api/v1/tools", "/api/mcp", "/mcp", "/mcp/spexus", "/nowhere"]
MAINTAINER_TOOLS = [tool.name for tool in odd_pack.pack.tools if tool.scope == "maintainer"]


@pytest.fixture(scope="module")
def server(shared_server_factory: ServerFactory) -> Iterator[WebServer]:
    named = {"name": "ci", "scope": "reader", "sha256": hashlib.sha256(NAMED.encode()).hexdigest()}
    config = {"limits": {"authFailures": 100_000, "rateRequests": 0}, "auth": {"tokens": [named]}}
    with shared_server_factory.http(config, env=TOKENS) as running:
        yield running


@pytest.fixture(scope="module")
def reader(server: WebServer) -> HttpClient:
    return server.web.as_bearer(READER)


@pytest.fixture(scope="module")
def admin(server: WebServer) -> HttpClient:
    return server.web.as_bearer(ADMIN)


##= docs/spec/host.md#endpoints
##% The path `/metrics` MUST require a token when tokens are set.
##= docs/spec/host.md#tokens
##% When tokens are set, a request without a known token MUST be refused with 401, or be led to the page to sign in
##% if a browser asks for a page.
@pytest.mark.parametrize("path", PROTECTED)
def test_every_path_requires_a_token(server: WebServer, path: str) -> None:
    answer = server.web.get(path)
    assert answer.status == 401
    assert answer.headers["www-authenticate"] == 'Bearer realm="contextive"'
    if path == "/api/mcp":
        assert answer.json["error"].startswith("Missing credentials.")
    else:
        assert answer.json["error"]["code"] == "unauthorized"
        assert answer.json["detail"] == "Missing credentials"


##= docs/spec/host.md#endpoints
##% The paths `/healthz` and `/readyz` MUST answer without a token.
@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_health_needs_no_token(server: WebServer, path: str) -> None:
    assert server.web.get(path).status == 200
    assert server.web.get(path, {"Authorization": "Bearer nonsense"}).status == 200


@pytest.mark.parametrize(
    "header",
    [
        "",
        "Bearer",
        "Bearer ",
        "Bearer  " + READER,
        "Bearer wrong-token-0123456789",
        "Bearer " + READER[:-1],
        "Bearer " + READER + "x",
        "Bearer " + READER + " x",
        "Bearer " + READER.upper(),
        "Basic " + READER,
        READER,
        "Token " + READER,
        "Bearer eyJhbGciOiJub25lIn0.eyJzY29wZSI6Im1haW50YWluZXIifQ.",
        "Bearer " + hashlib.sha256(READER.encode()).hexdigest(),
        "Bearer \xff\xfe",
    ],
    ids=lambda header: header[:12] + str(len(header)),
)
@pytest.mark.parametrize("path", ["/api/v1/tools", "/mcp"])
def test_an_unknown_credential_is_an_invalid_token(server: WebServer, path: str, header: str) -> None:
    answer = server.web.get(path, {"Authorization": header})
    assert answer.status == 401
    assert answer.headers["www-authenticate"] == 'Bearer realm="contextive", error="invalid_token"'
    assert READER not in answer.text


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
def test_the_scheme_is_case_insensitive(server: WebServer, scheme: str) -> None:
    assert server.web.get("/api/v1/tools", {"Authorization": f"{scheme} {READER}"}).status == 200


##= docs/spec/host.md#requests
##% Proxy headers MUST NOT change the caller or its scope.
@pytest.mark.parametrize(
    "headers",
    [
        {"X-Forwarded-For": "127.0.0.1"},
        {"X-Forwarded-For": "127.0.0.1", "X-Forwarded-Proto": "https", "X-Real-IP": "127.0.0.1"},
        {"Forwarded": "for=127.0.0.1;host=localhost"},
        {"X-Forwarded-Host": "localhost"},
        {"X-Original-URL": "/healthz"},
    ],
    ids=lambda headers: ",".join(headers),
)
def test_proxy_headers_do_not_replace_a_token(server: WebServer, headers: dict[str, str]) -> None:
    assert server.web.get("/api/v1/tools", headers).status == 401


def tool_names(web: HttpClient) -> dict[str, set[str]]:
    """The tools that each transport lists."""
    return {
        "rest": {tool["name"] for tool in web.get("/api/v1/tools").json["tools"]},
        "handshake": {tool["name"] for tool in web.open_session().ask("tools/list")["result"]["tools"]},
        "stateless": {tool["name"] for tool in web.modern("tools/list").message["result"]["tools"]},
    }


##= docs/spec/host.md#permissions
##% A tool that requires the maintainer scope MUST NOT be listed for a reader.
def test_the_list_of_tools_depends_only_on_the_scope(reader: HttpClient, admin: HttpClient) -> None:
    for_reader, for_admin = tool_names(reader), tool_names(admin)
    assert for_reader["rest"] > for_reader["handshake"] == for_reader["stateless"]
    assert for_admin["rest"] > for_admin["handshake"] == for_admin["stateless"]
    maintained = {tool["name"] for tool in admin.get("/api/v1/tools").json["tools"] if tool["scope"] != "reader"}
    assert set(MAINTAINER_TOOLS) <= maintained
    assert for_admin["rest"] - for_reader["rest"] == maintained
    assert for_reader["rest"] < for_admin["rest"]


##= docs/spec/host.md#permissions
##% A tool that requires the maintainer scope MUST NOT be callable by a reader through any transport.
##= docs/spec/host.md#permissions
##% A call to a tool that other callers may use but this caller may not MUST fail with the code `forbidden`.
def test_a_reader_cannot_call_maintainer_tools_on_any_transport(reader: HttpClient, admin: HttpClient) -> None:
    """Uses the list of all tools, so that new ones are included."""
    everything = admin.get("/api/v1/tools").json["tools"]
    maintained = [tool["name"] for tool in everything if tool["scope"] == "maintainer"]
    assert set(MAINTAINER_TOOLS) <= set(maintained)
    session = reader.open_session()
    for name in maintained:
        rest = reader.post(f"/api/v1/tools/{name}", {})
        assert (rest.status, rest.json["error"]["code"]) == (403, "forbidden")
        assert 'error="insufficient_scope"' in rest.headers["www-authenticate"]
        assert 'scope="maintainer"' in rest.headers["www-authenticate"]
        assert is_forbidden(session.ask("tools/call", {"name": name})["result"])
        assert is_forbidden(reader.modern("tools/call", {"name": name}).json["result"])
        assert reader.post("/api/mcp", {"tool": name, "input": {}}).status == 400
        uri = f"contextive:///tools/{name}"
        assert session.ask("resources/read", {"uri": uri})["error"]["code"] == -32002


##= docs/spec/host.md#declaration
##% A tool MUST be declared once, and every transport offers it from that declaration.
def test_a_maintainer_may_call_maintainer_tools(admin: HttpClient) -> None:
    for name in MAINTAINER_TOOLS:
        assert admin.post(f"/api/v1/tools/{name}", {}).json["result"] == {"done": True}
    assert admin.open_session().ask("resources/read", {"uri": "odd:///sealed"})["result"]["contents"]


def test_a_reader_cannot_reach_maintainer_features_indirectly(reader: HttpClient) -> None:
    session = reader.open_session()
    assert session.ask("resources/read", {"uri": "odd:///sealed"})["error"]["code"] == -32002
    assert session.ask("prompts/get", {"name": "odd_sealed"})["error"]["code"] == -32602
    ref = {"type": "ref/resource", "uri": "contextive:///tools/{name}"}
    for name in MAINTAINER_TOOLS:
        params = {"ref": ref, "argument": {"name": "name", "value": name}}
        assert session.ask("completion/complete", params)["result"]["completion"]["values"] == []
        assert name not in session.result["instructions"]
        assert name not in json.dumps(session.ask("resources/read", {"uri": "contextive:///server"}))
        assert name not in reader.modern("server/discover").text


##= docs/spec/host.md#tokens
##% A session MUST be usable only with the credential that opened it.
def test_a_session_belongs_to_the_credential_that_opened_it(
    reader: HttpClient, admin: HttpClient, server: WebServer
) -> None:
    session = reader.open_session()
    for other in (admin, server.web.as_bearer(NAMED)):
        assert other.mcp(rpc("tools/list"), session.headers).status == 404
        assert other.request("DELETE", "/mcp", headers=session.headers).status == 404
    assert server.web.mcp(rpc("tools/list"), session.headers).status == 401
    assert session.ask("ping")["result"] == {}


def test_a_token_configured_by_hash_is_logged_by_name(server: WebServer) -> None:
    assert (
        server.web.as_bearer(NAMED).post("/api/v1/tools/odd_echo", {"text": "a"}, {"X-Request-ID": "named"}).status
        == 200
    )
    assert server.process.wait_for_log(lambda line: line.get("requestId") == "named")["caller"] == "token:ci"


##= docs/spec/host.md#logs
##% A secret from the configuration MUST NOT be logged.
def test_tokens_appear_in_no_response_log_or_command_line(
    server: WebServer, reader: HttpClient, admin: HttpClient
) -> None:
    for web in (reader, admin, server.web.as_bearer(READER + "x")):
        for path in PROTECTED:
            answer = web.get(path)
            assert not [t for t in (READER, ADMIN, NAMED) if t in answer.text + str(answer.headers)]
    answer = reader.post("/api/v1/tools/odd_echo", {"text": ADMIN, ADMIN: READER}, {"X-Request-ID": READER})
    assert answer.status == 400
    server.process.wait_for_log(lambda line: line.get("requestId") == "[hidden]")
    for secret in (READER, ADMIN, NAMED):
        assert secret not in server.process.log_text
    commandline = Path(f"/proc/{server.process.process.pid}/cmdline").read_bytes()
    assert READER.encode() not in commandline


def test_without_tokens_local_callers_may_only_read(server_factory: ServerFactory) -> None:
    with server_factory.http() as running:
        info = running.web.post("/api/v1/tools/contextive_server_info", {}).json["result"]
        assert info["scope"] == "reader"
        assert info["mode"] == "http"
        for name in MAINTAINER_TOOLS:
            assert running.web.post(f"/api/v1/tools/{name}", {}).status == 403
        session = running.web.open_session()
        assert not set(MAINTAINER_TOOLS) & {t["name"] for t in session.ask("tools/list")["result"]["tools"]}


def start_and_fail(server_factory: ServerFactory, *arguments: str, env: dict[str, str] | None = None) -> str:
    """Standard error of a server that refuses to start."""
    done = subprocess.run(
        [*PROGRAM, "serve", "--http", "--port", "0", *arguments],
        cwd=server_factory.folder,
        env=clean_environment(env),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=20,
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    return done.stderr


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "[::1]", "localhost", "LOCALHOST"])
def test_a_loopback_address_needs_no_tokens(host: str) -> None:
    refuse_open_bind(host, Authenticator(()))


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "[::]", "192.168.1.1", "example.org", "localhost.evil.com", ""])
def test_every_other_address_needs_tokens(host: str) -> None:
    with pytest.raises(ConfigError, match="without tokens"):
        refuse_open_bind(host, Authenticator(()))


##= docs/spec/host.md#startup
##% The server MUST refuse to start on a non-loopback address while there are no tokens.
def test_a_non_loopback_address_without_tokens_refuses_to_start(server_factory: ServerFactory) -> None:
    stderr = start_and_fail(server_factory, "--host", "0.0.0.0")
    assert "Refusing to listen on 0.0.0.0 without tokens" in stderr
    assert "KM_READER_TOKEN" in stderr
    assert len(stderr.strip().splitlines()) == 1


##= docs/spec/host.md#tokens
##% A token that is short, easy to guess, or used for both scopes MUST be refused at startup.
@pytest.mark.parametrize(
    ("token", "word"), [("short", "16"), ("changeme-changeme-changeme", "guess"), ("aaaaaaaaaaaaaaaaaaaa", "guess")]
)
def test_a_short_or_guessable_token_refuses_to_start(server_factory: ServerFactory, token: str, word: str) -> None:
    stderr = start_and_fail(server_factory, env={"KM_READER_TOKEN": token})
    assert word in stderr
    assert token not in stderr


def test_one_token_for_both_roles_refuses_to_start(server_factory: ServerFactory) -> None:
    stderr = start_and_fail(server_factory, env={"KM_READER_TOKEN": READER, "KM_ADMIN_TOKEN": READER})
    assert "differ" in stderr
    assert READER not in stderr


def test_a_non_loopback_address_with_tokens_accepts_ip_hosts_but_no_foreign_names(
    server_factory: ServerFactory,
) -> None:
    with server_factory.http(None, "--host", "0.0.0.0", env=TOKENS) as running:
        web = running.web.as_bearer(READER)
        assert web.get("/api/v1/tools", {"Host": "192.168.1.7:8787"}).status == 200
        assert web.get("/api/v1/tools", {"Host": "evil.com"}).status == 421
        assert running.web.get("/api/v1/tools", {"Host": "192.168.1.7"}).status == 401


##= docs/spec/host.md#tokens
##% An address that sends too many wrong tokens MUST be refused with 429 until it sends a valid one or the window
##% ends.
##= docs/spec/host.md#tokens
##% A request with a valid token MUST be served, regardless of other requests from its address.
def test_token_guessing_is_stopped_and_a_valid_token_is_always_served(server_factory: ServerFactory) -> None:
    with server_factory.http({"limits": {"authFailures": 3, "rateWindowSeconds": 600}}, env=TOKENS) as running:
        web = running.web
        assert [web.get("/api/v1/tools").status for _ in range(5)] == [401] * 5, (
            "a request without a token is not a guess"
        )
        guesses = [f"Bearer wrong-token-{number}-0123456789" for number in range(5)]
        statuses = [web.get("/api/v1/tools", {"Authorization": guess}).status for guess in guesses]
        assert statuses == [401, 401, 401, 429, 429], "all wrong tokens of an address count together"
        answer = web.get("/api/v1/tools")
        assert answer.status == 429, "requests without a token are now refused as well"
        assert 1 <= int(answer.headers["retry-after"]) <= 600
        assert answer.json["error"]["code"] == "rate_limited"
        spoofed = web.get("/api/v1/tools", {"Authorization": guesses[0], "X-Forwarded-For": "10.0.0.1"})
        assert spoofed.status == 429, "another address in a header is not another address"
        for token in (READER, ADMIN):
            assert web.as_bearer(token).get("/api/v1/tools").status == 200, "a valid token is always served"
        assert web.as_bearer(READER).open_session().ask("ping")["result"] == {}
        assert web.get("/api/v1/tools", {"Authorization": guesses[0]}).status == 429
        assert web.get("/healthz").status == 200
        elsewhere = replace(web, address="127.0.0.2")
        assert elsewhere.get("/api/v1/tools").status == 401, "other addresses are not refused"


##= docs/spec/host.md#client-addresses
##% Behind trusted proxies, the client address MUST be the rightmost forwarded address that is not a trusted proxy.
def test_behind_a_trusted_proxy_only_the_guessing_client_is_limited(server_factory: ServerFactory) -> None:
    config = {
        "limits": {"authFailures": 2, "rateWindowSeconds": 600},
        "server": {"trustedProxies": ["127.0.0.1", "10.0.0.0/8"]},
    }
    with server_factory.http(config, env=TOKENS) as running:
        proxy, stranger = running.web, replace(running.web, address="127.0.0.2")
        guess = {"Authorization": "Bearer wrong-token-0123456789"}
        sent = [{"X-Forwarded-For": f"198.51.100.{number}, 203.0.113.1, 10.1.1.1"} for number in range(4)]
        statuses = [proxy.get("/api/v1/tools", {**guess, **forwarded}).status for forwarded in sent]
        assert statuses == [401, 401, 429, 429], "addresses that the client itself sends change nothing"
        assert proxy.get("/api/v1/tools", {**guess, "Forwarded": "for=203.0.113.1"}).status == 429
        assert proxy.get("/api/v1/tools", {**guess, "Forwarded": 'for="203.0.113.2:4711"'}).status == 401
        statuses = [stranger.get("/api/v1/tools", {**guess, **forwarded}).status for forwarded in sent]
        assert statuses == [401, 401, 429, 429], "a header of an untrusted peer changes nothing"
        assert proxy.as_bearer(READER).get("/api/v1/tools", sent[0]).status == 200
        for name, value in (("X-Forwarded-For", "127.0.0.1"), ("Forwarded", "for=127.0.0.1")):
            assert proxy.get("/api/v1/tools", {name: value}).status == 401, "an address is never a credential"


##= docs/spec/host.md#limits
##% A caller that exceeds `limits.rateRequests` in a window MUST be refused with 429 and the number of seconds to
##% wait.
##= docs/spec/host.md#limits
##% Requests MUST be counted per token, and per address only for callers without a token.
##= docs/spec/host.md#limits
##% Requests to `/healthz`, `/readyz` and `/metrics` MUST be counted separately from all others.
def test_requests_are_counted_per_token_and_per_address_without_a_token(server_factory: ServerFactory) -> None:
    with server_factory.http({"limits": {"rateRequests": 6, "rateWindowSeconds": 600}}, env=TOKENS) as running:
        here, there = running.web, replace(running.web, address="127.0.0.2")
        statuses = [here.get("/api/v1/tools", {"X-Forwarded-For": f"10.0.0.{n}"}).status for n in range(7)]
        assert statuses == [401] * 6 + [429], "the address has used up its window"
        assert [here.as_bearer(READER).get("/api/v1/tools").status for _ in range(4)] == [200] * 4
        statuses = [there.as_bearer(READER).get("/api/v1/tools").status for _ in range(3)]
        assert statuses == [200, 200, 429], "the token has used up its window, wherever it comes from"
        assert here.as_bearer(ADMIN).get("/api/v1/tools").status == 200, "another token has its own window"
        assert there.get("/api/v1/tools").status == 401
        statuses = [here.get(path).status for path in ("/healthz", "/readyz", "/metrics", "/healthz", "/healthz")]
        assert statuses == [200, 200, 401, 200, 200], "monitoring has its own limit"
        assert [here.get("/healthz").status for _ in range(2)] == [200, 429]
        refused = here.get("/readyz")
        assert int(refused.headers["retry-after"]) >= 1
        assert there.get("/healthz").status == 200
        assert here.as_bearer(READER).get("/metrics").status == 200, "a token is counted separately from the address"
        assert here.as_bearer(ADMIN).get("/api/v1/tools").status == 200


def test_without_tokens_a_flood_of_health_checks_does_not_limit_the_tools(
    server_factory: ServerFactory,
) -> None:
    with server_factory.http({"limits": {"rateRequests": 3, "rateWindowSeconds": 600}}) as running:
        web = running.web
        assert [web.get("/healthz").status for _ in range(4)] == [200, 200, 200, 429]
        assert [web.get("/api/v1/tools").status for _ in range(4)] == [200, 200, 200, 429]
        assert web.get("/metrics").status == 429


##= docs/spec/host.md#tokens
##% A token that is removed from the configuration MUST stop working without a restart.
def test_a_token_removed_from_the_configuration_is_refused_in_the_middle_of_a_session(
    server_factory: ServerFactory,
) -> None:
    def tokens(*names: str) -> dict[str, object]:
        listed = [
            {"name": name, "scope": "reader", "sha256": hashlib.sha256(f"{name}-0123456789abcdef".encode()).hexdigest()}
            for name in names
        ]
        return {"auth": {"tokens": listed}}

    file = server_factory.config(tokens("stays", "goes"))
    with server_factory.http_with(file) as running:
        leaving = running.web.as_bearer("goes-0123456789abcdef").open_session()
        staying = running.web.as_bearer("stays-0123456789abcdef").open_session()
        write_config(file, tokens("stays"))
        wait_until(lambda: leaving.post(rpc("ping")).status == 401, "the token is refused")
        assert staying.ask("ping")["result"] == {}


##= docs/spec/host.md#tokens
##% Tokens MUST be compared in constant time.
def test_tokens_are_compared_in_constant_time() -> None:
    source = Path(__file__).resolve().parents[2] / "src" / "contextive" / "server" / "auth.py"
    text = source.read_text(encoding="utf-8")
    assert "hmac.compare_digest" in text
    assert "== token" not in text
    assert "== digest" not in text
