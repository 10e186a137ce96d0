"""The root of the git repository that a directory belongs to, and its ignore rules, read without starting git."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from contextive.workspace.ignore import IgnoreRules, parse_rules

MAX_IGNORE_BYTES = 1024 * 1024


def repository_root(folder: Path) -> Path | None:
    """The directory with `.git` at or above a folder. In a worktree or submodule, `.git` is a file."""
    return next((above for above in (folder, *folder.parents) if (above / ".git").exists()), None)


def read_rules(path: str, base: str) -> IgnoreRules | None:
    """The rules of an ignore file, or None if it is missing, too large, or not a regular file.

    As in git, links are not followed.
    """
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
    """The rules that the repository around a root defines for its entries, the weakest first.

    The rules use paths from the root of the repository. If the repository ignores the root, the root is not part of
    it, and there are no rules.
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
    """Whether an entry is ignored, by the innermost file with a matching rule. None if no rule matches."""
    for file_rules in reversed(rules):
        verdict = file_rules.verdict(path, name, is_directory)
        if verdict is not None:
            return verdict
    return None


def _common_directory(repository: Path) -> Path:
    """The git directory that all worktrees of a repository share."""
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
