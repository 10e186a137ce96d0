"""What requirements and notes bring to the index: layers of its graph, and chunks to be found."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from contextive.errors import ContextiveError
from contextive.ingest.notes_service import NotesService
from contextive.ingest.trace_service import TraceService
from contextive.knowledge.chunk import Chunk
from contextive.knowledge.graph import Layer
from contextive.knowledge.note_layer import notes_layer
from contextive.knowledge.symbol import Symbol
from contextive.knowledge.trace_layer import requirement_chunks, trace_layer
from contextive.trace.catalog import TraceCatalog

_TRACE_FOLDER = ".duvet"
_MAX_FILES = 10_000


class RequirementsLayer:
    """Specifications, requirements, and who cites them."""

    name = "trace"

    def __init__(self, service: TraceService, root: Path, wanted: Iterable[str]) -> None:
        self._service = service
        self._root = root
        self._wanted = tuple(wanted)

    def external_version(self) -> str:
        """The settings of traceability and the specifications that are stored with them lie in a dot-directory."""
        digest = hashlib.sha256(repr(self._wanted).encode())
        for line in sorted(_file_states(self._root / _TRACE_FOLDER)):
            digest.update(line.encode("utf-8", "surrogateescape"))
        return digest.hexdigest()[:16]

    def chunks(self) -> Mapping[str, tuple[Chunk, ...]]:
        catalog = self._catalog()
        return requirement_chunks(catalog) if catalog is not None else {}

    def layer(self, ids: Mapping[str, str], symbols: Mapping[str, Sequence[Symbol]]) -> Layer:
        catalog = self._catalog()
        return trace_layer(catalog, ids, symbols) if catalog is not None else Layer()

    def _catalog(self) -> TraceCatalog | None:
        try:
            return self._service.view().catalog
        except ContextiveError:
            return None  # a broken configuration of traceability is for its own tools to tell


class NotesLayer:
    """Notes and what they link to."""

    name = "notes"

    def __init__(self, notes: NotesService, requirements: TraceService, wanted: Iterable[str]) -> None:
        self._notes = notes
        self._requirements = requirements
        self._wanted = tuple(wanted)

    def external_version(self) -> str:
        return hashlib.sha256(repr(self._wanted).encode()).hexdigest()[:16]

    def chunks(self) -> Mapping[str, tuple[Chunk, ...]]:
        return {}

    def layer(self, ids: Mapping[str, str], symbols: Mapping[str, Sequence[Symbol]]) -> Layer:
        try:
            identifiers = [r.identifier for r in self._requirements.view().catalog.requirements]
        except ContextiveError:
            identifiers = []
        return notes_layer(
            self._notes.view().catalog,
            requirements=identifiers,
            artifacts=ids,
            symbols={symbol.id for listed in symbols.values() for symbol in listed},
        )


def _file_states(folder: Path) -> Iterator[str]:
    """Every file below a folder with what tells whether it changed."""
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
