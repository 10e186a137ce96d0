"""The time of the first commit that added each file."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from contextive.workspace.files import Fingerprint
from contextive.workspace.git import run_git
from contextive.workspace.repository import repository_root

_HEADER = re.compile(rb"\x01(\d+)")
_TIMEOUT_SECONDS = 10.0
_HISTORY_FILES = ("HEAD", "logs/HEAD", "packed-refs")


def first_commits(root: Path, folder: str, timeout_seconds: float = _TIMEOUT_SECONDS) -> Mapping[str, float]:
    """Seconds since the epoch by path, for the files below a folder of the project. Empty if git fails."""
    arguments = (
        "log", "-z", "--name-only", "--diff-filter=A", "--no-renames", "--no-ext-diff", "--no-textconv",
        "--no-show-signature", "--no-color", "--no-decorate", "--no-notes", "--ignore-submodules=all", "--relative",
        "--root", f"-O{os.devnull}", "--format=%x01%ct", "--end-of-options", "HEAD", "--", folder or ".",
    )  # fmt: skip
    found: dict[str, float] = {}
    current = 0.0
    output = run_git(root, timeout_seconds, *arguments) or b""
    # There is a line end between a commit and its files.
    for token in filter(None, (part.removeprefix(b"\n") for part in output.split(b"\0"))):
        if header := _HEADER.fullmatch(token):
            current = float(header[1])
        else:
            # Newest commits come first, so the last one for a path is the oldest.
            found[os.fsdecode(token)] = current
    return found


def history_fingerprint(root: Path) -> tuple[Fingerprint | None, ...]:
    """A value that changes with every new commit, read without starting git."""
    repository = repository_root(root)
    if repository is None:
        return ()
    folder = repository / ".git"
    if folder.is_file():
        folder = _git_directory(folder)
    return tuple(_fingerprint(folder / name) for name in _HISTORY_FILES)


def _git_directory(file: Path) -> Path:
    """The directory that the `.git` file of a worktree points to."""
    try:
        text = file.read_text(encoding="utf-8")[:4096].strip()
    except (OSError, ValueError):
        return file
    return file.parent / text.removeprefix("gitdir:").strip()


def _fingerprint(path: Path) -> Fingerprint | None:
    try:
        return Fingerprint.of(path.stat())
    except (OSError, ValueError):
        return None
