"""What the files of a project were parsed into, remembered for as long as the files stay the same."""

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
    """Parsed values by key. `ProjectFiles` gives the same object while the fingerprint of a file is the same, so an entry
    is valid while the content of its file is the object that it was parsed from."""

    def __init__(self) -> None:
        self._entries: dict[Hashable, _Entry] = {}

    def get(
        self,
        key: Hashable,
        content: FileText | Unreadable,
        parse: Callable[[], T],
        is_same: Callable[[T, T], bool] | None = None,
    ) -> T:
        """The value of a file. Where `is_same` says that a change of the file did not change the value, the known object
        is returned, and all that was computed from it stays valid."""
        entry = self._entries.get(key)
        if entry is None or entry.content is not content:
            value = parse()
            if entry is not None and is_same is not None and is_same(entry.value, value):
                value = entry.value
            entry = self._entries[key] = _Entry(content, value)
        known: T = entry.value
        return known

    def keep_only(self, keys: Collection[Hashable]) -> None:
        """Forget the values of files that are no longer part of the project."""
        for key in self._entries.keys() - keys:
            del self._entries[key]
