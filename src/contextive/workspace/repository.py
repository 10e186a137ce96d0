"""The git repository that a directory belongs to, as far as its files tell: where it begins, and what it ignores."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from contextive.workspace.ignore import IgnoreRules, parse_rules

MAX_IGNORE_BYTES = 1024 * 1024


def repository_root(folder: Path) -> Path | None:
    """The directory with the `.git` at or above a folder. A worktree and a submodule have a file of that name."""
    return next((above for above in (folder, *folder.parents) if (above / ".git").exists()), None)


def read_rules(path: str, base: str) -> IgnoreRules | None:
    """The rules of an ignore file; none where there is no such regular file of bearable size. As in git, no link is followed."""
    try:
        if not hasattr(os, "O_NOFOLLOW") and os.path.islink(path):  # noqa: PTH114
            return None
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0))
    except (OSError, ValueError):
        return None
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode) or found.st_size > MAX_IGNORE_BYTES:
            return None
        with open(handle, "rb", closefd=False) as file:
            return parse_rules(file.read(MAX_IGNORE_BYTES), base)
    except OSError:
        return None
    finally:
        os.close(handle)


def outer_rules(root: Path) -> list[IgnoreRules]:
    """What the repository says about the entries of a root before the root's own files do, the weakest first.

    The rules speak of paths from the repository's root. A root that the repository around it ignores is not part of it, and
    then its rules do not count.
    """
    repository = repository_root(root)
    if repository is None:
        return []
    inner = root.relative_to(repository).parts
    found = [read_rules(str(_common_directory(repository) / "info" / "exclude"), "")]
    for depth, part in enumerate(inner):
        base = "".join(f"{name}/" for name in inner[:depth])
        found.append(read_rules(str(repository.joinpath(*inner[:depth], ".gitignore")), base))
        if is_ignored([rules for rules in found if rules], os.fsencode(base + part), os.fsencode(part), True):
            return []
    return [rules for rules in found if rules is not None]


def is_ignored(rules: list[IgnoreRules], path: bytes, name: bytes, is_directory: bool) -> bool | None:
    """What the strongest of some rules says about an entry: that of the innermost file. None where none speaks of it."""
    for one in reversed(rules):
        verdict = one.verdict(path, name, is_directory)
        if verdict is not None:
            return verdict
    return None


def _common_directory(repository: Path) -> Path:
    """The directory that holds what all worktrees of a repository share."""
    marker = repository / ".git"
    if marker.is_dir():
        return marker
    named = _first_line(marker)
    if named is None or not named.startswith("gitdir:"):
        return marker
    own = repository / named.removeprefix("gitdir:").strip()
    common = _first_line(own / "commondir")
    return own if common is None else own / common


def _first_line(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            return os.fsdecode(file.read(4096)).partition("\n")[0].strip()
    except (OSError, ValueError):
        return None
