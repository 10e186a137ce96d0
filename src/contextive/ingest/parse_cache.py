"""Caches the parsed values of files until the files change."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable
from dataclasses import dataclass
from typing import Any, TypeVar

from contextive.workspace.files import FileText, Unreadable

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Entry:
    content: FileText | Unreadable
    value: Any


class ParseCache:
    """Parsed values by key. `ProjectFiles` returns the same object while the fingerprint of a file is the same, so an
    entry is valid while the content of its file is the object that it was parsed from."""

    def __init__(self, shared: ParseCache | None = None) -> None:
        """`shared` is another cache, whose values are used and never changed."""
        self._entries: dict[Hashable, _Entry] = {}
        self._shared = shared

    def get(
        self,
        key: Hashable,
        content: FileText | Unreadable,
        parse: Callable[[], T],
        is_same: Callable[[T, T], bool] | None = None,
    ) -> T:
        """The value of a file. If the file changed but `is_same` says that its value did not, the cached object is
        returned, and everything computed from it stays valid."""
        entry = self._entries.get(key) or (self._shared._entries.get(key) if self._shared is not None else None)
        if entry is None or entry.content is not content:
            value = parse()
            if entry is not None and is_same is not None and is_same(entry.value, value):
                value = entry.value
            entry = self._entries[key] = _Entry(content, value)
        cached: T = entry.value
        return cached

    def keep_only(self, keys: Collection[Hashable]) -> None:
        """Drop the values of files that are no longer part of the project."""
        for key in self._entries.keys() - keys:
            del self._entries[key]
