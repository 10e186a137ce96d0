"""The numbered requirements of a Kiro file and the acceptance criteria below them, in any language."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from contextive.trace.formats.document import Document, Heading, Line, plain
from contextive.trace.formats.modal_words import level_of
from contextive.trace.formats.references import REQUIREMENT_WORDS, references_in
from contextive.trace.formats.values import UnreadLine
from contextive.trace.text import trim, trim_start

_CRITERIA = re.compile(
    r"acceptance|criteria|criterion|受け?入れ?(?:基準|条件)|验收|驗收|수락|인수|критери|критері|akzeptanz|abnahme|critères|"
    r"criterios|critérios|criteri di|kriteria|kryteria|kabul",
    re.IGNORECASE,
)
"""Part of the heading above a list of acceptance criteria."""
_NUMBERED = re.compile(
    r"([^\d:：]{0,60}?)[ \t#]{0,3}((?:\d{1,6}\.){0,3}\d{1,6}[A-Za-z]?)(?![A-Za-z0-9_])[.)]?(?:[ \t]{0,9}[:：、–—-])?"
)
_ID_PREFIXES = frozenset(("FR", "NFR", "REQ", "R", "BR", "TR", "UR", "SR"))
_ID_PREFIX = re.compile(r"[A-Z]{1,6}-?\Z")
_ORDERED = re.compile(r"[ \t]{0,3}(\d{1,6}[a-z]?)[.)、．](?:[ \t]+|(?=[^\x00-\x7f]))(?=\S)")
_DOTTED = re.compile(
    r"[ \t]{0,3}(?:[-*+][ \t]+)?[*_]{0,3}(?:AC[- ]?)?(\d{1,6}[A-Za-z]?(?:\.\d{1,6}[a-z]?){1,3})[*_.):：]{0,6}[ \t]+(?=\S)"
)
_BULLET = re.compile(r"[ \t]?[-*+][ \t]+(?=\S)")
_LABEL_LINE = re.compile(r"\*\*[^*\n]{1,100}\*\*[ \t]{0,9}[:：]?")
_OUTER_ID = re.compile(r"\[?([A-Z]{2,10}-\d{1,9})\]?(?:[:\s]|\Z)")
MAX_CRITERIA = 20_000
"""In one file. Real ones have a few hundred."""


@dataclass(frozen=True, slots=True)
class GroupHeading:
    """A heading such as `### Requirement 3: Title`."""

    heading: Heading
    key: str
    title: str
    end: int
    """The index of the line after its last criterion and text."""


@dataclass(slots=True)
class Criterion:
    """An acceptance criterion while its lines are read: where its text begins and ends."""

    key: str
    group: str
    first: Line
    text_start: int
    lines: list[Line] = field(default_factory=list)
    outer_ids: list[str] = field(default_factory=list)

    @property
    def pieces(self) -> list[tuple[int, str]]:
        """Offset and text of each line, trimmed."""
        pieces = [(self.text_start, self.first.text[self.text_start - self.first.start :])]
        pieces += [(line.start, line.text) for line in self.lines]
        return [(start + text.find(trimmed[0]), trimmed) for start, text in pieces if (trimmed := trim(text))]

    @property
    def column(self) -> int:
        """The column where its text begins: lines that are indented as far belong to it."""
        return self.text_start - self.first.start

    @property
    def last_line(self) -> int:
        return self.lines[-1].number if self.lines else self.first.number


def is_criteria_label(text: str) -> bool:
    """Whether a heading or a bold line announces acceptance criteria. The title of a requirement never does."""
    if len(text) > 100 or _CRITERIA.search(text) is None:
        return False
    numbered = _numbered(text)
    return numbered is None or numbered.word not in REQUIREMENT_WORDS


@dataclass(frozen=True, slots=True)
class _NumberedTitle:
    """The parts of a title such as `Requirement 3: Title` or `FR3: Title`."""

    word: str
    prefix: str
    number: str
    title: str

    @property
    def is_requirement(self) -> bool:
        return self.word in REQUIREMENT_WORDS or self.prefix.rstrip("-") in _ID_PREFIXES


def find_groups(document: Document) -> list[GroupHeading]:
    """The headings of numbered requirements.

    A heading is one if it is called a requirement and has a number, or if it has a number and acceptance criteria.
    """
    labelled = _labelled_headings(document)
    chosen = [
        (heading, found)
        for heading in document.headings
        if heading.level > 1 and (found := _numbered(heading.title)) is not None
        if found.is_requirement or (heading.index in labelled and not is_criteria_label(heading.title))
    ]
    repeated = {number for number, count in Counter(found.number for _, found in chosen).items() if count > 1}
    is_mixed = len({found.prefix for _, found in chosen if found.number in repeated}) > 1
    ends = _group_ends(document, {heading.index for heading, _ in chosen})
    return [
        GroupHeading(
            heading, f"{found.prefix}{found.number}" if is_mixed else found.number, found.title, ends[heading.index]
        )
        for heading, found in chosen
    ]


def _numbered(text: str) -> _NumberedTitle | None:
    text = plain(text)
    found = _NUMBERED.match(text)
    if found is None:
        return None
    word = trim(found[1])
    is_prefix = _ID_PREFIX.match(word) is not None and len(found[1]) == found.start(2)
    return _NumberedTitle(word.rstrip("-").lower(), word if is_prefix else "", found[2], trim(text[found.end() :]))


def _labelled_headings(document: Document) -> frozenset[int]:
    """The headings with a label of acceptance criteria directly in their text, or below a deeper heading in it."""
    found: set[int] = set()
    open_headings: list[Heading] = []
    for index, line in enumerate(document.lines):
        heading = document.headings_by_index.get(index)
        if heading is not None:
            while open_headings and open_headings[-1].level >= heading.level:
                open_headings.pop()
        is_label = is_criteria_label(heading.title) if heading is not None else _is_label_line(line)
        if is_label:
            found.update(above.index for above in open_headings)
        if heading is not None:
            open_headings.append(heading)
    return frozenset(found)


def _is_label_line(line: Line) -> bool:
    return (
        not line.is_code
        and len(line.text) <= 100
        and is_criteria_label(line.text)
        and (_LABEL_LINE.fullmatch(trim(line.text)) is not None or trim(line.text).endswith((":", "：")))
        and level_of(line.text) is None
    )


def _group_ends(document: Document, groups: set[int]) -> dict[int, int]:
    """A group ends at the next group, or at a heading that is not deeper; a label of criteria may be equally deep."""
    ends: dict[int, int] = {}
    current: Heading | None = None
    for heading in document.headings:
        continues = current is not None and (
            heading.level > current.level or (heading.level == current.level and is_criteria_label(heading.title))
        )
        if heading.index in groups or not continues:
            if current is not None:
                ends[current.index] = heading.index
            current = heading if heading.index in groups else None
    if current is not None:
        ends[current.index] = len(document.lines)
    return ends


def read_criteria(document: Document, group: GroupHeading, unread: list[UnreadLine]) -> list[Criterion]:
    """The criteria of one requirement."""
    reader = _CriteriaReader(document, group.key, unread)
    for index in range(group.heading.index + 1, group.end):
        line = document.lines[index]
        heading = document.headings_by_index.get(index)
        if heading is not None:
            reader.add_label(heading.title, heading.level)
        elif not line.is_code:
            reader.add_line(line)
        if len(reader.criteria) >= MAX_CRITERIA:
            break
    if reader.criteria:
        return reader.criteria
    sentence = _sentence_of(document, group)
    if sentence is None:
        unread.append(UnreadLine(document.path, group.heading.line.number, "no acceptance criteria below this heading"))
    return [sentence] if sentence is not None else []


def _sentence_of(document: Document, group: GroupHeading) -> Criterion | None:
    """The first sentence with a modal word below a requirement without criteria: it is then the requirement."""
    found: Criterion | None = None
    for index in range(group.heading.index + 1, group.end):
        line = document.lines[index]
        ends = not trim(line.text) or line.is_code or index in document.headings_by_index
        if found is not None:
            if ends or trim(line.text).startswith("**"):
                break
            found.lines.append(line)
        elif not ends and level_of(line.text) is not None:
            start = line.start + len(line.text) - len(trim_start(line.text))
            found = Criterion(group.key, group.key, line, start)
    return found


_BOLD = 7
"""The level of a label that is a bold line: deeper than every heading."""


class _CriteriaReader:
    """Reads the lines of one requirement in order."""

    def __init__(self, document: Document, group: str, unread: list[UnreadLine]) -> None:
        self.criteria: list[Criterion] = []
        self._path = document.path
        self._group = group
        self._unread = unread
        self._label_level = 0
        """The level of the label above criteria; 0 outside them."""
        self._current: Criterion | None = None
        self._gap = False
        self._ones = 0
        """How many items of the current list had the number 1 so far, if no item had another number."""
        self._is_ordered = False

    def add_label(self, text: str, level: int) -> None:
        """A heading or a bold line: what follows is criteria or something else."""
        self._current, self._ones = None, 0
        if is_criteria_label(text):
            self._label_level, self._is_ordered = level, False
        elif level <= self._label_level < _BOLD:
            self._label_level = 0

    def add_line(self, line: Line) -> None:
        if not trim(line.text):
            self._gap = True
            return
        if _is_rule(line.text):
            self._current = None
        elif _LABEL_LINE.fullmatch(trim(line.text)) or _is_label_line(line):
            self.add_label(line.text, _BOLD)
        elif (found := self._item(line)) is not None:
            self._start(line, *found)
        else:
            self._continue(line)
        self._gap = False

    def _item(self, line: Line) -> tuple[str, int] | None:
        """The key and the start of the text if the line begins a criterion."""
        if self._current is not None and line.indent >= self._current.column:
            return None
        dotted = _DOTTED.match(line.text)
        if dotted is not None and self._label_level and dotted[1].rpartition(".")[0] == self._group:
            self._is_ordered = True
            return dotted[1], dotted.end()
        ordered = _ORDERED.match(line.text)
        if ordered is not None and (self._label_level or self._is_sentence(line, ordered.end())):
            return f"{self._group}.{self._number(ordered[1])}", ordered.end()
        bullet = _BULLET.match(line.text)
        if bullet is not None and self._label_level and not self._is_ordered and not _has_reference(line):
            return f"{self._group}.{len(self.criteria) + 1}", bullet.end()
        return None

    def _is_sentence(self, line: Line, start: int) -> bool:
        """Whether a numbered line outside the criteria is one anyway, because of its modal word in capitals."""
        text = line.text[start:]
        if "SHALL" in text or "MUST" in text:
            return True
        self._unread.append(UnreadLine(self._path, line.number, "a numbered line that is not an acceptance criterion"))
        return False

    def _number(self, number: str) -> str:
        """The number of an item. In a list of which every number is 1, it is the position."""
        self._ones = self._ones + 1 if number == "1" else 0
        self._is_ordered = True
        return str(self._ones) if self._ones > 1 else number

    def _start(self, line: Line, key: str, start: int) -> None:
        self._current = Criterion(key, self._group, line, line.start + start)
        outer = _OUTER_ID.match(line.text, start)
        if outer is not None:
            self._current.outer_ids.append(outer[1])
        self.criteria.append(self._current)

    def _continue(self, line: Line) -> None:
        if self._current is None:
            return
        if links := [reference.text for reference in references_in(line.text, line.number)]:
            self._current.outer_ids += links
        elif self._gap and line.indent < 2:
            self._current = None
        else:
            self._current.lines.append(line)


def _is_rule(text: str) -> bool:
    """Whether a line is a horizontal rule such as `---`."""
    return text.count("-") + text.count("*") >= 3 and (not text.strip(" \t-") or not text.strip(" \t*"))


def _has_reference(line: Line) -> bool:
    return any(references_in(line.text, line.number))


def read_bugfix_criteria(document: Document) -> list[tuple[Criterion, Heading]]:
    """The criteria of a `bugfix.md`: expected and unchanged behavior, but not the defect."""
    found: list[tuple[Criterion, Heading]] = []
    heading: Heading | None = None
    current: Criterion | None = None
    gap = False
    for index, line in enumerate(document.lines):
        if index in document.headings_by_index:
            heading, current = document.headings_by_index[index], None
            continue
        if line.is_code:
            continue
        if not trim(line.text):
            gap = True
            continue
        dotted = _DOTTED.match(line.text)
        if dotted is not None and heading is not None and dotted[1].partition(".")[0] in ("1", "2", "3"):
            current = Criterion(dotted[1], dotted[1].partition(".")[0], line, line.start + dotted.end())
            if current.group != "1" and len(found) < MAX_CRITERIA:
                found.append((current, heading))
        elif current is not None and (not gap or line.indent >= 2):
            current.lines.append(line)
        else:
            current = None
        gap = False
    return found


def labels_outside_groups(document: Document, groups: Sequence[GroupHeading]) -> Iterator[Heading]:
    """The headings of acceptance criteria that are in no numbered requirement."""
    ends = 0
    starts = {group.heading.index: group.end for group in groups}
    for heading in document.headings:
        ends = max(ends, starts.get(heading.index, 0))
        if heading.index >= ends and is_criteria_label(heading.title):
            yield heading
