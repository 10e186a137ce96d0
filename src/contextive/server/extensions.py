"""The extensions of MCP that the server declares."""

from __future__ import annotations

from typing import Any, Final

from contextive.registry import Surface

SKILLS: Final = "io.modelcontextprotocol/skills"


##= docs/spec/host.md#skills
##% The server MUST declare the extension `io.modelcontextprotocol/skills` to every caller who is offered a skill.
def extensions_of(surface: Surface) -> dict[str, dict[str, Any]]:
    """The extensions that a caller with this surface can use, each with its settings."""
    return {SKILLS: {}} if any(resource.pack == "skills" for resource in surface.resources) else {}
