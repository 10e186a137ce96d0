"""`RequestGuard` on every route: Host, Origin, media type, size, credentials in URLs, CORS."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.raw_clients import HttpClient, WebServer, rpc
from tests.server.conftest import ServerFactory

ROUTES = [
    ("GET", "/healthz"),
    ("GET", "/readyz"),
    ("GET", "/metrics"),
    ("GET", "/api/v1/tools"),
    ("POST", "/api/v1/tools/contextive_health"),
    ("GET", "/api/mcp"),
    ("POST", "/api/mcp"),
    ("GET", "/mcp"),
    ("POST", "/mcp"),
    ("DELETE", "/mcp"),
    ("POST", "/mcp/spexus"),
    ("GET", "/nowhere"),
]
EVERY_ROUTE = pytest.mark.parametrize(("method", "path"), ROUTES)
JSON = {"Content-Type": "application/json"}
LIMIT = 20_000


@pytest.fixture(scope="module")
def server(shared_server_factory: ServerFactory) -> Iterator[WebServer]:
    with shared_server_factory.http({"limits": {"maxBodyBytes": LIMIT, "rateRequests": 0}}) as running:
        yield running


@pytest.fixture(scope="module")
def web(server: WebServer) -> HttpClient:
    return server.web


##= docs/spec/host.md#requests
##% A request whose Host header does not belong to the server MUST be refused with 421.
##= docs/spec/host.md#requests
##% The rules for requests MUST apply to every path.
@EVERY_ROUTE
@pytest.mark.parametrize(
    "host",
    [
        "evil.com",
        "localhost.evil.com",
        "127.0.0.1.nip.io",
        "[::1].evil.com",
        "127.0.0.1@evil.com",
        "127.0.0.1:80:80",
        "0.0.0.0",
        "192.168.1.1",
        "",
    ],
)
def test_a_foreign_host_is_misdirected_on_every_route(web: HttpClient, method: str, path: str, host: str) -> None:
    answer = web.request(method, path, b"{}" if method == "POST" else None, {**JSON, "Host": host})
    assert answer.status == 421
    message = "The Host header does not name this server."
    if path == "/api/mcp":
        assert answer.json["error"].startswith(message)
    else:
        assert (answer.json["status"], answer.json["error"]["message"]) == ("error", message)


##= docs/spec/host.md#requests
##% A request whose Origin is not allowed MUST be refused with 403.
@EVERY_ROUTE
@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.com",
        "null",
        "http://localhost.evil.com",
        "http://127.0.0.1.nip.io",
        "http://127.0.0.1@evil.com",
        "http://[::1",
        "http://[::1].evil.com",
        "file://",
        "chrome-extension://abc",
        "http://localhost/path",
        "",
    ],
)
def test_a_foreign_origin_is_forbidden_on_every_route(web: HttpClient, method: str, path: str, origin: str) -> None:
    answer = web.request(method, path, b"{}" if method == "POST" else None, {**JSON, "Origin": origin})
    assert answer.status == 403
    assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1", "[::1]", "[::1]:8787"])
def test_every_local_host_name_is_accepted(web: HttpClient, host: str) -> None:
    assert web.get("/healthz", {"Host": host}).status == 200


@pytest.mark.parametrize(
    "origin", ["http://localhost:5173", "https://localhost", "http://127.0.0.1:1", "http://[::1]:9"]
)
def test_a_local_origin_is_accepted(web: HttpClient, origin: str) -> None:
    assert web.get("/healthz", {"Origin": origin}).status == 200


def test_host_and_origin_must_both_be_valid(web: HttpClient) -> None:
    assert web.get("/healthz", {"Host": "localhost", "Origin": "http://evil.com"}).status == 403
    assert web.get("/healthz", {"Host": "evil.com", "Origin": "http://localhost"}).status == 421


def test_a_second_origin_does_not_hide_behind_a_first(web: HttpClient) -> None:
    answer = web.raw(
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\nOrigin: http://evil.com\r\n"
        b"Connection: close\r\n\r\n"
    )
    assert answer.startswith(b"HTTP/1.1 403")


@pytest.mark.parametrize("hosts", [b"", b"Host: localhost\r\nHost: evil.com\r\n"], ids=["none", "two"])
def test_a_request_without_exactly_one_host_is_refused(web: HttpClient, hosts: bytes) -> None:
    answer = web.raw(b"GET /healthz HTTP/1.1\r\n" + hosts + b"Connection: close\r\n\r\n")
    assert answer.split(b" ")[1] in (b"400", b"421")


##= docs/spec/host.md#requests
##% A browser request from a page of another origin MUST be refused with 403 before it is counted, unless its Origin
##% is in `server.allowedOrigins`.
@EVERY_ROUTE
@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"},
        {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors", "Origin": "http://localhost:5173"},
        {"Sec-Fetch-Site": "Cross-Site "},
    ],
    ids=["image", "navigation", "another port", "odd spelling"],
)
def test_a_page_of_another_origin_is_refused_on_every_route(
    web: HttpClient, method: str, path: str, headers: dict[str, str]
) -> None:
    answer = web.request(method, path, b"{}" if method == "POST" else None, {**JSON, **headers})
    assert answer.status == 403
    message = "A browser sent this for a page of another origin."
    if path == "/api/mcp":
        assert answer.json["error"].startswith(message)
    else:
        assert answer.json["error"] == {
            "code": "invalid_request",
            "message": message,
            "hint": "See server.allowedOrigins.",
        }


@pytest.mark.parametrize("site", ["same-origin", "none"])
def test_a_typed_address_and_a_page_of_this_server_are_accepted(web: HttpClient, site: str) -> None:
    assert web.get("/healthz", {"Sec-Fetch-Site": site}).status == 200


@pytest.mark.parametrize("count", [[b"cross-site", b"none"], [b"none", b"cross-site"]], ids=["first", "second"])
def test_a_second_site_does_not_hide_behind_a_first(web: HttpClient, count: list[bytes]) -> None:
    sites = b"".join(b"Sec-Fetch-Site: " + site + b"\r\n" for site in count)
    answer = web.raw(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n" + sites + b"Connection: close\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 403")


def test_refused_cross_site_requests_do_not_count_for_rate_limits(server_factory: ServerFactory) -> None:
    friend = "https://friend.example"
    config = {"limits": {"rateRequests": 4, "rateWindowSeconds": 600}, "server": {"allowedOrigins": [friend]}}
    with server_factory.http(config) as running:
        web, image = running.web, {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}
        for path in ("/api/v1/tools", "/healthz", "/mcp", "/metrics"):
            assert {web.get(path, image).status for _ in range(20)} == {403}
        assert [web.get("/api/v1/tools").status for _ in range(3)] == [200] * 3
        assert [web.get("/healthz").status for _ in range(4)] == [200] * 4
        allowed = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors", "Origin": friend}
        assert web.get("/api/v1/tools", allowed).status == 200
        assert web.get("/api/v1/tools", allowed).status == 429


##= docs/spec/host.md#requests
##% A request with two `Authorization` or two `Content-Length` headers MUST be refused with 400.
@EVERY_ROUTE
@pytest.mark.parametrize(
    ("lines", "name"),
    [
        (["Authorization: Bearer a", "Authorization: Bearer a"], "Authorization"),
        (["Authorization: Bearer a", "X: y", "authorization: Basic b"], "Authorization"),
        (["Content-Length: 2", "Content-Length: 2"], "Content-Length"),
        (["Content-Length: 2", "X: y", "content-length:2"], "Content-Length"),
        (["Content-Length: 2, 2"], "Content-Length"),
    ],
    ids=["same tokens", "two tokens", "same lengths", "apart", "list"],
)
def test_a_repeated_header_that_must_be_unique_is_refused(
    web: HttpClient, method: str, path: str, lines: list[str], name: str
) -> None:
    if name == "Authorization":
        lines = [*lines, "Content-Length: 2"]
    head = [f"{method} {path} HTTP/1.1", "Host: localhost", "Content-Type: application/json", *lines, "", "{}"]
    answer = web.raw("\r\n".join(head).encode())
    assert answer.startswith(b"HTTP/1.1 400")
    assert f"The request has more than one {name} header.".encode() in answer
    assert answer.count(b"HTTP/1.1 ") == 1


##= docs/spec/host.md#malformed-messages
##% A request with a duplicate key at its top level MUST be refused.
@pytest.mark.parametrize(
    ("path", "body", "code"),
    [
        ("/mcp", b'{"jsonrpc":"2.0","id":1,"id":1,"method":"ping"}', -32600),
        ("/mcp/spexus", b'{"jsonrpc":"2.0","id":1,"method":"ping","m\\u0065thod":"ping"}', -32600),
        ("/api/mcp", b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{},"params":{}}', -32600),
        ("/api/mcp", b'{"tool":"get_page","input":{},"tool":"list_pages"}', None),
        ("/api/v1/tools/contextive_health", b'{"a":1,"a":1}', "invalid_request"),
        ("/api/v1/search", b'{"query":"a","query":"b"}', "invalid_request"),
    ],
)
def test_a_body_with_a_repeated_key_is_refused(web: HttpClient, path: str, body: bytes, code: object) -> None:
    answer = web.mcp(body, path=path)
    assert answer.status == 400
    error = answer.json["error"]
    assert "key twice" in (error if code is None else error["message"])
    assert code is None or error["code"] == code


def test_a_key_may_be_repeated_at_deeper_levels(web: HttpClient) -> None:
    body = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"id":1,"method":"x","_meta":{"a":1,"a":2}}}'
    answer = web.open_session().post(body)
    assert answer.message["result"] == {}


##= docs/spec/host.md#requests
##% A request with a body that is not `application/json` MUST be refused with 415, except for the forms of the
##% site.
@pytest.mark.parametrize("path", ["/mcp", "/mcp/spexus", "/api/mcp", "/api/v1/tools/contextive_health"])
@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", None])
def test_a_post_that_a_form_could_send_is_refused(web: HttpClient, path: str, kind: str | None) -> None:
    headers = {} if kind is None else {"Content-Type": kind}
    answer = web.request("POST", path, json.dumps(rpc("ping")).encode(), headers)
    assert answer.status == 415


def test_a_media_type_may_have_parameters(web: HttpClient) -> None:
    headers = {"Content-Type": "Application/JSON; charset=utf-8"}
    assert web.request("POST", "/api/v1/tools/contextive_health", b"{}", headers).status == 200


def test_a_body_that_declares_too_many_bytes_is_refused_before_it_is_sent(web: HttpClient) -> None:
    head = (
        b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 99999999\r\n\r\n"
    )
    assert web.raw(head).startswith(b"HTTP/1.1 413")


##= docs/spec/host.md#requests
##% A body over `limits.maxBodyBytes` MUST be refused with 413.
def test_a_chunked_body_over_the_limit_is_refused(web: HttpClient) -> None:
    chunk = b"1000\r\n" + b"x" * 4096 + b"\r\n"
    head = (
        b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    answer = web.raw(head + chunk * 10)
    assert answer.startswith(b"HTTP/1.1 413")
    assert b"too_large" in answer


@pytest.mark.parametrize("path", ["/mcp", "/api/mcp", "/api/v1/tools/contextive_health"])
def test_a_body_one_byte_over_the_limit_is_refused_and_one_at_the_limit_is_read(web: HttpClient, path: str) -> None:
    assert web.post(path, b" " * (LIMIT + 1)).status == 413
    assert web.post(path, b"{" + b" " * (LIMIT - 2) + b"}").status != 413


def test_content_length_with_transfer_encoding_does_not_smuggle_a_request(web: HttpClient) -> None:
    answer = web.raw(
        b"POST /api/v1/tools/contextive_health HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
        b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"
    )
    assert answer.startswith(b"HTTP/1.1 400")
    assert answer.count(b"HTTP/1.1 ") == 1


def test_two_content_lengths_are_refused(web: HttpClient) -> None:
    answer = web.raw(
        b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Content-Length: 2\r\nContent-Length: 7\r\n\r\n{}     "
    )
    assert answer.startswith(b"HTTP/1.1 400")


##= docs/spec/host.md#requests
##% A body that does not arrive in time MUST be refused.
def test_a_too_large_content_length_waits_and_does_not_block_others(web: HttpClient) -> None:
    head = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{}"
    assert web.raw(head, timeout=0.3) == b"", "there is no response before the body has arrived"
    assert web.get("/healthz").status == 200


##= docs/spec/host.md#tokens
##% A token in a URL MUST be refused.
@pytest.mark.parametrize("name", ["token", "access_token", "TOKEN", "api_key", "apikey", "authorization"])
@EVERY_ROUTE
def test_a_credential_in_the_url_is_refused_everywhere(web: HttpClient, method: str, path: str, name: str) -> None:
    body = b"{}" if method == "POST" else None
    answer = web.request(method, f"{path}?a=1&{name}=secret-value", body, JSON)
    assert answer.status == 400
    assert "secret-value" not in answer.text


def test_no_page_may_read_responses_by_default(web: HttpClient) -> None:
    preflight = {"Origin": "http://localhost:5173", "Access-Control-Request-Method": "POST"}
    for headers in ({"Origin": "http://localhost:5173"}, preflight):
        answer = web.request(
            "OPTIONS" if "Access-Control-Request-Method" in headers else "GET", "/mcp", headers=headers
        )
        assert not [name for name in answer.headers if name.lower().startswith("access-control")]


##= docs/spec/host.md#errors
##% An error over plain HTTP MUST have the same shape on every path, except on `/api/mcp`, whose dialect defines a
##% different one.
@pytest.mark.parametrize(
    "path",
    [
        "//mcp",
        "/mcp/",
        "/mcp%2f",
        "/mcp/../metrics",
        "/mcp/%2e%2e/metrics",
        "/MCP",
        "/api/v1",
        "/api/v1/tools/a/b",
        "/%00",
    ],
)
def test_an_unknown_path_is_a_404_in_json(web: HttpClient, path: str) -> None:
    answer = web.get(path)
    assert answer.status == 404
    assert answer.json["error"]["code"] == "not_found"


def test_an_unknown_profile_is_a_404_that_lists_the_known_ones(web: HttpClient) -> None:
    answer = web.mcp(rpc("ping"), path="/mcp/nope")
    assert answer.status == 404
    assert "spexus" in answer.json["error"]["hint"]


@pytest.mark.parametrize(("method", "path"), [("POST", "/healthz"), ("GET", "/api/v1/tools/x"), ("DELETE", "/metrics")])
def test_a_wrong_method_is_a_405_in_json(web: HttpClient, method: str, path: str) -> None:
    answer = web.request(method, path, b"{}", JSON)
    assert answer.status == 405
    assert answer.json["error"]["code"] == "invalid_request"
    assert answer.json["error"]["hint"] == f"Use {answer.headers['allow']}."


##= docs/spec/host.md#requests
##% Every response MUST include a request id.
@EVERY_ROUTE
def test_a_request_id_is_echoed_on_every_route(web: HttpClient, method: str, path: str) -> None:
    body = b"{}" if method == "POST" else None
    answer = web.request(method, path, body, {**JSON, "X-Request-ID": "my-request.1"})
    assert answer.headers.get_all("x-request-id") == ["my-request.1"]


@pytest.mark.parametrize("given", ["", "a b", "x" * 65, "ü", '"', "{}"])
def test_an_invalid_request_id_is_replaced(web: HttpClient, given: str) -> None:
    answer = web.get("/healthz", {"X-Request-ID": given})
    assert len(answer.headers["x-request-id"]) == 32


def test_the_server_does_not_name_its_software(web: HttpClient) -> None:
    assert "server" not in web.get("/healthz").headers


@pytest.mark.parametrize(
    ("body", "code", "request_id"),
    [
        (b"{", -32700, None),
        (b"", -32700, None),
        (b"[]", -32600, None),
        (b"5", -32600, None),
        (b'{"id":1,"method":"ping"}', -32600, 1),
        (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":"a","method":5}', -32600, "a"),
        (b'{"jsonrpc":"2.0","id":"a","method":"ping","params":[]}', -32600, "a"),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":NaN}}', -32700, None),
        (b"[" * 9_000 + b"]" * 9_000, -32700, None),
    ],
)
def test_a_body_that_is_not_a_message_is_refused_as_over_stdio(
    web: HttpClient, body: bytes, code: int, request_id: object
) -> None:
    answer = web.mcp(body)
    assert answer.status == 400
    assert answer.json["error"]["code"] == code
    assert answer.json["id"] == request_id
    assert "validation error" not in answer.text.lower()


def test_cors_allows_exactly_the_configured_origins(server_factory: ServerFactory) -> None:
    friend = "https://app.example.org"
    with server_factory.http({"server": {"allowedOrigins": [friend], "publicHosts": ["mcp.example.org"]}}) as running:
        web = running.web
        asked = "authorization,content-type,mcp-method,mcp-name,mcp-protocol-version,mcp-session-id"
        preflight = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": asked}
        allowed = web.request("OPTIONS", "/mcp", headers={"Origin": friend, **preflight})
        assert allowed.status == 200
        assert allowed.headers["access-control-allow-origin"] == friend
        assert "access-control-allow-credentials" not in allowed.headers
        refused = web.request("OPTIONS", "/mcp", headers={"Origin": "https://evil.example.org", **preflight})
        assert refused.status == 400
        assert "access-control-allow-origin" not in refused.headers
        read = web.get("/healthz", {"Origin": friend, "Host": "mcp.example.org"})
        assert (read.status, read.headers["access-control-allow-origin"]) == (200, friend)
        assert "Mcp-Session-Id" in read.headers["access-control-expose-headers"]
        fetched = {
            "Origin": friend,
            "Host": "mcp.example.org",
            "Sec-Fetch-Site": "cross-site",
            "Sec-Fetch-Mode": "cors",
        }
        assert web.get("/healthz", fetched).status == 200
        foreign = web.get("/healthz", {"Origin": "https://evil.example.org"})
        assert foreign.status == 403
        assert "access-control-allow-origin" not in foreign.headers
