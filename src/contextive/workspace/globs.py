"""Glob patterns with the same semantics as in duvet, walked without following circular links.

`*` and `?` match inside one path component, `**` matches any number of components, `[...]` is a set. Names that start
with a dot are matched like any other. The standard library's `glob` follows links through `**`, possibly without end.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from functools import cached_property, partial
from itertools import takewhile
from typing import NamedTuple, TypeAlias

from contextive.errors import ConfigError
from contextive.workspace.directory_listings import DirectoryListings, Entry

_VCS_FOLDERS = frozenset({".git", ".hg", ".svn"})
_MAX_DEPTH = 64
_MAX_PATTERN = 4096
GENERATED_FOLDERS = frozenset(
    {
        "node_modules",
        "target",
        "dist",
        "build",
        "vendor",
        "third_party",
        "__pycache__",
        "venv",
        "site-packages",
        "coverage",
    }
)
"""Directories with content that is not the project's own work."""


_Component: TypeAlias = str | re.Pattern[str] | None
"""Literal text, a pattern for one name, or None for `**`."""
Allows: TypeAlias = Callable[[str], bool]
"""Whether a directory that is a link may be entered."""


class Glob:
    """One pattern, relative to a project directory."""

    def __init__(self, pattern: str, skip_generated: bool = False) -> None:
        self.pattern = pattern
        self.skip_generated = skip_generated
        """Whether to leave out directories that do not contain the project's own work."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Glob) and (self.pattern, self.skip_generated) == (other.pattern, other.skip_generated)

    def __hash__(self) -> int:
        return hash((self.pattern, self.skip_generated))

    @cached_property
    def _components(self) -> tuple[_Component, ...]:
        if len(self.pattern) > _MAX_PATTERN or "\0" in self.pattern:
            raise ConfigError(f"A pattern is longer than {_MAX_PATTERN} characters, or contains a NUL.")
        components: list[_Component] = []
        for part in self.pattern.split("/"):
            if part == "**":
                if not components or components[-1] is not None:
                    components.append(None)
            elif "**" in part:
                raise ConfigError(f"In the pattern {self.pattern!r}, ** must be alone between slashes.")
            elif any(mark in part for mark in "*?["):
                components.append(_component(part, self.pattern))
            elif part == ".." and not all(isinstance(component, str) for component in components):
                raise ConfigError(f"In the pattern {self.pattern!r}, .. must come before the first wildcard.")
            elif part not in ("", "."):
                components.append(part)
        return tuple(components)

    @cached_property
    def base(self) -> str:
        """The directory before the first wildcard, where the walk starts."""
        literal = "/".join(takewhile(lambda c: isinstance(c, str), self._components[:-1]))  # type: ignore[arg-type]
        return f"/{literal}" if self.pattern.startswith("/") else literal

    def walk(self, root: str, allows: Allows | None = None, folders: DirectoryListings | None = None) -> Iterator[str]:
        """The paths of all matching regular files, relative to `root`, in a stable order and without duplicates."""
        components, base = self._components, self.base
        folders = folders or DirectoryListings()
        start = os.path.join(root, base)  # noqa: PTH118 - strings, for speed
        if not components or not folders.is_directory(start):
            return
        prefix = f"{base}/" if base and base != "/" else base
        first = sum(1 for part in base.split("/") if part)
        skip = _VCS_FOLDERS | GENERATED_FOLDERS if self.skip_generated else _VCS_FOLDERS
        walk = _GlobWalk(self, root, components, skip, allows, folders)
        if first == len(components) - 1 and isinstance(components[first], str):
            path = f"{prefix}{components[first]}"
            if folders.is_regular_file(os.path.join(root, path)):  # noqa: PTH118
                yield path
        else:
            found: list[str] = []
            walk.collect(prefix, walk.with_empty_stars({first}), 0, found)
            yield from found


def walk_by_ending(
    root: str, endings: AbstractSet[str], folders: DirectoryListings | None = None
) -> Iterator[tuple[str, str]]:
    """The path and suffix of every file of the project with one of the given suffixes, in one walk."""
    wanted, folders = frozenset(endings), folders or DirectoryListings()
    pending = [""]
    while pending:
        prefix = pending.pop()
        listing = folders.listing(os.path.join(root, prefix))  # noqa: PTH118
        found = listing.get_or_compute((prefix, wanted), partial(_by_ending, prefix, wanted))
        yield from found.files
        if prefix.count("/") < _MAX_DEPTH:
            pending += reversed(found.folders)


class _OwnEntries(NamedTuple):
    """The entries of a directory that are the project's own work."""

    files: list[tuple[str, str]]
    folders: list[str]


def _by_ending(prefix: str, endings: AbstractSet[str], entries: list[Entry]) -> _OwnEntries:
    own = _OwnEntries([], [])
    for name, is_file, is_dir, is_link in entries:
        if is_dir and not is_link:
            if name not in GENERATED_FOLDERS and not name.startswith("."):
                own.folders.append(f"{prefix}{name}/")
        elif is_file and (ending := name.rpartition(".")[2]) in endings:
            own.files.append((prefix + name, ending))
    return own


class _MatchedEntry(NamedTuple):
    """A file that matches, or a directory to enter with the positions in the pattern reached there."""

    path: str
    positions: frozenset[int] = frozenset()
    is_link: bool = False


class _GlobWalk:
    """One walk for all ways in which a pattern can match, because their number can be exponential.

    A position in the pattern is the number of components already matched. Several positions can be active at once.
    """

    def __init__(
        self,
        glob: Glob,
        root: str,
        components: tuple[_Component, ...],
        skip: AbstractSet[str],
        allows: Allows | None,
        folders: DirectoryListings,
    ) -> None:
        self.glob = glob
        self.root = root
        self.components = components
        self.skip = skip
        self.allows = allows
        self.folders = folders

    def with_empty_stars(self, positions: set[int]) -> frozenset[int]:
        """The positions, and those after a `**` that matches nothing."""
        stars = {
            position for position in positions if position < len(self.components) and self.components[position] is None
        }
        return frozenset(positions | {position + 1 for position in stars})

    def collect(self, prefix: str, positions: frozenset[int], depth: int, found: list[str]) -> None:
        """Add the matches below a directory to `found`."""
        listing = self.folders.listing(os.path.join(self.root, prefix))  # noqa: PTH118
        steps = listing.get_or_compute((self.glob, prefix, positions), partial(self._match_entries, prefix, positions))
        for path, further, is_link in steps:
            if not further:
                found.append(path)
            elif depth < _MAX_DEPTH and (not is_link or self.allows is None or self.allows(path)):
                self.collect(f"{path}/", further, depth + 1, found)

    def _match_entries(self, prefix: str, positions: frozenset[int], entries: list[Entry]) -> list[_MatchedEntry]:
        """The matching files and the directories to enter, in the order of the entries."""
        end = len(self.components)
        steps = []
        for name, is_file, is_dir, is_link in entries:
            reached = {
                position for position in positions if position < end and _matches(self.components[position], name)
            }
            if is_file:
                # A final `**` matches files at any depth.
                if any(position + 1 == end for position in reached):
                    steps.append(_MatchedEntry(prefix + name))
            elif is_dir:
                following = {
                    position if self.components[position] is None else position + 1
                    for position in reached
                    if self._enters(position, name, is_link)
                }
                if following:
                    steps.append(_MatchedEntry(prefix + name, self.with_empty_stars(following), is_link))
        return steps

    ##= docs/spec/trace.md#bad-input
    ##% Circular links MUST NOT be followed endlessly.
    def _enters(self, position: int, name: str, is_link: bool) -> bool:
        component = self.components[position]
        # A link is followed if the pattern names its level, but never below `**`.
        if is_link and (component is None or (position > 0 and self.components[position - 1] is None)):
            return False
        return isinstance(component, str) or name not in self.skip


def _matches(component: _Component, name: str) -> bool:
    if component is None:
        return True
    return name == component if isinstance(component, str) else component.match(name) is not None


def _component(part: str, pattern: str) -> re.Pattern[str]:
    """The regular expression of one component. Its `*` groups are atomic, so no pattern is slow."""
    pieces, position = [""], 0
    while position < len(part):
        character = part[position]
        position += 1
        if character == "*":
            pieces.append("")
        elif character == "?":
            pieces[-1] += "."
        elif character == "[":
            end = part.find("]", position + (2 if part[position : position + 1] == "!" else 1))
            if end < 0:
                raise ConfigError(f"In the pattern {pattern!r}, a [ is never closed.")
            pieces[-1] += _character_class(part[position:end])
            position = end + 1
        else:
            pieces[-1] += re.escape(character)
    first, *others = pieces
    text = first + "".join(f"(?>.*?{piece})" for piece in others[:-1]) + (f".*{others[-1]}" if others else "")
    return re.compile(text + r"\Z", re.DOTALL)


def _character_class(inner: str) -> str:
    """`[a-z_]` or `[!a-z_]` as a regular expression. A reversed range matches nothing."""
    negated = inner.startswith("!")
    rest, members = inner[1:] if negated else inner, ""
    while rest:
        if len(rest) > 2 and rest[1] == "-":
            members += f"{re.escape(rest[0])}-{re.escape(rest[2])}" if rest[0] <= rest[2] else ""
            rest = rest[3:]
        else:
            members += re.escape(rest[0])
            rest = rest[1:]
    if not members:
        return "." if negated else "(?!)"
    return f"[{'^' if negated else ''}{members}]"
