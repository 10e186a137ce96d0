"""Split prose of any markup into one chunk per section, titled with the trail of headings that leads to it."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from contextive.knowledge.chunk import ChunkDraft
from contextive.knowledge.lines import MAX_CHUNK_CHARACTERS, TextLines, paragraph_cost, split_range
from contextive.knowledge.windows import cut_line

_MAX_TITLE = 300


@dataclass(frozen=True, slots=True)
class Heading:
    """The level, text and lines of a heading."""

    level: int
    text: str
    first: int
    stop: int


@dataclass(frozen=True, slots=True)
class Outline:
    """The structure of a document."""

    headings: Sequence[Heading]
    fenced: bytearray
    """For each line, whether it continues a block that should not be split."""
    body: int = 0
    """The line where the text starts, after front matter."""
    title: str = ""
    """The title in the front matter."""


def heading_text(text: str, mark: str) -> str:
    """The text of a heading without closing marks: `Title` for `Title ##`, but `C#` for `C#`."""
    text = text.rstrip(" \t")
    bare = text.rstrip(mark)
    return bare.rstrip(" \t") if bare.endswith((" ", "\t")) else text


def cut_sections(path: str, lines: TextLines, outline: Outline) -> Iterator[ChunkDraft]:
    """One chunk for each section, several for a long one. A heading without text joins the next section."""
    headings = outline.headings
    document = outline.title or next((heading.text for heading in headings if heading.level == 1 and heading.text), "")
    document = document or posixpath.splitext(posixpath.basename(path))[0]
    trail: list[Heading] = []
    pending: int | None = None
    sections = [Heading(0, "", outline.body, outline.body), *headings]
    for number, heading in enumerate(sections):
        stop = sections[number + 1].first if number + 1 < len(sections) else len(lines.items)
        while trail and trail[-1].level >= heading.level:
            trail.pop()
        if heading.text:
            trail.append(heading)
        start, end = lines.trim(heading.stop, stop)
        if start == end and number + 1 < len(sections):
            pending = heading.first if pending is None else pending
            continue
        first, stop = lines.trim(heading.first if pending is None else pending, stop)
        pending = None
        names = [document, *(above.text for above in trail)]
        if len(names) > 1 and names[0] == names[1]:
            del names[0]
        yield from _cut_section(lines, first, stop, outline.fenced, " > ".join(names)[:_MAX_TITLE])


def _cut_section(lines: TextLines, first: int, stop: int, fenced: bytearray, title: str) -> Iterator[ChunkDraft]:
    cost = paragraph_cost(lines, lambda at: bool(fenced[at]))
    for start, end in split_range(lines, first, stop, cost):
        start, end = lines.trim(start, end)
        if end == start + 1 and lines.size(start, end) > MAX_CHUNK_CHARACTERS:
            yield from cut_line(lines, start, title)
        elif start < end:
            yield ChunkDraft("prose", title, start, end, lines.text(start, end))
