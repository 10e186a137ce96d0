"""Task lists: the lines with a box of a `tasks.md`, and what the lines below each of them say."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from contextive.trace.formats.document import Document, Line
from contextive.trace.formats.references import MAX_REFERENCES, Resolver, references_in, split_references
from contextive.trace.formats.values import Place, Task, TaskState, UnreadLine, WrittenReference
from contextive.trace.text import trim

_BOX = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]*\[(.)\](\*?)(?:[ \t]+|\Z|(?=[^\x00-\x7f]))")
_NUMBER = re.compile(
    r"([*_]{0,3})((?:[A-Z]\.)?\d{1,6}[A-Za-z]?(?:\.\d{1,6}[a-z]?){0,5})(\*?)[.):]?(\*?)(?:[ \t:*_]|\Z)"
)
_IN_PARENTHESES = re.compile(
    r"[(（]\s{0,3}(?:requirements?|reqs?|要件|要求|需求)\s{0,3}[:：]?\s{0,3}(?=[A-Za-z]{0,5}-?\d)([^()（）\n]{1,500})[)）]",
    re.IGNORECASE,
)
_TOKEN = re.compile(r"`[^`\n]{1,300}`|[A-Za-z0-9_@+./\[\]()~$-]+")
_EXTENSION = re.compile(r"\.(?=[A-Za-z0-9]{0,9}[A-Za-z])[A-Za-z0-9]{1,10}\Z")
_LINE_NUMBER = re.compile(r":\d{1,9}(?:[:-]\d{1,9})?\Z")
_STATES = {" ": TaskState.OPEN, "x": TaskState.DONE, "X": TaskState.DONE} | dict.fromkeys("~-/>", TaskState.DOING)
MAX_FILES = 100
"""Paths of one task."""


@dataclass(frozen=True, slots=True)
class Box:
    """A line with a box and the lines below it, up to the next box or heading."""

    state: TaskState
    number: str
    """The number before its title, if it has one."""
    title: str
    place: Place
    offset: int
    """The offset of the character in the box."""
    indent: int
    heading: str
    """The title of the heading above it."""
    references: tuple[WrittenReference, ...]
    files: tuple[str, ...]
    text: str
    """Its line and the lines below it."""
    group: str = ""


def boxes_of(document: Document, unread: list[UnreadLine]) -> Iterator[Box]:
    """The boxes of a file in order. Lines with an unknown box are added to `unread`."""
    headings = {heading.index: heading.title for heading in document.headings}
    heading, first = "", None
    for index, line in enumerate(document.lines):
        starts = line.is_code is False and "[" in line.text and _BOX.match(line.text) is not None
        if not starts and index not in headings:
            continue
        if first is not None:
            yield from _box(document, document.lines[first:index], heading, unread)
        first = index if starts else None
        heading = headings.get(index, heading)
    if first is not None:
        yield from _box(document, document.lines[first:], heading, unread)


def _box(document: Document, lines: Sequence[Line], heading: str, unread: list[UnreadLine]) -> Iterator[Box]:
    line, found = lines[0], _BOX.match(lines[0].text)
    assert found is not None
    state = _STATES.get(found[1])
    if state is None:
        unread.append(UnreadLine(document.path, line.number, f"the box [{found[1]}] has no known state"))
        return
    number, title, has_star = _numbered(line.text[found.end() :])
    if state is TaskState.OPEN and (found[2] or has_star):
        state = TaskState.OPTIONAL
    details = [detail for detail in lines if not detail.is_code and trim(detail.text)]
    place = Place(document.path, line.number, details[-1].number)
    yield Box(
        state,
        number,
        title,
        place,
        line.start + found.start(1),
        line.indent,
        heading,
        tuple(_references(details)),
        tuple(files_in([detail.text for detail in details])),
        "\n".join([detail.text for detail in details]),
    )


def _numbered(text: str) -> tuple[str, str, bool]:
    """The number, the title without it, and whether a star marks the task as optional."""
    found = _NUMBER.match(text)
    if found is None:
        return "", trim(text.strip("*_ \t")), False
    title = text[found.end(2) :].lstrip("*.):")
    has_star = bool(found[3] or found[4]) and not found[1]
    return found[2], trim(title.strip("*_ \t")), has_star


def _references(lines: Sequence[Line]) -> Iterator[WrittenReference]:
    for line in lines:
        labelled = list(references_in(line.text, line.number))
        yield from labelled
        if not labelled and ("(" in line.text or "（" in line.text):
            for count, found in enumerate(_IN_PARENTHESES.finditer(line.text)):
                if count < MAX_REFERENCES:
                    yield from split_references(found[1], line.number)


def files_in(texts: Sequence[str]) -> list[str]:
    """The paths that the texts name: with a slash and an extension, or a file name between backticks."""
    found: dict[str, None] = {}
    for text in texts:
        for token in _TOKEN.finditer(text):
            quoted = token[0][0] == "`"
            path = _path_of(token[0].strip("`") if quoted else token[0], quoted=quoted)
            if path:
                found[path] = None
            if len(found) >= MAX_FILES:
                return list(found)
    return list(found)


def _path_of(token: str, *, quoted: bool) -> str:
    path = _LINE_NUMBER.sub("", trim(token)).removeprefix("./")
    if not quoted:
        path = (
            path.rstrip(".").lstrip("(").removesuffix(")") if path.count("(") != path.count(")") else path.rstrip(".")
        )
    is_path = _EXTENSION.search(path[-11:]) is not None and ("/" in path or quoted)
    unusable = "://" in token or path.startswith(("/", "~", "../")) or any(c in path for c in " *{}<>|\\\0")
    return path if is_path and not unusable and len(path) <= 300 else ""


def tasks_of(boxes: Iterable[Box], resolver: Resolver) -> tuple[Task, ...]:
    """The tasks of a list. A task without a number is known by its line; a deeper one is part of the task above."""
    tasks: list[Task] = []
    open_boxes: list[tuple[int, str]] = []
    known: set[str] = set()
    for box in boxes:
        key = box.number or f"line-{box.place.line}"
        while open_boxes and open_boxes[-1][0] >= box.indent:
            open_boxes.pop()
        parent = box.number.rpartition(".")[0]
        if parent not in known:
            parent = open_boxes[-1][1] if open_boxes else ""
        open_boxes.append((box.indent, key))
        known.add(key)
        references = resolver.resolve(box.references)
        tasks.append(Task(key, box.title, box.state, box.place, box.offset, references, box.group, box.files, parent))
    return tuple(tasks)
