"""Code: the source tree with its citations, and a file with the requirements it cites in the margin."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from contextive.errors import ContextiveError, NotFound
from contextive.ingest.trace_service import TraceView
from contextive.packs.trace.cited_code import type_word
from contextive.trace.code_below import shown_line
from contextive.trace.level import CitationType
from contextive.trace.ranking import STATUS_WORDS
from contextive.web.addresses import FILE_LINES, file_address, requirement_address, with_query
from contextive.web.highlighting import Token, highlight
from contextive.web.page import Page, Parameters
from contextive.web.project import SiteProject
from contextive.workspace.files import FileText, ProjectFiles

_TESTING: Final = (CitationType.TEST,)


@dataclass(frozen=True, slots=True)
class Entry:
    """A directory or a file of the tree."""

    name: str
    address: str
    is_directory: bool
    files: int
    cited_files: int
    code: int
    tests: int
    invalid: int


@dataclass(frozen=True, slots=True)
class Crumb:
    name: str
    address: str


@dataclass(frozen=True, slots=True)
class Directory:
    path: str
    crumbs: tuple[Crumb, ...]
    entries: tuple[Entry, ...]
    note: str


@dataclass(frozen=True, slots=True)
class MarginItem:
    """A requirement that a line of code cites."""

    kind: str
    status: str
    text: str
    address: str


@dataclass(frozen=True, slots=True)
class SourceLine:
    number: int
    tokens: tuple[Token, ...]
    margin: tuple[MarginItem, ...]


@dataclass(frozen=True, slots=True)
class SourcePage:
    path: str
    crumbs: tuple[Crumb, ...]
    lines: tuple[SourceLine, ...]
    total_lines: int
    citations: int
    editor: str | None
    graph: str
    previous: str
    next: str


def code(project: SiteProject, given: Parameters) -> Page:
    """A directory, or a part of a file. Only files of the index are shown, so no ignored and no secret one."""
    path = given.get("path", "").strip("/")
    view = project.view()
    known, note = _known_files(project, view)
    if path in known:
        return _file(project, view, path, given)
    inside = [name for name in known if not path or name.startswith(f"{path}/")]
    if path and not inside:
        raise NotFound("This file is not in the index.", hint="Ignored, secret and generated files are not shown.")
    content = Directory(path, tuple(_crumbs(path)), tuple(_entries(view, path, inside)), note)
    return Page("directory.html", path or "Code", content, "code")


def _known_files(project: SiteProject, view: TraceView) -> tuple[frozenset[str], str]:
    """The files that may be shown, and what to know about them."""
    try:
        return frozenset(project.index().store.files.ledger()), ""
    except ContextiveError as error:
        cited = frozenset(citation.source for citation in view.catalog.analysis.citations if citation.base is None)
        return cited, f"Only files with citations are shown. {error.full_message()}"


def _crumbs(path: str) -> Iterator[Crumb]:
    parts = path.split("/") if path else []
    for number, name in enumerate(parts, 1):
        yield Crumb(name, file_address("/".join(parts[:number])))


def _entries(view: TraceView, path: str, inside: Iterable[str]) -> Iterator[Entry]:
    """What a directory contains, directories first."""
    code, tests, invalid = _counts(view)
    start = len(path) + 1 if path else 0
    grouped: dict[str, list[str]] = {}
    for name in inside:
        first, slash, _ = name[start:].partition("/")
        grouped.setdefault(first + slash, []).append(name)
    for name, files in sorted(grouped.items(), key=lambda item: (not item[0].endswith("/"), item[0].lower())):
        yield Entry(
            name=name,
            address=file_address(f"{path}/{name}".strip("/")),
            is_directory=name.endswith("/"),
            files=len(files),
            cited_files=sum(bool(code[file] or tests[file]) for file in files),
            code=sum(code[file] for file in files),
            tests=sum(tests[file] for file in files),
            invalid=sum(invalid[file] for file in files),
        )


def _counts(view: TraceView) -> tuple[Counter[str], Counter[str], Counter[str]]:
    """The citations in code, in tests and the invalid ones, by file."""
    valid = [item.citation for item in view.catalog.analysis.matched if item.citation.type is not CitationType.SPEC]
    return (
        Counter(citation.source for citation in valid if citation.type not in _TESTING),
        Counter(citation.source for citation in valid if citation.type in _TESTING),
        Counter(citation.source for citation, _ in view.catalog.invalid),
    )


def _file(project: SiteProject, view: TraceView, path: str, given: Parameters) -> Page:
    content = ProjectFiles.bounded(project.trace.files.root).read(path)
    if not isinstance(content, FileText):
        raise NotFound(f"This file cannot be shown: {content.reason}.", hint="Open it in an editor.")
    lines = content.text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    wanted = int(text) if (text := given.get("line", "")).isascii() and text.isdigit() and len(text) < 9 else 1
    start = max(0, min(wanted - 1, len(lines) - 1)) // FILE_LINES * FILE_LINES
    margin = _margin(view, path)
    end = start + FILE_LINES
    page = SourcePage(
        path=path,
        crumbs=tuple(_crumbs(path)),
        lines=tuple(
            SourceLine(number, tuple(highlight(shown_line(line), path)), tuple(margin.get(number, ())))
            for number, line in enumerate(lines[start:end], start + 1)
        ),
        total_lines=len(lines),
        citations=sum(map(len, margin.values())),
        editor=project.links.link(path, wanted, wanted),
        graph=with_query("/graph", {"node": f"File:{path}"}),
        previous=with_query(file_address(path), {"line": start - FILE_LINES + 1}) if start else "",
        next=with_query(file_address(path), {"line": end + 1}) if end < len(lines) else "",
    )
    return Page("file.html", path.rpartition("/")[2], page, "code")


def _margin(view: TraceView, path: str) -> Mapping[int, list[MarginItem]]:
    """What the lines of a file cite, by line."""
    found: dict[int, list[MarginItem]] = {}
    for entry in view.catalog.citations:
        citation, requirement = entry.citation, entry.requirement
        if citation.source == path and citation.base is None and requirement is not None:
            specification = view.catalog.entry_of(requirement.target)
            item = MarginItem(
                type_word(citation),
                STATUS_WORDS[requirement.status],
                requirement.text,
                requirement_address(requirement, specification.id),
            )
            found.setdefault(citation.line, []).append(item)
    for citation, problem in view.catalog.invalid:
        if citation.source == path:
            found.setdefault(citation.line, []).append(MarginItem("invalid", "invalid", problem.message, "/findings"))
    return found
