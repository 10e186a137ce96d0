"""MCP over HTTP: sessions of the handshake era, stateless requests, batches, streams."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.raw_clients import (
    LATEST_HANDSHAKE,
    MODERN,
    HttpClient,
    HttpResponse,
    WebServer,
    envelope,
    handshake,
    modern_headers,
    rpc,
    wait_until,
)
from tests.server.conftest import ServerFactory

BOTH = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}


@pytest.fixture(scope="module")
def server(shared_server_factory: ServerFactory) -> Iterator[WebServer]:
    with shared_server_factory.http({"limits": {"rateRequests": 0, "pageSize": 3}}) as running:
        yield running


@pytest.fixture(scope="module")
def web(server: WebServer) -> HttpClient:
    return server.web


def test_initialize_opens_a_session_that_delete_ends(web: HttpClient) -> None:
    session = web.open_session()
    assert session.id
    assert session.ask("tools/list")["result"]["tools"]
    assert web.request("DELETE", "/mcp", headers=session.headers).status == 200
    assert session.post(rpc("ping")).status == 404


@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
def test_an_unknown_session_is_not_found(web: HttpClient, method: str) -> None:
    headers = {**BOTH, "Mcp-Session-Id": "0" * 32}
    body = json.dumps(rpc("ping")).encode() if method == "POST" else None
    assert web.request(method, "/mcp", body, headers).status == 404


def test_a_batch_for_an_unknown_session_is_not_found_as_a_whole(web: HttpClient) -> None:
    answer = web.mcp([rpc("ping", None, 1), rpc("ping", None, 2)], {"Mcp-Session-Id": "0" * 32})
    assert answer.status == 404
    assert "error" in answer.json


def test_two_sessions_do_not_share_their_requests(web: HttpClient) -> None:
    first, second = web.open_session(), web.open_session("2025-03-26")
    assert first.id != second.id
    assert first.ask("ping") == second.ask("ping") == {"jsonrpc": "2.0", "id": 1, "result": {}}


##= docs/spec/host.md#protocol-versions
##% The server MUST implement MCP 2025-11-25 over stdio and over HTTP.
@pytest.mark.parametrize(
    ("asked", "answered"),
    [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        (MODERN, LATEST_HANDSHAKE),
        ("2099-01-01", LATEST_HANDSHAKE),
        ("garbage", LATEST_HANDSHAKE),
    ],
)
def test_versions_are_negotiated_as_over_stdio(web: HttpClient, asked: str, answered: str) -> None:
    assert web.open_session(asked).result["protocolVersion"] == answered


def test_a_request_without_a_session_is_refused(web: HttpClient) -> None:
    assert web.mcp(rpc("tools/list")).status == 400


##= docs/spec/host.md#protocol-versions
##% The server MUST serve the stateless version 2026-07-28.
def test_a_stateless_request_needs_no_session(web: HttpClient) -> None:
    answer = web.modern("tools/list")
    assert answer.status == 200
    assert "mcp-session-id" not in answer.headers
    assert answer.message["result"]["tools"]
    called = web.modern("tools/call", {"name": "odd_echo", "arguments": {"text": "a"}}).message["result"]
    assert called["structuredContent"]["text"] == "a"
    read = web.modern("resources/read", {"uri": "odd:///text"}).message["result"]
    assert read["contents"][0]["text"] == "plain text"


@pytest.mark.parametrize(
    "headers",
    [
        {"Mcp-Method": "tools/call"},
        {"Mcp-Name": "another_tool"},
        {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": ""},
    ],
    ids=["method", "name", "empty"],
)
def test_a_header_that_contradicts_the_body_is_refused(web: HttpClient, headers: dict[str, str]) -> None:
    params = {"name": "odd_echo", "arguments": {"text": "a"}}
    method = "tools/call" if "Mcp-Name" in headers else "tools/list"
    answer = web.modern(method, params if method == "tools/call" else None, headers)
    assert answer.status == 400
    assert answer.json["error"]["code"] == -32020


def test_a_version_header_that_contradicts_the_body_is_refused(web: HttpClient) -> None:
    message = rpc("tools/list", envelope(version=MODERN))
    answer = web.mcp(message, modern_headers("tools/list", version="2099-01-01"))
    assert answer.status == 400
    assert answer.json["error"]["code"] == -32020


def test_an_unknown_stateless_version_is_refused_with_what_is_supported(web: HttpClient) -> None:
    message = rpc("tools/list", envelope(version="2099-01-01"))
    answer = web.mcp(message, modern_headers("tools/list", version="2099-01-01"))
    assert answer.status == 400
    assert answer.json["error"]["code"] == -32022
    assert answer.json["error"]["data"] == {"supported": [MODERN], "requested": "2099-01-01"}


##= docs/spec/host.md#commands
##% The command `contextive-mcp serve --http` MUST serve many clients over HTTP.
##= docs/spec/host.md#protocol-versions
##% Handshake and stateless requests MUST work on one stdio connection and on one HTTP path, in any order.
def test_both_eras_are_served_at_the_same_time(web: HttpClient) -> None:
    session = web.open_session()
    for _ in range(3):
        assert session.ask("tools/list")["result"]["tools"] == web.modern("tools/list").message["result"]["tools"]


##= docs/spec/host.md#endpoints
##% The path `/mcp` MUST serve the configured profile, and `/mcp/{profile}` the profile of that name.
@pytest.mark.parametrize("profile", ["contextive", "duvet", "spexus", "nexus", "duskmantle"])
def test_every_profile_has_its_own_path_and_its_own_name(web: HttpClient, profile: str) -> None:
    result = web.open_session(path=f"/mcp/{profile}").result
    names = {
        "contextive": "contextive-mcp",
        "duvet": "duvet",
        "spexus": "spexus mcp",
        "nexus": "nexus-mcp",
        "duskmantle": "duskmantle-km",
    }
    assert result["serverInfo"]["name"] == names[profile]


def test_a_session_of_one_profile_is_unknown_to_another(web: HttpClient) -> None:
    session = web.open_session(path="/mcp/spexus")
    assert web.mcp(rpc("ping"), session.headers, "/mcp/contextive").status == 404


##= docs/spec/host.md#batches
##% A session with protocol version 2025-03-26 MUST accept a batch and answer it with one array.
def test_a_batch_is_answered_with_one_array(web: HttpClient) -> None:
    session = web.open_session("2025-03-26")
    batch = [
        rpc("ping", None, 1),
        {"jsonrpc": "2.0", "method": "notifications/unknown"},
        5,
        rpc("tools/call", {"name": "odd_echo", "arguments": {"text": "a"}}, "two"),
        rpc("no/such", None, 3),
        rpc("initialize", handshake(), 4),
    ]
    answer = session.post(batch)
    assert answer.status == 200
    found = {message["id"]: message for message in answer.json}
    assert found[1]["result"] == {}
    assert found["two"]["result"]["structuredContent"]["text"] == "a"
    assert found[3]["error"]["code"] == -32601
    assert found[4]["error"]["code"] == -32600
    assert found[None]["error"]["code"] == -32600
    assert len(answer.json) == 5


def test_a_batch_of_notifications_is_accepted_without_a_body(web: HttpClient) -> None:
    session = web.open_session("2025-03-26")
    answer = session.post([{"jsonrpc": "2.0", "method": "notifications/unknown"}] * 2)
    assert (answer.status, answer.body) == (202, b"")


##= docs/spec/host.md#batches
##% A batch MUST be refused in every other protocol version.
def test_a_batch_is_refused_by_sessions_of_other_versions(web: HttpClient) -> None:
    for answer in (web.open_session().post([rpc("ping")]), web.mcp([rpc("ping")])):
        assert answer.status == 400
        assert answer.json["error"]["code"] == -32600


def test_a_response_can_be_plain_json(server_factory: ServerFactory) -> None:
    with server_factory.http({"server": {"jsonResponse": True}}) as running:
        session = running.web.open_session()
        answer = session.post(rpc("tools/call", {"name": "odd_echo", "arguments": {"text": "a"}}))
        assert answer.headers["content-type"].startswith("application/json")
        assert answer.json["result"]["structuredContent"]["text"] == "a"


def test_progress_comes_before_the_result_on_the_same_stream(web: HttpClient) -> None:
    session = web.open_session()
    params = {"name": "odd_progress", "arguments": {}, "_meta": {"progressToken": "tok"}}
    messages = session.post(rpc("tools/call", params)).messages
    assert [m["params"]["progress"] for m in messages[:-1]] == [1, 2, 3]
    assert messages[-1]["result"]["structuredContent"] == {"done": True}


def test_the_pages_of_a_list_are_the_same_on_both_transports_and_eras(web: HttpClient) -> None:
    session = web.open_session()
    names: dict[str, list[str]] = {"handshake": [], "stateless": []}
    for era, found in names.items():
        params: dict[str, str] = {}
        while True:
            result = (
                session.ask("resources/list", params)
                if era == "handshake"
                else web.modern("resources/list", params).message
            )["result"]
            assert len(result["resources"]) <= 3
            found += [resource["uri"] for resource in result["resources"]]
            if "nextCursor" not in result:
                break
            params = {"cursor": result["nextCursor"]}
    assert names["handshake"] == names["stateless"]
    assert "odd:///items/24" in names["handshake"]


def test_a_missing_resource_has_the_code_of_its_era(web: HttpClient) -> None:
    session = web.open_session()
    assert session.ask("resources/read", {"uri": "odd:///nothing"})["error"]["code"] == -32002
    assert web.modern("resources/read", {"uri": "odd:///nothing"}).json["error"]["code"] == -32602


##= docs/spec/host.md#malformed-messages
##% A request that reuses the id of a request in flight MUST be refused.
def test_an_id_that_is_still_open_is_refused_and_the_first_request_is_answered(web: HttpClient, tmp_path: Path) -> None:
    session = web.open_session()
    marker = tmp_path / "marker"
    slow = rpc("tools/call", {"name": "odd_slow", "arguments": {"seconds": 0.5, "marker": str(marker)}}, 7)
    answers: list[HttpResponse] = []
    thread = threading.Thread(target=lambda: answers.append(session.post(slow)))
    thread.start()
    wait_until(marker.exists, "the first request is being served")
    for same in (7, "7"):
        refused = session.post(rpc("ping", None, same))
        assert refused.status == 400
        assert "still open" in refused.json["error"]["message"]
    thread.join(10)
    assert answers[0].message["result"]["structuredContent"] == {"done": True}
    assert session.post(rpc("ping", None, 7)).message["result"] == {}
