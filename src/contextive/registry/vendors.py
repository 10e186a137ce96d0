"""Everything that only single vendors understand: keys of tools, and settings of their clients. All of it is in this file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from contextive.registry.declaration import Tool

CLIENT_SETTINGS: Final[Mapping[str, tuple[tuple[str, Any], ...]]] = {"copilot-cli": (("deferTools", "never"),)}
"""Keys of a server's entry in the file of a client, which keep its tools loaded. Claude Code reads a key of each tool."""

SKILL_FOLDERS: Final[Mapping[str, str]] = {
    "claude-code": ".claude/skills",
    "cursor": ".agents/skills",
    "vscode": ".agents/skills",
    "codex": ".agents/skills",
    "kiro": ".kiro/skills",
    "opencode": ".agents/skills",
    "gemini-cli": ".agents/skills",
    "copilot-cli": ".agents/skills",
}
"""Where a client looks for skills, below the project and below the home directory."""


##= docs/spec/host.md#listing
##% Clients that load tools on demand MUST be told which tools to load always, and get a search hint for each tool.
def tool_meta(tool: Tool) -> dict[str, Any]:
    """The keys in the `_meta` of a listed tool."""
    hint = tool.invocation_hints or ", ".join(tool.labels)
    values = {"anthropic/alwaysLoad": tool.essential or None, "anthropic/searchHint": hint or None}
    return {key: value for key, value in values.items() if value is not None}
