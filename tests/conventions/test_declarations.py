"""Every built-in tool declares what a client needs to know before a call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from mcp_types.version import KNOWN_PROTOCOL_VERSIONS

from contextive.cli.parser import PROFILE_NAMES
from contextive.packs import BUILTIN, load_builtin
from contextive.registry import Pack, Prompt, Resource, Tool
from contextive.registry.registry import conflicts
from contextive.server.description import PROTOCOL_VERSIONS
from contextive.server.profiles import PROFILES

PACKS = {name: load_builtin(name) for name in BUILTIN}
TOOLS = [tool for pack in PACKS.values() for tool in pack.tools]
RESOURCES = [resource for pack in PACKS.values() for resource in pack.resources]
PROMPTS = [prompt for pack in PACKS.values() for prompt in pack.prompts]


def properties(schema: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield every property of a schema and of its definitions."""
    for part in (schema, *schema.get("$defs", {}).values()):
        yield from part.get("properties", {}).items()


##= docs/spec/host.md#declaration
##% A tool MUST have a name, a title, a description, an input schema and an output schema.
@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_a_tool_has_a_title_and_a_description(tool: Tool) -> None:
    assert tool.title
    assert tool.description.endswith(".")
    assert tool.pack in PACKS


##= docs/spec/host.md#declaration
##% An input schema MUST refuse unknown arguments.
@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_a_tool_has_closed_input_and_described_output(tool: Tool) -> None:
    assert tool.input_schema["additionalProperties"] is False
    assert tool.output_schema is not None, "every tool has an output schema"
    assert tool.output_schema["type"] == "object"
    Draft202012Validator.check_schema(tool.input_schema)
    Draft202012Validator.check_schema(tool.output_schema)


##= docs/spec/host.md#declaration
##% Every argument of a built-in tool MUST have a description.
@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_a_tool_describes_every_argument(tool: Tool) -> None:
    assert [name for name, spec in properties(tool.input_schema) if not spec.get("description")] == []


##= docs/spec/host.md#declaration
##% A tool that changes something MUST say so in its safety notes.
@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_a_tools_annotations_agree_with_each_other(tool: Tool) -> None:
    annotations = tool.annotations
    assert not (annotations.read_only and annotations.destructive)
    if not annotations.read_only:
        assert tool.safety_notes, "a tool that changes something has safety notes"


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda resource: resource.uri)
def test_a_resource_has_a_title_and_a_description(resource: Resource) -> None:
    assert resource.name
    assert resource.title
    assert resource.description.endswith(".")
    assert resource.mime_type


@pytest.mark.parametrize("prompt", PROMPTS, ids=lambda prompt: prompt.name)
def test_a_prompt_describes_itself_and_its_arguments(prompt: Prompt) -> None:
    assert prompt.title
    assert prompt.description.endswith(".")
    assert all(argument.description for argument in prompt.arguments)


@pytest.mark.parametrize("pack", PACKS.values(), ids=PACKS)
def test_no_two_packs_share_a_name(pack: Pack) -> None:
    assert conflicts(pack, [other for other in PACKS.values() if other is not pack]) == []


##= docs/spec/host.md#protocol-versions
##% The server MUST serve every handshake version from 2024-11-05 to 2025-11-25.
def test_the_protocol_versions_are_those_of_the_sdk() -> None:
    assert tuple(PROTOCOL_VERSIONS) == tuple(KNOWN_PROTOCOL_VERSIONS)


def test_the_command_line_knows_every_profile() -> None:
    assert tuple(PROFILE_NAMES) == tuple(PROFILES)


def test_every_pinned_version_is_one_of_the_sdk() -> None:
    assert {profile.pinned_version for profile in PROFILES.values()} <= {None, *KNOWN_PROTOCOL_VERSIONS}
