"""What to know before touching a project, or one part of it: the places to read, each with its reason."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from contextive.errors import NotFound
from contextive.knowledge.node_ids import node_id
from contextive.knowledge.untested_subsystems import named_tests_of
from contextive.search.places import MAX_TEXT, MOST, Place, PlaceCollector, Surroundings

if TYPE_CHECKING:
    from contextive.ingest.notes_service import NotesService
    from contextive.ingest.trace_service import TraceService
    from contextive.knowledge.artifact import ArtifactType
    from contextive.knowledge.graph import Edge, Node
    from contextive.search.answer import SearchResult
    from contextive.search.direct_scan import UnindexedFiles
    from contextive.search.index import Index
    from contextive.search.requirement_search import RequirementSearch
    from contextive.search.service import SearchService
    from contextive.trace.catalog import TraceCatalog
    from contextive.trace.requirement import Requirement

_RESULTS: Final = 25
_SCAN_SECONDS: Final = 0.8
_SECTIONS: Final[Mapping[str, str]] = {"code": "code", "test": "tests", "proto": "code"}
"""The sections for types of files. All others are documents."""
_MAX_FILES: Final = 20_000
_MAX_SUBJECTS: Final = 60
_MAX_EDGES: Final = 100
_FIRST_CODE: Final = 5
"""The number of places of code that a search of everything gives, before the graph and further searches add to them."""
_CONNECTED: Final = 4
"""The most places of code that the graph adds to a task."""
_MAX_NAMED: Final = 8
"""The number of files for which tests with their names are looked up."""
_OVERVIEW_NAMES: Final = ("architecture", "design", "contributing", "overview", "index", "readme", "agents", "claude")
"""Stems of documents that introduce a project, the most useful first."""
_EDGES: Final = ("CALLS", "EXERCISES", "TESTS", "CITES", "LINKS_TO", "IMPORTS", "DESCRIBES", "VALIDATES")
_REASONS: Final[Mapping[tuple[str, bool], str]] = {
    ("CALLS", True): "calls it",
    ("CALLS", False): "is called by it",
    ("EXERCISES", True): "tests it",
    ("TESTS", True): "tests it",
    ("TESTS", False): "is tested by it",
    ("CITES", True): "implements it",
    ("CITES", False): "it implements this",
    ("LINKS_TO", True): "links to it",
    ("LINKS_TO", False): "it links to this",
    ("IMPORTS", True): "imports it",
    ("IMPORTS", False): "it imports this",
    ("DESCRIBES", True): "describes it",
    ("VALIDATES", True): "tests it",
}
"""Why a neighbour matters: by the type of the edge, and whether the edge leads to the subject."""


_WORD: Final = re.compile(r"[a-z0-9]{3,}")
_REQUIREMENT_CHUNK: Final = re.compile(r"r[0-9a-f]{12}")


@dataclass(frozen=True, slots=True)
class SpecificationProgress:
    """How far the requirements of a specification are implemented and tested."""

    name: str
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class Overview:
    """What a project is."""

    name: str
    summary: str | None
    languages: tuple[tuple[str, int], ...]
    subsystems: tuple[tuple[str, int], ...]
    specifications: tuple[SpecificationProgress, ...]
    read_first: tuple[Place, ...]
    broken: tuple[str, ...]


class Orientation:
    """Answers from the index, the requirements and the notes of one project, as far as they exist."""

    def __init__(
        self, index: Index, trace: TraceService, notes: NotesService, requirement_search: RequirementSearch
    ) -> None:
        self._index = index
        self._trace = trace
        self._notes = notes
        self._requirement_search = requirement_search

    @property
    def is_indexed(self) -> bool:
        return self._index.store.generation() > 0

    # The project

    def overview(self) -> Overview:
        """What the project is, how far its specifications are, what to read first, and what is broken."""
        files = tuple(self._index.store.files.artifacts(limit=_MAX_FILES)) if self.is_indexed else ()
        languages = Counter(row.artifact.language for row in files if row.artifact.language)
        subsystems = Counter(row.artifact.subsystem for row in files if row.artifact.subsystem)
        documents = [row.artifact.path for row in files if row.artifact.artifact_type == "doc"]
        catalog = self._trace.view().catalog
        return Overview(
            name=self._index.settings.root.name,
            summary=self._summary(),
            languages=tuple(languages.most_common(5)),
            subsystems=tuple((name, count) for name, count in subsystems.most_common(8) if name is not None),
            specifications=tuple(_specifications(catalog))[:6],
            read_first=tuple(self._read_first(documents))[:5],
            broken=tuple(self._broken(catalog)),
        )

    def _summary(self) -> str | None:
        """The first paragraph of the README, or the description in a manifest."""
        from contextive.workspace.files import FileText

        for name in ("README.md", "readme.md", "README.rst", "README.txt", "README"):
            content = self._trace.files.read(name)
            if isinstance(content, FileText) and (paragraph := first_paragraph(content.text)):
                return paragraph
        return None

    def _read_first(self, documents: Sequence[str]) -> Iterator[Place]:
        """The documents that introduce the project, and the notes that most others link to."""
        named = [(path, posixpath.splitext(posixpath.basename(path))[0].lower()) for path in documents]
        introducing = [
            (path.count("/"), _OVERVIEW_NAMES.index(stem), path) for path, stem in named if stem in _OVERVIEW_NAMES
        ]
        for _, _, path in sorted(introducing)[:3]:
            yield Place(path, "introduces the project")
        catalog = self._notes.view().catalog
        linked = sorted(
            ((len(catalog.backlinks(note)), note) for note in catalog.notes), key=lambda i: (-i[0], i[1].path)
        )
        for count, note in linked[:2]:
            if count:
                yield Place(note.path, f"{count} notes link to it", title=note.title)

    def _broken(self, catalog: TraceCatalog) -> Iterator[str]:
        """What is wrong now: citations, and the state of the index."""
        invalid = catalog.invalid
        if invalid:
            citation = invalid[0][0]
            yield f"{len(invalid)} invalid citations, the first at {citation.source}:{citation.line}"
        ##= docs/spec/host.md#orientation
        ##% Without an index, `orient` MUST answer with what is known and say so.
        if not self.is_indexed:
            yield "The project is not indexed yet, so code, documents and subsystems are missing here."
            return
        for problem in (self._index.embedding_problem(), self._index.watcher_problem()):
            if problem:
                yield problem
        if pending := self._index.as_of().pending_files:
            yield f"{pending} changed files are not indexed yet."

    # A part of it

    def task(self, task: str) -> Surroundings:
        """What a search finds for the task, and what the graph connects with the code that was found."""
        from contextive.search.answer import SearchRequest

        places = PlaceCollector()
        for requirement, where in self._requirements_about(task):
            places.add("requirements", Place(where, "matches", title=_requirement_title(requirement)))
        if (files := self._index.files_before_first_run()) is not None:
            return self._task_before_first_run(task, files, places)
        search = self._index.search  # checks once that the index is up to date
        response = search.search(SearchRequest(query=task, limit=_RESULTS, include_graph=False))
        note_paths = {note.path for note in self._notes.view().catalog.notes}
        by_section: dict[str, list[SearchResult]] = {}
        for result in response.results:
            if (section := _section_of(result, note_paths)) is not None:
                by_section.setdefault(section, []).append(result)
        code = by_section.pop("code", [])
        places.add_all("code", map(_place_of, code[:_FIRST_CODE]))
        for section, results in by_section.items():
            places.add_all(section, map(_place_of, results[: MOST[section] // 2 + 1]))
        if response.results:
            self._add_connected(code, places)
            places.add_all("code", map(_place_of, [*code[_FIRST_CODE:], *_of_type(search, task, ("code", "proto"))]))
            places.add_all("tests", map(_place_of, [*by_section.get("tests", ()), *_of_type(search, task, ("test",))]))
        return places.result(response.metadata.warnings)

    ##= docs/spec/host.md#orientation
    ##% Without an index, `orient` MUST answer with what is known and say so.
    def _task_before_first_run(self, task: str, files: UnindexedFiles, places: PlaceCollector) -> Surroundings:
        """Passages of files that are read directly, within a second."""
        from contextive.search.direct_scan import ScanLimits
        from contextive.store.values import ChunkFilter

        scan = files.scan(task, ChunkFilter(), all_files=True, limits=ScanLimits(seconds=_SCAN_SECONDS))
        if scan is None:
            return places.result(())
        note_paths = {note.path for note in self._notes.view().catalog.notes}
        for number in sorted(scan.scores, key=lambda number: (-scan.scores[number], -number))[:_RESULTS]:
            row = scan.rows[number]
            path, lines = row.artifact.path, f"{row.chunk.line_start}-{row.chunk.line_end}"
            section = "notes" if path in note_paths else _SECTIONS.get(row.artifact.artifact_type, "documents")
            places.add(section, Place(path, "matches", lines, row.chunk.title[:MAX_TEXT] or None))
        return places.result((scan.warning(),))

    def _add_connected(self, code: Sequence[SearchResult], places: PlaceCollector) -> None:
        """Add what is connected with the best code: its callers and what it calls, tests named after it, and its tests."""
        subjects = [node_id("Symbol", s.symbol.id) for result in code[:_FIRST_CODE] for s in result.chunk.symbols]
        subjects = subjects[:_MAX_SUBJECTS]
        self._add_neighbours(subjects, places, only=("CALLS",), most=_CONNECTED)
        for path in self._named_tests(places.paths("code")):
            places.add("tests", Place(path, "is named after it"))
        self._add_neighbours(subjects, places, only=("EXERCISES", "TESTS", "CITES", "LINKS_TO"))

    def _named_tests(self, code: Sequence[str]) -> list[str]:
        rows = self._index.store.files.artifacts(limit=_MAX_FILES)
        tests = [row.artifact.path for row in rows if row.artifact.artifact_type == "test"]
        return [path for one in code[:_MAX_NAMED] for path in named_tests_of(one, tests)[:2]]

    def _requirements_about(self, task: str) -> Iterator[tuple[Requirement, str]]:
        """The requirements that a task means, each with where it is."""
        catalog = self._trace.view().catalog
        for requirement in self._requirement_search.search(catalog, task).requirements[: MOST["requirements"]]:
            entry = catalog.entry_of(requirement.target)
            path = catalog.file_of(entry) or entry.target.path
            yield requirement, f"{path}#{requirement.section.id}"

    def path(self, path: str) -> Surroundings:
        """What is connected with a file or directory. Raises NotFound for a path that is not indexed."""
        self._index.ensure_fresh()
        files = self._index.store.files
        path = posixpath.normpath(path).removeprefix("./")
        found = [path] if files.artifact(path) is not None else []
        if not found:
            rows = files.artifacts(limit=_MAX_FILES)
            found = [row.artifact.path for row in rows if row.artifact.path.startswith(f"{path}/")]
        if not found:
            raise NotFound("No file with this path is indexed.", hint="Give a path from the project's directory.")
        subjects: list[str] = []
        for one in found[:_MAX_SUBJECTS]:
            subjects += [node.id for node in self._nodes_of_file(one)]
            subjects += [node_id("Symbol", symbol.id) for _, symbol in files.symbols(one)]
        places = PlaceCollector(inside=frozenset(found))
        self._add_neighbours(subjects[: 4 * _MAX_SUBJECTS], places)
        return places.result(())

    def symbol(self, name: str) -> Surroundings:
        """Where a symbol is declared, and what is connected with it. Raises NotFound for an unknown name."""
        self._index.ensure_fresh()
        bare = name.rpartition("::")[2].rpartition(".")[2]
        known = [
            (path, symbol)
            for path, symbol in self._index.store.files.symbols_named([bare])
            if name in (symbol.id, symbol.name) or f".{symbol.qualified_name}".endswith(f".{name}")
        ]
        if not known:
            raise NotFound(
                f"No symbol is called {name[:100]}.", hint="Give a name such as Class.method, or search for it."
            )
        places = PlaceCollector()
        for path, symbol in known[: MOST["code"]]:
            lines = f"{symbol.line_start}-{symbol.line_end}"
            places.add("code", Place(path, "declares it", lines, f"{symbol.kind} {symbol.qualified_name}"))
        self._add_neighbours([node_id("Symbol", symbol.id) for _, symbol in known[:_MAX_SUBJECTS]], places)
        return places.result(())

    def _nodes_of_file(self, path: str) -> Iterable[Node]:
        wanted = [node_id(label, path) for label in ("SourceFile", "TestCase", "DesignDoc", "ConfigFile")]
        return self._index.store.graph.nodes(wanted).values()

    def _add_neighbours(
        self, subjects: Sequence[str], places: PlaceCollector, only: Sequence[str] = _EDGES, most: int = _MAX_EDGES
    ) -> None:
        """Add the nodes at the other ends of the subjects' edges, those with the most common words first; of code, only
        so many."""
        store, inside = self._index.store, frozenset(subjects)
        edges = store.graph.expand(sorted(inside), only, "both", _MAX_EDGES) if subjects else ()
        found: dict[str, list[tuple[str, int]]] = {}
        for edge in edges:
            other, reason = _other_end(edge, inside)
            if other is not None and reason is not None:
                found.setdefault(other, []).append((reason, edge.line if edge.target in inside else 0))
        words = _words(" ".join(subjects))
        ordered = sorted(found, key=lambda other: (-len(words & _words(other)), -len(found[other]), other))[:200]
        nodes = store.graph.nodes(ordered)
        for other in ordered:
            if other in nodes:
                reason, line = Counter(found[other]).most_common(1)[0][0]
                most -= places.add_node(nodes[other], reason, line)
            if most <= 0:
                break


def _of_type(search: SearchService, task: str, types: tuple[ArtifactType, ...]) -> Sequence[SearchResult]:
    """What a search in files of some types alone finds."""
    from contextive.search.answer import SearchRequest
    from contextive.search.filters import ParsedFilters
    from contextive.store.values import ChunkFilter

    filters = ParsedFilters(ChunkFilter(artifact_types=types))
    request = SearchRequest(query=task, limit=12, include_graph=False, filters=filters, only_relevant=False)
    return search.search(request).results


def _specifications(catalog: TraceCatalog) -> Iterator[SpecificationProgress]:
    """The specifications that have requirements, those with the most open ones first."""
    from contextive.trace.requirement import StatusSummary

    found = [
        (catalog.entry_of(target).name, StatusSummary.of(report.requirements))
        for target, report in catalog.analysis.reports.items()
        if report.requirements
    ]
    for name, summary in sorted(found, key=lambda item: (item[1].done - item[1].total, item[0])):
        yield SpecificationProgress(name[:MAX_TEXT], summary.done, summary.total)


def first_paragraph(text: str) -> str | None:
    """The first paragraph of prose of a README, without headings, badges and HTML, on one line."""
    for block in text[:20_000].replace("\r\n", "\n").split("\n\n"):
        lines = [line.strip() for line in block.strip().split("\n")]
        prose = [line for line in lines if line and line[0] not in "#<!=-~.:|[`>*"]
        joined = " ".join(prose)
        if len(joined) >= 20 and " " in joined:
            return joined if len(joined) <= 2 * MAX_TEXT else joined[: 2 * MAX_TEXT].rsplit(" ", 1)[0] + "…"
    return None


def _section_of(result: SearchResult, note_paths: Collection[str]) -> str | None:
    """The section for a search result; None for a requirement, which the search of requirements finds better."""
    chunk = result.chunk
    if _REQUIREMENT_CHUNK.fullmatch(chunk.chunk_id.rpartition("::")[2]):
        return None
    if chunk.artifact_path in note_paths:
        return "notes"
    return _SECTIONS.get(chunk.artifact_type, "documents")


def _requirement_title(requirement: Requirement) -> str:
    return f"{requirement.handle or requirement.identifier[:8]} {' '.join(requirement.text.split())[:MAX_TEXT]}"


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.lower()))


def _place_of(result: SearchResult) -> Place:
    chunk = result.chunk
    return Place(chunk.artifact_path, "matches", f"{chunk.line_start}-{chunk.line_end}", chunk.title[:MAX_TEXT] or None)


def _other_end(edge: Edge, inside: frozenset[str]) -> tuple[str | None, str | None]:
    """The end of an edge that is not a subject, and why it matters."""
    if edge.target in inside and edge.source not in inside:
        return edge.source, _REASONS.get((edge.type, True))
    if edge.source in inside and edge.target not in inside:
        return edge.target, _REASONS.get((edge.type, False))
    return None, None
