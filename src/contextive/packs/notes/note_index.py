"""The notes in the project's index."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from contextive.errors import Unavailable
from contextive.ingest.notes_service import NotesService
from contextive.workspace.globs import Glob

if TYPE_CHECKING:
    from contextive.search.answer import SearchResponse
    from contextive.search.index import Index


@dataclass(frozen=True, slots=True)
class NoteIndex:
    """Searches the notes, or the whole project, in an index that exists already."""

    index: Callable[[], Index]
    notes: NotesService

    def existing(self) -> Index | None:
        """The index if it exists. A search of notes does not wait until a whole project is indexed."""
        try:
            index = self.index()
        except Unavailable:
            return None
        is_there = index.settings.postgres is not None or index.settings.state_dir.is_dir()
        return index if is_there and index.store.generation() else None

    @property
    def folders(self) -> tuple[str, ...]:
        """The folders of the notes; none if notes may be anywhere."""
        bases = tuple(Glob(pattern).base for pattern in self.notes.patterns)
        return bases if all(bases) else ()

    def search(self, index: Index, query: str, limit: int, folders: tuple[str, ...] = ()) -> SearchResponse:
        """The best chunks for a query, of all files or of those in some folders."""
        from contextive.search.answer import SearchRequest
        from contextive.search.filters import ParsedFilters
        from contextive.store.values import ChunkFilter

        where = ParsedFilters(ChunkFilter(paths=tuple(f"{folder}/" for folder in folders)))
        request = SearchRequest(query, limit=limit, include_graph=False, filters=where, group="chunk")
        return index.search.search(request)
