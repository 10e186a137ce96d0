"""Adds this server to the configuration file of a client, or removes it.

The file belongs to another program, so only our entry is changed, and a file that cannot be parsed stays unchanged. Nothing
is written through a symbolic link that leads out of the project or the user's home. The new file replaces the old one
atomically and keeps its permissions; a copy of the old file is saved next to it.
"""

from __future__ import annotations

import contextlib
import difflib
import os
import re
import secrets
import shutil
import stat
import sys
import time
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contextive.errors import Conflict, UnsupportedOperation, UsageError
from contextive.file_writing import new_file, write_file
from contextive.ops import json_edit
from contextive.ops.clients import COMMAND, SERVER_NAME, ClientApp, InstallScope, UserEnvironment, client_file
from contextive.toml.editor import NotEditable, with_values, without_table

MAX_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class InstallRequest:
    """The change that the user wants in a client's file."""

    client: ClientApp
    scope: InstallScope
    project: Path
    name: str = SERVER_NAME
    file: Path | None = None
    """The file to edit, if it is not the client's usual one."""
    remove: bool = False
    follow_links: bool = False
    allow_writes: bool = False


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file before and after the change. `before` is None if it does not exist yet."""

    scope: InstallScope
    file: Path
    display_path: str
    """The path for messages: relative to the project or to the home directory."""
    before: str | None
    after: str
    snippet: str
    name: str = SERVER_NAME
    """The name of the server in the file."""

    @property
    def is_needed(self) -> bool:
        return (self.before or "") != self.after

    def diff(self) -> str:
        """The change as a unified diff."""
        return "".join(
            difflib.unified_diff(
                _lines(self.before or ""),
                _lines(self.after),
                fromfile=self.display_path if self.before is not None else "(new file)",
                tofile=self.display_path,
            )
        )


##= docs/spec/commands.md#install
##% A file that cannot be parsed or edited safely MUST stay unchanged, and the entry to add is shown.
def cannot_edit(reason: str, snippet: str, hint: str) -> UnsupportedOperation:
    """The error for a file that cannot be edited safely. Its details have the entry for the user to paste."""
    error = UnsupportedOperation(reason, hint=hint)
    error.details = {"snippet": snippet}
    return error


##= docs/spec/commands.md#install
##% Installing twice MUST have the same result as installing once.
def plan_change(request: InstallRequest, user_env: UserEnvironment) -> FileChange:
    """The change that the client's file needs. Nothing is written."""
    client = request.client
    if request.scope not in client.scopes:
        raise UsageError(
            f"{client.title} has no scope {request.scope}.", hint=f"Use --scope {' or '.join(client.scopes)}."
        )
    entry = client.entry(
        *server_command(request.scope), project=str(request.project), allow_writes=request.allow_writes
    )
    snippet = client.snippet(request.name, entry)
    usual = request.file or client_file(client, request.scope, request.project, user_env)
    display_path = _display_path(usual, request.project, user_env.home)
    file = _real_file(request, usual, display_path, snippet, user_env.home)
    before = _read_text(file, display_path, snippet)
    try:
        name = _name_in(client, before or "", request)
        after = _edit_text(client, before or "", name, entry, remove=request.remove)
    except NotEditable as error:
        raise cannot_edit(
            f"{display_path} was not changed: {error}.", snippet, "Fix the file, or edit it by hand."
        ) from None
    if before not in (None, after) and not file.stat().st_mode & stat.S_IWUSR:
        raise cannot_edit(
            f"{display_path} was not changed: it is read-only.", snippet, "Make it writable, or edit it by hand."
        )
    return FileChange(request.scope, file, display_path, before, after, client.snippet(name, entry), name)


##= docs/spec/commands.md#known-clients
##% The entry of another project in a client's file MUST NOT be replaced.
def _name_in(client: ClientApp, text: str, request: InstallRequest) -> str:
    """The name for the server of this project: the wanted one, unless another project has it in this file."""
    servers = _servers_in(client, text)
    folder = re.sub(r"[^a-z0-9]+", "-", request.project.name.lower()).strip("-") or "project"
    names = [request.name, *(f"{request.name}-{folder}{ending}" for ending in ("", "-2", "-3", "-4"))]
    if request.name != SERVER_NAME:
        names = names[:1]
    own = next((name for name in names if _project_of(servers.get(name)) == str(request.project)), None)
    free = next((name for name in names if _project_of(servers.get(name)) in (None, str(request.project))), None)
    if request.remove:
        return own or next((name for name in names if _project_of(servers.get(name)) is None), "")
    if own is None and free is None:
        raise Conflict(
            f"The file has a server {request.name!r} of another project.", hint="Choose another name with --name."
        )
    return own or free or request.name


def _servers_in(client: ClientApp, text: str) -> Mapping[str, Any]:
    try:
        data = tomllib.loads(text) if client.style == "toml" else json_edit.parse(text)
    except (NotEditable, ValueError):
        return {}  # the edit reports it
    servers = data.get(client.servers) if isinstance(data, dict) else None
    return servers if isinstance(servers, dict) else {}


def _project_of(entry: object) -> str | None:
    """The project that an entry names; None if it names none."""
    if not isinstance(entry, dict):
        return None
    words = [*_words(entry.get("command")), *_words(entry.get("args"))]
    named = words[words.index("--project") + 1 :] if "--project" in words else []
    return None if not named or named[0].startswith("${") else named[0]


def _words(value: object) -> list[str]:
    return [word for word in value if isinstance(word, str)] if isinstance(value, list) else []


##= docs/spec/commands.md#install
##% A change to a client's file MUST preserve everything else in it, including comments, and keep a copy of the old
##% file.
##= docs/spec/commands.md#install
##% A file that changed after it was read MUST NOT be overwritten.
def write_change(change: FileChange) -> Path | None:
    """Replace the file; returns the path of the copy of the old file, if there was one."""
    file = change.file
    file.parent.mkdir(parents=True, exist_ok=True)
    backup = None
    mode = 0o644 if change.scope == "project" else 0o600
    if change.before is not None:
        mode = file.stat().st_mode & 0o777
        backup = file.with_name(f"{file.name}.{time.strftime('%Y%m%dT%H%M%S')}-{secrets.token_hex(2)}.bak")
        write_file(backup, change.before.encode(), mode=mode, overwrite=False)
    with new_file(file.parent, mode=mode, like=file.name) as new:
        new.stream.write(change.after.encode())
        new.finish()
        if _read_text(file, change.display_path, change.snippet) != change.before:
            raise Conflict(f"{change.display_path} was changed by another program.", hint="Run the command again.")
        new.publish(file.name)
    return backup


def server_command(scope: InstallScope) -> tuple[str, InstallScope]:
    """The command with which a client of that scope starts this server.

    A file in the project is shared, so it has only the name of the command if that is on the PATH. A user's own file has
    the full path, because desktop applications often have a shorter PATH than a terminal.
    """
    found = shutil.which(COMMAND)
    if scope == "project" and found is not None:
        return COMMAND, scope
    next_to_python = Path(sys.executable).with_name(COMMAND + (".exe" if sys.platform == "win32" else ""))
    if found is None and next_to_python.is_file():
        found = str(next_to_python)
    return (str(Path(found).absolute()) if found else COMMAND), scope


def terminal_command() -> str:
    """The command with which the user can start this program in a terminal."""
    if shutil.which(COMMAND):
        return COMMAND
    next_to_python = Path(sys.executable).with_name(COMMAND)
    return str(next_to_python) if next_to_python.is_file() else f"{sys.executable} -m contextive"


def _edit_text(client: ClientApp, text: str, name: str, entry: Mapping[str, Any], *, remove: bool) -> str:
    if client.style == "toml":
        path = (client.servers, name)
        return without_table(text, path) if remove else with_values(text, path, entry)
    if remove:
        return json_edit.without_value(text, (client.servers, name))
    data = json_edit.parse(text)
    servers = data.get(client.servers) if isinstance(data, dict) else None
    existing = servers.get(name) if isinstance(servers, dict) else None
    if not isinstance(existing, dict):
        return json_edit.with_value(text, (client.servers, name), dict(entry))
    for key, value in entry.items():
        if existing.get(key) != value:  # other keys that the user added to the entry are kept
            text = json_edit.with_value(text, (client.servers, name, key), value)
    return text


def _read_text(file: Path, display_path: str, snippet: str) -> str | None:
    try:
        if file.stat().st_size > MAX_BYTES:
            raise cannot_edit(f"{display_path} was not changed: it is too large.", snippet, "Edit it by hand.")
        return file.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        raise cannot_edit(f"{display_path} was not changed: it is not UTF-8.", snippet, "Edit it by hand.") from None


##= docs/spec/commands.md#install
##% A symbolic link that leads out of the project, or out of the user's home directory, MUST NOT be followed unless
##% the user asks for it.
def _real_file(request: InstallRequest, file: Path, display_path: str, snippet: str, home: Path) -> Path:
    """The file with symbolic links resolved. A link must not lead out of the project or the user's home.

    A cloned repository may contain a link in place of a client's file, and writing through it could change any file of
    the user. `follow_links` allows it.
    """
    own = request.project if request.scope == "project" else home
    real = Path(os.path.realpath(file))
    is_named_elsewhere = not file.absolute().is_relative_to(own) and not file.is_symlink()
    if request.follow_links or is_named_elsewhere or real.is_relative_to(os.path.realpath(own)):
        return real
    boundary = "the project" if request.scope == "project" else "your home"
    raise cannot_edit(
        f"{display_path} was not changed: a symbolic link leads out of {boundary}.",
        snippet,
        "Use --follow-links to write there.",
    )


def _lines(text: str) -> list[str]:
    lines = text.splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    return lines


def _display_path(file: Path, project: Path, home: Path) -> str:
    for folder, prefix in ((project, ""), (home, "~/")):
        with contextlib.suppress(ValueError):
            return prefix + file.relative_to(folder).as_posix()
    return str(file)
