"""Both major versions of the TypeScript client with the product, over both transports and with two profiles."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.node.conftest import TRANSPORTS, Transport, product
from tests.node.toolchain import Toolchain
from tests.processes import clean_environment

RUN_SECONDS = 60.0
RESOURCE = "contextive:///server"
TOOLS = ["contextive_server_info", "contextive_health"]
WITHOUT_HEALTH = "toolPacks: {introspect: {blockedTools: [contextive_health]}}\n"

VERSIONS = {
    ("sdk_v1", "contextive"): "2025-11-25",
    ("sdk_v1", "spexus"): "2025-03-26",
    ("client_v2", "contextive"): "2026-07-28",
    ("client_v2", "spexus"): "2026-07-28",
}
SERVERS = {
    "contextive": ("contextive-mcp", "Contextive"),
    "spexus": ("spexus mcp", "MCP server for requirements management system"),
}
COMPLETIONS = {
    "contextive": (
        {
            "ref": {"type": "ref/resource", "uri": "contextive:///tools/{name}"},
            "argument": {"name": "name", "value": "contextive_h"},
        },
        ["contextive_health"],
    ),
    "spexus": (
        {"ref": {"type": "ref/prompt", "name": "write_requirement"}, "argument": {"name": "level", "value": "s"}},
        ["SHOULD"],
    ),
}
PROMPT = {"name": "write_requirement", "arguments": {"intention": "Nothing is lost on a crash", "level": "SHOULD"}}


@dataclass(frozen=True, slots=True)
class ClientRun:
    """What one client received from the product."""

    client: str
    transport: Transport
    profile: str
    report: dict[str, Any]


@pytest.fixture(
    scope="module",
    params=[(*key, transport) for key in VERSIONS for transport in TRANSPORTS],
    ids=lambda key: "-".join(key),
)
def client_run(
    request: pytest.FixtureRequest, toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory
) -> ClientRun:
    client, profile, transport = request.param
    project = tmp_path_factory.mktemp("project")
    with product(transport, project, profile) as address:
        options = {
            "command": list(address.command) or None,
            "url": address.url or None,
            "uri": RESOURCE,
            "completion": COMPLETIONS[profile][0],
            "prompt": PROMPT if profile == "spexus" else None,
            "configFile": str(project / "contextive.config.yaml"),
            "newConfig": WITHOUT_HEALTH,
        }
        return ClientRun(client, transport, profile, _run(toolchain, f"{client}.mjs", options, project))


def _run(toolchain: Toolchain, script: str, options: dict[str, Any], cwd: Path) -> dict[str, Any]:
    done = subprocess.run(
        [*toolchain.script(script), json.dumps(options)],
        cwd=cwd,
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=RUN_SECONDS,
    )
    assert done.returncode == 0, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def test_the_newest_common_version_is_negotiated(client_run: ClientRun) -> None:
    assert client_run.report["version"] == VERSIONS[client_run.client, client_run.profile]


def test_the_client_gets_the_server_name_and_capabilities(client_run: ClientRun) -> None:
    server = client_run.report["server"]
    assert (server["name"], server["title"]) == SERVERS[client_run.profile]
    capabilities = client_run.report["capabilities"]
    assert capabilities["tools"] == {"listChanged": True}
    assert capabilities["resources"] == {"listChanged": True, "subscribe": True}
    assert capabilities["prompts"] == {"listChanged": True}


def test_the_instructions_name_every_tool(client_run: ClientRun) -> None:
    named = [tool for tool in client_run.report["tools"] if tool in client_run.report["instructions"]]
    assert named == client_run.report["tools"] or client_run.profile == "contextive"
    assert named


def test_all_lists_arrive(client_run: ClientRun) -> None:
    report = client_run.report
    assert [tool for tool in report["tools"] if tool in TOOLS] == TOOLS
    assert RESOURCE in report["resources"]
    assert "contextive:///tools/{name}" in report["templates"]
    assert ("write_requirement" in report["prompts"]) == (client_run.profile == "spexus")


def test_the_structured_content_of_a_tool_passes_the_clients_validation(client_run: ClientRun) -> None:
    called = client_run.report["called"]
    assert called["isError"] is False
    assert called["structuredContent"]["profile"] == client_run.profile
    assert called["structuredContent"]["mode"] == client_run.transport
    assert json.loads(called["content"][0]["text"]) == called["structuredContent"]


def test_a_bad_argument_is_a_tool_error_that_names_it(client_run: ClientRun) -> None:
    refused = client_run.report["refused"]
    assert refused["isError"] is True
    assert "structuredContent" not in refused
    error = json.loads(refused["content"][0]["text"])["error"]
    assert error["code"] == "invalid_request"
    assert "colour" in error["message"]


def test_an_unknown_tool_is_a_protocol_error(client_run: ClientRun) -> None:
    assert client_run.report["unknownTool"]["code"] == -32602


def test_a_resource_is_read(client_run: ClientRun) -> None:
    [content] = client_run.report["read"]["contents"]
    assert content["uri"] == RESOURCE
    described = list(json.loads(content["text"])["tools"])
    listed = client_run.report["tools"]
    assert [tool for tool in described if tool in listed] == listed, "tools that are not listed can be called, too"


def test_tool_and_resource_describe_the_requested_profile(client_run: ClientRun) -> None:
    [content] = client_run.report["read"]["contents"]
    assert json.loads(content["text"])["name"] == SERVERS[client_run.profile][0]
    assert client_run.report["called"]["structuredContent"]["name"] == SERVERS[client_run.profile][0]


def test_an_unknown_resource_gets_the_error_code_of_the_clients_era(client_run: ClientRun) -> None:
    assert client_run.report["unknownResource"]["code"] == (-32602 if client_run.client == "client_v2" else -32002)


def test_an_argument_is_completed(client_run: ClientRun) -> None:
    assert client_run.report["completed"] == COMPLETIONS[client_run.profile][1]


def test_a_prompt_is_filled_with_its_arguments(client_run: ClientRun) -> None:
    if client_run.profile != "spexus":
        assert client_run.report["prompted"] is None
        return
    [message] = client_run.report["prompted"]["messages"]
    assert message["role"] == "user"
    assert "level SHOULD" in message["content"]["text"]
    assert "> Nothing is lost on a crash" in message["content"]["text"]


def test_a_changed_configuration_sends_notifications_and_changes_the_lists(client_run: ClientRun) -> None:
    notifications = client_run.report["notifications"]
    assert {"method": "notifications/tools/list_changed"} in notifications
    assert {"method": "notifications/resources/list_changed"} in notifications
    assert {"method": "notifications/resources/updated", "uri": RESOURCE} in notifications
    assert client_run.report["toolsAfterwards"] == [
        tool for tool in client_run.report["tools"] if tool != "contextive_health"
    ]
