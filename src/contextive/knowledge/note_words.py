"""Finds notes by the words in their titles, tags and contents."""

from __future__ import annotations

import re
import threading
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from contextive.knowledge.lines import TextLines
from contextive.knowledge.markdown_chunks import cut_markdown
from contextive.knowledge.query_words import QueryWord, TermCounts
from contextive.knowledge.tokeniser import terms_by_line, tokenise
from contextive.knowledge.word_scores import WordScorer
from contextive.notes.note import Note

MAX_PASSAGES = 200
"""Passages of a note that are compared with a query."""
_EQUALLY_GOOD = 100
"""Further notes that are sorted, too, because they may match equally well and be newer."""
_WORDS_PER_PASSAGE = 50
"""About as many words are in a section, to estimate the number of sections."""
_LONGEST_LINE = 10_000
_BEFORE, _AFTER, _OPENING = 50, 100, 150
_WORD = re.compile(r"\w+")


class NoteWords:
    """The words of the notes of a project. Thread-safe. An update costs only the notes that changed."""

    def __init__(self) -> None:
        self._scorer: WordScorer[str] = WordScorer()
        self._notes: dict[str, Note] = {}
        self._order: dict[str, int] = {}
        self._lock = threading.Lock()

    def update(self, notes: Iterable[Note]) -> None:
        """Search these notes from now on."""
        with self._lock:
            current = {note.path: note for note in notes}
            for path in self._notes.keys() - current.keys():
                self._scorer.remove(path)
            for path, note in current.items():
                if self._notes.get(path) is not note:
                    self._scorer.put(path, _names(note), note.content)
            self._notes = current
            self._order = {path: number for number, path in enumerate(current)}

    def counts(self, terms: Collection[str]) -> TermCounts:
        """In how many notes each term is, and about how many passages all notes have."""
        with self._lock:
            counts = self._scorer.counts(terms)
            return replace(counts, texts=counts.texts + self._scorer.body_words // _WORDS_PER_PASSAGE)

    ##= docs/spec/notes.md#search
    ##% A search MUST find pages by the words in their titles, tags, headings and contents, whatever their form, best first.
    ##= docs/spec/notes.md#search
    ##% Of pages that match equally well, the newer ones MUST come first.
    def search(self, words: Sequence[QueryWord], limit: int) -> list[Note]:
        """The notes with words of a query, best first, equally good ones in the order of the notes."""
        with self._lock:
            hits = self._scorer.search(words, limit + _EQUALLY_GOOD)
            order = self._order
            hits.sort(key=lambda hit: (-hit.score, order[hit.key]))
            return [self._notes[hit.key] for hit in hits[:limit]]

    ##= docs/spec/notes.md#search
    ##% A text that is not a word, such as a part of one, MUST be found as it is written, ignoring case.
    def containing(self, text: str, limit: int) -> list[Note]:
        """The notes that contain a text as written, ignoring case, those with it in their title first."""
        wanted = text.strip().lower()
        with self._lock:
            notes = list(self._notes.values())
        in_titles = [note for note in notes if wanted in note.lowered_title]
        in_contents = (note for note in notes if wanted in note.lowered and wanted not in note.lowered_title)
        return [*in_titles, *islice(in_contents, max(0, limit - len(in_titles)))][:limit] if wanted else []


def _names(note: Note) -> str:
    return "\n".join((note.title, note.stem, *note.aliases, *note.tags))


@dataclass(frozen=True, slots=True)
class NotePassage:
    """Some lines of the content of a note, half open and counted from 0."""

    first: int
    stop: int
    tokens: frozenset[str] = frozenset()
    """The tokens of these lines, of the headings above them and of the names of the note."""


def passages(note: Note) -> Iterator[NotePassage]:
    """The sections of a note, divided in the same way as in the search index, and an empty one with its names alone."""
    names = frozenset(tokenise(_names(note)))
    for draft in islice(cut_markdown(note.path, TextLines.of(note.content)), MAX_PASSAGES):
        yield NotePassage(draft.first, draft.stop, names.union(tokenise(f"{draft.title}\n{draft.text}")))
    yield NotePassage(0, 0, names)


##= docs/spec/notes.md#search
##% An excerpt MUST be the text around the best match in the content, or the beginning of the content if only the title
##% matches.
def excerpt(note: Note, query: str, words: Collection[QueryWord], passage: NotePassage | None) -> str:
    """The text around the query as written, or else around the line of a passage with the most words of the query."""
    start = _position_of(note, query.strip().lower())
    if start < 0 and passage is not None and passage.stop:
        start = _best_position(note, words, passage)
    content = note.content
    if start < 0:
        return content[:_OPENING] + ("..." if len(content) > _OPENING else "")
    first, last = max(start - _BEFORE, 0), min(start + _AFTER, len(content))
    return ("..." if first > 0 else "") + content[first:last] + ("..." if last < len(content) else "")


def _position_of(note: Note, wanted: str) -> int:
    if not wanted:
        return -1
    if len(note.lowered) == len(note.content):
        return note.lowered.find(wanted)
    # Lower-casing makes a few letters longer, which shifts the positions after them.
    found = re.search(re.escape(wanted), note.content, re.IGNORECASE)
    return found.start() if found else -1


def _best_position(note: Note, words: Collection[QueryWord], passage: NotePassage) -> int:
    """The first word of the query in the line of the passage that has the most of them, or the start of the passage."""
    lines = TextLines.of(note.content)
    spellings = {spelling for word in words for spelling in word.spellings}
    section = [line[:_LONGEST_LINE] for line in lines.items[passage.first : passage.stop]]
    counts = [len(found) for found in terms_by_line(section, spellings)]
    if not any(counts):
        return lines.starts[passage.first] if section and passage.first else -1
    best = max(range(len(section)), key=lambda number: (counts[number], -number))
    inside = (word.start() for word in _WORD.finditer(section[best]) if spellings.intersection(tokenise(word[0])))
    return lines.starts[passage.first + best] + next(inside, 0)
