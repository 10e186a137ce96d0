"""The MCP Inspector, on the command line, with the product over both transports."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.node.conftest import TRANSPORTS, Address, product
from tests.node.toolchain import Toolchain
from tests.processes import clean_environment

CALL_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Inspector:
    """Sends one request at a time to the product, each over a new connection."""

    program: list[str]
    address: Address
    home: Path

    def ask(self, method: str, *options: str, era: str = "legacy") -> dict[str, Any]:
        server = (
            ["--transport", "http", "--server-url", self.address.url]
            if self.address.url
            else ["--", *self.address.command]
        )
        arguments = ["--cli", "-q", "--format", "json", "--protocol-era", era, "--method", method, *options]
        done = subprocess.run(
            [*self.program, *arguments, *server],
            cwd=self.home,
            # It stores a list of servers in the home directory, which must not be the developer's.
            env=clean_environment({"HOME": str(self.home)}),
            capture_output=True,
            text=True,
            timeout=CALL_SECONDS,
        )
        assert done.returncode == 0, done.stderr
        answer: dict[str, Any] = json.loads(done.stdout)["result"]
        return answer


@pytest.fixture(scope="module", params=TRANSPORTS)
def inspector(
    request: pytest.FixtureRequest, toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Inspector]:
    home = tmp_path_factory.mktemp("home")
    with product(request.param, tmp_path_factory.mktemp("project"), "spexus") as address:
        yield Inspector(toolchain.program("@modelcontextprotocol/inspector", "mcp-inspector"), address, home)


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_every_tool_has_a_portable_schema(inspector: Inspector, era: str) -> None:
    tools = inspector.ask("tools/list", "--strict", era=era)["tools"]
    assert {"contextive_server_info", "contextive_health"} <= {tool["name"] for tool in tools}


def test_a_tool_is_called(inspector: Inspector) -> None:
    answer = inspector.ask("tools/call", "--tool-name", "contextive_health")
    assert answer["structuredContent"]["status"] == "healthy"


def test_resources_are_listed(inspector: Inspector) -> None:
    resources = inspector.ask("resources/list")["resources"]
    assert "contextive:///server" in {resource["uri"] for resource in resources}


def test_a_resource_is_read(inspector: Inspector) -> None:
    [content] = inspector.ask("resources/read", "--uri", "contextive:///server")["contents"]
    assert "contextive_health" in json.loads(content["text"])["tools"]


def test_prompts_are_listed(inspector: Inspector) -> None:
    prompts = inspector.ask("prompts/list")["prompts"]
    assert {"write_requirement", "review_requirements", "break_down_story"} <= {prompt["name"] for prompt in prompts}


def test_a_prompt_is_filled(inspector: Inspector) -> None:
    answer = inspector.ask(
        "prompts/get", "--prompt-name", "break_down_story", "--prompt-args", "story=As a reader I search my notes"
    )
    assert "> As a reader I search my notes" in answer["messages"][0]["content"]["text"]
