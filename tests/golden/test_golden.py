"""Snapshots of what clients see, one set of files per profile. A change here is a change of the public interface.

`make golden` rewrites the files; read the diff before you commit.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from contextive.config import ConfigRequest, load_config
from contextive.packs import BUILTIN
from contextive.registry import Caller, Scope, Tool
from contextive.registry.budget import compact_json
from contextive.registry.registry import Surface
from contextive.server.description import describe_server
from contextive.server.host import Host
from contextive.server.instructions import write_instructions
from contextive.server.presence import EVERYTHING
from contextive.server.profiles import PROFILES
from contextive.server.wire import tool_to_wire
from tests.processes import clean_environment

from .tokens import estimate_json_tokens, estimate_tokens

SNAPSHOTS = Path(__file__).parent / "snapshots"
BUDGET = {Scope.READER: 6_000, Scope.WRITER: 9_000, Scope.MAINTAINER: 9_000}
"""The most tokens of the default tool list, as characters of compact JSON divided by four. Most callers are readers."""


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Host:
    """A server with the default configuration, independent of this machine's environment."""
    project = tmp_path_factory.mktemp("project")
    host = Host(load_config(ConfigRequest(project=project, builtin_packs=frozenset(BUILTIN))), mode="in-process")
    host.presence.found = EVERYTHING
    return host


def listed(host: Host, profile: str, scope: Scope) -> Surface:
    """What a profile lists in a project with specifications, notes and a model."""
    return host.listed_surface(PROFILES[profile], Caller("golden", scope))


def compare(name: str, text: str) -> None:
    """Compare a text with its snapshot; with CONTEXTIVE_GOLDEN=write, write the snapshot instead."""
    path = SNAPSHOTS / name
    if os.environ.get("CONTEXTIVE_GOLDEN") == "write":
        path.write_text(text, encoding="utf-8", newline="\n")
    expected = path.read_text(encoding="utf-8") if path.exists() else ""
    assert text == expected, f"{name} changed; if this is intended, run `make golden` and read the diff"


def as_json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def wire_form(tool: Tool) -> dict[str, Any]:
    """Return a tool as `tools/list` sends it."""
    return tool_to_wire(tool).model_dump(mode="json", by_alias=True, exclude_none=True)


def tool_list(host: Host, profile: str, scope: Scope) -> list[dict[str, Any]]:
    return [wire_form(tool) for tool in listed(host, profile, scope).tools.values()]


##= docs/spec/host.md#discovery
##% Built-in packs MUST be found in a static registry.
##= docs/spec/knowledge.md#km-search-requests
##% The tool `km-search` MUST take `query`, and optionally `limit`, `include_graph`, `filters` and `sort_by_vector`.
@pytest.mark.parametrize("profile", PROFILES)
def test_the_tools_of_a_profile(host: Host, profile: str) -> None:
    """All tools of a maintainer; `scope` tells which of them a reader gets."""
    tools = listed(host, profile, Scope.MAINTAINER).tools.values()
    wires = {tool.name: wire_form(tool) for tool in tools}
    snapshot = {
        "profile": profile,
        "estimated_tokens": {scope.value: estimate_json_tokens(tool_list(host, profile, scope)) for scope in Scope},
        "tools": [
            {"scope": tool.scope.value, "estimated_tokens": estimate_json_tokens(wires[tool.name]), **wires[tool.name]}
            for tool in tools
        ],
    }
    compare(f"{profile}.tools.json", as_json(snapshot))


##= docs/spec/host.md#declaration
##% A tool declaration MAY include hints on when an agent should call the tool.
##= docs/spec/spexus.md#instructions
##% The instructions MUST say what the system is for.
##= docs/spec/spexus.md#instructions
##% The instructions MUST say which tools are available and when to use them.
@pytest.mark.parametrize("profile", PROFILES)
def test_the_instructions_of_a_profile(host: Host, profile: str) -> None:
    """The text for each scope, or one text if both are equal."""
    texts = {scope.value: write_instructions(PROFILES[profile], listed(host, profile, scope)) for scope in Scope}
    scopes_by_text: dict[str, list[str]] = {}
    for scope, text in texts.items():
        scopes_by_text.setdefault(text, []).append(scope)
    parts = [
        f"<!-- {profile} as {' and '.join(scopes)}: about {estimate_tokens(text)} tokens -->\n\n{text}\n"
        for text, scopes in scopes_by_text.items()
    ]
    compare(f"{profile}.instructions.md", "\n".join(parts))


def _description(host: Host, profile: str) -> dict[str, Any]:
    """Return the description without the parts in the other two snapshots, so that a change appears only once."""
    description = describe_server(host, PROFILES[profile], Scope.READER)
    description["tools"] = [tool["name"] for tool in description["tools"]]
    del description["instructions"]
    return description


##= docs/spec/host.md#capabilities
##% The server MUST declare the capabilities tools, resources and prompts.
##= docs/spec/host.md#tests-of-the-project
##= type=implication
##% The project MUST have snapshots of the server's description.
def test_the_description_of_every_profile(host: Host) -> None:
    compare("describe.json", as_json({profile: _description(host, profile) for profile in PROFILES}))


def test_the_describe_command_prints_the_description_of_the_snapshot(host: Host, tmp_path: Path) -> None:
    printed = subprocess.run(
        [sys.executable, "-m", "contextive", "describe"],
        cwd=tmp_path,
        env=clean_environment({"XDG_CONFIG_HOME": str(tmp_path)}),
        capture_output=True,
        check=True,
        encoding="utf-8",
    )
    assert json.loads(printed.stdout) == describe_server(host, PROFILES["contextive"], Scope.READER)


@pytest.mark.parametrize("scope", BUDGET)
def test_the_default_tool_list_is_within_its_budget(host: Host, scope: Scope) -> None:
    tools = tool_list(host, "contextive", scope)
    assert len(compact_json(tools)) / 4 <= BUDGET[scope]
    if scope is Scope.READER:
        assert len(tools) <= 16
    assert sum(len(compact_json(tool)) for tool in tools if tool["_meta"].get("anthropic/alwaysLoad")) / 4 <= 2_000
    assert len(write_instructions(PROFILES["contextive"], listed(host, "contextive", scope))) / 4 <= 500


##= docs/spec/host.md#tool-calls
##% A hint MUST name only tools that the caller is offered.
@pytest.mark.parametrize("scope", Scope)
@pytest.mark.parametrize("profile", PROFILES)
def test_what_a_caller_reads_names_only_tools_that_it_is_offered(host: Host, profile: str, scope: Scope) -> None:
    """Names that are ordinary words, such as `search`, are not looked for."""
    every = {name for p in PROFILES.values() for name in host.widest_surface(p).tools if "-" in name or "_" in name}
    surface = host.surface(PROFILES[profile], scope)
    texts = {"instructions": write_instructions(PROFILES[profile], surface)}
    texts |= {name: json.dumps([wire_form(tool), tool.invocation_hints]) for name, tool in surface.tools.items()}
    texts |= {resource.uri: resource.description for resource in surface.resources}
    texts |= {prompt.name: prompt.description for prompt in surface.prompts.values()}
    named = {(where, word) for where, text in texts.items() for word in re.findall(r"[\w-]+", text) if word in every}
    assert {(where, word) for where, word in named if word not in surface.tools} == set()


def test_every_snapshot_belongs_to_a_profile() -> None:
    expected = {f"{name}.{kind}" for name in PROFILES for kind in ("tools.json", "instructions.md")} | {"describe.json"}
    assert {path.name for path in SNAPSHOTS.iterdir()} == expected


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("a word", 2),
        ("internationalisation", 3),
        ("2026-07-28", 6),
        ('{"type":"object"}', 5),
        ("naïve café", 2),
    ],
)
def test_the_estimator_counts_words_numbers_and_punctuation(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens
