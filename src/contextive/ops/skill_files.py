"""Writes the skills of the package into the directory in which a client looks for skills, or removes them.

The files belong to the user as soon as they are there: a file whose text is not one of ours is left alone.
"""

from __future__ import annotations

import difflib
import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from contextive.errors import UnsupportedOperation
from contextive.file_writing import write_file
from contextive.ops.clients import ClientApp, InstallScope, UserEnvironment
from contextive.packs.skills.catalog import FILE_NAME, RELEASED, all_skills
from contextive.registry.vendors import SKILL_FOLDERS

SkillState = Literal["new", "outdated", "up to date", "changed", "remove"]
_MAX_BYTES: Final = 1_048_576


@dataclass(frozen=True, slots=True)
class SkillChange:
    """One file of a skill: what is there, and what would be written. `after` is None for a file to remove."""

    file: Path
    display_path: str
    state: SkillState
    before: bytes | None
    after: bytes | None

    @property
    def is_needed(self) -> bool:
        return self.state in ("new", "outdated", "remove")

    def diff(self) -> str:
        """The change as a unified diff."""
        return "".join(
            difflib.unified_diff(
                _lines(self.before),
                _lines(self.after),
                fromfile=self.display_path if self.before is not None else "(new file)",
                tofile=self.display_path if self.after is not None else "(removed)",
            )
        )


##= docs/spec/commands.md#skills-of-clients
##% With `--skills`, `install` MUST write the skills of the package into the directory in which the client looks for
##% skills.
def plan_skills(
    client: ClientApp, scope: InstallScope, project: Path, user_env: UserEnvironment, *, remove: bool = False
) -> Sequence[SkillChange]:
    """What has to be written or removed for a client. Nothing is written."""
    folder = SKILL_FOLDERS.get(client.key)
    if folder is None:
        raise UnsupportedOperation(
            f"{client.title} has no directory for skills that is known here.",
            hint="The same texts are prompts and resources of the server.",
        )
    own, prefix = (project, "") if scope == "project" else (user_env.home, "~/")
    moved = user_env.environ.get(client.folder_variable) if scope == "user" and client.home_folder else None
    if moved and folder.startswith(f"{client.home_folder}/"):  # a directory that clients share stays where it is
        own, prefix, folder = Path(moved), f"{moved}/", folder.removeprefix(f"{client.home_folder}/")
    changes = []
    for skill in all_skills():
        name = f"{folder}/{skill.name}/{FILE_NAME}"
        file = own / name
        if not Path(os.path.realpath(file)).is_relative_to(os.path.realpath(own)):
            raise UnsupportedOperation(f"{prefix}{name} was not written: a symbolic link leads elsewhere.")
        before = _read(file)
        state = _state_of(before, skill.content, remove=remove)
        changes.append(SkillChange(file, prefix + name, state, before, None if remove else skill.content))
    return changes


##= docs/spec/commands.md#skills-of-clients
##% A skill that somebody has changed MUST NOT be overwritten or removed.
def _state_of(before: bytes | None, wanted: bytes, *, remove: bool) -> SkillState:
    if before is None:
        return "up to date" if remove else "new"
    if before == wanted and not remove:
        return "up to date"
    is_ours = before == wanted or hashlib.sha256(before).hexdigest() in RELEASED
    if not is_ours:
        return "changed"
    return "remove" if remove else "outdated"


def write_skills(changes: Sequence[SkillChange]) -> None:
    """Write or remove the files whose change is needed, unless they changed in the meantime."""
    for change in changes:
        if not change.is_needed or _read(change.file) != change.before:
            continue
        if change.after is None:
            change.file.unlink()
            if not any(change.file.parent.iterdir()):
                change.file.parent.rmdir()
        else:
            change.file.parent.mkdir(parents=True, exist_ok=True)
            write_file(change.file, change.after, mode=0o644)


##= docs/spec/commands.md#skills-of-clients
##% The command `install` MUST NOT write instructions for agents, such as `AGENTS.md` or `CLAUDE.md`.
def agents_paragraph() -> str:
    """A paragraph for the user to paste into the file with instructions for agents."""
    return (
        "This project has the MCP server `contextive`. Call `orient` before you change something you do not know, "
        "`km-search` to find where something is done or decided, and `find_usages` before you change a signature. If the "
        "project has specifications, take work from `next_requirement` and check citations with `validate_citation`. "
        f"The skills {', '.join(f'`{skill.name}`' for skill in all_skills())} say how."
    )


def _read(file: Path) -> bytes | None:
    try:
        with file.open("rb") as stream:
            return stream.read(_MAX_BYTES)
    except FileNotFoundError:
        return None
    except OSError as failure:
        raise UnsupportedOperation(f"{file.name} cannot be read: {failure.strerror or 'unknown error'}.") from None


def _lines(content: bytes | None) -> list[str]:
    return content.decode("utf-8", "replace").splitlines(keepends=True) if content is not None else []
