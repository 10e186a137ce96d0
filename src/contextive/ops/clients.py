"""The MCP clients that `install` supports: where each stores its servers, and the format of an entry."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from contextive.toml.editor import table_text

InstallScope = Literal["project", "user"]
SERVER_NAME = "contextive"
COMMAND = "contextive-mcp"
_PROJECT = "/path/to/your/project"
_WORKSPACE = "${workspaceFolder}"


@dataclass(frozen=True, slots=True)
class ClientApp:
    """A client: its name, its files, and where servers are in them."""

    key: str
    title: str
    scopes: tuple[InstallScope, ...]
    """The scopes in which a server can be added; the first is the default."""
    servers: str
    """The key that contains all servers."""
    style: Literal["json", "toml"] = "json"
    extra: tuple[tuple[str, str], ...] = ()
    """Keys of an entry besides command and args."""
    workspace_scopes: tuple[InstallScope, ...] = ()
    """Scopes in which the client replaces ${workspaceFolder} in an entry."""
    explicit_project_scopes: tuple[InstallScope, ...] = ()
    """Scopes in which an entry must name the project, because the client does not start servers in its directory."""

    def entry(self, command: str, scope: InstallScope, project: str, first: Sequence[str] = ()) -> dict[str, Any]:
        """The entry of the server in the client's file."""
        arguments = [*first, "serve", "--stdio"]
        if scope in self.workspace_scopes:
            arguments += ["--project", _WORKSPACE]
        elif scope in self.explicit_project_scopes:
            arguments += ["--project", project]
        return {**dict(self.extra), "command": command, "args": arguments}

    def snippet(self, name: str, entry: Mapping[str, Any]) -> str:
        """The text of a file that has only this entry."""
        if self.style == "toml":
            return table_text((self.servers, name), entry).rstrip("\n")
        return json.dumps({self.servers: {name: entry}}, indent=2, ensure_ascii=False)


CLIENTS: dict[str, ClientApp] = {
    client.key: client
    for client in (
        ClientApp("claude-code", "Claude Code", ("project", "user"), "mcpServers"),
        ClientApp("claude-desktop", "Claude Desktop", ("user",), "mcpServers", explicit_project_scopes=("user",)),
        ClientApp(
            "cursor",
            "Cursor",
            ("project", "user"),
            "mcpServers",
            workspace_scopes=("project",),
            explicit_project_scopes=("user",),
        ),
        ClientApp(
            "vscode",
            "VS Code",
            ("project", "user"),
            "servers",
            extra=(("type", "stdio"),),
            workspace_scopes=("project", "user"),
        ),
        ClientApp(
            "codex", "Codex", ("user", "project"), "mcp_servers", style="toml", explicit_project_scopes=("user",)
        ),
    )
}


@dataclass(frozen=True, slots=True)
class UserEnvironment:
    """The facts that decide where a user's configuration files are."""

    platform: str
    """The value of `sys.platform`."""
    home: Path
    environ: Mapping[str, str]

    def application_folder(self) -> Path:
        """The directory in which desktop applications store their settings."""
        if self.platform == "darwin":
            return self.home / "Library" / "Application Support"
        if self.platform == "win32":
            return Path(self.environ.get("APPDATA") or self.home / "AppData" / "Roaming")
        configured = Path(self.environ.get("XDG_CONFIG_HOME", ""))
        return configured if configured.is_absolute() else self.home / ".config"


def client_file(client: ClientApp, scope: InstallScope, project: Path, user_env: UserEnvironment) -> Path:
    """The file in which this client stores its servers."""
    match client.key, scope:
        case "claude-code", "project":
            return project / ".mcp.json"
        case "claude-code", _:
            return Path(user_env.environ.get("CLAUDE_CONFIG_DIR") or user_env.home) / ".claude.json"
        case "claude-desktop", _:
            return _claude_desktop_folder(user_env) / "claude_desktop_config.json"
        case "cursor", _:
            return (project if scope == "project" else user_env.home) / ".cursor" / "mcp.json"
        case "vscode", "project":
            return project / ".vscode" / "mcp.json"
        case "vscode", _:
            return user_env.application_folder() / "Code" / "User" / "mcp.json"
        case _, "project":
            return project / ".codex" / "config.toml"
        case _:
            return Path(user_env.environ.get("CODEX_HOME") or user_env.home / ".codex") / "config.toml"


def _claude_desktop_folder(user_env: UserEnvironment) -> Path:
    """On Windows, the folder of the edition from the Microsoft Store is used if it exists."""
    if user_env.platform == "win32":
        local = Path(user_env.environ.get("LOCALAPPDATA") or user_env.home / "AppData" / "Local")
        store_folders = [
            *sorted((local / "Claude-Data").glob("[Cc]laude*")),
            *sorted((local / "Packages").glob("Claude_*/LocalCache/Roaming/Claude")),
        ]
        found = next((folder for folder in store_folders if folder.is_dir()), None)
        if found is not None:
            return found
    return user_env.application_folder() / "Claude"


@dataclass(frozen=True, slots=True)
class ClientSnippet:
    """A piece of configuration for one client, and where it belongs."""

    client: str
    where: str
    text: str


def client_snippets(project: Path | None = None) -> list[ClientSnippet]:
    """One snippet for each client. It names `project` if the client does not start servers in the project's directory."""
    files = {
        "claude-desktop": "claude_desktop_config.json",
        "cursor": ".cursor/mcp.json",
        "vscode": ".vscode/mcp.json",
        "codex": "~/.codex/config.toml",
    }
    snippets = [
        ClientSnippet("Claude Code", "run in the project", f"claude mcp add {SERVER_NAME} -- {COMMAND} serve --stdio")
    ]
    for key, where in files.items():
        client = CLIENTS[key]
        entry = client.entry(COMMAND, client.scopes[0], str(project) if project else _PROJECT)
        snippets.append(ClientSnippet(client.title, where, client.snippet(SERVER_NAME, entry)))
    return snippets
