"""The code around citations, as reports show it."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from operator import attrgetter

from contextive.trace.citation import Citation
from contextive.trace.reports.code import NO_CODE, Code
from contextive.workspace.files import FileText, ProjectFiles

_LINES_AFTER = 4


class Excerpts:
    """The lines around each citation. A file is cut into lines once, for all of its citations, and not kept."""

    def __init__(self, files: ProjectFiles, citations: Iterable[Citation]) -> None:
        self._files = files
        self._citations: dict[str, list[Citation]] = {}
        self._excerpts: dict[str, dict[tuple[int, int], Code]] = {}
        for source, together in groupby(citations, attrgetter("source")):
            self._citations.setdefault(source, []).extend(together)

    def of(self, citation: Citation) -> Code:
        """The code of a citation; none where the file cannot be read any more."""
        excerpts = self._excerpts.get(citation.source)
        if excerpts is None:
            excerpts = self._excerpts[citation.source] = self._cut(citation.source)
        return excerpts.get((citation.line, citation.end_line), NO_CODE)

    def _cut(self, path: str) -> dict[tuple[int, int], Code]:
        content = self._files.read(path)
        if not isinstance(content, FileText):
            return {}
        places = [(citation.line, citation.end_line) for citation in self._citations.get(path, ())]
        # What stands behind the last of them is not cut.
        lines = content.text.split("\n", max([max(place) for place in places], default=0) + _LINES_AFTER)
        excerpts = {}
        for line, end_line in places:
            first = line - 2 if line > 2 else 0
            last = end_line if end_line > line else line
            excerpts[line, end_line] = Code(first + 1, lines[first : last + _LINES_AFTER])
        return excerpts
