"""`install`: the files of clients are found, only our entry is changed, and nothing is damaged."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import sys
import tomllib
from pathlib import Path, PureWindowsPath
from typing import Any

import pytest

from contextive.errors import Conflict
from contextive.ops.clients import CLIENTS, InstallScope, UserEnvironment, client_file
from contextive.ops.install import InstallRequest, plan_change, write_change
from tests.cli.conftest import InProcessCli, in_process_cli
from tests.processes import clean_environment

__all__ = ["in_process_cli"]

PATH = {"PATH": str(Path(sys.executable).parent)}
"""The directory of the command, so that project files can name it without a path."""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "APPDATA"):
        monkeypatch.delenv(name, raising=False)
    return folder


@pytest.mark.parametrize(
    ("client", "scope", "platform", "expected"),
    [
        ("claude-code", "project", "linux", "P/.mcp.json"),
        ("claude-code", "user", "darwin", "H/.claude.json"),
        ("claude-desktop", "user", "darwin", "H/Library/Application Support/Claude/claude_desktop_config.json"),
        ("claude-desktop", "user", "win32", "A/Claude/claude_desktop_config.json"),
        ("claude-desktop", "user", "linux", "H/.config/Claude/claude_desktop_config.json"),
        ("cursor", "project", "win32", "P/.cursor/mcp.json"),
        ("cursor", "user", "win32", "H/.cursor/mcp.json"),
        ("vscode", "project", "linux", "P/.vscode/mcp.json"),
        ("vscode", "user", "linux", "H/.config/Code/User/mcp.json"),
        ("vscode", "user", "darwin", "H/Library/Application Support/Code/User/mcp.json"),
        ("vscode", "user", "win32", "A/Code/User/mcp.json"),
        ("codex", "user", "darwin", "H/.codex/config.toml"),
        ("codex", "project", "linux", "P/.codex/config.toml"),
        ("kiro", "project", "linux", "P/.kiro/settings/mcp.json"),
        ("kiro", "user", "darwin", "H/.kiro/settings/mcp.json"),
        ("opencode", "project", "linux", "P/opencode.json"),
        ("opencode", "user", "linux", "H/.config/opencode/opencode.json"),
        ("gemini-cli", "project", "linux", "P/.gemini/settings.json"),
        ("gemini-cli", "user", "win32", "H/.gemini/settings.json"),
        ("copilot-cli", "project", "linux", "P/.mcp.json"),
        ("copilot-cli", "user", "linux", "H/.copilot/mcp-config.json"),
        ("zed", "project", "linux", "P/.zed/settings.json"),
        ("zed", "user", "darwin", "H/.config/zed/settings.json"),
        ("zed", "user", "win32", "A/Zed/settings.json"),
        ("windsurf", "user", "linux", "H/.codeium/windsurf/mcp_config.json"),
    ],
)
def test_every_client_has_its_own_file(
    tmp_path: Path, client: str, scope: InstallScope, platform: str, expected: str
) -> None:
    folders = {"P": tmp_path / "project", "H": tmp_path / "home", "A": tmp_path / "roaming"}
    user_env = UserEnvironment(platform, folders["H"], {"APPDATA": str(folders["A"])})
    top, _, rest = expected.partition("/")
    assert client_file(CLIENTS[client], scope, folders["P"], user_env) == folders[top] / rest


def test_environment_variables_change_the_folders(tmp_path: Path) -> None:
    named = {"CLAUDE_CONFIG_DIR": "/c", "CODEX_HOME": "/x", "XDG_CONFIG_HOME": "/g"}
    user_env = UserEnvironment("linux", tmp_path, named)
    found = [str(client_file(CLIENTS[key], "user", tmp_path, user_env)) for key in ("claude-code", "codex", "vscode")]
    assert found == ["/c/.claude.json", "/x/config.toml", "/g/Code/User/mcp.json"]


def test_the_windows_store_edition_of_claude_desktop_is_found(tmp_path: Path) -> None:
    folder = tmp_path / "local" / "Packages" / "Claude_x1" / "LocalCache" / "Roaming" / "Claude"
    folder.mkdir(parents=True)
    user_env = UserEnvironment(
        "win32", tmp_path, {"LOCALAPPDATA": str(tmp_path / "local"), "APPDATA": str(tmp_path / "r")}
    )
    file = client_file(CLIENTS["claude-desktop"], "user", tmp_path, user_env)
    assert PureWindowsPath(file).parts[-3:] == ("Roaming", "Claude", "claude_desktop_config.json")
    assert file.parent == folder


##= docs/spec/commands.md#install
##% Installing twice MUST have the same result as installing once.
@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("scope", ["project", "user"])
def test_a_server_is_added_once_and_removed_again(
    in_process_cli: InProcessCli, home: Path, client: str, scope: str
) -> None:
    if scope not in CLIENTS[client].scopes:
        assert "has no scope" in in_process_cli.error_message("install", client, "--scope", scope, code=2, env=PATH)
        return
    arguments = ("install", client, "--scope", scope)
    shown = json.loads(in_process_cli.run(*arguments, "--json", env=PATH).stdout)
    file = Path(shown["file"])
    assert not file.exists(), "a dry run writes nothing"
    assert shown["changed"]
    assert "+" in shown["diff"]
    assert "Wrote " in in_process_cli.run(*arguments, "--write", env=PATH).stdout
    text = file.read_text(encoding="utf-8")
    loaded = tomllib.loads(text) if file.suffix == ".toml" else json.loads(text)
    entry = loaded[CLIENTS[client].servers]["contextive"]
    words = [entry["command"]] if isinstance(entry["command"], str) else entry["command"]
    words += entry.get("args", [])
    assert words[1:3] == ["serve", "--stdio"]
    assert words[0] == ("contextive-mcp" if scope == "project" else str(Path(PATH["PATH"]) / "contextive-mcp"))
    assert (str(home.parent) in text) is (scope in CLIENTS[client].explicit_project_scopes), (
        "only the user's own file names the project"
    )
    assert "nothing to do" in in_process_cli.run(*arguments, "--write", env=PATH).stdout
    assert file.read_text(encoding="utf-8") == text
    in_process_cli.run(*arguments, "--remove", "--write", env=PATH)
    assert "contextive" not in file.read_text(encoding="utf-8")
    assert "nothing to do" in in_process_cli.run(*arguments, "--remove", env=PATH).stdout


@pytest.mark.parametrize(
    ("client", "question"),
    [
        ("claude-code", "asks you to approve the server"),
        ("vscode", "asks whether you trust the server"),
        ("kiro", "asks before it calls a tool"),
        ("gemini-cli", "only in a folder that you trust"),
        ("copilot-cli", "until you trust the folder"),
        ("zed", "only after you trust the project"),
    ],
)
def test_install_says_once_what_the_client_asks_next(
    in_process_cli: InProcessCli, home: Path, client: str, question: str
) -> None:
    printed = in_process_cli.run("install", client, "--write", env=PATH).stdout
    assert printed.count(question) == 1


##= docs/spec/commands.md#install
##% A change to a client's file MUST preserve everything else in it, including comments, and keep a copy of the old
##% file.
def test_everything_else_in_the_file_is_kept_and_the_old_file_is_saved(
    in_process_cli: InProcessCli, home: Path
) -> None:
    before = '{\n  // mine\n  "servers": {\n    "contextive": {"command": "old", "env": {"A": "1"}},\n  },\n}\n'
    file = in_process_cli.folder / ".vscode" / "mcp.json"
    file.parent.mkdir()
    file.write_text(before, encoding="utf-8")
    file.chmod(0o640)
    in_process_cli.run("install", "vscode", "--write", env=PATH)
    after = file.read_text(encoding="utf-8")
    assert "// mine" in after
    assert '"env": {"A": "1"}' in after
    assert '"command": "contextive-mcp"' in after
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    (backup,) = file.parent.glob("*.bak")
    assert backup.read_text(encoding="utf-8") == before
    assert stat.S_IMODE(backup.stat().st_mode) == 0o640
    assert sorted(path.name for path in file.parent.iterdir()) == sorted([file.name, backup.name])


##= docs/spec/commands.md#install
##% A file that cannot be parsed or edited safely MUST stay unchanged, and the entry to add is shown.
@pytest.mark.parametrize(
    ("client", "name", "content", "why"),
    [
        ("claude-code", ".mcp.json", b'{"mcpServers": {', "not JSON"),
        ("claude-code", ".mcp.json", b'{"mcpServers": []}', "no object"),
        ("vscode", ".vscode/mcp.json", b"\xff\xfe{}", "not UTF-8"),
        ("codex", ".codex/config.toml", b"model =", "not TOML"),
        ("codex", ".codex/config.toml", b"mcp_servers = {}", "without touching"),
    ],
)
def test_a_file_that_cannot_be_parsed_is_not_changed_and_the_entry_is_shown(
    in_process_cli: InProcessCli, home: Path, client: str, name: str, content: bytes, why: str
) -> None:
    file = in_process_cli.folder / name
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(content)
    printed = in_process_cli.run("install", client, "--scope", "project", "--write", code=1, env=PATH)
    assert file.read_bytes() == content
    assert why in printed.stderr
    assert '"contextive-mcp"' in printed.stdout
    assert list(file.parent.glob("*.bak")) == []


def test_a_read_only_file_is_not_changed_and_the_entry_is_shown(in_process_cli: InProcessCli, home: Path) -> None:
    file = in_process_cli.folder / ".cursor" / "mcp.json"
    file.parent.mkdir()
    file.write_text("{}\n", encoding="utf-8")
    file.chmod(0o444)
    done = in_process_cli.run("install", "cursor", "--write", code=1, env=PATH)
    assert "was not changed: it is read-only." in done.stderr
    assert '"contextive": {' in done.stdout
    assert file.read_text(encoding="utf-8") == "{}\n"
    assert [path.name for path in file.parent.iterdir()] == ["mcp.json"]


##= docs/spec/commands.md#install
##% A symbolic link that leads out of the project, or out of the user's home directory, MUST NOT be followed unless
##% the user asks for it.
def test_a_link_out_of_the_project_is_followed_only_with_the_flag(in_process_cli: InProcessCli, home: Path) -> None:
    outside = home / "precious"
    outside.write_text("{}", encoding="utf-8")
    (in_process_cli.folder / ".mcp.json").symlink_to(outside)
    refused = in_process_cli.run("install", "claude-code", "--write", code=1, env=PATH)
    assert "a symbolic link leads out of the project" in refused.stderr
    assert outside.read_text(encoding="utf-8") == "{}"
    in_process_cli.run("install", "claude-code", "--write", "--follow-links", env=PATH)
    assert (in_process_cli.folder / ".mcp.json").is_symlink()
    assert "contextive" in outside.read_text(encoding="utf-8")


def test_a_link_within_the_home_directory_is_followed(in_process_cli: InProcessCli, home: Path) -> None:
    (home / "dotfiles").mkdir()
    (home / ".codex").symlink_to("dotfiles", target_is_directory=True)
    in_process_cli.run("install", "codex", "--write", env=PATH)
    assert "contextive" in (home / "dotfiles" / "config.toml").read_text(encoding="utf-8")


def test_a_linked_folder_out_of_the_project_is_refused(in_process_cli: InProcessCli, home: Path) -> None:
    (in_process_cli.folder / ".vscode").symlink_to(home, target_is_directory=True)
    assert "leads out" in in_process_cli.run("install", "vscode", "--write", code=1, env=PATH).stderr
    assert list(home.iterdir()) == []


##= docs/spec/commands.md#install
##% A file that changed after it was read MUST NOT be overwritten.
def test_a_file_that_changed_after_it_was_read_is_not_overwritten(tmp_path: Path) -> None:
    file = tmp_path / ".mcp.json"
    file.write_text("{}", encoding="utf-8")
    change = plan_change(
        InstallRequest(CLIENTS["claude-code"], "project", tmp_path), UserEnvironment("linux", tmp_path / "home", {})
    )
    file.write_text('{"new": 1}', encoding="utf-8")
    with pytest.raises(Conflict):
        write_change(change)
    assert file.read_text(encoding="utf-8") == '{"new": 1}'
    assert [path for path in tmp_path.iterdir() if path.suffix == ".tmp"] == []


def test_the_file_and_the_name_can_be_chosen(in_process_cli: InProcessCli, home: Path) -> None:
    target = in_process_cli.folder / "deep" / "settings.json"
    in_process_cli.run("install", "cursor", "--file", "deep/settings.json", "--name", "second", "--write", env=PATH)
    assert list(json.loads(target.read_text(encoding="utf-8"))["mcpServers"]) == ["second"]
    assert "--name" in in_process_cli.error_message("install", "cursor", "--name", "a\nb", code=2, env=PATH)


def test_a_command_that_is_not_on_the_path_is_written_with_its_full_path(
    in_process_cli: InProcessCli, home: Path
) -> None:
    in_process_cli.run("install", "claude-code", "--write", env={"PATH": os.devnull})
    entry = json.loads((in_process_cli.folder / ".mcp.json").read_text(encoding="utf-8"))["mcpServers"]["contextive"]
    assert Path(entry["command"]).is_absolute()


async def _names_of_tools(entry: dict[str, Any], folder: Path) -> list[str]:
    from mcp.client.client import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client

    server = StdioServerParameters(command=entry["command"], args=entry["args"], cwd=folder, env=clean_environment())
    with Path(os.devnull).open("w", encoding="utf-8") as log:
        async with Client(stdio_client(server, errlog=log)) as client:
            return [tool.name for tool in (await client.list_tools()).tools]


def test_a_client_can_start_the_server_from_the_file(in_process_cli: InProcessCli, home: Path) -> None:
    in_process_cli.run("install", "claude-desktop", "--write", env=PATH)
    file = Path(json.loads(in_process_cli.run("install", "claude-desktop", "--json", env=PATH).stdout)["file"])
    entry = json.loads(file.read_text(encoding="utf-8"))["mcpServers"]["contextive"]
    assert "km-search" in asyncio.run(_names_of_tools(entry, home))


##= docs/spec/commands.md#known-clients
##% The command `install` MUST know Claude Code, Claude Desktop, Cursor, VS Code, Codex, Kiro, opencode, Gemini CLI,
##% Copilot CLI, Zed and Windsurf.
##= docs/spec/commands.md#known-clients
##% Without a client, `install` MUST find the installed clients by known paths and programs and never start one.
def test_without_a_client_every_installed_one_is_shown_and_none_is_started(
    in_process_cli: InProcessCli, home: Path
) -> None:
    started = home / "started"
    programs = home / "bin"
    programs.mkdir()
    (programs / "opencode").write_text(f"#!/bin/sh\ntouch {started}\n", encoding="utf-8")
    (programs / "opencode").chmod(0o755)
    (home / ".kiro").mkdir()
    (home / ".claude").mkdir()
    (in_process_cli.folder / ".cursor").mkdir()
    (in_process_cli.folder / ".cursor" / "mcp.json").write_text("{}", encoding="utf-8")
    found = json.loads(in_process_cli.run("install", "--json", env={"PATH": str(programs)}).stdout)
    assert [(result["client"], result["written"]) for result in found] == [
        ("claude-code", False), ("cursor", False), ("kiro", False), ("opencode", False),
    ]  # fmt: skip
    in_process_cli.run("install", "--write", env={"PATH": str(programs)})
    assert (in_process_cli.folder / "opencode.json").is_file()
    assert (in_process_cli.folder / ".kiro/settings/mcp.json").is_file()
    assert not started.exists()


##= docs/spec/commands.md#known-clients
##% For a client that is not known, `install` MUST print the entry as JSON.
def test_any_other_client_gets_the_entry_as_json(in_process_cli: InProcessCli, home: Path) -> None:
    printed = in_process_cli.run("install", "some-editor", "--allow-writes", env=PATH)
    entry = json.loads(printed.stdout)["mcpServers"]["contextive"]
    assert entry["args"] == ["serve", "--stdio", "--allow-writes", "--project", str(in_process_cli.folder)]
    assert "Did you mean claude-code?" in in_process_cli.run("install", "claude-cod", env=PATH).stderr


##= docs/spec/commands.md#known-clients
##% The entry of another project in a client's file MUST NOT be replaced.
@pytest.mark.parametrize("client", ["codex", "claude-desktop", "zed"])
def test_a_second_project_gets_an_entry_of_its_own(
    in_process_cli: InProcessCli, home: Path, tmp_path: Path, client: str
) -> None:
    second = tmp_path / "Second One"
    second.mkdir()
    for folder in (in_process_cli.folder, second):
        in_process_cli.run("install", client, "--scope", "user", "--project", str(folder), "--write", env=PATH)
    shown = in_process_cli.run("install", client, "--scope", "user", "--project", str(second), "--json", env=PATH)
    file = Path(json.loads(shown.stdout)["file"])
    text = file.read_text(encoding="utf-8")
    servers = (tomllib.loads(text) if file.suffix == ".toml" else json.loads(text))[CLIENTS[client].servers]
    assert {name: entry["args"][-1] for name, entry in servers.items()} == {
        "contextive": str(in_process_cli.folder),
        "contextive-second-one": str(second),
    }
    in_process_cli.run("install", client, "--scope", "user", "--project", str(second), "--write", env=PATH)
    assert file.read_text(encoding="utf-8") == text
    in_process_cli.run("install", client, "--scope", "user", "--project", str(second), "--remove", "--write", env=PATH)
    assert "contextive-second-one" not in file.read_text(encoding="utf-8")
    assert str(in_process_cli.folder) in file.read_text(encoding="utf-8")


def test_the_client_says_what_it_asks_next(in_process_cli: InProcessCli, home: Path) -> None:
    assert "approve the server" in in_process_cli.run("install", "claude-code", "--write", env=PATH).stdout
