"""Find the parts of a note that are prose, not code blocks.

In general this needs a Markdown parser. Most notes are so simple that scanning their lines gives the same result at a
tenth of the cost; all others go to the parser.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

TextRange = tuple[int, int]

_LINE_END = re.compile(r"\r\n?|\n")
_INDENTED = re.compile(r"^[ >*+\-0-9.)]*(?: {4}|\t)", re.MULTILINE)
_FENCE = re.compile(r"^(?:(`{3,})[^`\r\n]*|(~{3,})[^\r\n]*)$", re.MULTILINE)
_ANY_FENCE = re.compile(r"```|~~~")
_NOT_PLAIN = re.compile(r"\r|^ {0,3}<", re.MULTILINE)
_BACKTICKS = re.compile(r"`+")
_COMMENT = "%%"


def prose_ranges(content: str) -> Iterator[TextRange]:
    """The ranges of text outside code blocks and comments. A code span is either left out or completely in a range."""
    plain = _plain_prose(content)
    ranges = _parsed_prose(content) if plain is None else plain
    return _without_comments(content, list(ranges)) if _COMMENT in content else iter(ranges)


##= docs/spec/notes.md#links
##% A link in a comment between `%%` marks MUST NOT count.
def _without_comments(content: str, ranges: list[TextRange]) -> Iterator[TextRange]:
    """The ranges without the comments of Obsidian, which may span several ranges. A mark without a partner is text."""
    marks = [at for start, end in ranges for at in _positions(content, _COMMENT, start, end)]
    comments = iter([(first, second + len(_COMMENT)) for first, second in zip(marks[::2], marks[1::2], strict=False)])
    comment = next(comments, None)
    for start, end in ranges:
        position = start
        while comment is not None and comment[0] < end:
            if position < comment[0]:
                yield position, comment[0]
            position = max(position, comment[1])
            if comment[1] > end:
                break
            comment = next(comments, None)
        if position < end:
            yield position, end


def _positions(content: str, mark: str, start: int, end: int) -> Iterator[int]:
    at = content.find(mark, start, end)
    while at >= 0:
        yield at
        at = content.find(mark, at + len(mark), end)


def _plain_prose(content: str) -> list[TextRange] | None:
    """The ranges of a text without ambiguous parts; otherwise None."""
    if "```" not in content and "~~~" not in content:
        return _without_code_spans(content, 0, len(content))
    if _NOT_PLAIN.search(content):
        return None
    found: list[TextRange] = []
    position = 0
    while position < len(content):
        # A fence in the first column is not part of a list or quotation.
        opening = _FENCE.search(content, position)
        end = opening.start() if opening else len(content)
        if _ANY_FENCE.search(content, position, end):
            return None
        ranges = _without_code_spans(content, position, end)
        if ranges is None:
            return None
        found += ranges
        if opening is None:
            break
        mark = opening[1] or opening[2]
        closing = re.compile(rf"^ {{0,3}}{mark[0]}{{{len(mark)},}}[ \t]*$", re.MULTILINE).search(content, opening.end())
        position = closing.end() if closing else len(content)
    return found


def _without_code_spans(content: str, start: int, end: int) -> list[TextRange] | None:
    """A range without its code spans, or None if a line may be indented code or a span may cross lines."""
    may_be_indented = content.find("    ", start, end) >= 0 or content.find("\t", start, end) >= 0
    if may_be_indented and _INDENTED.search(content, start, end):
        return None
    found: list[TextRange] = []
    position = start
    tick = content.find("`", start, end)
    while tick >= 0:
        first = content.rfind("\n", start, tick) + 1
        last = content.find("\n", tick, end)
        last = end if last < 0 else last
        spans = _code_spans(content[first:last])
        if spans is None:
            return None
        for span_start, span_end in spans:
            found.append((position, first + span_start))
            position = first + span_end
        tick = content.find("`", last, end)
    found.append((position, end))
    return found


def _code_spans(line: str) -> list[TextRange] | None:
    """The code spans of a line, or None if one may continue on the next line."""
    if "\\" in line or "\r" in line or _has_code_in_link(line):
        return None
    found: list[TextRange] = []
    opening: TextRange | None = None
    for run in _BACKTICKS.finditer(line):
        if opening is None:
            opening = run.span()
        elif run.end() - run.start() == opening[1] - opening[0]:
            found.append((opening[0], run.end()))
            opening = None
    return found if opening is None else None


def _has_code_in_link(line: str) -> bool:
    """Whether a backtick follows `[[` before the link is closed."""
    return any(
        opening >= 0 and part.find("`", opening) >= 0 for part in line.split("]") for opening in (part.find("[["),)
    )


def _parsed_prose(content: str) -> Iterator[TextRange]:
    lines = [0, *(end.end() for end in _LINE_END.finditer(content)), len(content)]
    for token in _block_parser().parse(content):
        if token.type in ("inline", "html_block") and token.map is not None:
            first, last = token.map
            yield lines[min(first, len(lines) - 1)], lines[min(last, len(lines) - 1)]


@cache
def _block_parser() -> MarkdownIt:
    """A parser for block structure only, loaded for the first note that needs it."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"maxNesting": 100})
    parser.core.ruler.disable(["inline", "text_join"])
    return parser
