"""Both generations of the TypeScript client against the product, over both transports and under two profiles."""

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

VISIT_SECONDS = 60.0
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
    """What one client saw of the product."""

    client: str
    transport: Transport
    profile: str
    report: dict[str, Any]


@pytest.fixture(
    scope="module",
    params=[(*key, transport) for key in VERSIONS for transport in TRANSPORTS],
    ids=lambda key: "-".join(key),
)
def visit(request: pytest.FixtureRequest, toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> ClientRun:
    client, profile, transport = request.param
    project = tmp_path_factory.mktemp("project")
    with product(transport, project, profile) as address:
        wish = {
            "command": list(address.command) or None,
            "url": address.url or None,
            "uri": RESOURCE,
            "completion": COMPLETIONS[profile][0],
            "prompt": PROMPT if profile == "spexus" else None,
            "configFile": str(project / "contextive.config.yaml"),
            "newConfig": WITHOUT_HEALTH,
        }
        return ClientRun(client, transport, profile, _run(toolchain, f"{client}.mjs", wish, project))


def _run(toolchain: Toolchain, script: str, wish: dict[str, Any], cwd: Path) -> dict[str, Any]:
    done = subprocess.run(
        [*toolchain.script(script), json.dumps(wish)],
        cwd=cwd,
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=VISIT_SECONDS,
    )
    assert done.returncode == 0, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def test_the_newest_version_that_both_speak_is_negotiated(visit: ClientRun) -> None:
    assert visit.report["version"] == VERSIONS[visit.client, visit.profile]


def test_the_client_learns_who_serves_it_and_what_can_change(visit: ClientRun) -> None:
    server = visit.report["server"]
    assert (server["name"], server["title"]) == SERVERS[visit.profile]
    capabilities = visit.report["capabilities"]
    assert capabilities["tools"] == {"listChanged": True}
    assert capabilities["resources"] == {"listChanged": True, "subscribe": True}
    assert capabilities["prompts"] == {"listChanged": True}


def test_the_instructions_name_every_tool(visit: ClientRun) -> None:
    assert all(f"- {tool}: " in visit.report["instructions"] for tool in visit.report["tools"])


def test_all_lists_arrive(visit: ClientRun) -> None:
    report = visit.report
    assert [tool for tool in report["tools"] if tool in TOOLS] == TOOLS
    assert RESOURCE in report["resources"]
    assert "contextive:///tools/contextive_health" in report["resources"]
    assert "contextive:///tools/{name}" in report["templates"]
    assert ("write_requirement" in report["prompts"]) == (visit.profile == "spexus")


def test_a_tool_answers_with_structured_content_that_the_client_found_to_fit_its_schema(visit: ClientRun) -> None:
    called = visit.report["called"]
    assert called["isError"] is False
    assert called["structuredContent"]["profile"] == visit.profile
    assert called["structuredContent"]["mode"] == visit.transport
    assert json.loads(called["content"][0]["text"]) == called["structuredContent"]


def test_a_bad_argument_is_a_tool_error_that_names_it(visit: ClientRun) -> None:
    refused = visit.report["refused"]
    assert refused["isError"] is True
    assert "structuredContent" not in refused
    error = json.loads(refused["content"][0]["text"])["error"]
    assert error["code"] == "invalid_request"
    assert "colour" in error["message"]


def test_an_unknown_tool_is_a_protocol_error(visit: ClientRun) -> None:
    assert visit.report["unknownTool"]["code"] == -32602


def test_a_resource_is_read(visit: ClientRun) -> None:
    [content] = visit.report["read"]["contents"]
    assert content["uri"] == RESOURCE
    assert list(json.loads(content["text"])["tools"]) == visit.report["tools"]


def test_tool_and_resource_speak_for_the_profile_that_was_asked(visit: ClientRun) -> None:
    [content] = visit.report["read"]["contents"]
    assert json.loads(content["text"])["name"] == SERVERS[visit.profile][0]
    assert visit.report["called"]["structuredContent"]["name"] == SERVERS[visit.profile][0]


def test_an_unknown_resource_is_the_error_of_the_clients_era(visit: ClientRun) -> None:
    assert visit.report["unknownResource"]["code"] == (-32602 if visit.client == "client_v2" else -32002)


def test_an_argument_is_completed(visit: ClientRun) -> None:
    assert visit.report["completed"] == COMPLETIONS[visit.profile][1]


def test_a_prompt_is_filled_with_its_arguments(visit: ClientRun) -> None:
    if visit.profile != "spexus":
        assert visit.report["prompted"] is None
        return
    [message] = visit.report["prompted"]["messages"]
    assert message["role"] == "user"
    assert "level SHOULD" in message["content"]["text"]
    assert "> Nothing is lost on a crash" in message["content"]["text"]


def test_a_changed_configuration_is_heard_and_then_seen(visit: ClientRun) -> None:
    heard = visit.report["heard"]
    assert {"method": "notifications/tools/list_changed"} in heard
    assert {"method": "notifications/resources/list_changed"} in heard
    assert {"method": "notifications/resources/updated", "uri": RESOURCE} in heard
    assert visit.report["toolsAfterwards"] == [tool for tool in visit.report["tools"] if tool != "contextive_health"]
