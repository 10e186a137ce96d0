"""The code around citations, for the HTML report."""

from __future__ import annotations

from collections.abc import Iterable

from contextive.trace.citation import Citation
from contextive.trace.level import CitationType
from contextive.trace.reports.code_excerpt import CodeExcerpt, code_block
from contextive.workspace.files import FileText, ProjectFiles

_LINES_BEFORE = 2
_LINES_AFTER = 4


def code_blocks(files: ProjectFiles, citations: Iterable[Citation]) -> dict[Citation, str]:
    """The code around each citation as HTML. Declared requirements and unreadable files are skipped."""
    by_file: dict[str, list[Citation]] = {}
    for citation in citations:
        if citation.type is not CitationType.SPEC:
            by_file.setdefault(citation.source, []).append(citation)
    blocks: dict[Citation, str] = {}
    for path, cited in by_file.items():
        content = files.read(path)
        if isinstance(content, FileText):
            lines = content.text.split("\n")
            blocks |= {citation: _code_block(citation, lines) for citation in cited}
    return blocks


def _code_block(citation: Citation, lines: list[str]) -> str:
    first = max(citation.line - _LINES_BEFORE, 0)
    last = max(citation.line, citation.end_line)
    return code_block(CodeExcerpt(first + 1, lines[first : last + _LINES_AFTER]), range(citation.line, last + 1))
