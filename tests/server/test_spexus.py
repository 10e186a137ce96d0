"""The spexus profile: every field and value that its document requires, over stdio and over HTTP."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import pytest

from tests.raw_clients import StdioClient, WebServer, handshake, rpc, serving_http

Ask: TypeAlias = Callable[[Any], Any]
"""Sends one raw message and returns the response."""


@pytest.fixture(scope="module")
def pipe(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StdioClient]:
    with StdioClient("serve", "--stdio", "--profile", "spexus", cwd=tmp_path_factory.mktemp("spexus")) as running:
        yield running


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebServer]:
    with serving_http(cwd=tmp_path_factory.mktemp("spexus")) as running:
        yield running


@pytest.fixture(params=["pipe", "http"])
def ask(request: pytest.FixtureRequest, pipe: StdioClient, server: WebServer) -> Ask:
    """Send the first message of a client, on each transport."""

    def over_pipe(message: Any) -> Any:
        pipe.send(message)
        return pipe.receive()

    def over_http(message: Any) -> Any:
        return server.web.mcp(message, path="/mcp/spexus").message

    return over_pipe if request.param == "pipe" else over_http


def initialize(**changes: Any) -> dict[str, Any]:
    params = {**handshake("2025-03-26"), **changes}
    return rpc("initialize", {key: value for key, value in params.items() if value is not ...})


##= docs/spec/spexus.md#response-envelope
##% An `initialize` request MUST be answered with a JSON-RPC 2.0 response that has all required fields.
##= docs/spec/spexus.md#response-envelope
##% The response to `initialize` MUST have the field `jsonrpc` with the value 2.0.
##= docs/spec/spexus.md#response-envelope
##% The response to `initialize` MUST hold all its data in the object `result`.
##= docs/spec/spexus.md#response-envelope
##% The response to `initialize` MUST be valid JSON.
##= docs/spec/spexus.md#server-info
##% The result MUST have a `serverInfo` with the name `spexus mcp`.
##= docs/spec/spexus.md#server-info
##% The title in `serverInfo` MUST be `MCP server for requirements management system`.
##= docs/spec/spexus.md#server-info
##% The version in `serverInfo` MUST be 1.0.0.
##= docs/spec/spexus.md#instructions
##% The result MUST have the field `instructions`, which is a string.
def test_initialize_returns_every_required_field_and_value(ask: Ask) -> None:
    answer = ask(initialize())
    assert answer["jsonrpc"] == "2.0"
    assert set(answer) == {"jsonrpc", "id", "result"}
    result = answer["result"]
    assert result["protocolVersion"] == "2025-03-26"
    assert result["serverInfo"] == {
        "name": "spexus mcp",
        "title": "MCP server for requirements management system",
        "version": "1.0.0",
    }
    assert isinstance(result["instructions"], str)
    assert {"protocolVersion", "capabilities", "serverInfo", "instructions"} <= set(result)


##= docs/spec/host.md#capabilities
##% The server MUST declare the capabilities tools, resources and prompts.
##= docs/spec/host.md#capabilities
##% The server MUST declare `listChanged` for tools, resources and prompts.
##= docs/spec/spexus.md#capabilities
##% The result MUST have a `capabilities` object with the sections prompts, resources and tools.
##= docs/spec/spexus.md#capabilities
##% The property `listChanged` MUST be true for prompts, resources and tools.
##= docs/spec/spexus.md#capabilities
##% The resources section MAY declare `subscribe`, in which case its value is true.
def test_the_capabilities_are_exactly_as_required(ask: Ask) -> None:
    capabilities = ask(initialize())["result"]["capabilities"]
    assert capabilities["prompts"] == {"listChanged": True}
    assert capabilities["resources"] == {"listChanged": True, "subscribe": True}
    assert capabilities["tools"] == {"listChanged": True}
    assert capabilities["tools"]["listChanged"] is True


##= docs/spec/spexus.md#instructions
##% The instructions MUST say what the system is for.
##= docs/spec/spexus.md#instructions
##% The instructions MUST say which tools are available and when to use them.
##= docs/spec/spexus.md#instructions
##% The instructions MUST say how to access resources.
def test_the_instructions_explain_tools_and_resources(ask: Ask) -> None:
    text = ask(initialize())["result"]["instructions"]
    assert len(text) > 500
    assert "contextive_health" in text
    assert "tools/call" in text
    assert "contextive:///tools/{name}" in text
    assert "resources/read" in text
    assert "write_requirement" in text
    assert "requirements" in text


##= docs/spec/spexus.md#protocol-version
##% The result MUST have the `protocolVersion` 2025-03-26, regardless of the requested version.
@pytest.mark.parametrize(
    "asked", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28", "2099-12-31", "0000-00-00"]
)
def test_every_well_formed_version_is_answered_with_the_pinned_one(ask: Ask, asked: str) -> None:
    assert ask(initialize(protocolVersion=asked))["result"]["protocolVersion"] == "2025-03-26"


##= docs/spec/spexus.md#malformed-requests
##% A protocol version that is not in the format YYYY-MM-DD MUST be refused with -32600.
##= docs/spec/spexus.md#malformed-requests
##% The error for a refused `initialize` MUST name the supported versions, the received version, and the expected
##% format.
@pytest.mark.parametrize(
    "version",
    [
        "",
        "2025-01",
        "2025-01-011",
        "2025/01/01",
        "abcd-01-01",
        "2025-ab-01",
        "2025-01-ab",
        "2025-01-01\n",
        "\u0662\u0660\u0662\u0665-01-01",
    ],
)
def test_a_version_that_is_not_a_date_is_refused_with_the_expected_format(ask: Ask, version: str) -> None:
    error = ask(initialize(protocolVersion=version))["error"]
    assert error["code"] == -32600
    assert error["data"]["supported_versions"] == ["2025-03-26"]
    assert error["data"]["received_version"] == version
    assert error["data"]["expected_format"] == "YYYY-MM-DD"


##= docs/spec/spexus.md#response-envelope
##% A failed `initialize` MUST be answered with a JSON-RPC 2.0 error instead of a result.
##= docs/spec/spexus.md#malformed-requests
##% An `initialize` without a parameters object MUST be refused with -32600.
##= docs/spec/spexus.md#malformed-requests
##% An `initialize` without a non-empty client name and a non-empty client version MUST be refused with -32600.
@pytest.mark.parametrize(
    "message",
    [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize"},
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}},
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": []},
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": "me"},
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": None},
        initialize(_meta=5),
        initialize(protocolVersion=...),
        initialize(protocolVersion=5),
        initialize(protocolVersion=None),
        initialize(clientInfo=...),
        initialize(clientInfo="me"),
        initialize(clientInfo={}),
        initialize(clientInfo={"name": "", "version": "1"}),
        initialize(clientInfo={"name": "me", "version": ""}),
        initialize(clientInfo={"name": "me"}),
        initialize(clientInfo={"version": "1"}),
        initialize(clientInfo={"name": 5, "version": "1"}),
    ],
    ids=lambda message: json.dumps(message.get("params"))[:60],
)
def test_a_malformed_initialize_is_refused_with_complete_error_data(ask: Ask, message: dict[str, Any]) -> None:
    answer = ask(message)
    assert "result" not in answer
    assert answer["id"] == 1
    error = answer["error"]
    assert error["code"] == -32600
    params = message.get("params")
    version = params.get("protocolVersion") if isinstance(params, dict) else None
    assert error["data"]["supported_versions"] == ["2025-03-26"]
    assert error["data"]["received_version"] == version
    assert error["data"]["expected_format"] == "YYYY-MM-DD"


##= docs/spec/spexus.md#malformed-requests
##% Missing or malformed client capabilities MUST be treated as no capabilities.
@pytest.mark.parametrize("capabilities", [..., None, "none", [], {}, {"roots": {}}, {"roots": 5}], ids=str)
def test_the_capabilities_of_a_client_are_optional(ask: Ask, capabilities: object) -> None:
    assert ask(initialize(capabilities=capabilities))["result"]["protocolVersion"] == "2025-03-26"


##= docs/spec/spexus.md#response-envelope
##% The response to `initialize` MUST have the same id as its request, of the same type.
@pytest.mark.parametrize("request_id", [0, 1, -5, "1", "abc", ""], ids=repr)
def test_the_id_of_the_response_is_the_id_of_the_request(ask: Ask, request_id: object) -> None:
    answer = ask({**initialize(), "id": request_id})
    assert answer["id"] == request_id
    assert type(answer["id"]) is type(request_id)


def test_bad_json_is_a_parse_error_without_an_id(pipe: StdioClient, server: WebServer) -> None:
    pipe.send_bytes(b'{"jsonrpc":\n')
    answers = [pipe.receive(), server.web.mcp(b'{"jsonrpc":', path="/mcp/spexus").json]
    assert [(answer["id"], answer["error"]["code"]) for answer in answers] == [(None, -32700)] * 2


##= docs/spec/spexus.md#protocol-version
##% A session MUST continue in the version that was returned for its `initialize`.
def test_after_requesting_a_newer_version_stdio_uses_the_pinned_one(pipe: StdioClient) -> None:
    pipe.initialize("2025-11-25")
    pipe.send([rpc("ping", None, 1), rpc("prompts/list", None, 2)])
    answers = pipe.receive()
    assert {answer["id"] for answer in answers} == {1, 2}


def test_after_requesting_a_newer_version_the_session_uses_the_pinned_one(server: WebServer) -> None:
    session = server.web.open_session("2025-11-25", "/mcp/spexus")
    answer = session.post([rpc("ping", None, 1), rpc("prompts/list", None, 2)])
    assert {message["id"] for message in answer.json} == {1, 2}


##= docs/spec/host.md#capabilities
##% Every declared capability MUST be served.
##= docs/spec/host.md#resources-and-prompts
##% The server MUST list the readable resources, except for members of templates that are only listed below their
##% parent, and be able to read each of them.
##= docs/spec/spexus.md#capabilities
##% The declared capabilities MUST be those that the profile actually serves.
##= docs/spec/spexus.md#capabilities
##% Every feature that the profile offers MUST be declared.
##= docs/spec/spexus.md#prompts
##% The profile MUST offer prompts for writing, reviewing and breaking down requirements.
##= docs/spec/spexus.md#prompts
##% Text that a caller passes to a prompt MUST be marked as quoted text.
def test_every_declared_feature_works(pipe: StdioClient) -> None:
    pipe.initialize("2025-03-26")
    prompts = {prompt["name"]: prompt for prompt in pipe.result("prompts/list")["prompts"]}
    assert {"write_requirement", "review_requirements", "break_down_story"} <= set(prompts)
    assert all(prompt["description"] for prompt in prompts.values())
    for name in ("write_requirement", "review_requirements", "break_down_story"):
        prompt = prompts[name]
        arguments = {argument["name"]: "> quoted\nline" for argument in prompt["arguments"]}
        (message,) = pipe.result("prompts/get", {"name": name, "arguments": arguments})["messages"]
        assert message["role"] == "user"
        assert "> line" in message["content"]["text"]
    assert "contextive_health" in [tool["name"] for tool in pipe.result("tools/list")["tools"]]
    assert pipe.call("contextive_server_info")["structuredContent"]["profile"] == "spexus"
    for resource in pipe.result("resources/list")["resources"]:
        assert pipe.result("resources/read", {"uri": resource["uri"]})["contents"]
    assert pipe.result("resources/subscribe", {"uri": "contextive:///server"}) == {}
    level = {"ref": {"type": "ref/prompt", "name": "write_requirement"}, "argument": {"name": "level", "value": "s"}}
    assert pipe.result("completion/complete", level)["completion"]["values"] == ["SHOULD"]


def test_an_unknown_level_of_a_prompt_becomes_must(pipe: StdioClient) -> None:
    pipe.initialize("2025-03-26")
    for level, used in (("should", "SHOULD"), ("whenever", "MUST"), ("", "MUST")):
        arguments = {"intention": "be fast", "level": level}
        (message,) = pipe.result("prompts/get", {"name": "write_requirement", "arguments": arguments})["messages"]
        assert f"one {used} " in message["content"]["text"]


def test_the_stateless_era_is_served_under_the_same_identity(pipe: StdioClient) -> None:
    result = pipe.modern("server/discover")["result"]
    assert result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "spexus mcp"
