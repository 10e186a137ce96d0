"""spec-kit: `spec.md` and `tasks.md` of one feature, and the constitution of a project."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from contextive.trace.extraction import extract_requirements
from contextive.trace.formats.document import Document, Heading, Line, plain, sectioned, text_of
from contextive.trace.formats.glossary import glossary_of
from contextive.trace.formats.keys import KeyIndex
from contextive.trace.formats.modal_words import level_of
from contextive.trace.formats.references import Resolver
from contextive.trace.formats.task_lists import Box, boxes_of, tasks_of
from contextive.trace.formats.values import (
    DeclaredRequirement,
    FormatSpecification,
    Place,
    RequirementGroup,
    RequirementKind,
    SpecFiles,
    Task,
    UnreadLine,
    WrittenReference,
)
from contextive.trace.level import Level
from contextive.trace.markdown import parse_markdown
from contextive.trace.matching import Haystack, match_quote
from contextive.trace.text import trim

CONSTITUTION = "constitution"
MAX_REQUIREMENTS = 20_000
"""In one file. Real ones have a few hundred."""

_ID = r"[A-Z]{1,6}-\d{1,6}(?:-\d{1,6})?[a-z]?"
_ID_LINE = re.compile(
    rf"[ \t]{{0,9}}(?:(?:[-*+]|\d{{1,9}}[.)])[ \t]+)?(?:\[.\][ \t]+)?(~~)?(\*\*|__)?[`\[]?({_ID})(?![\w-])[`\]]?"
)
_NOTE = r"[ \t]{0,9}(?:\([^()\n]{0,200}\))?[ \t]{0,9}(?:\*\*|__)?"
_AFTER_ID = re.compile(rf"{_NOTE}{_NOTE}[ \t]{{0,9}}[:：.–—-]?(?:\*\*|__)?[ \t]*")
_TABLE_ROW = re.compile(rf"[ \t]{{0,3}}\|[ \t]*(?:\*\*)?`?({_ID})`?(?:\*\*)?[ \t]*\|[ \t]*")
_PREFIX = re.compile(r"[A-Z]+")
_REQUIREMENTS = frozenset(
    ("FR", "NFR", "REQ", "UR", "TR", "BR", "CR", "SR", "PR", "IR", "DR", "QR", "UX", "PERF", "SEC")
)
_OUTCOMES = frozenset(("SC", "AC", "AT"))
_STORY = re.compile(
    r"(?:user story|story|ユーザー?ストーリー|用户故事|使用者故事|사용자 스토리|história|historia|us)"
    r"[ \t]{0,3}[-#]?[ \t]{0,3}(\d{1,4})(?!\d)",
    re.IGNORECASE,
)
_ONLY_STORY = re.compile(r"primary user story|主要ユーザーストーリー|主要用户故事", re.IGNORECASE)
_SCENARIOS = re.compile(
    r"acceptance|scenario|受け?入れ?|シナリオ|验收|驗收|场景|場景|인수|시나리오|cenários|escenarios", re.IGNORECASE
)
_SCENARIO = re.compile(r"(?:scenario|シナリオ|场景)[ \t]{0,3}(\d{1,4})(?!\d)", re.IGNORECASE)
_ITEM = re.compile(r"[ \t]{0,4}(\d{1,4})[.)][ \t]+(?=\S)")
_TASK_ID = re.compile(r"[*_`]{0,3}(T\d{1,5}[a-z]?)(?![a-z0-9])(?:-[A-Z]{1,9})?[*_`]{0,3}[:.]?[ \t]*")
_TASK_STORY = re.compile(r"\[(US\d{1,4}(?:[ \t]{0,3}[,/&+][ \t]{0,3}US\d{1,4}){0,20})\]")
_DIGITS = re.compile(r"\d+")
_HEADING_STORY = re.compile(r"\bUS(\d{1,4})\b")
_REFERENCE = re.compile(r"(?<![\w-])(?:FR|NFR|SC)-\d{1,6}(?:-\d{1,6})?[a-z]?(?![\w-])")
_CLARIFICATION = "[NEEDS CLARIFICATION:"
_INSTRUCTION = "specific question"
_NUMERAL = re.compile(r"(?:principle |article )?([IVXLC]{1,7}|\d{1,3})[.:)][ \t]", re.IGNORECASE)


def read_speckit(files: SpecFiles, texts: Mapping[str, str]) -> FormatSpecification:
    """The specification of a feature from the texts of its files, by path."""
    if files.key == CONSTITUTION:
        return _read_constitution(files, texts[files.paths[0]])
    documents = {path.rpartition("/")[2]: Document.parse(path, text) for path, text in texts.items()}
    unread = [line for document in documents.values() for line in document.unread()]
    main, plan = documents.get("spec.md"), documents.get("tasks.md")
    read = _Reader(main, unread) if main is not None else None
    requirements = tuple(read.requirements) if read is not None else ()
    if main is not None and not requirements:
        unread.append(UnreadLine(main.path, 1, "no requirement such as FR-001 and no acceptance scenario in this file"))
    index = KeyIndex.of(
        (requirement.key for requirement in requirements),
        ((requirement.group, requirement.key) for requirement in requirements if requirement.group),
    )
    return FormatSpecification(
        files,
        read.title if read is not None else "",
        {main.path: read.specification} if main is not None and read is not None else {},
        requirements,
        tuple(read.groups) if read is not None else (),
        _tasks(plan, Resolver(index), unread) if plan is not None else (),
        glossary=glossary_of(main) if main is not None else (),
        clarifications=tuple(_clarifications(main)) if main is not None else (),
        unread=tuple(unread),
        index=index,
    )


@dataclass(slots=True)
class _Item:
    """A requirement or a scenario while its lines are read."""

    key: str
    first: Line
    text_start: int
    group: str = ""
    kind: RequirementKind = RequirementKind.CRITERION
    is_heading: bool = False
    """Whether it is a heading: then everything up to the next heading belongs to it."""
    lines: list[Line] = field(default_factory=list)

    def pieces(self) -> list[tuple[int, str]]:
        """Offset and text of each line, trimmed."""
        found = [(self.text_start, self.first.text[self.text_start - self.first.start :])]
        found += [(line.start, line.text) for line in self.lines]
        return [(start + text.find(trimmed[0]), trimmed) for start, text in found if (trimmed := trim(text))]


class _Reader:
    """Reads a `spec.md` line by line."""

    def __init__(self, document: Document, unread: list[UnreadLine]) -> None:
        self._document = document
        self._unread = unread
        self._items: list[_Item] = []
        self._current: _Item | None = None
        self._gap = False
        self._story = ""
        self._story_level = 0
        self._in_scenarios = False
        self.groups: list[RequirementGroup] = []
        self.specification, section_of = sectioned(document, frozenset())
        self.title = _title(document)
        sections: list[str] = []
        section = ""
        for index, line in enumerate(document.lines):
            heading = document.headings_by_index.get(index)
            section = section_of.get(index, section)
            before = len(self._items)
            if heading is not None:
                self._add_heading(heading)
            elif line.is_code:
                self._gap = True
            else:
                self._add_line(line)
            sections += [section] * (len(self._items) - before)
            if len(self._items) >= MAX_REQUIREMENTS:
                unread.append(UnreadLine(document.path, line.number, "too many requirements: the rest is not read"))
                break
        self.requirements = [self._declare(item, section) for item, section in zip(self._items, sections, strict=True)]
        self._drop_mentions()

    def _add_heading(self, heading: Heading) -> None:
        self._current, self._gap = None, False
        title = plain(heading.title)[:300]
        story = _STORY.match(title) or _ONLY_STORY.search(title)
        scenario = _SCENARIO.match(title) if self._in_scenarios else None
        if story is not None and heading.level > 2:
            number = story[1] if story.re is _STORY else "1"
            self._story, self._story_level, self._in_scenarios = f"US{int(number)}", heading.level, False
            self.groups.append(self._group(heading, title[story.end() :] if story.re is _STORY else ""))
        elif scenario is not None:
            key = f"{self._story}.{int(scenario[1])}"
            self._start_heading(heading, key, scenario.end(), self._story, RequirementKind.SCENARIO)
        elif self._story and (heading.level > self._story_level or _SCENARIOS.search(title) is not None):
            self._in_scenarios = _SCENARIOS.search(title) is not None
        else:
            self._story, self._in_scenarios = "", False
            found = _ID_LINE.match(title)
            kind = self._kind(found[3], "") if found is not None else None
            if found is not None and kind is not None:
                self._start_heading(heading, found[3], found.end(), "", kind)

    def _start_heading(self, heading: Heading, key: str, end: int, group: str, kind: RequirementKind) -> None:
        title = plain(heading.title)[end:].lstrip(" \t:：.–—-*_")
        start = (
            heading.line.end - len(heading.line.text[heading.line.text.rfind(title) :]) if title else heading.line.end
        )
        self._start(_Item(key, heading.line, start, group, kind, is_heading=True))

    def _group(self, heading: Heading, title: str) -> RequirementGroup:
        lines = self._document.lines[heading.index + 1 : self._document.end_of(heading)]
        story: list[Line] = []
        for line in lines:
            if trim(line.text).startswith("**") or (story and not trim(line.text)):
                break
            if trim(line.text) and not line.is_code:
                story.append(line)
        last = next((line.number for line in reversed(lines) if trim(line.text)), heading.line.number)
        place = Place(self._document.path, heading.line.number, last)
        return RequirementGroup(self._story, trim(title.strip(" \t:：–—-")), text_of(story), place)

    def _add_line(self, line: Line) -> None:
        text = trim(line.text)
        if not text or text.startswith(("---", "***")):
            self._gap = True
            if text:
                self._current = None
            return
        if self._story and _is_label(text):
            self._in_scenarios = _SCENARIOS.search(text) is not None
            self._current = None
        elif (item := self._item(line)) is not None:
            self._start(item)
        elif self._current is not None:
            self._continue(line)
        self._gap = False

    def _item(self, line: Line) -> _Item | None:
        found = _ID_LINE.match(line.text)
        if found is not None:
            return self._requirement(line, found)
        row = _TABLE_ROW.match(line.text)
        if row is not None:
            end = line.text.find("|", row.end())
            cell = line.text[row.end() : end if end >= 0 else len(line.text)]
            kind = self._kind(row[1], cell) if level_of(cell) is not None else None
            if kind is None:
                return None
            return _Item(row[1], replace(line, text=line.text[: row.end()] + cell), line.start + row.end(), kind=kind)
        numbered = _ITEM.match(line.text) if self._in_scenarios else None
        is_inner = self._current is not None and (self._current.is_heading or line.indent >= 3)
        if numbered is None or is_inner:
            return None
        key = f"{self._story}.{int(numbered[1])}"
        return _Item(key, line, line.start + numbered.end(), self._story, RequirementKind.SCENARIO)

    def _requirement(self, line: Line, found: re.Match[str]) -> _Item | None:
        after = _AFTER_ID.match(line.text, found.end())
        end = after.end() if after is not None else found.end()
        is_declared = found[2] is not None or line.text[found.end() :].lstrip("*_ \t")[:1] in (":", "：")
        kind = self._kind(found[3], line.text[end:]) if is_declared else None
        if kind is None:
            return None
        if found[1] is not None:
            self._unread.append(UnreadLine(self._document.path, line.number, f"{found[3]} is struck out"))
            return None
        return _Item(found[3], line, line.start + end, kind=kind)

    @staticmethod
    def _kind(key: str, text: str) -> RequirementKind | None:
        prefix = _PREFIX.match(key)
        assert prefix is not None
        if prefix[0] in _OUTCOMES:
            return RequirementKind.OUTCOME
        if prefix[0] in _REQUIREMENTS or "MUST" in text or "SHALL" in text:
            return RequirementKind.CRITERION
        return None

    def _start(self, item: _Item) -> None:
        self._current = item
        self._items.append(item)

    def _continue(self, line: Line) -> None:
        assert self._current is not None
        is_outside = line.indent < 2 and (self._gap or line.text.startswith(("- ", "* ", "+ ", "|", "**")))
        if is_outside and not self._current.is_heading:
            self._current = None
        else:
            self._current.lines.append(line)

    def _declare(self, item: _Item, section_id: str) -> DeclaredRequirement:
        pieces = item.pieces() or [(item.first.start, item.first.text)]
        text = " ".join([piece for _, piece in pieces])
        level = level_of(text)
        is_criterion = item.kind is RequirementKind.CRITERION
        last = item.lines[-1].number if item.lines else item.first.number
        return DeclaredRequirement(
            key=item.key,
            text=text,
            level=level if level is not None else Level.MUST if is_criterion else Level.AUTO,
            place=Place(self._document.path, item.first.number, last),
            spans=tuple([(start, start + len(piece)) for start, piece in pieces]),
            section_id=section_id,
            group=item.group,
            kind=item.kind,
            has_modal_word=level is not None or not is_criterion,
            needs_clarification=_CLARIFICATION[:-1] in text,
        )

    def _drop_mentions(self) -> None:
        """Drop lines without bold ids that repeat a requirement: they mention it, in a list of changes for example."""
        counts = Counter(requirement.key for requirement in self.requirements)
        bold = {r.key for r, item in zip(self.requirements, self._items, strict=True) if _is_bold(item)}
        self.requirements = [
            requirement
            for requirement, item in zip(self.requirements, self._items, strict=True)
            if counts[requirement.key] == 1 or requirement.key not in bold or _is_bold(item) or item.group
        ]


_DEFAULT = RequirementKind.CRITERION


def _is_bold(item: _Item) -> bool:
    found = _ID_LINE.match(item.first.text)
    return found is not None and found[2] is not None


def _is_label(text: str) -> bool:
    return len(text) <= 120 and (
        (text.startswith("**") and text.rstrip(":： ").endswith("**") and text.count("**") == 2)
        or (text.endswith((":", "：")) and not text.startswith(("-", "*", "+")) and not text[0].isdigit())
    )


def _title(document: Document) -> str:
    title = next((plain(heading.title) for heading in document.headings if heading.level == 1), "")
    prefix, colon, rest = title.partition(":")
    return trim(rest) if colon and "spec" in prefix.lower() else title


def _clarifications(document: Document) -> Iterator[int]:
    """The lines with a question that is still open, without the instructions of the template."""
    for line in document.lines:
        is_question = _CLARIFICATION in line.text and _INSTRUCTION not in line.text
        if is_question and not line.is_code and "~~" not in line.text:
            yield line.number


def _tasks(document: Document, resolver: Resolver, unread: list[UnreadLine]) -> tuple[Task, ...]:
    """The tasks with an id such as `T012`. If there are none, every box is a task."""
    boxes = list(boxes_of(document, unread))
    if any(_TASK_ID.match(box.title) or _TASK_ID.match(plain(box.heading)) for box in boxes):
        boxes = list(_identified(document, boxes, unread))
    return tasks_of((_with_references(box) for box in boxes), resolver)


def _identified(document: Document, boxes: Iterable[Box], unread: list[UnreadLine]) -> Iterator[Box]:
    """The boxes with a task id. Below a heading with an id, they are the parts of that task."""
    parts: Counter[str] = Counter()
    for box in boxes:
        found = _TASK_ID.match(box.title)
        above = _TASK_ID.match(plain(box.heading))
        if found is not None:
            yield replace(box, number=found[1], title=box.title[found.end() :])
        elif above is not None:
            parts[above[1]] += 1
            yield replace(box, number=f"{above[1]}.{parts[above[1]]}")
        else:
            unread.append(UnreadLine(document.path, box.place.line, "a box without a task id such as T001"))


def _with_references(box: Box) -> Box:
    """The box with the stories and requirements that it names, or else the story of the heading above it."""
    stories = [number for tag in _TASK_STORY.findall(box.title[:300]) for number in _DIGITS.findall(tag)]
    phase = _STORY.search(box.heading[:300]) or _HEADING_STORY.search(box.heading[:300])
    if not stories and phase is not None:
        stories = [phase[1]]
    groups = list(dict.fromkeys(f"US{int(number)}" for number in stories))
    named = [*groups, *dict.fromkeys(_REFERENCE.findall(box.text))]
    references = tuple([WrittenReference(name, box.place.line) for name in named])
    return replace(box, group=" ".join(groups), references=references)


def _read_constitution(files: SpecFiles, text: str) -> FormatSpecification:
    """The principles of a project: every sentence with a modal word in capitals, numbered in its section."""
    specification = parse_markdown(text)
    path = files.paths[0]
    line_of = specification.source.line_of
    requirements: list[DeclaredRequirement] = []
    groups: list[RequirementGroup] = []
    for section, extracted in extract_requirements(specification):
        numeral = _NUMERAL.match(f"{section.title} ")
        group = numeral[1] if numeral is not None else section.id
        haystack = Haystack.of(section)
        end = section.text_lines[-1].start
        place = Place(path, line_of(section.title_start), line_of(end))
        groups.append(RequirementGroup(group, section.title, "", place))
        for number, requirement in enumerate(extracted, 1):
            found = match_quote(requirement.text, haystack)
            if found is None or not found.spans:
                continue
            first, last = line_of(found.spans[0][0]), line_of(found.spans[-1][0])
            requirements.append(
                DeclaredRequirement(
                    key=f"{group}.{number}",
                    text=requirement.text,
                    level=requirement.level,
                    place=Place(path, first, last),
                    spans=found.spans,
                    section_id=section.id,
                    group=group,
                )
            )
    index = KeyIndex.of((r.key for r in requirements), ((r.group, r.key) for r in requirements))
    title = specification.title or ""
    return FormatSpecification(files, title, {path: specification}, tuple(requirements), tuple(groups), index=index)
