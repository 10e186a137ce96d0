"""Wikilinks: `[[target]]`, `[[target|label]]`, `[[target#heading]]` and `![[embed]]`, outside code."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Literal

from contextive.notes.slug import normalise

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

LinkKind = Literal["note", "requirement", "file", "symbol"]

_LINK = re.compile(r"\[\[([^\[\]\r\n]{1,1000})\]\]")
_MARK = re.compile(r"\\.|`+|\[\[", re.DOTALL)
_BACKTICKS = re.compile(r"`+")
_LINE_END = re.compile(r"\r\n?|\n")
_MAY_HOLD_CODE = re.compile(r"`|~~~|^[ >*+\-0-9.)]*(?: {4}|\t)", re.MULTILINE)
_REQUIREMENT = re.compile(r"req:([0-9a-f]{8,128})", re.IGNORECASE)
_ATTACHMENT = re.compile(r".*\.(?!md\Z|markdown\Z)[a-z][a-z0-9]{0,7}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class NoteLink:
    """Where a link leads. `kind` says to what: another note, a requirement, a file or a symbol of the project."""

    kind: LinkKind
    target: str
    label: str | None = None
    heading: str | None = None
    embed: bool = False

    @property
    def written(self) -> str:
        """The target as an address in one word."""
        match self.kind:
            case "requirement":
                return f"req:{self.target}"
            case "symbol":
                return f"symbol:{self.target}"
            case "file" | "note":
                return self.target


@dataclass(frozen=True, slots=True)
class LinkPlace:
    """A link and where it stands in the text: the whole of it, and the name without heading and label."""

    link: NoteLink
    start: int
    end: int
    name_start: int
    name_end: int


def parse_links(content: str) -> tuple[NoteLink, ...]:
    """The links of a note's content, each target and heading once, in the order in which they are first seen."""
    found: dict[tuple[str, str, str | None], NoteLink] = {}
    for place in find_links(content):
        link = place.link
        target = normalise(link.target) if link.kind == "note" else link.target
        found.setdefault((link.kind, target, link.heading), link)
    return tuple(found.values())


def find_links(content: str) -> Iterator[LinkPlace]:
    """Every link in order, each time that it is written. A link to a heading of the same note has an empty target."""
    if "[[" not in content:
        return
    for start, end in _prose(content):
        yield from _links_within(content, start, end)


def _links_within(content: str, start: int, end: int) -> Iterator[LinkPlace]:
    spans: _Backticks | None = None
    position = start
    while (mark := _MARK.search(content, position, end)) is not None:
        position = mark.end()
        if mark[0][0] == "`":
            spans = spans or _Backticks(content, start, end)
            position = spans.end_of_span(mark.start(), mark.end())
        elif mark[0] == "[[":
            found = _LINK.match(content, mark.start(), end)
            if found is None:
                position = mark.start() + 1
            else:
                position = found.end()
                embed = mark.start() > start and content[mark.start() - 1] == "!"
                yield _place(found, embed)


def _place(found: re.Match[str], embed: bool) -> LinkPlace:
    inner = found[1]
    name, bar, label = inner.partition("|")
    if bar and name.endswith("\\"):  # how a bar is written inside a table
        name = name[:-1]
    target, hash_mark, heading = name.partition("#")
    if hash_mark and not heading.strip():  # a name such as C#
        target, heading = name, ""
    name_start = found.start(1) + len(target) - len(target.lstrip())
    name_end = name_start + len(target.strip())
    start = found.start() - 1 if embed else found.start()
    link = _link(target.strip(), label.strip() or None if bar else None, heading.strip() or None, embed)
    return LinkPlace(link, start, found.end(), name_start, name_end)


def _link(target: str, label: str | None, heading: str | None, embed: bool) -> NoteLink:
    if requirement := _REQUIREMENT.fullmatch(target):
        return NoteLink("requirement", requirement[1].lower(), label, heading, embed)
    scheme, colon, rest = target.partition(":")
    if colon and rest.strip():
        if scheme.lower() == "file":
            return NoteLink("file", rest.strip(), label, heading, embed)
        if scheme.lower() == "symbol" and "::" in rest:
            return NoteLink("symbol", rest.strip(), label, heading, embed)
    if embed and _ATTACHMENT.fullmatch(target):
        return NoteLink("file", target, label, heading, embed)
    return NoteLink("note", target, label, heading, embed)


@dataclass(slots=True, init=False)
class _Backticks:
    """The runs of backticks in one block, by length: a code span ends at the next run that is as long as its first."""

    starts: dict[int, list[int]]
    limit: int

    def __init__(self, content: str, start: int, end: int) -> None:
        self.starts, self.limit = {}, end
        for run in _BACKTICKS.finditer(content, start, end):
            self.starts.setdefault(len(run[0]), []).append(run.start())

    def end_of_span(self, start: int, end: int) -> int:
        """Where the code span ends that begins with this run; the end of the run itself where it begins none."""
        length = end - start
        candidates = self.starts.get(length, [])
        index = bisect_left(candidates, end)
        return candidates[index] + length if index < len(candidates) else end


def _prose(content: str) -> Iterator[tuple[int, int]]:
    """The stretches of text that are no block of code, each of which holds its code spans whole."""
    if _MAY_HOLD_CODE.search(content) is None:
        yield 0, len(content)
        return
    lines = [0, *(end.end() for end in _LINE_END.finditer(content)), len(content)]
    for token in _block_parser().parse(content):
        if token.type in ("inline", "html_block") and token.map is not None:
            first, last = token.map
            yield lines[min(first, len(lines) - 1)], lines[min(last, len(lines) - 1)]


@cache
def _block_parser() -> MarkdownIt:
    """A parser for block structure alone, loaded for the first note that holds code."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"maxNesting": 100})
    parser.core.ruler.disable(["inline", "text_join"])
    return parser
