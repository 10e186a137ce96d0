"""The code around a citation in the HTML report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from contextive.trace.reports.markup import escaped
from contextive.trace.reports.safe_text import shorten

_MAX_CODE_LINES = 40
_MAX_LINE_LENGTH = 400
_CITED_LINES = ' class="on"'


@dataclass(frozen=True, slots=True)
class CodeExcerpt:
    """Consecutive lines of a file, and the number of the first."""

    first: int
    lines: Sequence[str]


def code_block(code: CodeExcerpt, cited: range) -> str:
    """The code as HTML, with the cited lines marked; empty if there is no code."""
    lines = code.lines[:_MAX_CODE_LINES]
    if not lines:
        return ""
    first = code.first
    numbers = "\n".join(map(str, range(first, first + len(lines))))
    begin = cited.start - first if cited.start > first else 0
    end = cited.stop - first if cited.stop > first else 0
    return (
        '<pre class="code" tabindex="0" aria-label="Code">'
        f'<span class="numbers" aria-hidden="true">{numbers}</span><span class="lines">'
        f"{_runs(lines, begin, end)}</span></pre>"
    )


def _runs(lines: Sequence[str], begin: int, end: int) -> str:
    """The lines as HTML, with those from `begin` to `end` marked."""
    runs = ((lines[:begin], ""), (lines[begin:end], _CITED_LINES), (lines[end:], ""))
    return "".join([f"<span{css}>{_text(run)}\n</span>" for run, css in runs if run])


def _text(lines: Sequence[str]) -> str:
    """Some lines as HTML. They are escaped as one text; the number of lines stays the same."""
    text = "\n".join(lines)
    # If all of them together are short, none of them is too long.
    if len(text) > _MAX_LINE_LENGTH or "\r" in text or text.count("\n") >= len(lines):
        text = "\n".join([shorten(line.rstrip("\r\n"), _MAX_LINE_LENGTH).replace("\n", " ") for line in lines])
    return escaped(text)
