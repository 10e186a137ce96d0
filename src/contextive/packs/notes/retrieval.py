"""Finds the sources of an `ask` answer: notes first, then other files."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from contextive.errors import ContextiveError
from contextive.ingest.notes_privacy import may_send_to_model
from contextive.ingest.notes_service import NotesService
from contextive.notes.note import Note
from contextive.packs.notes.note_index import NoteIndex
from contextive.packs.notes.page_search import relevant_notes
from contextive.registry.threads import run_in_thread
from contextive.search.relevance import LEAST_RELEVANCE, judge

if TYPE_CHECKING:
    from contextive.models.sources import Source
    from contextive.search.answer import SearchResult
    from contextive.search.index import Index

logger = logging.getLogger(__name__)

_SEARCH_LIMIT = 20
_WHOLE_NOTE_CHARACTERS = 4000
"""Notes up to this length are sent whole."""
_MODEL_WAIT_SECONDS = 20.0
_MAX_OTHER_PASSAGES = 4
"""Most passages from files that are not notes."""
_MAX_RANKED = 200
"""Notes by words, of which those are sources that may be sent to a model."""


@dataclass(frozen=True, slots=True)
class IndexRetriever:
    """Finds sources by hybrid search, or by the words in the notes if there is no index yet."""

    index: NoteIndex

    @property
    def notes(self) -> NotesService:
        return self.index.notes

    async def retrieve(self, question: str, limit: int) -> Sequence[Source]:
        return await run_in_thread(lambda: self._retrieve(question, limit))

    ##= docs/spec/notes.md#ask
    ##% Until an index exists, sources MUST be found by the words of the question.
    def _retrieve(self, question: str, limit: int) -> list[Source]:
        try:
            index = self.index.existing()
            if index is not None:
                return self._search_sources(index, question, limit)
        except ContextiveError as error:
            logger.warning("a question is answered by the words of the notes only: %s", error.full_message())
        found = relevant_notes(self.notes, question, _MAX_RANKED)
        allowed = (note for note in found if may_send_to_model(self.notes.root, note.path))
        return [_note_source(note) for note in islice(allowed, limit)]

    ##= docs/spec/notes.md#ask
    ##% Sources MUST be found by words and by meaning, with notes first.
    def _search_sources(self, index: Index, question: str, limit: int) -> list[Source]:
        # Unlike a search, which is lexical until the embedding model is loaded, an answer is worth the wait.
        index.wait_for_model(_MODEL_WAIT_SECONDS)
        by_path = {note.path: note for note in self.notes.view().catalog.notes}
        sources: dict[str, Source] = {}
        for note in islice(self._notes_not_in_index(index, question), limit):
            sources[note.path] = _note_source(note)
        relevant = self._relevant_results(index, question)
        for result in relevant:
            found = by_path.get(result.chunk.artifact_path)
            if found is not None and found.path not in sources:
                sources[found.path] = _source_from_note(found, result)
        other = (_source_from_chunk(r) for r in relevant if r.chunk.artifact_path not in by_path)
        chosen = [*islice(sources.values(), limit), *islice(other, _MAX_OTHER_PASSAGES)][:limit]
        return [source for source in chosen if may_send_to_model(self.notes.root, source.path)]

    ##= docs/spec/notes.md#ask
    ##% A note saved before the question MUST be found with its current content.
    def _notes_not_in_index(self, index: Index, question: str) -> Iterator[Note]:
        """Relevant notes whose current text is not indexed yet."""
        for note in relevant_notes(self.notes, question, _SEARCH_LIMIT):
            row = index.store.files.artifact(note.path)
            digest = hashlib.sha256(note.text.encode("utf-8", "surrogatepass")).hexdigest()
            if row is None or row.artifact.digest != digest:
                yield note

    def _relevant_results(self, index: Index, question: str) -> list[SearchResult]:
        """The best chunks of notes and then of all files, without those that are much weaker than the best."""
        folders = self.index.folders
        in_notes = self.index.search(index, question, _SEARCH_LIMIT, folders).results if folders else ()
        found = {r.chunk.chunk_id: r for r in (*in_notes, *self.index.search(index, question, _SEARCH_LIMIT).results)}
        judgement = judge({chunk_id: result.evidence for chunk_id, result in found.items()})
        return [result for chunk_id, result in found.items() if judgement.by_key[chunk_id] >= LEAST_RELEVANCE]


def _note_source(note: Note) -> Source:
    """A whole note as a source."""
    from contextive.models.sources import Source

    first = note.head.count("\n") + 1
    return Source(note.slug, note.title, note.path, first, first + note.content.rstrip("\n").count("\n"), note.content)


def _source_from_note(note: Note, result: SearchResult) -> Source:
    """A short note whole; of a long note only the passage that was found, if it is still there."""
    from contextive.models.sources import Source

    chunk = result.chunk
    lines = note.text.split("\n")[chunk.line_start - 1 : chunk.line_end]
    if len(note.content) <= _WHOLE_NOTE_CHARACTERS or not any(line.strip() and line in chunk.text for line in lines):
        return _note_source(note)
    return Source(note.slug, note.title, note.path, chunk.line_start, chunk.line_end, "\n".join(lines))


def _source_from_chunk(result: SearchResult) -> Source:
    from contextive.models.sources import Source

    chunk = result.chunk
    return Source(None, chunk.title, chunk.artifact_path, chunk.line_start, chunk.line_end, chunk.text)
