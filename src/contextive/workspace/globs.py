"""Glob patterns with the meaning they have in duvet projects, walked without following links in circles.

`*` and `?` stay inside one path component, `**` stands for any number of them, `[...]` is a set; names that start with a dot
are matched like any other. The standard library's `glob` follows links through `**`, for ever if need be.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from contextive.errors import ConfigError

_NEVER_ENTERED = frozenset({".git", ".hg", ".svn"})
_MAX_DEPTH = 64


@dataclass(frozen=True)
class Glob:
    """One pattern, relative to a project directory."""

    pattern: str

    @cached_property
    def _components(self) -> tuple[str | re.Pattern[str] | None, ...]:
        """Each component as literal text, as a pattern, or None for `**`."""
        components: list[str | re.Pattern[str] | None] = []
        for part in self.pattern.split("/"):
            if part == "**":
                if not components or components[-1] is not None:
                    components.append(None)
            elif "**" in part:
                raise ConfigError(f"In the pattern {self.pattern!r}, ** must stand alone between slashes.")
            elif any(mark in part for mark in "*?["):
                components.append(_component(part, self.pattern))
            elif part not in ("", "."):
                components.append(part)
        return tuple(components)

    def walk(self, root: str) -> Iterator[str]:
        """The paths of all regular files that match, in order, relative to `root`."""
        if self.pattern.startswith("/"):
            yield from _walk("", "/", self._components, 0)
        else:
            yield from _walk(root, "", self._components, 0)


def _walk(root: str, prefix: str, components: tuple[str | re.Pattern[str] | None, ...], depth: int) -> Iterator[str]:
    if not components or depth > _MAX_DEPTH:
        return
    first, rest = components[0], components[1:]
    if isinstance(first, str):
        path = prefix + first
        if rest:
            if os.path.isdir(os.path.join(root, path)):  # noqa: PTH112, PTH118 - strings, for speed
                yield from _walk(root, path + "/", rest, depth + 1)
        elif os.path.isfile(os.path.join(root, path)):  # noqa: PTH113, PTH118
            yield path
        return
    for name, entry in _entries(root, prefix):
        if first is None:
            if rest and _matches_here(rest[0], name) and len(rest) == 1 and _is_file(entry):
                yield prefix + name
            if entry.is_dir(follow_symlinks=False) and name not in _NEVER_ENTERED:
                if len(rest) > 1 and _matches_here(rest[0], name):
                    yield from _walk(root, f"{prefix}{name}/", rest[1:], depth + 1)
                yield from _walk(root, f"{prefix}{name}/", components, depth + 1)
            elif not rest and _is_file(entry):
                yield prefix + name
        elif first.match(name):
            if rest:
                if _is_dir(entry) and name not in _NEVER_ENTERED:
                    yield from _walk(root, f"{prefix}{name}/", rest, depth + 1)
            elif _is_file(entry):
                yield prefix + name


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


def _matches_here(component: str | re.Pattern[str] | None, name: str) -> bool:
    if component is None:
        return True
    return name == component if isinstance(component, str) else component.match(name) is not None


def _component(part: str, pattern: str) -> re.Pattern[str]:
    text, position = "", 0
    while position < len(part):
        character = part[position]
        position += 1
        if character == "*":
            text += "[^/]*"
        elif character == "?":
            text += "[^/]"
        elif character == "[":
            end = part.find("]", position + (2 if part[position : position + 1] == "!" else 1))
            if end < 0:
                raise ConfigError(f"In the pattern {pattern!r}, a [ is never closed.")
            inner = part[position:end]
            negated = inner.startswith("!")
            members = re.sub(r"([\\^\[\]&~|])", r"\\\1", inner[1:] if negated else inner)
            text += f"[{'^' if negated else ''}{members}]"
            position = end + 1
        else:
            text += re.escape(character)
    return re.compile(text + r"\Z", re.DOTALL)
