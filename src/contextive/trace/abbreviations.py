"""The abbreviations that a text introduces, as in "round-trip time (RTT)"."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

_SHORT: Final = re.compile(r"[ \n]\(([A-Z][A-Za-z0-9]{1,7}?)s?\)")
_WORD: Final = re.compile(r"[A-Za-z0-9]+")
_LONGEST: Final = 200
"""Characters before the parenthesis in which the words are."""


def abbreviations(texts: Iterable[str]) -> Mapping[str, tuple[str, ...]]:
    """Each abbreviation with the words in lower case that it stands for, as they are first introduced."""
    found: dict[str, tuple[str, ...]] = {}
    for text in texts:
        for match in _SHORT.finditer(text):
            short = match[1]
            before = _WORD.findall(text[max(0, match.start() - _LONGEST) : match.start()].lower())
            candidates = (before[-count:] for count in range(len(short), 1, -1))
            words = next((words for words in candidates if short.isupper() and _spell(words, short.lower())), None)
            if words is not None:
                found.setdefault(short, tuple(words))
    return found


def _spell(words: Sequence[str], short: str) -> bool:
    """Whether an abbreviation has the first letter of each word, and otherwise letters from inside them: Probe TimeOut."""
    at = 0
    for number, word in enumerate(words):
        if not short.startswith(word[0], at):
            return False
        at += 1
        inside = len(short) - at - (len(words) - number - 1)
        for letter in word[1:]:
            if inside > 0 and short.startswith(letter, at):
                at, inside = at + 1, inside - 1
    return at == len(short)
