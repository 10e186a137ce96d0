"""What a question may be answered from: passages that the project's own search finds, notes before everything else.

The bounds below were chosen by questions to notes about other things: the nearest of those had a cosine of 0.28, what answered a
question in other words one of 0.35 and more.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from contextive.errors import ContextiveError
from contextive.ingest.notes_privacy import may_send_to_model
from contextive.ingest.notes_service import NotesService
from contextive.notes.note import Note
from contextive.notes.search import relevant_notes
from contextive.packs.notes.search_and_ask import NotesRetriever, note_source
from contextive.registry.threads import run_in_thread
from contextive.workspace.globs import Glob

if TYPE_CHECKING:
    from contextive.models.sources import Source
    from contextive.search.answer import SearchResult
    from contextive.search.index import Index

logger = logging.getLogger(__name__)

_NEAR = 0.30
"""A cosine from which on a passage counts, whatever its words."""
_FAR = 0.10
"""A cosine below which it does not count, whatever its words."""
_SHARE = 0.25
"""The part of a question's words that a passage has to hold."""
_SEARCHED = 20
_WHOLE_NOTE = 4000
"""Characters up to which a note is given as a whole."""
_LOAD_SECONDS = 20.0
_MOST_BESIDE = 4
"""Passages of other files beside those of notes."""


@dataclass(frozen=True, slots=True)
class IndexRetriever:
    """Finds sources by words and by meaning. Before there is an index, keywords in the notes have to do."""

    index: Callable[[], Index]
    notes: NotesService

    async def retrieve(self, question: str, limit: int) -> Sequence[Source]:
        return await run_in_thread(lambda: self._retrieve(question, limit))

    ##= docs/spec/notes.md#ask
    ##% Until an index exists, sources MUST be found by the keywords of the question.
    def _retrieve(self, question: str, limit: int) -> list[Source]:
        try:
            index = self._made_index()
            if index is not None:
                return self._found(index, question, limit)
        except ContextiveError as error:
            logger.warning("a question is answered by keywords alone: %s", error.full_message())
        return NotesRetriever(self.notes).find(question, limit)

    def _made_index(self) -> Index | None:
        """The index where one was made: a question does not wait until a whole project is indexed."""
        index = self.index()
        return index if index.settings.state_dir.is_dir() and index.store.generation() else None

    ##= docs/spec/notes.md#ask
    ##% Sources MUST be found by words and by meaning, with notes first.
    def _found(self, index: Index, question: str, limit: int) -> list[Source]:
        # A search answers at once, by words alone while vectors cannot be made yet; an answer is worth a moment more.
        index.wait_for_model(_LOAD_SECONDS)
        by_path = {note.path: note for note in self.notes.view().catalog.notes}
        sources: dict[str, Source] = {}
        for unknown in islice(self._unknown_notes(index, question), limit):
            sources[unknown.path] = note_source(unknown)
        bases = tuple(Glob(pattern).base for pattern in self.notes.patterns)
        in_notes = self._search(index, question, bases) if all(bases) else []
        everywhere = self._search(index, question, ())
        for result in (*in_notes, *everywhere):
            note = by_path.get(result.chunk.artifact_path)
            if note is not None and note.path not in sources:
                sources[note.path] = _of_note(note, result)
        beside = (_of_chunk(r) for r in everywhere if r.chunk.artifact_path not in by_path)
        found = [*islice(sources.values(), limit), *islice(beside, _MOST_BESIDE)][:limit]
        return [source for source in found if may_send_to_model(self.notes.root, source.path)]

    ##= docs/spec/notes.md#ask
    ##% A note saved before the question MUST be found with its current content.
    def _unknown_notes(self, index: Index, question: str) -> Iterator[Note]:
        """Notes with the question's keywords that the index does not know as they are now."""
        for note in relevant_notes(self.notes.view().catalog.newest_first, question, _SEARCHED):
            row = index.store.files.artifact(note.path)
            digest = hashlib.sha256(note.text.encode("utf-8", "surrogatepass")).hexdigest()
            if (row is None or row.artifact.digest != digest) and _holds_enough(
                question, f"{note.title}\n{note.content}"
            ):
                yield note

    def _search(self, index: Index, question: str, paths: tuple[str, ...]) -> list[SearchResult]:
        from contextive.search.answer import SearchRequest
        from contextive.search.filters import ParsedFilters
        from contextive.store.values import ChunkFilter

        where = ParsedFilters(ChunkFilter(paths=tuple(f"{path}/" for path in paths)))
        request = SearchRequest(question, limit=_SEARCHED, include_graph=False, filters=where, detail="full")
        return [result for result in index.search.search(request).results if _is_relevant(question, result)]


def _is_relevant(question: str, result: SearchResult) -> bool:
    cosine = result.scoring.vector_score
    if cosine is not None and (cosine >= _NEAR or cosine < _FAR):
        return cosine >= _NEAR
    return _holds_enough(question, f"{result.chunk.title}\n{result.chunk.artifact_path}\n{result.chunk.text}")


def _holds_enough(question: str, text: str) -> bool:
    from contextive.knowledge.tokeniser import query_terms, tokenise

    terms = frozenset(query_terms(question))
    return bool(terms) and len(terms.intersection(tokenise(text))) >= _SHARE * len(terms)


def _of_note(note: Note, result: SearchResult) -> Source:
    """A short note as a whole; of a long one the passage that was found, if it still stands there."""
    from contextive.models.sources import Source

    chunk = result.chunk
    lines = note.text.split("\n")[chunk.line_start - 1 : chunk.line_end]
    if len(note.content) <= _WHOLE_NOTE or not any(line.strip() and line in chunk.text for line in lines):
        return note_source(note)
    return Source(note.slug, note.title, note.path, chunk.line_start, chunk.line_end, "\n".join(lines))


def _of_chunk(result: SearchResult) -> Source:
    from contextive.models.sources import Source

    chunk = result.chunk
    return Source(None, chunk.title, chunk.artifact_path, chunk.line_start, chunk.line_end, chunk.text)
