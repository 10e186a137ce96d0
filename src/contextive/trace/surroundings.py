"""The text around a requirement: its paragraph, what introduces it, and what it introduces."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from contextive.trace.requirement import Requirement
from contextive.trace.specification import Section, SpecLine

MAX_CHARACTERS: Final = 2_400
"""The most text around a requirement that is shown."""
_MARKER = re.compile(r"(?:[*+o\u2022-]|\(?(?:[0-9]{1,3}|[a-zA-Z])[.)])(?:\s|$)")
_REFERS_BACK = re.compile(
    r"(?:This|These|That|Those|Such|It|They|Otherwise|Similarly|Likewise|Instead|However|Therefore|Thus|Also"
    r"|In (?:this|that|these|those|such) |If (?:so|not|it|they)\b|To (?:this|that) end)\b"
)
_ANNOUNCES = re.compile(r"\b(?:following|follows|below)\b", re.IGNORECASE)
_SENTENCE_END = re.compile(r"(?<=[.!?;]) (?=[A-Z])")
_GAP = "\n\n"


@dataclass(frozen=True, slots=True)
class _Block:
    """A paragraph, a list item or a figure: lines of a section without an empty line between them."""

    lines: tuple[SpecLine, ...]

    @property
    def text(self) -> str:
        return "\n".join(line.text for line in self.lines)

    @property
    def indent(self) -> int:
        first = self.lines[0].text
        return len(first) - len(first.lstrip())

    @property
    def is_item(self) -> bool:
        return _MARKER.match(self.lines[0].text.lstrip()) is not None

    def overlaps(self, start: int, end: int) -> bool:
        return self.lines[0].start < end and start < self.lines[-1].end


def paragraph_of(requirement: Requirement) -> str:
    """The paragraph or list item that contains a requirement."""
    blocks = list(_blocks(requirement.section))
    first, last = _position(blocks, requirement)
    return _GAP.join(block.text for block in blocks[first : last + 1])


def sentence_before(requirement: Requirement) -> str:
    """The sentence that a requirement refers back to, as in "This value MUST be …"; empty if it does not refer to one."""
    if not _REFERS_BACK.match(requirement.text):
        return ""
    blocks = list(_blocks(requirement.section))
    first, last = _position(blocks, requirement)
    if first > last:
        return ""
    before = requirement.source.text[blocks[first].lines[0].start : requirement.spans[0][0]]
    if not before.strip() and first > 0:
        before = blocks[first - 1].text
    return _SENTENCE_END.split(" ".join(before.split()))[-1]


##= docs/spec/trace.md#next-steps
##% An explanation MUST contain the paragraph around the sentence, the sentence that introduces a list item, and what a
##% paragraph announces.
def surroundings_of(requirement: Requirement) -> str:
    """The paragraph of a requirement, with the text that it needs to be understood."""
    blocks = list(_blocks(requirement.section))
    first, last = _position(blocks, requirement)
    if first > last:
        return ""
    chosen = blocks[first : last + 1]
    chosen = [*_introduction(blocks, first, requirement), *chosen, *_announced(blocks, last, requirement)]
    return _shorten(_GAP.join(block.text for block in chosen), requirement.text)


def _blocks(section: Section) -> Iterator[_Block]:
    """The blocks of a section. A list item starts a new one, even without an empty line before it."""
    lines: list[SpecLine] = []
    for line in (*section.lines, None):
        is_text = line is not None and bool(line.text.strip())
        if lines and (not is_text or (line is not None and _MARKER.match(line.text.lstrip()))):
            yield _Block(tuple(lines))
            lines = []
        if is_text and line is not None:
            lines.append(line)


def _position(blocks: Sequence[_Block], requirement: Requirement) -> tuple[int, int]:
    """The first and the last block that a requirement touches."""
    start, end = requirement.spans[0][0], requirement.spans[-1][1]
    touched = [number for number, block in enumerate(blocks) if block.overlaps(start, max(end, start + 1))]
    return (touched[0], touched[-1]) if touched else (0, -1)


def _introduction(blocks: Sequence[_Block], first: int, requirement: Requirement) -> list[_Block]:
    """The paragraph before a list, for one of its items; or the one that the first sentence refers back to."""
    block = blocks[first]
    if block.is_item:
        before = (other for other in reversed(blocks[:first]) if not other.is_item and other.indent <= block.indent)
        return [other for other in [next(before, None)] if other is not None]
    is_first_sentence = requirement.spans[0][0] <= block.lines[0].start + block.indent
    refers_back = is_first_sentence and _REFERS_BACK.match(requirement.text)
    return [blocks[first - 1]] if first > 0 and refers_back else []


def _announced(blocks: Sequence[_Block], last: int, requirement: Requirement) -> list[_Block]:
    """The list, figure or exception that a paragraph announces."""
    block, rest = blocks[last], blocks[last + 1 :]
    announces = block.text.rstrip().endswith(":") or _ANNOUNCES.search(requirement.text) is not None
    if block.is_item or not announces or not rest:
        return []
    found = [rest[0]]
    if rest[0].is_item or rest[0].indent > block.indent:
        for other in rest[1:]:
            if not (other.is_item or other.indent > block.indent):
                break
            found.append(other)
    return found


def _shorten(text: str, sentence: str) -> str:
    """The text, or the part of it that begins shortly before the sentence."""
    if len(text) <= MAX_CHARACTERS:
        return text
    first_words = " ".join(sentence.split()[:4])
    at = max(text.find(first_words), 0)
    start = max(0, min(at - MAX_CHARACTERS // 3, len(text) - MAX_CHARACTERS))
    part = text[start : start + MAX_CHARACTERS]
    return ("…" if start else "") + part + ("…" if start + MAX_CHARACTERS < len(text) else "")
