"""Which code each document is about, and which of it changed after the document."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from contextive.knowledge.artifact import Artifact
from contextive.knowledge.graph import Edge
from contextive.knowledge.languages import suffix_of
from contextive.knowledge.symbol import Symbol

MAX_PLACES: Final = 200
"""The limit of places of code that are considered for one document."""
_SECONDS_PER_DAY: Final = 86_400
_MARKUP: Final = frozenset({"md", "markdown", "mdx", "rst", "adoc", "asciidoc"})
_SMALL_CLASS: Final = 150
_NOT_DESIGN = re.compile(
    r"""(?:un)?licen[cs]es?|copying|copyright|notice|patents|authors|contributors|maintainers|owners|codeowners|credits|thanks
      |(?:code[-_ ]?of[-_ ]?)?conduct|(?:.*[-_])?change[-_ ]?logs?|changes|history|news|release[-_ ]?notes|todo
      |.*[-_]template|robots|humans|cname|requirements""",
    re.VERBOSE,
)
"""Names of files that are read by lawyers, hosts and tools, or that record changes."""
_RECORD = re.compile(r"(?:upgrad|migrat)(?:e|ing|ion)?(?:[-_ .].*)?")
_RECORD_FOLDERS: Final = frozenset(
    {"adr", "adrs", "archive", "archived", "blog", "decisions", "posts", "proposals", "rfc", "rfcs"}
)
"""What records a moment of the past is not updated when code changes."""
_VERSION = re.compile(r"_{0,2}version_{0,2}\.\w+")
_ENTRY_POINTS = re.compile(
    r"readme(?:[._-].*)?|index|_index|_sidebar|contributing|security|support|governance|funding|agents|claude|gemini|skill|summary"
)
"""Names of documents that readers and tools find without a link."""


@dataclass(frozen=True, slots=True)
class CodePlace:
    """Code that a document links to or describes: a file, or the lines of a symbol."""

    path: str
    name: str
    lines: tuple[tuple[int, int], ...] | None = None
    """The first and last lines of its parts; None for the whole file."""

    def contains(self, start: int, end: int) -> bool:
        """Whether some lines are in this code, at least in part."""
        return self.lines is None or any(first <= end and start <= last for first, last in self.lines)


ChangedPlaces = Callable[[str, Sequence[CodePlace]], Sequence[CodePlace]]
"""Those of some places whose code changed since a commit."""


@dataclass(frozen=True, slots=True)
class StaleDocument:
    """A document that is behind the code it is about."""

    artifact: Artifact
    changed: tuple[CodePlace, ...]


def is_design_document(artifact: Artifact) -> bool:
    """Whether a file is a document about the project, as opposed to a license, a record or data."""
    if artifact.artifact_type != "doc":
        return False
    name = posixpath.basename(artifact.path)
    stem, suffix = posixpath.splitext(name.lower())[0], suffix_of(name)
    if _NOT_DESIGN.fullmatch(stem) or stem.startswith(("license", "licence")):
        return False
    has_heading = artifact.title != name
    return suffix in _MARKUP or (suffix == "txt" and has_heading)


def is_entry_point(path: str) -> bool:
    """Whether a document is found without a link, such as a README."""
    return _ENTRY_POINTS.fullmatch(posixpath.splitext(posixpath.basename(path).lower())[0]) is not None


##= docs/spec/gateway.md#km-lifecycle-report
##% A document MUST be reported as stale only if its last commit is older than `knowledge.staleDays` and code that it
##% describes or links to changed after it.
def stale_documents(
    artifacts: Collection[Artifact],
    links: Iterable[Edge],
    symbols: Mapping[str, Sequence[Symbol]],
    now: float,
    stale_days: int,
    changed_places: ChangedPlaces,
) -> tuple[StaleDocument, ...]:
    """The documents that are behind their code, oldest first. Files unknown to git are never stale.

    `links` are the edges from documents, `symbols` those of each file by path.
    """
    old = [
        artifact
        for artifact in artifacts
        if artifact.git is not None
        and artifact.git.timestamp < now - stale_days * _SECONDS_PER_DAY
        and is_design_document(artifact)
        and not _is_record(artifact.path)
    ]
    places = _places_by_document(old, artifacts, links, symbols)
    code = {artifact.path: artifact for artifact in artifacts if artifact.artifact_type in ("code", "proto")}
    found: list[StaleDocument] = []
    for document in sorted(old, key=lambda artifact: (artifact.git and artifact.git.timestamp, artifact.path)):
        newer = [place for place in places.get(document.path, ()) if _is_newer(code.get(place.path), document)]
        if newer and document.git and (changed := changed_places(document.git.commit, newer[:MAX_PLACES])):
            found.append(StaleDocument(document, tuple(changed)))
    return tuple(found)


def _is_newer(code: Artifact | None, document: Artifact) -> bool:
    if code is None or code.git is None or document.git is None:
        return False
    return code.git.timestamp > document.git.timestamp


def _places_by_document(
    documents: Iterable[Artifact],
    artifacts: Iterable[Artifact],
    links: Iterable[Edge],
    symbols: Mapping[str, Sequence[Symbol]],
) -> dict[str, list[CodePlace]]:
    found: dict[str, list[CodePlace]] = {}
    for edge in sorted(links):
        label, _, path = edge.source.partition(":")
        if label == "DesignDoc" and (place := _place(edge.target, symbols)) is not None:
            found.setdefault(path, []).append(place)
    members: dict[str, list[str]] = {}
    for artifact in artifacts:
        if artifact.subsystem and artifact.artifact_type in ("code", "proto"):
            members.setdefault(artifact.subsystem, []).append(artifact.path)
    for document in documents:
        described = members.get(document.subsystem or "", [])
        # A document in the directories of a subsystem got it from its path. That alone says little.
        if not any(_is_around(document.path, path) for path in described):
            found.setdefault(document.path, []).extend(CodePlace(path, path) for path in sorted(described))
    return found


def _is_record(path: str) -> bool:
    *folders, name = path.lower().split("/")
    return not _RECORD_FOLDERS.isdisjoint(folders) or _RECORD.fullmatch(posixpath.splitext(name)[0]) is not None


def _is_around(document: str, code: str) -> bool:
    """Whether a document and code are in the same top directory."""
    top, slash, _ = document.partition("/")
    return bool(slash) and code.startswith(f"{top}/")


def _place(target: str, symbols: Mapping[str, Sequence[Symbol]]) -> CodePlace | None:
    label, _, key = target.partition(":")
    if label == "SourceFile":
        return None if _VERSION.fullmatch(posixpath.basename(key)) else CodePlace(key, key)
    if label != "Symbol":
        return None
    path = key.partition("::")[0]
    declared = symbols.get(path, ())
    symbol = next((symbol for symbol in declared if symbol.id == key), None)
    return CodePlace(path, key, tuple(_lines_of(symbol, declared))) if symbol is not None else None


def _lines_of(symbol: Symbol, declared: Iterable[Symbol]) -> Iterator[tuple[int, int]]:
    """The lines that a document about a symbol describes: of a large class, those outside of its methods."""
    if symbol.kind in ("function", "method") or symbol.line_end - symbol.line_start < _SMALL_CLASS:
        yield symbol.line_start, symbol.line_end
        return
    start = symbol.line_start
    inner = [other for other in declared if symbol.line_start < other.line_start and other.line_end <= symbol.line_end]
    for other in sorted(inner, key=lambda other: other.line_start):
        if other.line_start >= start:
            yield start, other.line_start
            start = other.line_end + 1
    if start <= symbol.line_end:
        yield start, symbol.line_end
