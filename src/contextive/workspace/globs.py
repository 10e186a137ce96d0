"""Glob patterns with the meaning they have in duvet projects, walked without following links in circles.

`*` and `?` stay inside one path component, `**` stands for any number of them, `[...]` is a set; names that start with a dot
are matched like any other. The standard library's `glob` follows links through `**`, for ever if need be.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from typing import TypeAlias

from contextive.errors import ConfigError

_NEVER_ENTERED = frozenset({".git", ".hg", ".svn"})
_MAX_DEPTH = 64
_MAX_PATTERN = 4096
GENERATED = frozenset(
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
"""Directories whose content is not the project's own work."""


_Component: TypeAlias = str | re.Pattern[str] | None
"""Literal text, a pattern for one name, or None for `**`."""
Allows: TypeAlias = Callable[[str], bool]
"""Whether a directory, reached through a link, may be entered."""


@dataclass(frozen=True)
class Glob:
    """One pattern, relative to a project directory."""

    pattern: str
    skip_generated: bool = False
    """Whether to leave out directories that hold no work of the project's own."""

    @cached_property
    def _components(self) -> tuple[_Component, ...]:
        if len(self.pattern) > _MAX_PATTERN or "\0" in self.pattern:
            raise ConfigError(f"A pattern is longer than {_MAX_PATTERN} characters, or holds a NUL.")
        components: list[_Component] = []
        for part in self.pattern.split("/"):
            if part == "**":
                if not components or components[-1] is not None:
                    components.append(None)
            elif "**" in part:
                raise ConfigError(f"In the pattern {self.pattern!r}, ** must stand alone between slashes.")
            elif any(mark in part for mark in "*?["):
                components.append(_component(part, self.pattern))
            elif part == ".." and not all(isinstance(component, str) for component in components):
                raise ConfigError(f"In the pattern {self.pattern!r}, .. must stand before the first wildcard.")
            elif part not in ("", "."):
                components.append(part)
        return tuple(components)

    @cached_property
    def base(self) -> str:
        """The directory in front of the first wildcard, where the walk begins."""
        literal = "/".join(takewhile(lambda c: isinstance(c, str), self._components[:-1]))  # type: ignore[arg-type]
        return f"/{literal}" if self.pattern.startswith("/") else literal

    def walk(self, root: str, allows: Allows | None = None) -> Iterator[str]:
        """The paths of all regular files that match, each once, in order, relative to `root`."""
        components, base = self._components, self.base
        place = os.path.join(root, base)  # noqa: PTH118 - strings, for speed
        if not components or not os.path.isdir(place):  # noqa: PTH112
            return
        prefix = f"{base}/" if base and base != "/" else base
        first = sum(1 for part in base.split("/") if part)
        walk = _Walk(root, components, _NEVER_ENTERED | GENERATED if self.skip_generated else _NEVER_ENTERED, allows)
        if first == len(components) - 1 and isinstance(components[first], str):
            path = f"{prefix}{components[first]}"
            if os.path.isfile(os.path.join(root, path)):  # noqa: PTH113, PTH118
                yield path
        else:
            yield from walk.below(prefix, walk.with_empty_stars({first}), 0)


def walk_by_ending(root: str, endings: AbstractSet[str]) -> Iterator[tuple[str, str]]:
    """Path and ending of every file of the project's own that has one of the endings; one walk for all of them."""
    pending = [""]
    while pending:
        prefix = pending.pop()
        folders = []
        for name, entry in _entries(root, prefix):
            if entry.is_dir(follow_symlinks=False):
                if name not in GENERATED and not name.startswith(".") and prefix.count("/") < _MAX_DEPTH:
                    folders.append(f"{prefix}{name}/")
            else:
                ending = name.rpartition(".")[2]
                if ending in endings and _is_file(entry):
                    yield prefix + name, ending
        pending += reversed(folders)


@dataclass(frozen=True, slots=True)
class _Walk:
    """One walk through the tree for all ways in which a pattern can match: their number may be astronomic, the walk is not.

    A place in the pattern is the number of components that are behind it; several can be reached at once.
    """

    root: str
    components: tuple[_Component, ...]
    skip: AbstractSet[str]
    allows: Allows | None

    def with_empty_stars(self, places: set[int]) -> frozenset[int]:
        """The places, and those behind a `**` that stands for nothing."""
        stars = {place for place in places if place < len(self.components) and self.components[place] is None}
        return frozenset(places | {place + 1 for place in stars})

    def below(self, prefix: str, places: AbstractSet[int], depth: int) -> Iterator[str]:
        end = len(self.components)
        for name, entry in _entries(self.root, prefix):
            reached = {place for place in places if place < end and _matches(self.components[place], name)}
            if not reached:
                continue
            if _is_file(entry):
                # What stands behind a last `**` is a match at any depth.
                if any(place + 1 == end for place in reached):
                    yield prefix + name
            elif depth < _MAX_DEPTH and _is_dir(entry):
                is_link = entry.is_symlink()
                following = {
                    place if self.components[place] is None else place + 1
                    for place in reached
                    if self._enters(place, name, is_link)
                }
                if following and (not is_link or self.allows is None or self.allows(prefix + name)):
                    yield from self.below(f"{prefix}{name}/", self.with_empty_stars(following), depth + 1)

    ##= docs/spec/trace.md#bad-input
    ##% Links that lead in a circle MUST NOT be followed for ever.
    def _enters(self, place: int, name: str, is_link: bool) -> bool:
        component = self.components[place]
        # A link is followed where the pattern spells out its level, never while `**` looks for places.
        if is_link and (component is None or (place > 0 and self.components[place - 1] is None)):
            return False
        return isinstance(component, str) or name not in self.skip


def _entries(root: str, prefix: str) -> list[tuple[str, os.DirEntry[str]]]:
    try:
        with os.scandir(os.path.join(root, prefix) or ".") as found:  # noqa: PTH118
            return sorted((entry.name, entry) for entry in found)
    except OSError:
        return []


def _is_file(entry: os.DirEntry[str]) -> bool:
    """A regular file, or a link to one: never a pipe, a socket or a device."""
    try:
        return entry.is_file()
    except OSError:
        return False


def _is_dir(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _matches(component: _Component, name: str) -> bool:
    if component is None:
        return True
    return name == component if isinstance(component, str) else component.match(name) is not None


def _component(part: str, pattern: str) -> re.Pattern[str]:
    """The pattern of one name. What a `*` has passed it never gives back, so that no pattern takes long."""
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
            pieces[-1] += _set(part[position:end])
            position = end + 1
        else:
            pieces[-1] += re.escape(character)
    first, *others = pieces
    text = first + "".join(f"(?>.*?{piece})" for piece in others[:-1]) + (f".*{others[-1]}" if others else "")
    return re.compile(text + r"\Z", re.DOTALL)


def _set(inner: str) -> str:
    """`[a-z_]` or `[!a-z_]` as a regular expression; a range that runs backwards holds nothing."""
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
