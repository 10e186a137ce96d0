"""The MCP clients that `install` supports: where each stores its servers, and the format of an entry."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from contextive.registry.vendors import CLIENT_SETTINGS
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
    servers: str
    """The key that contains all servers."""
    scopes: tuple[InstallScope, ...] = ("project", "user")
    """The scopes in which a server can be added; the first is the default."""
    project_files: tuple[str, ...] = ()
    """Files in the project. The first that exists is used, or else the first."""
    user_files: tuple[str, ...] = ()
    """Files below the home directory, or below the folder of applications."""
    in_applications: bool = False
    folder_variable: str = ""
    """The environment variable that can name another folder for the user's file."""
    style: Literal["json", "toml"] = "json"
    extra: tuple[tuple[str, Any], ...] = ()
    """Keys of an entry besides command and args."""
    is_command_list: bool = False
    """Whether `command` is a list with the arguments."""
    workspace_scopes: tuple[InstallScope, ...] = ()
    """Scopes in which the client replaces ${workspaceFolder} in an entry."""
    explicit_project_scopes: tuple[InstallScope, ...] = ()
    """Scopes in which an entry must name the project, because the client does not start servers in its directory."""
    home_folder: str = ""
    """A directory below the home directory that the client creates, if it is not the one of the user's file."""
    programs: tuple[str, ...] = ()
    """Names of the client's command; if one is on the PATH, the client is installed."""
    approval: str = ""
    """What the client asks before it starts a server of the project."""

    def entry(
        self,
        command: str,
        scope: InstallScope,
        project: str,
        first: Sequence[str] = (),
        *,
        allow_writes: bool = False,
    ) -> dict[str, Any]:
        """The entry of the server in the client's file."""
        arguments = [*first, "serve", "--stdio"]
        if allow_writes:
            arguments.append("--allow-writes")
        if scope in self.workspace_scopes:
            arguments += ["--project", _WORKSPACE]
        elif scope in self.explicit_project_scopes:
            arguments += ["--project", project]
        settings = dict(CLIENT_SETTINGS.get(self.key, ()))
        if self.is_command_list:
            return {**dict(self.extra), "command": [command, *arguments], **settings}
        return {**dict(self.extra), "command": command, "args": arguments, **settings}

    def snippet(self, name: str, entry: Mapping[str, Any]) -> str:
        """The text of a file that has only this entry."""
        if self.style == "toml":
            return table_text((self.servers, name), entry).rstrip("\n")
        return json.dumps({self.servers: {name: entry}}, indent=2, ensure_ascii=False)


##= docs/spec/commands.md#known-clients
##% The command `install` MUST know Claude Code, Claude Desktop, Cursor, VS Code, Codex, Kiro, opencode, Gemini CLI,
##% Copilot CLI, Zed and Windsurf.
CLIENTS: dict[str, ClientApp] = {
    client.key: client
    for client in (
        ClientApp(
            "claude-code",
            "Claude Code",
            "mcpServers",
            project_files=(".mcp.json",),
            user_files=(".claude.json",),
            folder_variable="CLAUDE_CONFIG_DIR",
            home_folder=".claude",
            programs=("claude",),
            approval="Claude Code asks you to approve the server when you next run claude in this project.",
        ),
        ClientApp(
            "claude-desktop",
            "Claude Desktop",
            "mcpServers",
            scopes=("user",),
            user_files=("Claude/claude_desktop_config.json",),
            in_applications=True,
            explicit_project_scopes=("user",),
        ),
        ClientApp(
            "cursor",
            "Cursor",
            "mcpServers",
            project_files=(".cursor/mcp.json",),
            user_files=(".cursor/mcp.json",),
            workspace_scopes=("project",),
            explicit_project_scopes=("user",),
            programs=("cursor",),
        ),
        ClientApp(
            "vscode",
            "VS Code",
            "servers",
            project_files=(".vscode/mcp.json",),
            user_files=("Code/User/mcp.json",),
            in_applications=True,
            extra=(("type", "stdio"),),
            workspace_scopes=("project", "user"),
            programs=("code",),
            approval="VS Code asks whether you trust the server when it first starts.",
        ),
        ClientApp(
            "codex",
            "Codex",
            "mcp_servers",
            scopes=("user", "project"),
            project_files=(".codex/config.toml",),
            user_files=(".codex/config.toml",),
            folder_variable="CODEX_HOME",
            style="toml",
            explicit_project_scopes=("user",),
            programs=("codex",),
            approval="Codex reads this file only in a project that you trust; it asks when you next run codex there.",
        ),
        ClientApp(
            "kiro",
            "Kiro",
            "mcpServers",
            project_files=(".kiro/settings/mcp.json",),
            user_files=(".kiro/settings/mcp.json",),
            explicit_project_scopes=("user",),
            home_folder=".kiro",
            programs=("kiro", "kiro-cli"),
            approval="Kiro asks before it calls a tool for the first time.",
        ),
        ClientApp(
            "opencode",
            "opencode",
            "mcp",
            project_files=("opencode.json", "opencode.jsonc", ".opencode/opencode.json"),
            user_files=(".config/opencode/opencode.json", ".config/opencode/opencode.jsonc"),
            extra=(("type", "local"), ("enabled", True)),
            is_command_list=True,
            programs=("opencode",),
        ),
        ClientApp(
            "gemini-cli",
            "Gemini CLI",
            "mcpServers",
            project_files=(".gemini/settings.json",),
            user_files=(".gemini/settings.json",),
            programs=("gemini",),
            approval="Gemini CLI starts servers only in a folder that you trust; it asks when you next run gemini there.",
        ),
        ClientApp(
            "copilot-cli",
            "Copilot CLI",
            "mcpServers",
            project_files=(".mcp.json",),
            user_files=(".copilot/mcp-config.json",),
            folder_variable="COPILOT_HOME",
            programs=("copilot",),
            approval="Copilot CLI ignores this file until you trust the folder; it asks when you next run copilot there.",
        ),
        ClientApp(
            "zed",
            "Zed",
            "context_servers",
            project_files=(".zed/settings.json",),
            user_files=(".config/zed/settings.json",),
            explicit_project_scopes=("user",),
            programs=("zed",),
            approval="Zed starts servers of a project only after you trust the project.",
        ),
        ClientApp(
            "windsurf",
            "Windsurf",
            "mcpServers",
            scopes=("user",),
            user_files=(".codeium/windsurf/mcp_config.json",),
            explicit_project_scopes=("user",),
            programs=("windsurf",),
        ),
    )
}
OTHER_CLIENT = ClientApp("other", "another client", "mcpServers", scopes=("user",), explicit_project_scopes=("user",))
"""The most common format, for clients that are not known here."""


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
        return self.settings_folder()

    def settings_folder(self) -> Path:
        """The directory that is `.config` unless XDG_CONFIG_HOME names another one."""
        configured = Path(self.environ.get("XDG_CONFIG_HOME", ""))
        return configured if configured.is_absolute() else self.home / ".config"


def client_file(client: ClientApp, scope: InstallScope, project: Path, user_env: UserEnvironment) -> Path:
    """The file in which this client stores its servers: the first that exists, or else the usual one."""
    if scope == "project":
        candidates = [project / name for name in client.project_files]
    else:
        candidates = [_user_file(client, name, user_env) for name in client.user_files]
    return next((path for path in candidates if path.exists()), candidates[0])


##= docs/spec/commands.md#known-clients
##% Without a client, `install` MUST find the installed clients by known paths and programs and never start one.
def installed_clients(project: Path, user_env: UserEnvironment) -> list[ClientApp]:
    """The clients that this user seems to have: a program on the PATH, or a folder or file of theirs."""
    search_path = user_env.environ.get("PATH", "")
    found = []
    for client in CLIENTS.values():
        traces = [_user_file(client, name, user_env) for name in client.user_files]
        traces += [trace.parent for trace in traces if trace.parent not in (user_env.home, user_env.settings_folder())]
        traces += [user_env.home / client.home_folder] if client.home_folder else []
        traces += [project / name for name in client.project_files if client.key not in _SHARED_PROJECT_FILES]
        if any(shutil.which(name, path=search_path) for name in client.programs) or any(t.exists() for t in traces):
            found.append(client)
    return found


_SHARED_PROJECT_FILES = frozenset({"claude-code", "copilot-cli"})
"""Clients that read `.mcp.json`, which many programs read."""


def _user_file(client: ClientApp, name: str, user_env: UserEnvironment) -> Path:
    if client.folder_variable and (folder := user_env.environ.get(client.folder_variable)):
        return Path(folder) / Path(name).name
    if client.key == "claude-desktop":
        return _claude_desktop_folder(user_env) / Path(name).name
    if client.key == "zed" and user_env.platform == "win32":
        return user_env.application_folder() / "Zed" / "settings.json"
    if client.in_applications:
        return user_env.application_folder() / name
    if name.startswith(".config/") and user_env.platform not in ("darwin", "win32"):
        return user_env.settings_folder() / name.removeprefix(".config/")
    return user_env.home / name


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
    snippets = [
        ClientSnippet("Claude Code", "run in the project", f"claude mcp add {SERVER_NAME} -- {COMMAND} serve --stdio")
    ]
    for client in CLIENTS.values():
        if client.key == "claude-code":
            continue
        scope = client.scopes[0]
        file = client.project_files[0] if scope == "project" else client.user_files[0]
        if scope == "user":
            file = file.rpartition("/")[2] if client.in_applications else f"~/{file}"
        entry = client.entry(COMMAND, scope, str(project) if project else _PROJECT)
        snippets.append(ClientSnippet(client.title, file, client.snippet(SERVER_NAME, entry)))
    return snippets
