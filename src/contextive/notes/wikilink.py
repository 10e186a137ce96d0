"""Wikilinks: `[[target]]`, `[[target|label]]`, `[[target#heading]]` and `![[embed]]`, outside code."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from contextive.notes.prose import prose_ranges
from contextive.notes.slug import link_key

LinkKind = Literal["note", "requirement", "file", "symbol"]

_LINK = re.compile(r"\[\[([^\[\]\r\n]{1,1000})\]\]")
_MARK = re.compile(r"\\.|`+|\[\[", re.DOTALL)
_BACKTICKS = re.compile(r"`+")
_REQUIREMENT = re.compile(r"req:([0-9a-f]{8,128})", re.IGNORECASE)
_ATTACHMENT = re.compile(r".*\.(?!md\Z|markdown\Z)[a-z][a-z0-9]{0,7}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class NoteLink:
    """The target of a link. `kind` says what it is: a note, a requirement, a file or a symbol of the project."""

    kind: LinkKind
    target: str
    label: str | None = None
    heading: str | None = None
    embed: bool = False

    @property
    def target_text(self) -> str:
        """The target with its prefix, if it has one."""
        match self.kind:
            case "requirement":
                return f"req:{self.target}"
            case "symbol":
                return f"symbol:{self.target}"
            case "file" | "note":
                return self.target


@dataclass(frozen=True, slots=True)
class LinkSpan:
    """A link and its position in the text: of the whole link, and of the name without heading and label."""

    link: NoteLink
    start: int
    end: int
    name_start: int
    name_end: int


def parse_links(content: str) -> tuple[NoteLink, ...]:
    """The links in a note's content, distinct by target and heading, in order of first appearance."""
    found: dict[tuple[str, str, str | None], NoteLink] = {}
    for written, embed in _link_matches(content):
        link = _parse_link(written[1], embed)
        target = link_key(link.target) if link.kind == "note" else link.target
        found.setdefault((link.kind, target, link.heading), link)
    return tuple(found.values())


##= docs/spec/notes.md#links
##% The text `[[target]]` outside code MUST be a link to the note whose slug, title, alias, file name or path is the
##% target.
def find_links(content: str) -> Iterator[LinkSpan]:
    """All occurrences of links, in order. A link to a heading of the same note has an empty target."""
    for written, embed in _link_matches(content):
        name = _parts(written[1])[0]
        name_start = written.start(1) + len(name) - len(name.lstrip())
        start = written.start() - 1 if embed else written.start()
        yield LinkSpan(_parse_link(written[1], embed), start, written.end(), name_start, name_start + len(name.strip()))


def _link_matches(content: str) -> Iterator[tuple[re.Match[str], bool]]:
    """The links as written, and whether each is an embed."""
    if "[[" not in content:
        return
    for start, end in prose_ranges(content):
        for found in _link_matches_within(content, start, end):
            yield found, found.start() > start and content[found.start() - 1] == "!"


def _link_matches_within(content: str, start: int, end: int) -> Iterator[re.Match[str]]:
    if content.find("[[", start, end) < 0:
        return
    if content.find("`", start, end) < 0 and content.find("\\", start, end) < 0:
        yield from _LINK.finditer(content, start, end)
        return
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
                yield found


##= docs/spec/notes.md#links
##% The label and the heading in a link MUST NOT change its target.
def _parts(inner: str) -> tuple[str, str | None, str | None]:
    """Target, heading and label of the text between the brackets, as written."""
    if "|" not in inner and "#" not in inner:
        return inner, None, None
    name, bar, label = inner.partition("|")
    if bar and name.endswith("\\"):  # a bar inside a table is escaped
        name = name[:-1]
    target, hash_mark, heading = name.partition("#")
    if hash_mark and not heading.strip():  # a name such as C#
        target, heading = name, ""
    return target, heading.strip() or None, label.strip() or None


##= docs/spec/notes.md#links
##% A link whose target is prefixed with `req:`, `file:` or `symbol:` MUST lead to a requirement, a file or a symbol
##% of the project.
def _parse_link(inner: str, embed: bool) -> NoteLink:
    written, heading, label = _parts(inner)
    target = written.strip()
    scheme, colon, rest = target.partition(":")
    if colon and rest.strip():
        if requirement := _REQUIREMENT.fullmatch(target):
            return NoteLink("requirement", requirement[1].lower(), label, heading, embed)
        if scheme.lower() == "file":
            return NoteLink("file", rest.strip(), label, heading, embed)
        if scheme.lower() == "symbol" and "::" in rest:
            return NoteLink("symbol", rest.strip(), label, heading, embed)
    if embed and _ATTACHMENT.fullmatch(target):
        return NoteLink("file", target, label, heading, embed)
    return NoteLink("note", target, label, heading, embed)


@dataclass(slots=True, init=False)
class _Backticks:
    """The runs of backticks in one block, by length. A code span ends at the next run of the same length."""

    starts: dict[int, list[int]]
    limit: int

    def __init__(self, content: str, start: int, end: int) -> None:
        self.starts, self.limit = {}, end
        for run in _BACKTICKS.finditer(content, start, end):
            self.starts.setdefault(len(run[0]), []).append(run.start())

    def end_of_span(self, start: int, end: int) -> int:
        """The end of the code span that starts with this run, or the end of the run if it starts none."""
        length = end - start
        candidates = self.starts.get(length, [])
        index = bisect_left(candidates, end)
        return candidates[index] + length if index < len(candidates) else end
