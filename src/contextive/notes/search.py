"""Keyword search in notes: the whole query as written, in titles and contents, ignoring case."""

from __future__ import annotations

import re
import threading
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate, islice

from contextive.notes.note import Note
from contextive.notes.word_index import GROUP_SIZE, WordIndex

##= docs/spec/notes.md#search
##% A search MUST return at most 20 pages.
MAX_RESULTS = 20
_SEPARATOR = "\0"
_BEFORE, _AFTER, _OPENING = 50, 100, 150
_PUNCTUATION = str.maketrans("", "", "?.,!")
_STOP_WORDS = frozenset({"what", "when", "where", "which", "this", "that", "with", "from", "have", "does"})
_MAX_KEYWORDS = 32
_MAX_INDEXED_CHARACTERS = 1_000_000
"""The limit of characters that one search adds to the index, so it stays fast."""


@dataclass(frozen=True, slots=True)
class NoteHit:
    """A matching note and the text around the match."""

    note: Note
    excerpt: str


class SearchIndex:
    """Finds notes by a text in their title or content. The word index narrows down the contents to search.

    The notes are indexed in portions during the first searches, so no single search waits for all of them.
    """

    def __init__(self, notes: Iterable[Note], previous: SearchIndex | None = None) -> None:
        """`previous` is an earlier index. The words of unchanged notes are taken from it."""
        self._notes = list(notes)
        self._titles = _JoinedTexts([note.lowered_title for note in self._notes])
        self._words: WordIndex = previous._words if previous is not None else WordIndex()
        self._lock: threading.Lock = previous._lock if previous is not None else threading.Lock()
        self._members: dict[int, list[int]] = {}
        self._unindexed: list[int] = []
        with self._lock:
            self._assign_groups(range(len(self._notes)))

    ##= docs/spec/notes.md#search
    ##% A search MUST match the whole query in titles and in contents, ignoring case.
    ##= docs/spec/notes.md#search
    ##% A search without matches MUST return an empty array.
    def search(self, query: str, limit: int = MAX_RESULTS) -> list[NoteHit]:
        """The notes that contain the query, title matches first, otherwise in the order of the index."""
        wanted = query.strip().lower()
        if not wanted or _SEPARATOR in wanted:
            return []
        ##= docs/spec/notes.md#search
        ##% Pages with the query in their title MUST come first, and newer pages come before older ones otherwise.
        found = list(islice(self._titles.find(wanted), limit))
        in_titles = frozenset(found)
        in_contents = (n for n in self._candidates(wanted) if n not in in_titles and wanted in self._notes[n].lowered)
        found += islice(in_contents, limit - len(found))
        return [NoteHit(self._notes[number], excerpt_of(self._notes[number], wanted)) for number in found]

    def _candidates(self, wanted: str) -> Iterable[int]:
        with self._lock:
            if self._unindexed:
                self._index_some()
            groups = self._words.groups_containing(wanted)
            if groups is None:
                return range(len(self._notes))
            known = [number for group in groups for number in self._members.get(group, ())]
            return sorted([*known, *self._unindexed])

    def _index_some(self) -> None:
        numbers: list[int] = []
        size = 0
        while self._unindexed and (size < _MAX_INDEXED_CHARACTERS or len(numbers) % GROUP_SIZE):
            numbers.append(self._unindexed.pop())
            size += len(self._notes[numbers[-1]].content)
        self._words.add_notes([self._notes[number] for number in numbers])
        self._assign_groups(numbers)

    def _assign_groups(self, numbers: Iterable[int]) -> None:
        """Add notes to their group, or to the notes that are not indexed yet."""
        for number in numbers:
            group = self._words.group_of(self._notes[number])
            if group is None:
                self._unindexed.append(number)
            else:
                self._members.setdefault(group, []).append(number)


class _JoinedTexts:
    """Many texts joined into one, so a text without matches costs one search instead of thousands."""

    def __init__(self, texts: list[str]) -> None:
        self._text = _SEPARATOR.join(text.replace(_SEPARATOR, " ") for text in texts)
        self._starts = list(accumulate((len(text) + 1 for text in texts), initial=0))

    def find(self, wanted: str) -> Iterator[int]:
        """The indexes of the texts that contain `wanted`, in order."""
        position = self._text.find(wanted)
        while position >= 0:
            number = bisect_right(self._starts, position) - 1
            yield number
            position = self._text.find(wanted, self._starts[number + 1])


##= docs/spec/notes.md#search
##% An excerpt MUST be the text around the first match in the content, or the beginning of the content if only the
##% title matches.
def excerpt_of(note: Note, wanted: str) -> str:
    """The text around the first match, or the beginning of the content if there is none."""
    content = note.content
    start = _first_match(note, wanted)
    if start < 0:
        return content[:_OPENING] + ("..." if len(content) > _OPENING else "")
    first, last = max(start - _BEFORE, 0), min(start + _AFTER, len(content))
    return ("..." if first > 0 else "") + content[first:last] + ("..." if last < len(content) else "")


def _first_match(note: Note, wanted: str) -> int:
    if len(note.lowered) == len(note.content):
        return note.lowered.find(wanted)
    # Lower-casing makes a few letters longer, which shifts the positions after them.
    found = re.search(re.escape(wanted), note.content, re.IGNORECASE)
    return found.start() if found else -1


def keywords_of(question: str) -> list[str]:
    """The significant words of a question, or the whole question if there are none."""
    words = question.lower().translate(_PUNCTUATION).split()
    kept = [word for word in dict.fromkeys(words) if len(word) > 3 and word not in _STOP_WORDS]
    return kept[:_MAX_KEYWORDS] or [question.strip().lower()]


def relevant_notes(notes: Iterable[Note], question: str, limit: int = 5) -> list[Note]:
    """The notes with the most keywords of a question. A keyword in the title counts twice."""
    words = [word for word in keywords_of(question) if word]
    scored = []
    for order, note in enumerate(notes):
        score = sum(2 if word in note.lowered_title else 1 if word in note.lowered else 0 for word in words)
        if score:
            scored.append((-score, order, note))
    scored.sort(key=lambda item: item[:2])
    return [note for _, _, note in scored[:limit]]
