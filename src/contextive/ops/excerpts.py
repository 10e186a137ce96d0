"""The code around citations, as reports show it."""

from __future__ import annotations

from collections.abc import Iterable

from contextive.trace.citation import Citation, Place
from contextive.workspace.files import FileText, ProjectFiles

_LINES_AFTER = 4


class Excerpts:
    """The lines around each citation. A file is cut into lines once, for all of its citations, and not kept."""

    def __init__(self, files: ProjectFiles, citations: Iterable[Citation]) -> None:
        self._files = files
        self._places: dict[str, set[tuple[int, int]]] = {}
        self._excerpts: dict[str, dict[tuple[int, int], list[tuple[int, str]]]] = {}
        for citation in citations:
            self._places.setdefault(citation.source, set()).add((citation.line, citation.end_line))

    def of(self, citation: Citation) -> list[tuple[int, str]]:
        """Each line with its number; none where the file cannot be read any more."""
        excerpts = self._excerpts.get(citation.source)
        if excerpts is None:
            excerpts = self._excerpts[citation.source] = self._cut(citation.source)
        return excerpts.get((citation.line, citation.end_line), [])

    def _cut(self, path: str) -> dict[tuple[int, int], list[tuple[int, str]]]:
        content = self._files.read(path)
        if not isinstance(content, FileText):
            return {}
        lines = content.text.split("\n")
        excerpts = {}
        for line, end_line in self._places.get(path, ()):
            first = max(line - 1 - 1, 0)
            last = min(max(end_line, line) + _LINES_AFTER, len(lines))
            excerpts[line, end_line] = [(number + 1, lines[number].rstrip("\r")) for number in range(first, last)]
        return excerpts


class Lines:
    """Single lines of files. Questions come file by file: the last one is kept in lines."""

    def __init__(self, files: ProjectFiles) -> None:
        self._files = files
        self._last: tuple[str, list[str]] = ("", [])

    def at(self, place: Place) -> str | None:
        """The line on which a place is, or None where there is no such line."""
        if place.path != self._last[0]:
            content = self._files.read(place.path)
            self._last = place.path, content.text.split("\n") if isinstance(content, FileText) else []
        lines = self._last[1]
        return lines[place.line - 1].rstrip("\r") if 0 < place.line <= len(lines) else None
