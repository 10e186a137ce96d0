"""Which `duvet` runs in a terminal: the command of this package, or another one of that name, such as the original."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

_NAME = "duvet"
_READ_BYTES = 4096


##= docs/spec/commands.md#doctor
##% The doctor MUST report a `duvet` of another origin that is on the `PATH`, and which of the two runs.
def other_duvet_message(search_path: str, home: Path) -> str | None:
    """What the user should know about another `duvet`; `None` if there is no other."""
    commands = list(_commands(search_path))
    others = [command for command in commands if not _is_ours(command)]
    if not others:
        return None
    other = _short(others[0], home)
    if others[0] != commands[0]:
        return f"duvet is the command of this package. Another one comes later in the PATH: {other}."
    return f"duvet is another program: {other}. The command of this package is {_ours(commands, home)}."


def _ours(commands: list[Path], home: Path) -> str:
    ours = next((command for command in commands if _is_ours(command)), None)
    return f"{_short(ours, home)}, which comes later in the PATH" if ours else "not on the PATH"


def _commands(search_path: str) -> Iterator[Path]:
    seen: set[Path] = set()
    for folder in search_path.split(os.pathsep):
        for name in (_NAME, f"{_NAME}.exe"):
            command = Path(folder) / name
            if folder and command.is_file() and os.access(command, os.X_OK) and command.resolve() not in seen:
                seen.add(command.resolve())
                yield command


def _is_ours(command: Path) -> bool:
    """Whether it is the script that pip, pipx or uv wrote for this package."""
    try:
        with command.open("rb") as file:
            return b"contextive" in file.read(_READ_BYTES)
    except OSError:
        return False


def _short(path: Path, home: Path) -> str:
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)
