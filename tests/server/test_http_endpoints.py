"""HTTP endpoints other than MCP: tools by name, NEXUS requests, health, readiness and metrics."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.raw_clients import HttpClient, StdioClient, WebServer, handshake, rpc
from tests.server.conftest import ServerFactory


@pytest.fixture(scope="module")
def server(shared_server_factory: ServerFactory) -> Iterator[WebServer]:
    with shared_server_factory.http({"limits": {"rateRequests": 0}}) as running:
        yield running


@pytest.fixture(scope="module")
def web(server: WebServer) -> HttpClient:
    return server.web


# -- tools by name -----------------------------------------------------------------------------------------------------


##= docs/spec/host.md#endpoints
##% The path `/api/v1/tools/{name}` MUST call the tool of that name with the arguments in the request body.
def test_a_tool_is_called_by_its_name(web: HttpClient) -> None:
    answer = web.post("/api/v1/tools/odd_echo", {"text": "hello", "words": ["a"]}, {"X-Request-ID": "rest-1"})
    assert answer.status == 200
    assert answer.json["status"] == "success"
    assert answer.json["result"]["text"] == "hello"
    assert answer.json["request_id"] == "rest-1"
    assert answer.json["as_of"]["generation"] == 1


def test_an_empty_body_means_no_arguments(web: HttpClient) -> None:
    assert web.post("/api/v1/tools/contextive_health", b"").json["result"]["status"] == "healthy"


##= docs/spec/host.md#errors
##% An error over plain HTTP MUST have the same shape on every path, except on `/api/mcp`, whose dialect defines a
##% different one.
##= docs/spec/gateway.md#tool-results
##% An error MUST have the `status` `error` and an `error` with a code, a message and, if there is a remedy, a hint.
@pytest.mark.parametrize(
    ("tool", "body", "status", "code"),
    [
        ("no_such_tool", b"{}", 404, "tool_not_found"),
        ("odd_echo", b"{}", 400, "invalid_request"),
        ("odd_echo", b"{", 400, "invalid_request"),
        ("odd_echo", b"[]", 400, "invalid_request"),
        ("odd_echo", b'"text"', 400, "invalid_request"),
        ("odd_echo", b'{"text": NaN}', 400, "invalid_request"),
        ("odd_echo", b'{"text": "a", "ratio": 1e999}', 400, "invalid_request"),
        ("odd_echo", b'{"text": "\\ud800"}', 400, "invalid_request"),
        ("odd_echo", b'{"text": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", 400, "invalid_request"),
        ("odd_echo", b"\xff\xfe", 400, "invalid_request"),
        ("odd_raise", b"{}", 500, "internal_error"),
        ("odd_big", b'{"size": 2000000}', 413, "too_large"),
        ("odd_ask", b"{}", 400, "missing_client_capability"),
        ("%ED%A0%80", b"{}", 404, "tool_not_found"),
        ("%0a%0d%22", b"{}", 404, "tool_not_found"),
        ("x" * 3000, b"{}", 404, "tool_not_found"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_every_failure_has_the_same_shape_and_its_status(
    web: HttpClient, tool: str, body: bytes, status: int, code: str
) -> None:
    answer = web.post(f"/api/v1/tools/{tool}", body)
    assert answer.status == status
    assert set(answer.json) == {"status", "error", "detail", "request_id"}
    assert answer.json["status"] == "error"
    assert answer.json["error"]["code"] == code
    assert answer.json["detail"] == answer.json["error"]["message"].removesuffix(".")
    assert answer.json["request_id"] == answer.headers["x-request-id"]
    assert len(answer.text) < 1000


def test_the_tools_are_listed_with_all_fields_of_their_declarations(web: HttpClient) -> None:
    tools = {tool["name"]: tool for tool in web.get("/api/v1/tools").json["tools"]}
    described = tools["contextive_health"]
    assert described["outputSchema"]["properties"]["status"]["enum"] == ["healthy", "degraded", "unhealthy"]
    assert {"labels", "safety_notes", "invocation_hints", "scope", "pack", "annotations"} <= set(described)


# -- health and metrics ------------------------------------------------------------------------------------------------


def test_health_and_readiness_are_reported(web: HttpClient) -> None:
    health = web.get("/healthz").json
    assert health["status"] == "ok"
    assert health["checks"]["plugins"]["ok"] is True
    assert web.get("/readyz").json["status"] == "ready"


def series(web: HttpClient) -> dict[str, float]:
    text = web.get("/metrics").text
    return {found[1]: float(found[2]) for found in re.finditer(r"^(km_mcp_\w+(?:\{.*\})?) (\S+)$", text, re.MULTILINE)}


def test_every_series_exists_before_the_first_call(server_factory: ServerFactory) -> None:
    with server_factory.http() as running:
        answer = running.web.get("/metrics")
        assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
        found = series(running.web)
        for tool in ("contextive_health", "odd_echo", "odd_maintain", "unknown"):
            for result in ("success", "error"):
                assert found[f'km_mcp_requests_total{{result="{result}",tool="{tool}"}}'] == 0
            assert found[f'km_mcp_request_seconds_count{{tool="{tool}"}}'] == 0
            assert found[f'km_mcp_failures_total{{error="internal_error",tool="{tool}"}}'] == 0


##= docs/spec/host.md#metrics
##% In HTTP mode, the server MUST expose the number, the failures and the duration of calls for each tool.
def test_calls_are_counted_on_every_transport(web: HttpClient) -> None:
    good = 'km_mcp_requests_total{result="success",tool="odd_echo"}'
    bad = 'km_mcp_requests_total{result="error",tool="odd_echo"}'
    before = series(web)
    web.post("/api/v1/tools/odd_echo", {"text": "a"})
    web.open_session().ask("tools/call", {"name": "odd_echo", "arguments": {"text": "a"}})
    web.modern("tools/call", {"name": "odd_echo", "arguments": {"text": "a"}})
    web.post("/api/v1/tools/odd_echo", {})
    after = series(web)
    assert after[good] - before[good] == 3
    assert after[bad] - before[bad] == 1
    assert after['km_mcp_failures_total{error="invalid_request",tool="odd_echo"}'] >= 1


##= docs/spec/host.md#metrics
##% An unknown tool name MUST NOT create a new metric series.
def test_unknown_tool_names_add_no_series(web: HttpClient) -> None:
    web.post("/api/v1/tools/odd_unknown", {})
    before = series(web)
    session = web.open_session()
    for number in range(100):
        web.post(f"/api/v1/tools/made_up_{number}", {})
        session.post(rpc("tools/call", {"name": f'made"up\n{number}'}))
    after = series(web)
    assert set(after) == set(before)
    unknown = 'km_mcp_requests_total{result="error",tool="unknown"}'
    assert after[unknown] - before[unknown] == 200


# -- NEXUS requests ----------------------------------------------------------------------------------------------------

NEXUS_SERVER = """
import sys
from pathlib import Path
from contextive.config import ConfigRequest, load_config
from contextive.registry import Context, Pack, Reply, ToolInput
from contextive.server.host import Host
from contextive.server.serve import serve

class Slug(ToolInput):
    slug: str

class Empty(ToolInput):
    pass

notes = Pack("notes", title="Notes", description="Replaces the notes pack.")

@notes.tool("get_page", title="Get", description="One page.")
async def get_page(given: Slug, ctx: Context) -> Reply:
    if given.slug == "broken":
        raise RuntimeError("/secret/path")
    return Reply(data={"slug": given.slug})

@notes.tool("list_pages", title="List", description="All pages.")
async def list_pages(given: Empty, ctx: Context) -> Reply:
    return Reply(data=[])

def load():
    environ = {"CONTEXTIVE_TOOL_PACKS__NOTES__ENABLED": "false"}
    return load_config(ConfigRequest(project=Path.cwd(), environ=environ))

serve(Host(load(), mode="http", extra_packs=[notes]), reload=load, bind_host="127.0.0.1", port=0)
"""


@pytest.fixture(scope="module")
def nexus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpClient]:
    """A server with two test tools as notes pack, to test the NEXUS requests and not the notes."""
    folder = tmp_path_factory.mktemp("nexus")
    (folder / "nexus_server.py").write_text(NEXUS_SERVER, encoding="utf-8")
    command = (sys.executable, str(folder / "nexus_server.py"))
    process = StdioClient(cwd=folder, command=command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        url = process.wait_for_log(lambda line: line["event"] == "serving")["url"]
        yield HttpClient(int(url.rsplit(":", 1)[1].split("/")[0]))
    finally:
        process.process.terminate()
        process.stop()


##= docs/spec/host.md#endpoints
##% The path `/api/mcp` MUST serve a manifest and accept calls in the NEXUS dialect.
def test_the_manifest_lists_the_tools_with_their_input(nexus: HttpClient) -> None:
    answer = nexus.get("/api/mcp")
    assert answer.status == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.json["name"] == "nexus-mcp"
    tools = {tool["name"]: tool for tool in answer.json["tools"]}
    assert tools["get_page"]["inputSchema"]["required"] == ["slug"]
    assert tools["list_pages"]["inputSchema"] == {"type": "object", "properties": {}, "required": []}
    assert tools["get_page"]["description"] == "One page."


def test_a_nexus_request_returns_the_result_of_the_tool(nexus: HttpClient) -> None:
    assert nexus.post("/api/mcp", {"tool": "get_page", "input": {"slug": "home"}}).json == {"result": {"slug": "home"}}
    assert nexus.post("/api/mcp", {"tool": "list_pages"}).json == {"result": []}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"{", "Invalid JSON body"),
        (b"", "Invalid JSON body"),
        (b"[1]", "Invalid JSON body"),
        (b"[" * 100_000, "Invalid JSON body"),
        (b'{"tool": "get_page", "input": {"slug": NaN}}', "Invalid JSON body"),
        (b"{}", "Missing 'tool' field"),
        (b'{"tool": 5}', "Missing 'tool' field"),
        (b'{"tool": ""}', "Missing 'tool' field"),
        (b'{"tool": "nope"}', "Unknown tool: nope"),
        (b'{"tool": "contextive_health"}', "Unknown tool: contextive_health"),
        (b'{"tool": "get_page"}', "Missing required parameter: slug"),
        (b'{"tool": "get_page", "input": {"slug": ""}}', "Missing required parameter: slug"),
        (b'{"tool": "get_page", "input": {"slug": null}}', "Missing required parameter: slug"),
        (b'{"tool": "get_page", "input": []}', "The 'input' field must be an object"),
        (b'{"tool": "get_page", "input": {"slug": "a", "x": 1}}', "get_page has no argument 'x'."),
    ],
    ids=lambda value: str(value)[:40],
)
def test_an_invalid_nexus_request_is_a_400_with_one_message(nexus: HttpClient, body: bytes, expected: str) -> None:
    answer = nexus.post("/api/mcp", body)
    assert (answer.status, answer.json) == (400, {"error": expected})


##= docs/spec/notes.md#failures
##% An internal error MUST be answered with 500 and `Internal server error`, without any details.
def test_an_exception_in_a_nexus_request_is_a_500_without_details(nexus: HttpClient) -> None:
    answer = nexus.post("/api/mcp", {"tool": "get_page", "input": {"slug": "broken"}})
    assert (answer.status, answer.json) == (500, {"error": "Internal server error"})


##= docs/spec/host.md#endpoints
##% A body with `jsonrpc` at `/api/mcp` MUST be handled as MCP.
def test_json_rpc_on_the_same_path_is_mcp(nexus: HttpClient) -> None:
    session = nexus.open_session(path="/api/mcp")
    assert session.result["serverInfo"]["name"] == "nexus-mcp"
    called = session.ask("tools/call", {"name": "get_page", "arguments": {"slug": "home"}})["result"]
    assert called["structuredContent"] == {"slug": "home"}
    old = nexus.open_session("2025-03-26", "/api/mcp")
    assert [m["id"] for m in old.post([rpc("ping", None, 1), rpc("ping", None, 2)]).json] == [1, 2]
    assert nexus.modern("tools/list", path="/api/mcp").message["result"]["tools"]
    assert nexus.request("DELETE", "/api/mcp", headers=session.headers).status == 200


def test_other_methods_on_the_path_are_not_allowed(nexus: HttpClient) -> None:
    answer = nexus.request("PUT", "/api/mcp", b"{}", {"Content-Type": "application/json"})
    assert answer.status == 405
    assert answer.headers["allow"] == "GET, POST, DELETE"


def test_an_mcp_body_is_distinguished_from_a_nexus_request(nexus: HttpClient) -> None:
    answer = nexus.mcp(rpc("initialize", handshake()), path="/api/mcp")
    assert answer.message["result"]["serverInfo"]["name"] == "nexus-mcp"
    assert json.loads(nexus.post("/api/mcp", {"tool": "list_pages", "input": {}}).body) == {"result": []}
