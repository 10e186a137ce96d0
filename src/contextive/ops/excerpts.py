"""The code around citations, as the HTML report shows it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import TypeAlias

from contextive.trace.citation import Citation
from contextive.trace.level import CitationType
from contextive.trace.reports.code import Code, code_block
from contextive.workspace.files import FileText, ProjectFiles

_LINES_AFTER = 4
Lines: TypeAlias = tuple[int, int]
"""The first line of a citation and its last one."""
Places: TypeAlias = Mapping[str, Collection[Lines]]
"""Where citations stand, by file."""
Blocks: TypeAlias = Mapping[str, Mapping[Lines, str]]
"""The code at such places, as HTML."""
NO_BLOCKS: Blocks = MappingProxyType({})


def places_of(citations: Iterable[Citation]) -> dict[str, set[Lines]]:
    """Where some citations stand, the requirements themselves aside: nobody shows code for those."""
    places: dict[str, set[Lines]] = {}
    for citation in citations:
        if citation.type is not CitationType.SPEC:
            places.setdefault(citation.source, set()).add((citation.line, citation.end_line))
    return places


class Excerpts:
    """The code at some places. A file is cut into lines once, for all of its citations, and not kept."""

    def __init__(self, files: ProjectFiles, places: Places, made: Blocks = NO_BLOCKS) -> None:
        """`made` are blocks that somebody has made already."""
        self._files = files
        self._places = places
        self._blocks = dict(made)

    def of(self, citation: Citation) -> str:
        """The code of a citation; none where the file cannot be read any more."""
        path, lines = citation.source, (citation.line, citation.end_line)
        blocks = self._blocks.get(path)
        if blocks is None:
            blocks = self._blocks[path] = self._cut(path, self._places.get(path, (lines,)))
        return blocks.get(lines, "")

    def all(self) -> dict[str, dict[Lines, str]]:
        """The code at all places."""
        return {path: self._cut(path, lines) for path, lines in self._places.items()}

    def _cut(self, path: str, places: Collection[Lines]) -> dict[Lines, str]:
        content = self._files.read(path)
        if not isinstance(content, FileText):
            return {}
        # What stands behind the last of them is not cut.
        lines = content.text.split("\n", max([max(place) for place in places], default=0) + _LINES_AFTER)
        blocks = {}
        for line, end_line in places:
            first = line - 2 if line > 2 else 0
            last = end_line if end_line > line else line
            code = Code(first + 1, lines[first : last + _LINES_AFTER])
            blocks[line, end_line] = code_block(code, range(line, last + 1))
        return blocks
