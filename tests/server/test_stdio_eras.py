"""Both protocol eras over stdio: negotiation, interleaving, batches, and requests before `initialize`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from contextive.server.description import PROTOCOL_VERSIONS
from tests.raw_clients import MODERN, StdioClient, envelope, handshake, rpc


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StdioClient]:
    """A server without test packs, not initialized yet."""
    with StdioClient("serve", "--stdio", cwd=tmp_path_factory.mktemp("empty")) as running:
        yield running


##= docs/spec/host.md#malformed-messages
##% A request before `initialize` MUST be refused with a message that says what to send first.
def test_a_request_before_initialize_is_refused(raw: StdioClient) -> None:
    error = raw.error("tools/list")
    assert error["code"] == -32600
    assert error["message"] == "Send initialize first."
    assert raw.result("ping") == {}


def test_a_probe_with_server_discover_does_not_fix_the_era(raw: StdioClient) -> None:
    discovered = raw.modern("server/discover")["result"]
    assert discovered["supportedVersions"] == [MODERN]
    assert raw.result("initialize", handshake())["protocolVersion"] == "2025-11-25"
    raw.notify("notifications/initialized")
    assert raw.result("tools/list")["tools"]


##= docs/spec/host.md#protocol-versions
##% The server MUST serve the stateless version 2026-07-28.
##= docs/spec/host.md#protocol-versions
##% Handshake and stateless requests MUST work on one stdio connection and on one HTTP path, in any order.
def test_requests_of_both_eras_are_served_in_any_order(raw: StdioClient) -> None:
    raw.initialize()
    for number in range(4):
        raw.send(rpc("tools/list", None, f"old {number}"))
        raw.send(rpc("tools/list", envelope(), f"new {number}"))
    answers = {message["id"]: message["result"] for message in (raw.receive() for _ in range(8))}
    assert len(answers) == 8
    for request_id, result in answers.items():
        assert ("resultType" in result) == request_id.startswith("new")
        assert [tool["name"] for tool in result["tools"]][:1] == ["orient"]


##= docs/spec/host.md#protocol-versions
##% The server MUST implement MCP 2025-11-25 over stdio and over HTTP.
##= docs/spec/host.md#protocol-versions
##% The server MUST serve every handshake version from 2024-11-05 to 2025-11-25.
##= docs/spec/host.md#protocol-versions
##% A client that requests a supported handshake version MUST get that version.
##= docs/spec/host.md#protocol-versions
##% A client that requests any other version in `initialize` MUST be offered 2025-11-25.
@pytest.mark.parametrize(
    ("asked", "answered"),
    [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("2099-01-01", "2025-11-25"),
        ("garbage", "2025-11-25"),
        ("", "2025-11-25"),
    ],
)
def test_initialize_returns_a_known_version_or_else_the_newest(raw: StdioClient, asked: str, answered: str) -> None:
    result = raw.initialize(asked)
    assert result["protocolVersion"] == answered
    assert result["serverInfo"]["name"] == "contextive-mcp"
    assert result["capabilities"]["tools"] == {"listChanged": True}
    assert result["capabilities"]["resources"] == {"listChanged": True, "subscribe": True}
    assert result["capabilities"]["prompts"] == {"listChanged": True}


@pytest.mark.parametrize(
    ("params", "word"),
    [
        (None, "params"),
        ({}, "protocolVersion"),
        ({"protocolVersion": 5}, "protocolVersion"),
        ({"protocolVersion": "2025-11-25"}, "clientInfo"),
        ({"protocolVersion": "2025-11-25", "clientInfo": {"name": "x"}}, "version"),
        ({"protocolVersion": "2025-11-25", "clientInfo": {"version": "1"}}, "name"),
    ],
)
def test_the_error_for_a_malformed_initialize_says_what_is_missing(
    raw: StdioClient, params: dict[str, object] | None, word: str
) -> None:
    error = raw.error("initialize", params)
    assert error["code"] == -32600
    assert word in error["message"]
    assert error["data"]["supported_versions"] == [v for v in PROTOCOL_VERSIONS if v != MODERN]


def test_an_unknown_stateless_version_is_refused_with_what_is_supported(raw: StdioClient) -> None:
    answer = raw.modern("tools/list", version="2099-01-01")
    assert answer["error"]["code"] == -32022
    assert answer["error"]["data"] == {"supported": [MODERN], "requested": "2099-01-01"}


def test_a_stateless_request_without_client_capabilities_is_refused(raw: StdioClient) -> None:
    error = raw.error("tools/list", {"_meta": {"io.modelcontextprotocol/protocolVersion": MODERN}})
    assert error["code"] == -32602


@pytest.mark.parametrize("method", ["ping", "logging/setLevel", "resources/subscribe"])
def test_methods_removed_in_the_stateless_era_are_unknown_there(raw: StdioClient, method: str) -> None:
    assert raw.modern(method, {"level": "info", "uri": "x"})["error"]["code"] == -32601


def test_the_described_versions_are_those_of_the_sdk() -> None:
    from mcp_types.version import KNOWN_PROTOCOL_VERSIONS

    assert tuple(KNOWN_PROTOCOL_VERSIONS) == PROTOCOL_VERSIONS


##= docs/spec/host.md#batches
##% A session with protocol version 2025-03-26 MUST accept a batch and answer it with one array.
def test_a_batch_is_answered_with_one_array(raw: StdioClient) -> None:
    raw.initialize("2025-03-26")
    raw.send(
        [
            rpc("ping", None, 1),
            {"jsonrpc": "2.0", "method": "notifications/unknown"},
            5,
            {"jsonrpc": "2.0", "id": 2.5, "method": "ping"},
            rpc("tools/list", None, "two"),
            rpc("no/such", None, 3),
            rpc("initialize", handshake(), 4),
        ]
    )
    answers = raw.receive()
    assert isinstance(answers, list)
    by_id = {answer["id"]: answer for answer in answers if answer["id"] is not None}
    assert by_id[1]["result"] == {}
    assert by_id["two"]["result"]["tools"]
    assert by_id[3]["error"]["code"] == -32601
    assert by_id[4]["error"]["code"] == -32600
    assert [answer["error"]["code"] for answer in answers if answer["id"] is None] == [-32600, -32600]
    assert len(answers) == 6


def test_a_batch_of_notifications_is_not_answered(raw: StdioClient) -> None:
    raw.initialize("2025-03-26")
    raw.send([{"jsonrpc": "2.0", "method": "notifications/unknown"}] * 3)
    assert raw.result("ping") == {}


##= docs/spec/host.md#batches
##% A batch of more than 100 messages MUST be refused.
def test_an_empty_batch_and_one_over_a_hundred_are_refused_as_a_whole(raw: StdioClient) -> None:
    raw.initialize("2025-03-26")
    for batch in ([], [rpc("ping", None, number) for number in range(101)]):
        raw.send(batch)
        answer = raw.receive()
        assert answer["id"] is None
        assert answer["error"]["code"] == -32600


def test_an_id_used_twice_in_a_batch_is_refused_inside_that_batch(raw: StdioClient) -> None:
    raw.initialize("2025-03-26")
    raw.send([rpc("ping", None, 1), rpc("ping", None, 1)])
    answers = raw.receive()
    assert sorted("error" in answer for answer in answers) == [False, True]


##= docs/spec/host.md#batches
##% A batch MUST be refused in every other protocol version.
@pytest.mark.parametrize("version", ["2024-11-05", "2025-06-18", "2025-11-25"])
def test_a_batch_is_refused_in_other_versions(raw: StdioClient, version: str) -> None:
    raw.initialize(version)
    raw.send([rpc("ping", None, 1)])
    answer = raw.receive()
    assert answer["error"]["code"] == -32600
    assert "2025-03-26" in answer["error"]["message"]


def test_a_batch_before_initialize_is_refused(tmp_path: Path) -> None:
    with StdioClient("serve", "--stdio", cwd=tmp_path) as fresh:
        fresh.send([rpc("ping", None, 1)])
        assert fresh.receive()["error"]["code"] == -32600


def test_a_batch_right_behind_initialize_in_one_write_is_served(tmp_path: Path) -> None:
    import json

    with StdioClient("serve", "--stdio", cwd=tmp_path) as fresh:
        lines = [rpc("initialize", handshake("2025-03-26"), 0), [rpc("tools/list", None, 1), rpc("ping", None, 2)]]
        fresh.send_bytes(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
        assert fresh.reply_to(0)["result"]["protocolVersion"] == "2025-03-26"
        assert {answer["id"] for answer in fresh.receive()} == {1, 2}
