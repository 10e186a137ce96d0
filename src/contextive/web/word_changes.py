"""The difference between two sentences, by words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final, Literal

Change = Literal["same", "old", "new"]
_MOST_WORDS: Final = 400
"""The comparison takes quadratic time, so longer sentences are shown one after the other."""


@dataclass(frozen=True, slots=True)
class Words:
    """Some words, and whether both sentences have them."""

    change: Change
    text: str


def word_changes(old: str, new: str) -> tuple[Words, ...]:
    """The words of both sentences in order: those of both, those only of the old one, those only of the new one."""
    return tuple(_changes(old.split(), new.split()))


def _changes(old: list[str], new: list[str]) -> Iterator[Words]:
    if max(len(old), len(new)) > _MOST_WORDS:
        yield Words("old", " ".join(old))
        yield Words("new", " ".join(new))
        return
    for kind, first, last, start, end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            yield Words("same", " ".join(old[first:last]))
            continue
        if first < last:
            yield Words("old", " ".join(old[first:last]))
        if start < end:
            yield Words("new", " ".join(new[start:end]))
