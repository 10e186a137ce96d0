"""HTTP requests with foreign hosts and origins, odd paths and headers, smuggling, and clients that block others."""

from __future__ import annotations

import contextlib
import http.server
import json
import socket
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from contextive.packs import BUILTIN, load_builtin
from contextive.registry import Scope
from contextive.server.site_requests import is_page_path, is_site_path
from tests.processes import clean_environment
from tests.raw_clients import PROGRAM, HttpClient, envelope, modern_headers, rpc, wait_until

from .conftest import GetSharedServer
from .routes import OPEN, declared_routes, status_without_token
from .target import ADMIN, READER, AttackResult, AttackTarget, make_project, open_target

Routes = list[tuple[str, str]]
DECLARED = {tool.name: tool for name in BUILTIN for tool in load_builtin(name).tools}


@pytest.fixture(scope="module")
def target(shared_server: GetSharedServer) -> AttackTarget:
    return shared_server("http")


@pytest.fixture(scope="module")
def routes(tmp_path_factory: pytest.TempPathFactory) -> Routes:
    return declared_routes(make_project(tmp_path_factory.mktemp("routes")))


def at_every_route(
    target: AttackTarget, routes: Routes, headers: dict[str, str], token: str | None = ADMIN
) -> Iterator[tuple[str, str, AttackResult]]:
    for method, path in routes:
        body = b"{}" if method == "POST" else None
        yield method, path, target.request(method, path, body, headers, token=token)


def test_the_routes_of_every_transport_are_found(routes: Routes) -> None:
    assert {("GET", "/healthz"), ("GET", "/metrics"), ("POST", "/mcp"), ("DELETE", "/mcp"), ("POST", "/mcp/duvet")} <= {
        *routes
    }
    assert {("GET", "/api/mcp"), ("POST", "/api/v1/search"), ("POST", "/api/v1/tools/km-search")} <= {*routes}


HOSTS = {
    "evil": "evil.com",
    "evil-with-the-right-port": "evil.com:{port}",
    "loopback-as-a-subdomain": "127.0.0.1.nip.io",
    "localhost-as-a-subdomain": "localhost.evil.com",
    "user-before-the-host": "127.0.0.1@evil.com",
    "localhost-with-a-dot-and-more": "localhost.:{port}.evil.com",
    "another-address": "192.168.1.1",
    "any-address": "0.0.0.0:{port}",
    "decimal-address": "2130706433",
    "mapped-address": "[::ffff:127.0.0.1]",
    "space": "localhost evil.com",
    "comma": "localhost, evil.com",
    "empty": "",
}


@pytest.mark.parametrize("case", HOSTS)
def test_a_foreign_host_is_misdirected_on_every_route(target: AttackTarget, routes: Routes, case: str) -> None:
    host = HOSTS[case].replace("{port}", str(target.http_client().port))
    for method, path, shot in at_every_route(target, routes, {"Host": host}):
        assert shot.status in (400, 403, 421), (method, path, shot.text)
    target.assert_unharmed()


ORIGINS = {
    "evil": "http://evil.com",
    "null": "null",
    "localhost-as-a-subdomain": "http://localhost.evil.com",
    "loopback-as-a-subdomain": "http://127.0.0.1.nip.io",
    "user-before-the-host": "http://localhost@evil.com",
    "extension": "chrome-extension://abcdef",
    "file": "file://",
    "two": "http://localhost, http://evil.com",
    "two-with-a-space": "http://localhost http://evil.com",
    "backslash": "http://localhost\\.evil.com",
    "fragment": "http://evil.com#@localhost",
    "no-number": "http://localhost:evil",
    "empty": "",
}


@pytest.mark.parametrize("case", ORIGINS)
def test_a_foreign_origin_is_forbidden_on_every_route(target: AttackTarget, routes: Routes, case: str) -> None:
    for method, path, shot in at_every_route(target, routes, {"Origin": ORIGINS[case]}):
        assert shot.status == 403, (method, path, shot.text)
    target.assert_unharmed()


@pytest.mark.parametrize(
    ("host", "origin", "status"),
    [
        pytest.param("127.0.0.1", "http://evil.com", 403, id="right-host-wrong-origin"),
        pytest.param("evil.com", "http://127.0.0.1", 421, id="wrong-host-right-origin"),
        pytest.param("evil.com", "http://evil.com", 421, id="both-wrong-and-the-same"),
    ],
)
def test_dns_rebinding_is_refused_on_every_route(
    target: AttackTarget, routes: Routes, host: str, origin: str, status: int
) -> None:
    for method, path, shot in at_every_route(target, routes, {"Host": host, "Origin": origin}):
        assert shot.status == status, (method, path)
    target.assert_unharmed()


@pytest.mark.parametrize(
    "kind",
    [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "",
        "text/plain; application/json",
    ],
)
def test_a_post_that_needs_no_preflight_is_refused(target: AttackTarget, routes: Routes, kind: str) -> None:
    for method, path in routes:
        if method == "POST":
            body = json.dumps(rpc("tools/call", {"name": "km-ingest-trigger", "arguments": {}})).encode()
            is_form = kind.endswith("urlencoded") and is_site_path(path)
            status = target.request("POST", path, body, {"Content-Type": kind}).status
            assert status == (403 if is_form else 415), path  # a form needs the Origin of the site
    target.assert_unharmed()


@pytest.mark.parametrize("origin", ["http://evil.com", "null", "http://localhost:5173"])
def test_no_preflight_allows_a_foreign_origin(target: AttackTarget, routes: Routes, origin: str) -> None:
    asking = {
        "Origin": origin,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization",
    }
    for path in sorted({path for _, path in routes}):
        answer = target.http_client(None).request("OPTIONS", path, None, asking)
        found = {name.lower(): value for name, value in answer.headers.items()}
        assert found.get("access-control-allow-origin") not in ("*", origin), path
        assert "access-control-allow-credentials" not in found, path
    target.assert_unharmed()


def test_only_the_allowed_origin_is_allowed_and_without_tokens_nobody_can_write(
    tmp_path: Path,
) -> None:
    config = {"server": {"allowedOrigins": ["https://friend.example"]}}
    with open_target("http", tmp_path, config=config, with_tokens=False) as target:
        for origin in ("https://friend.example", "http://evil.com", "https://friend.example.evil.com"):
            asking = {"Origin": origin, "Access-Control-Request-Method": "POST"}
            headers = target.http_client(None).request("OPTIONS", "/mcp", None, asking).headers
            allowed = headers["access-control-allow-origin"]
            assert allowed == (origin if origin == "https://friend.example" else None), origin
            assert headers["access-control-allow-credentials"] is None
        names = {tool["name"] for tool in target.request("GET", "/api/v1/tools", token=None).reply["tools"]}
        for name in sorted(DECLARED):
            is_open = DECLARED[name].scope is Scope.READER
            assert (name in names) == is_open, name
            if not is_open:
                assert target.request("POST", f"/api/v1/tools/{name}", {}, token=None).status == 403, name
        target.assert_unharmed(entries=0)


SITES = {
    "image": {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"},
    "script": {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "script"},
    "link": {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"},
    "frame": {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"},
    "another-port": {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors", "Origin": "http://127.0.0.1:5173"},
}


@pytest.mark.parametrize("case", SITES)
def test_cross_site_requests_of_a_browser_are_forbidden_on_every_route(
    target: AttackTarget, routes: Routes, case: str
) -> None:
    for token in (None, ADMIN):
        for method, path, shot in at_every_route(target, routes, SITES[case], token=token):
            if case == "link" and method == "GET" and is_page_path(path):
                assert shot.status != 403, path  # a link of another site may open a page
            else:
                assert shot.status == 403, (method, path, shot.text)
    target.assert_unharmed(entries=len([shot for shot in target.shots if shot.status >= 400]))


def test_a_web_page_cannot_use_up_rate_limits(tmp_path: Path) -> None:
    config = {"limits": {"rateRequests": 20, "authFailures": 3, "rateWindowSeconds": 600}}
    with open_target("http", tmp_path, config=config, with_tokens=False) as target:
        for number in range(100):
            path = ("/healthz", "/api/v1/tools", "/mcp", "/metrics")[number % 4]
            assert target.request("GET", path, headers=SITES["image"], token=None).status == 403
        for path in ("/healthz", "/api/v1/tools"):
            assert target.request("GET", path, token=None).status == 200
        target.assert_unharmed(entries=100)


# -- one client against another --------------------------------------------------------------------------------------


class _Proxy(http.server.BaseHTTPRequestHandler):
    """A reverse proxy that appends its client's address to the X-Forwarded-For header of the request."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        assert isinstance(self.server, _ProxyServer)
        sent = {name: value for name, value in self.headers.items() if name != "X-Forwarded-For"}
        chain = [*self.headers.get_all("X-Forwarded-For", []), self.client_address[0]]
        answer = self.server.behind.get(self.path, {**sent, "X-Forwarded-For": ", ".join(chain)})
        self.send_response(answer.status)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 # as the base class calls it
        return


class _ProxyServer(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, behind: HttpClient) -> None:
        super().__init__(("127.0.0.1", 0), _Proxy)
        self.behind = behind


@contextlib.contextmanager
def proxy_before(web: HttpClient) -> Iterator[HttpClient]:
    with _ProxyServer(web) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield HttpClient(server.server_address[1])
        finally:
            server.shutdown()
            thread.join(10)


@pytest.mark.parametrize("is_trusted", [False, True], ids=["unknown-proxy", "trusted-proxy"])
def test_guessing_behind_a_proxy_does_not_lock_out_others(tmp_path: Path, is_trusted: bool) -> None:
    config = {
        "limits": {"authFailures": 5, "rateRequests": 20, "rateWindowSeconds": 600},
        "server": {"trustedProxies": ["127.0.0.1"] if is_trusted else []},
    }
    with open_target("http", tmp_path, config=config) as target, proxy_before(target.http_client(None)) as proxy:
        guesser, user = replace(proxy, address="127.0.0.2"), replace(proxy, address="127.0.0.3")
        statuses = []
        for number in range(30):
            guess = {
                "Authorization": f"Bearer guess-{number:04}-0123456789abcdef",
                "X-Forwarded-For": f"10.0.0.{number}",
            }
            statuses.append(guesser.get("/api/v1/tools", guess).status)
            guesser.get("/healthz", {"X-Forwarded-For": f"10.0.0.{number}"})
        assert statuses == [401] * 5 + [429] * 25
        for token in (READER, ADMIN):
            assert user.as_bearer(token).get("/api/v1/tools").status == 200
            assert guesser.as_bearer(token).get("/api/v1/tools").status == 200
        assert user.as_bearer(ADMIN).get("/metrics").status == 200
        # Requests without a token can be told apart only if the proxy is trusted.
        assert user.get("/healthz").status == (200 if is_trusted else 429)
        assert user.get("/api/v1/tools").status == (401 if is_trusted else 429)
        assert target.process.process.poll() is None


def test_connections_with_unread_answers_are_closed(tmp_path: Path) -> None:
    files = {f"notes/long-{number}.md": f"# Long {number}\n\n" + "words " * 120_000 for number in range(8)}
    config = {"limits": {"writeSeconds": 1, "maxResultBytes": 32_000_000, "rateRequests": 0}}
    with open_target("http", tmp_path, config=config, files=files) as target, contextlib.ExitStack() as stack:
        head = f"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {READER}\r\n\r\n".encode()
        calls = [whole_call("get_page", {"slug": f"long-{number}", "detail": "full"}) for number in range(8)]
        for _ in range(20):
            client = stack.enter_context(socket.socket())
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.settimeout(30)
            client.connect(("127.0.0.1", target.http_client().port))
            client.sendall(b"".join(calls) * 2 + head)
        wait_until(
            lambda: target.process.log_text.count("did not read the response") == 20, "all connections are cut", 60
        )
        target.assert_unharmed(entries=0)


def whole_call(tool: str, arguments: dict[str, object]) -> bytes:
    """Return a complete request that calls a tool, to be sent after others on one connection."""
    body = json.dumps(arguments)
    lines = [f"POST /api/v1/tools/{tool} HTTP/1.1", "Host: 127.0.0.1", f"Authorization: Bearer {READER}"]
    lines += ["Content-Type: application/json", f"Content-Length: {len(body)}", "", body]
    return "\r\n".join(lines).encode()


def other_address() -> str | None:
    """Return an address of this machine that is not loopback."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return None
        found = str(probe.getsockname()[0])
    return None if found.startswith("127.") else found


def test_the_default_address_is_loopback_only(target: AttackTarget) -> None:
    line = target.process.wait_for_log(lambda found: found.get("event") == "serving")
    assert line["url"].startswith("http://127.0.0.1:")
    address = other_address()
    if address is not None:
        with pytest.raises(OSError, match=r"refused|timed out|unreachable"):
            socket.create_connection((address, target.http_client().port), timeout=2).close()
    target.assert_unharmed()


@pytest.mark.parametrize("address", ["0.0.0.0"])
def test_the_server_does_not_start_on_an_open_address_without_tokens(tmp_path: Path, address: str) -> None:
    root = make_project(tmp_path)
    command = [*PROGRAM, "serve", "--http", "--port", "0", "--host", address]
    env = clean_environment({"HOME": str(tmp_path / "home"), "XDG_CONFIG_HOME": str(tmp_path / "home")})
    done = subprocess.run(command, cwd=root, env=env, capture_output=True, timeout=30, check=False)
    assert done.returncode != 0
    assert b"Traceback" not in done.stderr


def test_only_health_is_answered_without_a_token(target: AttackTarget, routes: Routes) -> None:
    for method, path, shot in at_every_route(target, routes, {}, token=None):
        assert shot.status == status_without_token(method, path), (method, path, shot.text)
    for path in ("/", "/nowhere", "/docs", "/openapi.json", "/admin", "/.env"):
        assert target.request("GET", path, token=None).status == 401
    target.assert_unharmed(entries=len(routes) - len(OPEN))


PATHS = {
    "up": "/mcp/../admin",
    "up-to-metrics": "/healthz/../metrics",
    "encoded-up-to-metrics": "/healthz/%2e%2e/metrics",
    "double-slash": "//mcp",
    "double-slash-inside": "/api//v1/tools",
    "encoded-slash": "/mcp%2f",
    "encoded-slash-profile": "/mcp%2fduvet",
    "trailing-slash": "/metrics/",
    "parameter": "/metrics;x=/healthz",
    "encoded-question": "/metrics%3f/healthz",
    "health-behind": "/metrics/healthz",
    "health-before": "/healthz/metrics",
    "case": "/METRICS",
    "dot": "/./metrics",
    "backslash": "/healthz\\..\\metrics",
    "nul": "/healthz%00/metrics",
    "newline": "/healthz%0d%0aX: y",
    "whole-url": "http://evil.com/metrics",
    "whole-url-of-here": "http://127.0.0.1/metrics",
    "not-utf-8": "/metrics%ff",
    "overlong": "/%c0%ae%c0%ae/metrics",
}


@pytest.mark.parametrize("case", PATHS)
def test_no_spelling_of_a_path_bypasses_the_token(target: AttackTarget, case: str) -> None:
    path = PATHS[case].replace(" ", "%20")
    for token, expected in ((None, (401, 400)), (READER, (404, 400, 405, 406, 200))):
        for method in ("GET", "POST"):
            shot = target.request(method, path, b"{}" if method == "POST" else None, token=token)
            assert shot.status in expected, (method, path, shot.status, shot.text)
            assert "km_mcp_requests_total" not in shot.text
    target.assert_unharmed(entries=0)


SPOOFS = {
    "forwarded-for": {"X-Forwarded-For": "127.0.0.1", "X-Real-IP": "127.0.0.1"},
    "forwarded": {"Forwarded": "for=127.0.0.1;host=localhost;proto=https"},
    "forwarded-host": {"X-Forwarded-Host": "localhost", "X-Host": "localhost"},
    "rewritten-url": {"X-Original-URL": "/healthz", "X-Rewrite-URL": "/healthz"},
    "method-override": {"X-HTTP-Method-Override": "GET", "X-Method-Override": "GET"},
    "user": {"X-Forwarded-User": "admin", "X-Remote-User": "admin", "X-KM-Scope": "maintainer"},
    "another-place-for-tokens": {
        "X-API-Key": ADMIN,
        "Cookie": f"token={ADMIN}",
        "Proxy-Authorization": f"Bearer {ADMIN}",
    },
    "token-of-km": {"X-KM-Token": ADMIN, "X-Auth-Token": ADMIN},
}


@pytest.mark.parametrize("case", SPOOFS)
def test_no_proxy_header_changes_the_identity_of_the_caller(target: AttackTarget, routes: Routes, case: str) -> None:
    for method, path, shot in at_every_route(target, routes, SPOOFS[case], token=None):
        assert shot.status == status_without_token(method, path), (method, path)
    target.assert_unharmed(entries=len(routes) - len(OPEN))


# -- two requests in one ---------------------------------------------------------------------------------------------


def smuggled(target: AttackTarget, *lines: str, body: bytes) -> bytes:
    host = f"Host: 127.0.0.1:{target.http_client().port}"
    start = ["POST /api/v1/tools/contextive_health HTTP/1.1", host, f"Authorization: Bearer {READER}"]
    return "\r\n".join([*start, "Content-Type: application/json", *lines, "", ""]).encode() + body


HIDDEN = b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer " + ADMIN.encode() + b"\r\n\r\n"
SMUGGLED: dict[str, tuple[list[str], bytes]] = {
    "length-and-chunks": (["Content-Length: 6", "Transfer-Encoding: chunked"], b"0\r\n\r\n" + HIDDEN),
    "chunks-and-length": (["Transfer-Encoding: chunked", "Content-Length: 4"], b"2\r\n{}\r\n0\r\n\r\n" + HIDDEN),
    "two-lengths": (["Content-Length: 2", "Content-Length: 200"], b"{}" + HIDDEN),
    "two-equal-lengths": (["Content-Length: 2", "Content-Length: 2"], b"{}" + HIDDEN),
    "a-list-of-equal-lengths": (["Content-Length: 2, 2"], b"{}" + HIDDEN),
    "two-tokens": ([f"Authorization: Bearer {ADMIN}", "Content-Length: 2"], b"{}" + HIDDEN),
    "two-encodings": (["Transfer-Encoding: chunked", "Transfer-Encoding: identity"], b"0\r\n\r\n" + HIDDEN),
    "odd-encoding": (["Transfer-Encoding: xchunked"], b"0\r\n\r\n" + HIDDEN),
    "spaced-encoding": (["Transfer-Encoding : chunked"], b"0\r\n\r\n" + HIDDEN),
    "folded-encoding": (["Transfer-Encoding:\r\n chunked", "Content-Length: 5"], b"0\r\n\r\n" + HIDDEN),
    "length-with-a-sign": (["Content-Length: +2"], b"{}" + HIDDEN),
    "length-with-an-underscore": (["Content-Length: 1_0"], b"{}" + HIDDEN),
    "carriage-return-in-a-header": (["X: a\rContent-Length: 2"], b"{}" + HIDDEN),
    "nul-in-a-header": (["X: a\0b", "Content-Length: 2"], b"{}" + HIDDEN),
    "chunk-extension": (["Transfer-Encoding: chunked"], b"2;\nxx\r\n{}\r\n0\r\n\r\n" + HIDDEN),
}


@pytest.mark.parametrize("case", SMUGGLED)
def test_no_second_request_can_be_smuggled_in_a_body(target: AttackTarget, case: str) -> None:
    lines, body = SMUGGLED[case]
    text = target.raw(smuggled(target, *lines, body=body), timeout=0.5)
    assert text.startswith("HTTP/1.1 4"), text[:300]
    assert text.count("HTTP/1.1 ") == 1, text
    assert "km_mcp_requests_total" not in text
    target.assert_unharmed(entries=0)


def test_pipelined_requests_need_a_token_each(target: AttackTarget) -> None:
    """Pipelining is allowed, and the second request needs its own token."""
    second = b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
    text = target.raw(smuggled(target, "Content-Length: 2", body=b"{}" + second), timeout=3)
    first, answer = text.split("HTTP/1.1 ")[1:]
    assert first.startswith("200")
    assert answer.startswith("401")
    target.assert_unharmed(entries=2)


def test_a_session_id_is_useless_without_the_token_that_opened_it(target: AttackTarget) -> None:
    session = target.session(ADMIN)
    body = rpc("tools/call", {"name": "km-ingest-trigger", "arguments": {}})
    for token, status in ((None, 401), (READER, 404), ("wrong-token-0123456789abcdef", 401)):
        shot = target.request(
            "POST", "/mcp", body, {"Accept": "text/event-stream, application/json", **session.headers}, token=token
        )
        assert shot.status == status, shot.text
        gone = target.request("DELETE", "/mcp", None, session.headers, token=token)
        assert gone.status == status, gone.text
    params = envelope({"name": "km-ingest-trigger", "arguments": {}})
    stateless = {
        **modern_headers("tools/call", params),
        "Accept": "application/json, text/event-stream",
        "Mcp-Session-Id": session.id,
    }
    shot = target.request("POST", "/mcp", rpc("tools/call", params), stateless, token=READER)
    assert shot.code == "forbidden", shot.text
    target.assert_unharmed()
