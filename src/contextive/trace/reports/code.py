"""Code around a citation, as the HTML report shows it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from contextive.trace.citation import Citation
from contextive.trace.reports.markup import escaped
from contextive.trace.reports.visible import shorten

_MAX_CODE_LINES = 40
_MAX_LINE_LENGTH = 400
_CITED_LINES = ' class="on"'


class Code(NamedTuple):
    """Some lines of a file that follow one another, and the number of the first."""

    first: int
    lines: Sequence[str]


CodeOf: TypeAlias = Callable[[Citation], str]
"""The code around a citation as HTML."""


def code_block(code: Code, cited: range) -> str:
    """The code as HTML, with the lines that are cited marked; nothing where there is none."""
    lines = code.lines[:_MAX_CODE_LINES]
    if not lines:
        return ""
    numbers = "\n".join(map(str, range(code.first, code.first + len(lines))))
    return (
        '<pre class="code" tabindex="0" aria-label="Code">'
        f'<span class="numbers" aria-hidden="true">{numbers}</span><span class="lines">'
        f"{_runs(lines, max(cited.start - code.first, 0), max(cited.stop - code.first, 0))}</span></pre>"
    )


def _runs(lines: Sequence[str], begin: int, end: int) -> str:
    """The lines as HTML, those from `begin` to `end` marked. They are escaped as one text, which keeps their number."""
    text = "\n".join(lines)
    if "\r" in text or text.count("\n") >= len(lines) or max(map(len, lines)) > _MAX_LINE_LENGTH:
        text = "\n".join([shorten(line.rstrip("\r\n"), _MAX_LINE_LENGTH).replace("\n", " ") for line in lines])
    shown = escaped(text).split("\n")
    runs = ((shown[:begin], ""), (shown[begin:end], _CITED_LINES), (shown[end:], ""))
    return "".join([f"<span{css}>" + "\n".join(run) + "\n</span>" for run, css in runs if run])
