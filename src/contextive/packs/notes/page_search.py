"""Finds pages for a query: by words in memory, and by meaning in the project's index."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from contextive.errors import ContextiveError
from contextive.ingest.notes_service import NotesService
from contextive.knowledge.note_words import NotePassage, excerpt, passages
from contextive.notes.note import Note
from contextive.packs.notes.note_index import NoteIndex
from contextive.search.query_reading import ReadQuery, read_query
from contextive.search.relevance import GOOD_RELEVANCE, LEAST_RELEVANCE, Evidence, judge

if TYPE_CHECKING:
    from contextive.search.answer import SearchResponse

logger = logging.getLogger(__name__)

##= docs/spec/notes.md#search
##% A search MUST return at most 20 pages.
MAX_PAGES = 20
_FOR_MEANING = 5
"""Places that are kept for pages found by meaning."""
_MOST_CHUNKS = 25


@dataclass(frozen=True, slots=True)
class FoundPage:
    """A page with the text around the best match."""

    note: Note
    excerpt: str


@dataclass(frozen=True, slots=True)
class PageSearch:
    """The pages for a query."""

    pages: tuple[FoundPage, ...]
    nearest: FoundPage | None = None
    """The best match if no page is relevant."""
    corrected: Mapping[str, str] = field(default_factory=dict)
    """Misspelled words of the query, each with the word that was searched for as well."""


@dataclass(frozen=True, slots=True)
class _Match:
    """A page with its best passage, and the probability that it is about the query."""

    note: Note
    passage: NotePassage | None
    relevance: float


##= docs/spec/notes.md#search
##% Pages found by words MUST come before pages that an index with embeddings finds by meaning alone.
##= docs/spec/notes.md#search
##% If no page is relevant, a search MUST return an empty array and name the best weak match in `nearest`.
def find_pages(notes: NotesService, index: NoteIndex | None, query: str, limit: int = MAX_PAGES) -> PageSearch:
    """The relevant pages, best first."""
    words = notes.words()
    asked = read_query(query, words.counts)
    matches = _matches(words.search(asked.words, limit), asked)
    by_words = [match for match in matches if match.relevance >= LEAST_RELEVANCE]
    if all(match.relevance < GOOD_RELEVANCE for match in by_words):
        known = {match.note.path for match in by_words}
        by_words += [_Match(note, None, 1.0) for note in words.containing(query, limit) if note.path not in known]
    by_meaning: Sequence[_Match] = ()
    meaning = _by_meaning(index, query) if index is not None else None
    if meaning is not None:
        by_meaning = list(_pages_of(meaning, {note.path: note for note in notes.view().catalog.notes}))
        if meaning.metadata.relevance == "none":
            by_words = [match for match in by_words if match.relevance >= GOOD_RELEVANCE]
    chosen = _merge(by_words, by_meaning, limit)
    nearest = max(matches, key=lambda match: match.relevance, default=None) if not chosen else None
    return PageSearch(
        tuple(_to_page(match, query, asked) for match in chosen),
        _to_page(nearest, query, asked) if nearest is not None else None,
        asked.corrected,
    )


def relevant_notes(notes: NotesService, question: str, limit: int) -> list[Note]:
    """The notes with the words of a question, best first."""
    words = notes.words()
    asked = read_query(question, words.counts)
    found = _matches(words.search(asked.words, limit), asked)
    return [match.note for match in found if match.relevance >= LEAST_RELEVANCE]


def _matches(notes: Sequence[Note], asked: ReadQuery) -> list[_Match]:
    """The pages, each with its best passage by words."""
    best: dict[str, tuple[Evidence, NotePassage]] = {}
    for note in notes:
        judged = ((asked.topic.evidence(passage.tokens), passage) for passage in passages(note))
        best[note.path] = max(judged, key=lambda pair: pair[0].coverage)
    judgement = judge({path: evidence for path, (evidence, _) in best.items()})
    return [_Match(note, best[note.path][1], judgement.by_key[note.path]) for note in notes]


def _by_meaning(notes: NoteIndex, query: str) -> SearchResponse | None:
    """The best chunks of the index; None if it has no embeddings."""
    try:
        index = notes.existing()
        if index is None or not index.store.search.vector_counts():
            return None
        found = notes.search(index, query, _MOST_CHUNKS, notes.folders)
    except ContextiveError as error:
        logger.warning("notes are searched by words only: %s", error.full_message())
        return None
    return found if found.metadata.embedding_model is not None else None


def _pages_of(found: SearchResponse, notes: Mapping[str, Note]) -> Iterable[_Match]:
    """The pages of the relevant chunks, each with its first chunk."""
    seen: set[str] = set()
    for result in found.results:
        chunk, note = result.chunk, notes.get(result.chunk.artifact_path)
        if note is not None and note.path not in seen and chunk.relevance >= LEAST_RELEVANCE:
            seen.add(note.path)
            above = note.head.count("\n")
            passage = NotePassage(max(0, chunk.line_start - 1 - above), max(0, chunk.line_end - above))
            yield _Match(note, passage, chunk.relevance)


def _merge(by_words: Sequence[_Match], by_meaning: Sequence[_Match], limit: int) -> list[_Match]:
    """The pages found by words, then the others, for which some places are kept."""
    first = {match.note.path for match in by_words[: limit - _FOR_MEANING]}
    others = [match for match in by_meaning if match.note.path not in first]
    kept = by_words[: max(limit - len(others), limit - _FOR_MEANING)]
    shown = {match.note.path for match in kept}
    return [*kept, *(match for match in others if match.note.path not in shown)][:limit]


def _to_page(match: _Match, query: str, asked: ReadQuery) -> FoundPage:
    return FoundPage(match.note, excerpt(match.note, query, asked.words, match.passage))
