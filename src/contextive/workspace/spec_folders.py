"""Finds the Markdown files in folders with certain names, anywhere in a project."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from functools import partial
from typing import NamedTuple

from contextive.workspace.directory_listings import DirectoryListings, Entry
from contextive.workspace.globs import GENERATED_FOLDERS

_NEVER = frozenset({".git", ".hg", ".svn", "node_modules"})
_MAX_DEPTH = 64


class _Found(NamedTuple):
    """The Markdown files of a directory, and the directories to enter, each with whether it is in a wanted folder."""

    files: list[str]
    folders: list[tuple[str, bool]]


def markdown_files_in(root: str, names: Collection[str], folders: DirectoryListings) -> Iterator[str]:
    """The Markdown files below every folder with one of these names, relative to `root`. Links are not followed."""
    wanted = frozenset(names)
    pending = [("", False)]
    while pending:
        prefix, is_inside = pending.pop()
        listing = folders.listing(os.path.join(root, prefix))  # noqa: PTH118 - strings, for speed
        found = listing.get_or_compute(
            ("markdown", prefix, is_inside, wanted), partial(_entries_of, prefix, is_inside, wanted)
        )
        yield from found.files
        if prefix.count("/") < _MAX_DEPTH:
            pending += found.folders


def _entries_of(prefix: str, is_inside: bool, wanted: frozenset[str], entries: list[Entry]) -> _Found:
    found = _Found([], [])
    for name, is_file, is_dir, is_link in entries:
        if is_dir and not is_link and name not in _NEVER:
            if is_inside or name in wanted:
                found.folders.append((f"{prefix}{name}/", True))
            elif name not in GENERATED_FOLDERS and not name.startswith("."):
                found.folders.append((f"{prefix}{name}/", False))
        elif is_inside and is_file and name.endswith(".md"):
            found.files.append(prefix + name)
    return found
