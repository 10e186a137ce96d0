"""The lines of a Markdown file, its headings, and its sections, as the readers of spec-driven formats use them.

Files of these formats are read line by line, because a Markdown parser does not know `- [ ]* Task`, and because people
who write them do not think in Markdown's rules for lists.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from contextive.trace.formats.values import UnreadLine
from contextive.trace.specification import Format, Section, Specification, SpecLine, slug, unique_section_id
from contextive.trace.text import SourceText, split_lines, trim

_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]|\Z)")
_FENCE = re.compile(r"\s*(?:[-*+] +|\d{1,9}[.)] +)?(`{3,}|~{3,})")
_EMPHASIS = "*_"
_BYTE_ORDER_MARK = "\ufeff"


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a file. `is_code` lines are in a fence or in a comment of several lines."""

    number: int
    start: int
    text: str
    is_code: bool

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    @property
    def indent(self) -> int:
        """The number of columns before the text; a tab counts as four."""
        before = self.text[: len(self.text) - len(self.text.lstrip(" \t"))]
        return len(before) + 3 * before.count("\t")


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading in the form `## Title`, and the index of its line."""

    index: int
    level: int
    title: str
    line: Line


@dataclass(frozen=True)
class Document:
    """A file as lines and headings."""

    path: str
    text: str
    lines: Sequence[Line]
    headings: Sequence[Heading]
    unclosed_line: int | None
    """The line of a fence or a comment that is not closed, so that everything after it counts as code."""

    @staticmethod
    def parse(path: str, text: str) -> Document:
        lines, unclosed_line = _lines(text)
        return Document(path, text, lines, tuple(_headings(lines)), unclosed_line)

    @cached_property
    def source(self) -> SourceText:
        return SourceText(self.text)

    @cached_property
    def headings_by_index(self) -> dict[int, Heading]:
        return {heading.index: heading for heading in self.headings}

    def end_of(self, heading: Heading) -> int:
        """The index of the line after a heading's text: that of the next heading that is not deeper."""
        return self._ends[heading.index]

    def unread(self) -> tuple[UnreadLine, ...]:
        """The problem that the whole file has, if any."""
        if self.unclosed_line is None:
            return ()
        return (UnreadLine(self.path, self.unclosed_line, "this code block or comment is not closed"),)

    @cached_property
    def _ends(self) -> dict[int, int]:
        """The end of each heading, found in one pass from the last to the first."""
        ends: dict[int, int] = {}
        next_at = [len(self.lines)] * 7
        for heading in reversed(self.headings):
            ends[heading.index] = min(next_at[1 : heading.level + 1])
            next_at[heading.level] = heading.index
        return ends


def _lines(text: str) -> tuple[tuple[Line, ...], int | None]:
    """The lines of a text, and the line of a fence or a comment that is not closed."""
    lines: list[Line] = []
    fence, in_comment, opened = "", False, 0
    starts, contents = split_lines(text)
    for number, (start, content) in enumerate(zip(starts, contents, strict=True), 1):
        if number == 1 and content.startswith(_BYTE_ORDER_MARK):
            start, content = start + 1, content[1:]
        found = _FENCE.match(content) if "```" in content or "~~~" in content else None
        is_code = in_comment or bool(fence)
        if in_comment:
            in_comment = "-->" not in content
        elif fence:
            fence = "" if found is not None and _closes(found, content, fence) else fence
        elif found is not None and "`" not in content[found.end() :]:
            fence, opened, is_code = found[1], number, True
        elif content.lstrip(" \t").startswith("<!--") and "-->" not in content:
            in_comment, opened, is_code = True, number, True
        lines.append(Line(number, start, content, is_code))
    return tuple(lines), opened if in_comment or fence else None


def _closes(found: re.Match[str], content: str, fence: str) -> bool:
    return found[1][0] == fence[0] and len(found[1]) >= len(fence) and not trim(content[found.end() :])


def _headings(lines: Sequence[Line]) -> Iterator[Heading]:
    for index, line in enumerate(lines):
        if line.is_code or "#" not in line.text[:4]:
            continue
        found = _HEADING.match(line.text)
        if found is not None:
            yield Heading(index, len(found[1]), heading_title(line.text[found.end() :]), line)


def heading_title(text: str) -> str:
    """The text of a heading without its closing number signs."""
    text = trim(text)
    closed = text.rstrip("#")
    return trim(closed) if closed != text and (not closed or closed[-1] in " \t") else text


def plain(text: str) -> str:
    """A title or label without the emphasis around it."""
    return trim(trim(text).strip(_EMPHASIS))


def text_of(lines: Sequence[Line]) -> str:
    """The trimmed lines joined with one space; empty lines are left out."""
    return " ".join([text for line in lines if (text := trim(line.text))])


def sectioned(document: Document, folded: Collection[int]) -> tuple[Specification, dict[int, str]]:
    """The sections of a document, and the id of the section of each heading's line.

    A heading in `folded`, given by the index of its line, is text of the section before it. The id that its own section
    would have is another name of that section.
    """
    sections: dict[str, Section] = {}
    aliases: dict[str, str] = {}
    counters: dict[str, int] = {}
    names: dict[str, None] = {}
    section_of: dict[int, str] = {}
    title = next((heading.title for heading in document.headings if heading.level == 1), None)
    starts = [heading for heading in document.headings if heading.index not in folded]
    current = ""
    positions = {heading.index: position for position, heading in enumerate(starts)}
    for heading in document.headings:
        name = unique_section_id(slug(heading.title), names, counters)
        names[name] = None
        position = positions.get(heading.index)
        if position is None:
            aliases[name] = current
        else:
            end = starts[position + 1].index if position + 1 < len(starts) else len(document.lines)
            sections[name] = _section(document, heading, name, end)
            current = name
        section_of[heading.index] = current
    specification = Specification(
        document.source,
        Format.MARKDOWN,
        title,
        tuple(sections.values()),
        aliases={k: v for k, v in aliases.items() if v},
    )
    return specification, section_of


def _section(document: Document, heading: Heading, name: str, end: int) -> Section:
    first, last = heading.index + 1, end
    while first < last and not trim(document.lines[first].text):
        first += 1
    while last > first and not trim(document.lines[last - 1].text):
        last -= 1
    body = tuple([SpecLine(line.start, line.text) for line in document.lines[first:last]])
    start = heading.line.start + heading.line.text.find(heading.title) if heading.title else heading.line.start
    return Section(name, heading.title, start, heading.title, body, heading.level)
