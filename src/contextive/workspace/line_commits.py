"""Which commits changed certain folders, and in which commit each line of a file came in."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from contextive.workspace.git import run_git

_TIMEOUT_SECONDS = 5.0
_HEADER = re.compile(rb"\x01([0-9a-f]{40,64})")
_TIME = re.compile(rb"\x01(\d+)")
_BLAMED = re.compile(rb"^([0-9a-f]{40,64}) \d+ (\d+)(?: \d+)?$", re.MULTILINE)
_MOST_LINES = 500
"""Lines of one file that git is asked for."""


def changes_with(root: Path, folders: Collection[str]) -> Mapping[str, frozenset[str]]:
    """The files that each commit changed, for the commits that changed something below one of the folders."""
    if not folders:
        return {}
    arguments = (
        "log", "-z", "--name-only", "--full-diff", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-show-signature",
        "--no-color", "--no-decorate", "--no-notes", "--ignore-submodules=all", "--relative", "--root", f"-O{os.devnull}",
        "--format=%x01%H", "--end-of-options", "HEAD", "--", *sorted(folders),
    )  # fmt: skip
    found: dict[str, list[str]] = {}
    current: list[str] = []
    output = run_git(root, _TIMEOUT_SECONDS, *arguments) or b""
    # There is a line end between a commit and its files.
    for token in filter(None, (part.removeprefix(b"\n") for part in output.split(b"\0"))):
        if header := _HEADER.fullmatch(token):
            current = found.setdefault(header[1].decode("ascii"), [])
        else:
            current.append(os.fsdecode(token))
    return {commit: frozenset(paths) for commit, paths in found.items()}


def commits_of_lines(root: Path, path: str, lines: Iterable[int]) -> Mapping[int, str]:
    """The commit in which each of these lines came in. Lines that are not committed yet are left out."""
    ranges = [f"-L{line},{line}" for line in sorted(lines)[:_MOST_LINES]]
    arguments = ("-c", "blame.ignoreRevsFile=", "blame", "--porcelain", "--no-textconv", *ranges, "--", path)
    output = run_git(root, _TIMEOUT_SECONDS, *arguments) or b""
    found = {int(line): commit.decode("ascii") for commit, line in _BLAMED.findall(output)}
    return {line: commit for line, commit in found.items() if commit.strip("0")}


def last_changes(root: Path, paths: Collection[str]) -> Mapping[str, float]:
    """When a commit last changed each of these files, in seconds since the epoch. They need not exist any more."""
    if not paths:
        return {}
    arguments = (
        "log", "-z", "--name-only", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-show-signature", "--no-color",
        "--no-decorate", "--no-notes", "--ignore-submodules=all", "--relative", "--root", f"-O{os.devnull}",
        "--format=%x01%ct", "--end-of-options", "HEAD", "--", *sorted(paths)[:_MOST_LINES],
    )  # fmt: skip
    found: dict[str, float] = {}
    current = 0.0
    output = run_git(root, _TIMEOUT_SECONDS, *arguments) or b""
    for token in filter(None, (part.removeprefix(b"\n") for part in output.split(b"\0"))):
        if header := _TIME.fullmatch(token):
            current = float(header[1])
        else:
            found.setdefault(os.fsdecode(token), current)  # newest commits come first
    return found
