"""What is counted: `python -m tests.costs.operations NAME FOLDER` prints how many calls of functions one operation makes.

Calls do not depend on how busy a machine is. Each operation is done once before it is counted, so that imports and caches
are not part of it.
"""

from __future__ import annotations

import cProfile
import os
import pstats
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from benchmarks.index_project import RandomEmbedder, build_store, queries, write_repository
from benchmarks.noting import write_notes
from benchmarks.trace_project import ProjectSize, generate_project


def trace_report(folder: Path) -> Callable[[], object]:
    """A whole report of a project of 30 files."""
    from contextive.ops.duvet_output import ReportOptions
    from contextive.ops.duvet_report import DuvetProject

    project = folder / "project"
    generate_project(project, ProjectSize(files=30, specifications=4, citations=120))

    def report() -> object:
        return DuvetProject(project, os.environ, lambda _: None, lambda _: None).report(ReportOptions())

    return report


def trace_again(folder: Path) -> Callable[[], object]:
    """The state of a project in which nothing changed."""
    from contextive.ingest.trace_service import TraceService

    project = folder / "project"
    generate_project(project, ProjectSize(files=30, specifications=4, citations=120))
    service = TraceService(project)
    # Files that changed a moment ago are read again: another change in that moment would not show.
    while time.time() < project.stat().st_ctime + 1:
        service.view()
    return service.view


def first_ingest(folder: Path) -> Callable[[], object]:
    """Forty files into an empty index."""
    from contextive.ingest.settings import IngestRequest
    from contextive.search.index import EmbeddingSettings, Index, IndexSettings

    write_repository(folder / "project", 40)
    states = iter(folder / f"state{number}" for number in range(10))

    def ingest() -> object:
        index = Index(
            IndexSettings(folder / "project", next(states), embedding=EmbeddingSettings("none"), parser_processes=0)
        )
        try:
            return index.ingest(IngestRequest())
        finally:
            index.close()

    return ingest


def search(folder: Path) -> Callable[[], object]:
    """Twenty questions to an index of 1,000 chunks."""
    from contextive.search.answer import SearchRequest
    from contextive.search.service import SearchService
    from contextive.store import open_store

    build_store(folder / "state", 1_000)
    service = SearchService(open_store(folder / "state"), RandomEmbedder)
    asked = queries(20)
    return lambda: [service.search(SearchRequest(query)) for query in asked]


def notes(folder: Path) -> Callable[[], object]:
    """A page, its connections and a search, among 500 notes."""
    from contextive.ingest.notes_service import NotesService

    write_notes(folder / "project", 500)
    service = NotesService(folder / "project")

    def ask() -> object:
        view = service.view()
        note = view.catalog.newest_first[7]
        return service.page(note.slug), view.catalog.local_graph(note), view.catalog.index.search(note.title)

    return ask


OPERATIONS: Mapping[str, Callable[[Path], Callable[[], object]]] = {
    one.__name__: one for one in (trace_report, trace_again, first_ingest, search, notes)
}


def count_calls(name: str, folder: Path) -> int:
    operation = OPERATIONS[name](folder)
    operation()
    profile = cProfile.Profile()
    profile.runcall(operation)
    calls: int = pstats.Stats(profile).total_calls  # type: ignore[attr-defined] # in no stub
    return calls


if __name__ == "__main__":
    print(count_calls(sys.argv[1], Path(sys.argv[2])))
