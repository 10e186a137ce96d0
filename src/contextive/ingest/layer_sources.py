"""Graph layers and chunks that requirements and notes add to the index."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from contextive.errors import ContextiveError
from contextive.ingest.notes_service import NotesService
from contextive.ingest.trace_service import TraceService, TraceView
from contextive.knowledge.chunk import Chunk
from contextive.knowledge.graph import Layer
from contextive.knowledge.note_layer import notes_layer
from contextive.knowledge.symbol import Symbol
from contextive.knowledge.trace_layer import requirement_chunks, trace_layer
from contextive.trace.catalog import TraceCatalog

_TRACE_FOLDERS = (".duvet", ".kiro", ".specify")
_MAX_FILES = 10_000


class LayerSource(Protocol):
    """A source of nodes, edges and chunks that single files do not provide: requirements and citations, or notes."""

    @property
    def name(self) -> str: ...

    def external_version(self) -> str:
        """Changes with anything the layer depends on besides indexed files. Must be cheap."""
        ...

    def chunks(self) -> Mapping[str, tuple[Chunk, ...]]:
        """Chunks to add to files, by path."""
        ...

    def layer(self, ids: Mapping[str, str], symbols: Mapping[str, Sequence[Symbol]]) -> Layer:
        """Nodes and edges, given the node id of every artifact and the symbols of every file, by path."""
        ...


class RequirementsLayer:
    """Specifications, requirements and their citations."""

    name = "trace"

    def __init__(self, service: TraceService, root: Path, patterns: Iterable[str]) -> None:
        self._service = service
        self._root = root
        self._patterns = tuple(patterns)

    def external_version(self) -> str:
        """Covers files that are not indexed: the configuration and stored specifications in `.duvet`, and specifications
        in folders that begin with a dot."""
        digest = hashlib.sha256(repr(self._patterns).encode())
        for folder in _TRACE_FOLDERS:
            for line in sorted(_file_states(self._root / folder)):
                digest.update(line.encode("utf-8", "surrogateescape"))
        return digest.hexdigest()[:16]

    def chunks(self) -> Mapping[str, tuple[Chunk, ...]]:
        catalog = self._catalog()
        return requirement_chunks(catalog) if catalog is not None else {}

    def layer(self, ids: Mapping[str, str], symbols: Mapping[str, Sequence[Symbol]]) -> Layer:
        view = self._view()
        return trace_layer(view.catalog, ids, symbols, view.state.formats) if view is not None else Layer()

    def _catalog(self) -> TraceCatalog | None:
        view = self._view()
        return view.catalog if view is not None else None

    def _view(self) -> TraceView | None:
        try:
            return self._service.view()
        except ContextiveError:
            return None  # the trace tools report a broken configuration


class NotesLayer:
    """Notes and their links."""

    name = "notes"

    def __init__(self, notes: NotesService, requirements: TraceService, patterns: Iterable[str]) -> None:
        self._notes = notes
        self._requirements = requirements
        self._patterns = tuple(patterns)

    def external_version(self) -> str:
        return hashlib.sha256(repr(self._patterns).encode()).hexdigest()[:16]

    def chunks(self) -> Mapping[str, tuple[Chunk, ...]]:
        return {}

    def layer(self, ids: Mapping[str, str], symbols: Mapping[str, Sequence[Symbol]]) -> Layer:
        try:
            requirements = self._requirements.view().catalog.requirements
        except ContextiveError:
            requirements = ()
        return notes_layer(
            self._notes.view().catalog,
            requirements=[requirement.identifier for requirement in requirements],
            handles={requirement.handle: requirement.identifier for requirement in requirements if requirement.handle},
            artifacts=ids,
            symbols={symbol.id for file_symbols in symbols.values() for symbol in file_symbols},
        )


def _file_states(folder: Path) -> Iterator[str]:
    """Path, modification time and size of every file below a folder."""
    count = 0
    for here, _, names in os.walk(folder):
        for name in names:
            count += 1
            if count > _MAX_FILES:
                return
            try:
                found = os.lstat(f"{here}/{name}")
            except OSError:
                continue
            yield f"{here[len(str(folder)) :]}/{name}\0{found.st_mtime_ns}\0{found.st_size}\n"
