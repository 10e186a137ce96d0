"""Keyword search over notes: the whole query as it is written, in titles and contents, whatever its case."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate, islice

from contextive.notes.note import Note

MAX_RESULTS = 20
_SEPARATOR = "\0"
_BEFORE, _AFTER, _OPENING = 50, 100, 150
_PUNCTUATION = str.maketrans("", "", "?.,!")
_STOP_WORDS = frozenset({"what", "when", "where", "which", "this", "that", "with", "from", "have", "does"})
_MAX_KEYWORDS = 32


@dataclass(frozen=True, slots=True)
class NoteHit:
    """A note that was found, and the place in it that says why."""

    note: Note
    excerpt: str


class SearchIndex:
    """The texts of many notes as two, one of titles and one of contents: what is not there costs one look, not thousands."""

    def __init__(self, notes: Iterable[Note]) -> None:
        self._notes = list(notes)
        self._titles = _Joined([note.lowered_title for note in self._notes])
        self._contents = _Joined([note.lowered for note in self._notes])

    def search(self, query: str, limit: int = MAX_RESULTS) -> list[NoteHit]:
        """The notes that hold the query, those with it in their title first; otherwise in the order in which they came."""
        wanted = query.strip().lower()
        if not wanted or _SEPARATOR in wanted:
            return []
        found = list(islice(self._titles.find(wanted), limit))
        in_titles = frozenset(found)
        found += islice((n for n in self._contents.find(wanted) if n not in in_titles), limit - len(found))
        return [NoteHit(self._notes[number], excerpt_of(self._notes[number], wanted)) for number in found]


class _Joined:
    """Many texts as one."""

    def __init__(self, texts: list[str]) -> None:
        self._text = _SEPARATOR.join(text.replace(_SEPARATOR, " ") for text in texts)
        self._starts = list(accumulate((len(text) + 1 for text in texts), initial=0))

    def find(self, wanted: str) -> Iterator[int]:
        """The numbers of the texts that hold the wanted one, in order."""
        position = self._text.find(wanted)
        while position >= 0:
            number = bisect_right(self._starts, position) - 1
            yield number
            position = self._text.find(wanted, self._starts[number + 1])


def excerpt_of(note: Note, wanted: str) -> str:
    """What stands around the first place that matches; the beginning of the content where none does."""
    content = note.content
    start = _first_match(note, wanted)
    if start < 0:
        return content[:_OPENING] + ("..." if len(content) > _OPENING else "")
    first, last = max(start - _BEFORE, 0), min(start + _AFTER, len(content))
    return ("..." if first > 0 else "") + content[first:last] + ("..." if last < len(content) else "")


def _first_match(note: Note, wanted: str) -> int:
    if len(note.lowered) == len(note.content):
        return note.lowered.find(wanted)
    # A few letters grow when they are lowered, and the places behind them move.
    found = re.search(re.escape(wanted), note.content, re.IGNORECASE)
    return found.start() if found else -1


def keywords_of(question: str) -> list[str]:
    """The words of a question that say what it is about; the whole question where none does."""
    words = question.lower().translate(_PUNCTUATION).split()
    kept = [word for word in dict.fromkeys(words) if len(word) > 3 and word not in _STOP_WORDS]
    return kept[:_MAX_KEYWORDS] or [question.strip().lower()]


def relevant_notes(notes: Iterable[Note], question: str, limit: int = 5) -> list[Note]:
    """The notes with the most of a question's keywords; one in the title counts twice. None where no note has any."""
    words = [word for word in keywords_of(question) if word]
    scored = []
    for order, note in enumerate(notes):
        score = sum(2 if word in note.lowered_title else 1 if word in note.lowered else 0 for word in words)
        if score:
            scored.append((-score, order, note))
    scored.sort(key=lambda item: item[:2])
    return [note for _, _, note in scored[:limit]]
