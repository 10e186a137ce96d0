"""The server described as data, for people and programs that are not MCP clients."""

from __future__ import annotations

from typing import Any

from contextive.registry import Scope, Surface, Tool
from contextive.server.extensions import extensions_of
from contextive.server.host import Host
from contextive.server.instructions import write_instructions
from contextive.server.presence import EVERYTHING
from contextive.server.profiles import Profile

##= docs/spec/host.md#protocol-versions
##% The server MUST serve every handshake version from 2024-11-05 to 2025-11-25.
PROTOCOL_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")
"""The versions that the SDK supports, listed here to avoid importing the SDK. A test compares the two lists."""


def describe_server(host: Host, profile: Profile, scope: Scope) -> dict[str, Any]:
    """Identity, protocol, capabilities, and everything offered to a caller with `scope`."""
    surface = host.surface(profile, scope)
    extensions = extensions_of(surface)
    return {
        "name": profile.server_name,
        "title": profile.title,
        "version": profile.version,
        "profile": profile.name,
        "scope": scope.value,
        "protocolVersions": list(PROTOCOL_VERSIONS),
        "initializeAnswers": profile.pinned_version or "negotiated",
        "transports": ["stdio", "streamable-http"],
        "capabilities": {
            "tools": {"listChanged": True},
            "resources": {"listChanged": True, "subscribe": True},
            "prompts": {"listChanged": True},
            "completions": {},
            "logging": {},
            **({"extensions": extensions} if extensions else {}),
        },
        "packs": list(host.pack_names(profile)),
        "tools": [describe_tool(tool) for tool in surface.tools.values()],
        "resources": [
            {"uri": r.uri, "name": r.name, "description": r.description, "mimeType": r.mime_type}
            for r in surface.resources
        ],
        "prompts": [
            {
                "name": prompt.name,
                "description": prompt.description,
                "arguments": [{"name": a.name, "required": a.required} for a in prompt.arguments],
            }
            for prompt in surface.prompts.values()
        ],
        "instructions": write_instructions(profile, _listed_with_everything(host, profile, scope)),
    }


def _listed_with_everything(host: Host, profile: Profile, scope: Scope) -> Surface:
    """What the profile lists in a project that has specifications, notes and a model."""
    surface = host.surface(profile, scope)
    return surface if profile.lists_everything else host.assembly.registry.listed_part(surface, EVERYTHING)


def describe_tool(tool: Tool) -> dict[str, Any]:
    """One tool with all fields of its declaration."""
    annotations = tool.annotations
    return {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "pack": tool.pack,
        "scope": tool.scope.value,
        "labels": list(tool.labels),
        "safety_notes": tool.safety_notes,
        "invocation_hints": tool.invocation_hints,
        "annotations": {
            "readOnlyHint": annotations.read_only,
            "destructiveHint": annotations.destructive,
            "idempotentHint": annotations.idempotent,
            "openWorldHint": annotations.open_world,
        },
        "inputSchema": tool.input_schema,
        "outputSchema": tool.output_schema,
    }
