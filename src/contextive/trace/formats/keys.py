"""The keys of the requirements of one specification, in every spelling that people use for them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from contextive.trace.specification import slug

_PREFIX = re.compile(r"(?:requirement|req|r|ac)[-_ ]?(?=[1-9])")
_LETTERS = re.compile(r"[a-z]{1,10}(?=-?\d)")


@dataclass(frozen=True)
class KeyIndex:
    """The requirements that a spelling means: the key of one, the key of a group, or an id in another system."""

    by_spelling: dict[str, tuple[str, ...]]
    """Spellings are in lower case."""
    ordered: tuple[str, ...]
    """All keys in the order of the text."""
    _positions: dict[str, int] = field(default_factory=dict, compare=False, repr=False)

    @staticmethod
    def of(keys: Iterable[str], further: Iterable[tuple[str, str]]) -> KeyIndex:
        """The index of `keys`. `further` are pairs of another spelling and the key that it means."""
        ordered = tuple(dict.fromkeys(keys))
        found: dict[str, list[str]] = {}
        for key in ordered:
            found.setdefault(key.lower(), []).append(key)
        others: dict[str, dict[str, None]] = {}
        for spelling, key in further:
            others.setdefault(spelling.lower(), {})[key] = None
        for spelling, meant in others.items():
            if spelling not in found:
                found[spelling] = list(meant)
        return KeyIndex(
            {spelling: tuple(meant) for spelling, meant in found.items()},
            ordered,
            {key: position for position, key in enumerate(ordered)},
        )

    def find(self, spelling: str) -> tuple[str, ...]:
        """The keys of the requirements that a spelling means, such as `3.2`, `REQ-3.2` or `3`; empty if unknown."""
        if spelling in self._positions:
            return (spelling,)
        spelling = spelling.lower()
        found = self.by_spelling.get(spelling)
        if found is None and (prefix := _PREFIX.match(spelling)) is not None:
            found = self.by_spelling.get(spelling[prefix.end() :])
        return found or ()

    def between(self, first: str, last: str) -> tuple[str, ...]:
        """The keys from the first to the last one. `3.2` to `5` means `3.2` to `3.5`."""
        if "." in first and "." not in last:
            last = f"{first.rpartition('.')[0]}.{last}"
        begin, end = self.find(first), self.find(last)
        if not begin or not end:
            return ()
        return self.ordered[self._positions[begin[0]] : self._positions[end[-1]] + 1]

    @cached_property
    def prefixes(self) -> frozenset[str]:
        """The letters before the digits of the known spellings, such as `fr` and `req`."""
        found = (_LETTERS.match(spelling) for spelling in self.by_spelling)
        return frozenset(match[0] for match in found if match is not None)

    def is_like_a_key(self, spelling: str) -> bool:
        """Whether an unknown spelling looks like a key of this specification: a bare number, or with a known prefix."""
        letters = _LETTERS.match(spelling.lower())
        return letters is None or letters[0] in self.prefixes


def capability_of(path: str) -> str:
    """The capability that a `spec.md` is about: the folders between `specs` and the file."""
    parts = path.split("/")
    start = len(parts) - 1 - parts[::-1].index("specs") if "specs" in parts else 0
    return "/".join(parts[start + 1 : -1])


def slugged(key: str) -> str:
    """A key with the slug of its name: `auth/User Login` becomes `auth/user-login`."""
    return "/".join(slug(part) for part in key.split("/"))
