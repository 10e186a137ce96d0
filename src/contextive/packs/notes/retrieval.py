"""Finds the sources of an `ask` answer with the project's index: notes first, then other files.

The cosine thresholds come from test questions: unrelated notes reached at most 0.28, while notes that answered a question in
different words had 0.35 or more.
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

_RELEVANT_COSINE = 0.30
"""A passage with at least this cosine is relevant, whatever words it contains."""
_UNRELATED_COSINE = 0.10
"""A passage with a lower cosine is not relevant, whatever words it contains."""
_WORD_SHARE = 0.25
"""In between, a passage is relevant if it contains at least this share of the words of the question."""
_SEARCH_LIMIT = 20
_WHOLE_NOTE_CHARACTERS = 4000
"""Notes up to this length are sent whole."""
_MODEL_WAIT_SECONDS = 20.0
_MAX_OTHER_PASSAGES = 4
"""Most passages from files that are not notes."""


@dataclass(frozen=True, slots=True)
class IndexRetriever:
    """Finds sources by hybrid search, or by keywords in the notes if there is no index yet."""

    index: Callable[[], Index]
    notes: NotesService

    async def retrieve(self, question: str, limit: int) -> Sequence[Source]:
        return await run_in_thread(lambda: self._retrieve(question, limit))

    ##= docs/spec/notes.md#ask
    ##% Until an index exists, sources MUST be found by the keywords of the question.
    def _retrieve(self, question: str, limit: int) -> list[Source]:
        try:
            index = self._existing_index()
            if index is not None:
                return self._search_sources(index, question, limit)
        except ContextiveError as error:
            logger.warning("a question is answered by keyword search only: %s", error.full_message())
        return NotesRetriever(self.notes).find(question, limit)

    def _existing_index(self) -> Index | None:
        """The index if it exists. A question does not wait until a whole project is indexed."""
        index = self.index()
        return index if index.settings.state_dir.is_dir() and index.store.generation() else None

    ##= docs/spec/notes.md#ask
    ##% Sources MUST be found by words and by meaning, with notes first.
    def _search_sources(self, index: Index, question: str, limit: int) -> list[Source]:
        # Unlike a search, which is lexical until the embedding model is loaded, an answer is worth the wait.
        index.wait_for_model(_MODEL_WAIT_SECONDS)
        by_path = {note.path: note for note in self.notes.view().catalog.notes}
        sources: dict[str, Source] = {}
        for note in islice(self._notes_not_in_index(index, question), limit):
            sources[note.path] = note_source(note)
        bases = tuple(Glob(pattern).base for pattern in self.notes.patterns)
        in_notes = self._search(index, question, bases) if all(bases) else []
        everywhere = self._search(index, question, ())
        for result in (*in_notes, *everywhere):
            found = by_path.get(result.chunk.artifact_path)
            if found is not None and found.path not in sources:
                sources[found.path] = _source_from_note(found, result)
        other = (_source_from_chunk(r) for r in everywhere if r.chunk.artifact_path not in by_path)
        chosen = [*islice(sources.values(), limit), *islice(other, _MAX_OTHER_PASSAGES)][:limit]
        return [source for source in chosen if may_send_to_model(self.notes.root, source.path)]

    ##= docs/spec/notes.md#ask
    ##% A note saved before the question MUST be found with its current content.
    def _notes_not_in_index(self, index: Index, question: str) -> Iterator[Note]:
        """Notes with keywords of the question whose current text is not indexed yet."""
        for note in relevant_notes(self.notes.view().catalog.newest_first, question, _SEARCH_LIMIT):
            row = index.store.files.artifact(note.path)
            digest = hashlib.sha256(note.text.encode("utf-8", "surrogatepass")).hexdigest()
            if (row is None or row.artifact.digest != digest) and _has_enough_words(
                question, f"{note.title}\n{note.content}"
            ):
                yield note

    def _search(self, index: Index, question: str, paths: tuple[str, ...]) -> list[SearchResult]:
        from contextive.search.answer import SearchRequest
        from contextive.search.filters import ParsedFilters
        from contextive.store.values import ChunkFilter

        where = ParsedFilters(ChunkFilter(paths=tuple(f"{path}/" for path in paths)))
        request = SearchRequest(question, limit=_SEARCH_LIMIT, include_graph=False, filters=where, detail="full")
        return [result for result in index.search.search(request).results if _is_relevant(question, result)]


def _is_relevant(question: str, result: SearchResult) -> bool:
    cosine = result.scoring.vector_score
    if cosine is not None and (cosine >= _RELEVANT_COSINE or cosine < _UNRELATED_COSINE):
        return cosine >= _RELEVANT_COSINE
    return _has_enough_words(question, f"{result.chunk.title}\n{result.chunk.artifact_path}\n{result.chunk.text}")


def _has_enough_words(question: str, text: str) -> bool:
    from contextive.knowledge.tokeniser import query_terms, tokenise

    terms = frozenset(query_terms(question))
    return bool(terms) and len(terms.intersection(tokenise(text))) >= _WORD_SHARE * len(terms)


def _source_from_note(note: Note, result: SearchResult) -> Source:
    """A short note whole; of a long note only the passage that was found, if it is still there."""
    from contextive.models.sources import Source

    chunk = result.chunk
    lines = note.text.split("\n")[chunk.line_start - 1 : chunk.line_end]
    if len(note.content) <= _WHOLE_NOTE_CHARACTERS or not any(line.strip() and line in chunk.text for line in lines):
        return note_source(note)
    return Source(note.slug, note.title, note.path, chunk.line_start, chunk.line_end, "\n".join(lines))


def _source_from_chunk(result: SearchResult) -> Source:
    from contextive.models.sources import Source

    chunk = result.chunk
    return Source(None, chunk.title, chunk.artifact_path, chunk.line_start, chunk.line_end, chunk.text)
