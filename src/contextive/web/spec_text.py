"""The text of a specification as paragraphs, cut where its coverage changes, so that a page can mark each piece."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from contextive.trace.level import CitationType
from contextive.trace.reports.coverage_spans import CitedSpans
from contextive.trace.requirement import Requirement
from contextive.trace.specification import Format, Section, SpecLine

BlockKind = Literal["paragraph", "item", "figure"]
Layer: TypeAlias = tuple[int, int, object]
"""Start, end, and what is true of the text between them: a citation type, a requirement or a style."""

_FENCE: Final = re.compile(r"\s*(?:`{3,}|~{3,})")
_ITEM: Final = re.compile(r"\s*(?:[-*+o\u2022]|\(?(?:[0-9]{1,3}|[a-zA-Z])[.)])\s++(?=\S)")
_FIGURE: Final = re.compile(r"\S   +\S|\A\s*\||[+|]--|--[+|]| \. \. ")
_CODE_SPAN: Final = re.compile(r"`[^`\n]+`")
_STRONG: Final = re.compile(r"\*\*[^*\n]+\*\*")
_CITING: Final = frozenset({CitationType.CITATION, CitationType.IMPLICATION})


@dataclass(frozen=True, slots=True)
class Piece:
    """Some text with one appearance."""

    text: str
    mark: str = ""
    """How it is covered: both, code, test, exception, todo, open, or nothing outside of requirements."""
    requirement: str = ""
    """The anchor of the requirement that it belongs to."""
    style: str = ""


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, a list item or a figure, and the requirements that begin in it."""

    kind: BlockKind
    indent: int
    pieces: tuple[Piece, ...]
    requirements: tuple[Requirement, ...]


def blocks_of(
    section: Section, text: str, format_: Format, cited: CitedSpans, anchors: Sequence[tuple[Requirement, str]]
) -> Iterator[Block]:
    """The blocks of a section. `anchors` are its requirements in text order, each with its anchor."""
    layers = [
        (start, end, (requirement, anchor))
        for requirement, anchor in anchors
        for start, end in requirement.spans
        if start < end
    ]
    layers.sort(key=lambda layer: layer[:2])
    started: set[str] = set()
    for kind, lines in _paragraphs(section.lines, is_markdown=format_ is Format.MARKDOWN):
        inside = [layer for layer in layers if layer[0] < lines[-1].end and lines[0].start < layer[1]]
        beginning = []
        for _, _, (requirement, anchor) in inside:
            if anchor not in started:
                started.add(anchor)
                beginning.append(requirement)
        indent = len(lines[0].text) - len(lines[0].text.lstrip())
        yield Block(kind, indent, tuple(_pieces(kind, lines, text, cited, inside)), tuple(beginning))


def _paragraphs(lines: Iterable[SpecLine | None], *, is_markdown: bool) -> Iterator[tuple[BlockKind, list[SpecLine]]]:
    """The lines of a section, split at empty lines and before list items. Fenced code stays together."""
    current: list[SpecLine] = []
    fence = False
    for line in lines:
        text = line.text if line is not None else ""
        if line is not None and is_markdown and _FENCE.match(text):
            if not fence and current:
                yield _kind_of(current), current
                current = []
            current.append(line)
            if fence:
                yield "figure", current
                current = []
            fence = not fence
        elif fence and line is not None:
            current.append(line)
        elif line is None or not text.strip():
            if current and not fence:
                yield _kind_of(current), current
                current = []
        else:
            if current and _ITEM.match(text) and not _FIGURE.search(current[0].text):
                yield _kind_of(current), current
                current = []
            current.append(line)
    if current:
        yield ("figure" if fence else _kind_of(current)), current


def _kind_of(lines: Sequence[SpecLine]) -> BlockKind:
    is_item = _ITEM.match(lines[0].text) is not None
    rest = [line.text[found.end() :] if (found := _ITEM.match(line.text)) else line.text for line in lines[:1]]
    if any(_FIGURE.search(text) for text in (*rest, *(line.text for line in lines[1:]))):
        return "figure"
    indents = {len(line.text) - len(line.text.lstrip()) for line in lines[1:]}
    if len(indents) > 1:
        return "figure"
    return "item" if is_item else "paragraph"


def _pieces(
    kind: BlockKind,
    lines: Sequence[SpecLine],
    text: str,
    cited: CitedSpans,
    requirements: Sequence[tuple[int, int, tuple[Requirement, str]]],
) -> Iterator[Piece]:
    for number, line in enumerate(lines):
        start = line.start if kind == "figure" else line.start + len(line.text) - len(line.text.lstrip())
        end = line.end if kind == "figure" else line.start + len(line.text.rstrip())
        if number:
            yield Piece("\n" if kind == "figure" else " ")
        layers: list[Layer] = [(a, b, kinds) for a, b, kinds in cited.between(line.start, line.end)]
        layers += [(a, b, pair) for a, b, pair in requirements if a < end and start < b]
        if kind != "figure":
            layers += [(m.start(), m.end(), "code") for m in _CODE_SPAN.finditer(text, start, end)]
            layers += [(m.start(), m.end(), "strong") for m in _STRONG.finditer(text, start, end)]
        yield from _cut(text, start, end, layers)


def _cut(text: str, start: int, end: int, layers: Sequence[Layer]) -> Iterator[Piece]:
    """The text from `start` to `end`, cut where a layer begins or ends. One sweep over the layers."""
    changes: dict[int, list[tuple[object, int]]] = {}
    for first, last, tag in layers:
        first, last = max(first, start), min(last, end)
        if first < last:
            changes.setdefault(first, []).append((tag, 1))
            changes.setdefault(last, []).append((tag, -1))
    active: dict[int, tuple[object, int]] = {}
    position = start
    for boundary in sorted(changes):
        if boundary > position:
            yield _piece(text[position:boundary], [tag for tag, _ in active.values()])
            position = boundary
        for tag, change in changes[boundary]:
            number = active.get(id(tag), (tag, 0))[1] + change
            active[id(tag)] = (tag, number)
            if not number:
                del active[id(tag)]
    if position < end:
        yield _piece(text[position:end], [tag for tag, _ in active.values()])


def _piece(text: str, tags: Sequence[object]) -> Piece:
    kinds: set[CitationType] = set()
    anchor = style = ""
    for tag in tags:
        match tag:
            case frozenset():
                kinds |= tag
            case (Requirement(), str(name)):
                anchor = name
            case str(name):
                style = name
    if style == "strong":
        text = text.replace("**", "")
    elif style == "code":
        text = text.replace("`", "")
    return Piece(text, mark_of(kinds, is_required=bool(anchor)), anchor, style)


def mark_of(kinds: Iterable[CitationType], *, is_required: bool) -> str:
    """How text that citations of these types quote is marked."""
    found = set(kinds)
    if CitationType.EXCEPTION in found:
        return "exception"
    if CitationType.IMPLICATION in found or {CitationType.CITATION, CitationType.TEST} <= found:
        return "both"
    if found & _CITING:
        return "code"
    if CitationType.TEST in found:
        return "test"
    if CitationType.TODO in found:
        return "todo"
    return "open" if is_required else ""
