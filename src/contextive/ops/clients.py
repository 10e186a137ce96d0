"""How each MCP client is told about this server."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class ClientSnippet:
    """What to put where, so that one client finds the server."""

    client: str
    where: str
    text: str


def client_snippets(project: Path | None = None) -> list[ClientSnippet]:
    """One snippet a client. `project` is named where a client does not start servers in the project's directory."""
    in_project = ["serve", "--stdio"]
    anywhere = [*in_project, "--project", str(project) if project else "/path/to/your/project"]
    server = {"command": "contextive-mcp", "args": in_project}
    return [
        ClientSnippet("Claude Code", "run in the project", "claude mcp add contextive -- contextive-mcp serve --stdio"),
        ClientSnippet(
            "Claude Desktop",
            "claude_desktop_config.json",
            _json({"mcpServers": {"contextive": {"command": "contextive-mcp", "args": anywhere}}}),
        ),
        ClientSnippet("Cursor", ".cursor/mcp.json", _json({"mcpServers": {"contextive": server}})),
        ClientSnippet("VS Code", ".vscode/mcp.json", _json({"servers": {"contextive": {"type": "stdio", **server}}})),
        ClientSnippet(
            "Codex",
            "~/.codex/config.toml",
            '[mcp_servers.contextive]\ncommand = "contextive-mcp"\nargs = ' + json.dumps(anywhere),
        ),
    ]


def _json(value: object) -> str:
    return json.dumps(value, indent=2)
