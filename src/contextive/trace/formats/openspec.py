"""OpenSpec: the specification of a capability, a proposed change, and the history in the archive."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from contextive.trace.formats.document import Document, Heading, Line, plain, sectioned
from contextive.trace.formats.keys import KeyIndex, capability_of, slugged
from contextive.trace.formats.modal_words import level_of
from contextive.trace.formats.references import Resolver
from contextive.trace.formats.task_lists import boxes_of, tasks_of
from contextive.trace.formats.values import (
    DeclaredRequirement,
    FormatSpecification,
    HistoryStep,
    Place,
    SpecFiles,
    SpecState,
    UnreadLine,
)
from contextive.trace.level import Level
from contextive.trace.specification import Specification
from contextive.trace.text import trim

_REQUIREMENTS = re.compile(r"Requirements\Z", re.IGNORECASE)
_DELTA = re.compile(r"(ADDED|MODIFIED|REMOVED|RENAMED)[ \t]+Requirements\Z", re.IGNORECASE)
_REQUIREMENT = re.compile(r"Requirement:[ \t]*(?=\S)", re.IGNORECASE)
_SCENARIO = re.compile(r"Scenario:[ \t]*", re.IGNORECASE)
_QUOTED = re.compile(r"[ \t]*(?:-[ \t]*)?(?:(FROM|TO)[ \t]*:[ \t]*)?`?###[ \t]*Requirement:[ \t]*(?=\S)", re.IGNORECASE)
_ELSEWHERE = "elsewhere"
_METADATA = re.compile(r"\*\*[^*\n]{1,100}\*\*:")
MAX_REQUIREMENTS = 20_000
"""In one file. Real ones have a few dozen."""


@dataclass(frozen=True, slots=True)
class _Block:
    """A requirement: its heading, and the line after its last one."""

    name: str
    heading: Heading
    end: int
    operation: str
    """`added` or `modified` in a change; empty in a specification."""


def read_openspec(files: SpecFiles, texts: Mapping[str, str]) -> FormatSpecification:
    """The specification of a capability, or a change. Of an archived change only the history is read."""
    match files.state:
        case SpecState.CURRENT:
            return _read_capability(files, texts[files.paths[0]])
        case SpecState.ARCHIVED:
            deltas = (Document.parse(path, text) for path, text in texts.items() if path.endswith("/spec.md"))
            steps = tuple(step for document in deltas for step in _steps(document, files.key))
            return FormatSpecification(files, files.key, history=steps)
        case _:
            return _read_change(files, texts)


def _read_capability(files: SpecFiles, text: str) -> FormatSpecification:
    document = Document.parse(files.paths[0], text)
    unread = list(document.unread())
    blocks = list(_blocks(document, unread, is_delta=False))
    specification, section_of = _sections(document)
    requirements = tuple(_declare(document, block, section_of) for block in blocks)
    title = next((plain(heading.title) for heading in document.headings if heading.level == 1), files.key)
    if not requirements:
        unread.append(UnreadLine(document.path, 1, "no `### Requirement:` below `## Requirements`"))
    return FormatSpecification(
        files,
        title,
        {document.path: specification},
        requirements,
        unread=tuple(unread),
        index=_key_index(requirements),
    )


def _read_change(files: SpecFiles, texts: Mapping[str, str]) -> FormatSpecification:
    """A change. The names of its requirements begin with their capability."""
    unread: list[UnreadLine] = []
    requirements: list[DeclaredRequirement] = []
    history: list[HistoryStep] = []
    documents: dict[str, Specification] = {}
    tasks_document: Document | None = None
    title = files.key
    for path, text in texts.items():
        document = Document.parse(path, text)
        unread += document.unread()
        name = path.rpartition("/")[2]
        if name == "tasks.md":
            tasks_document = document
        elif name == "proposal.md":
            title = next((plain(h.title) for h in document.headings if h.level == 1), title)
        elif name == "spec.md":
            capability = capability_of(path)
            specification, section_of = _sections(document)
            documents[path] = specification
            blocks = _blocks(document, unread, is_delta=True)
            requirements += [_declare(document, block, section_of, f"{capability}/") for block in blocks]
            steps = list(_steps(document, files.key))
            history += steps
            if not steps:
                unread.append(UnreadLine(path, 1, "no added, modified, removed or renamed requirement in this file"))
    index = _key_index(requirements)
    return FormatSpecification(
        files,
        title,
        documents,
        tuple(requirements),
        tasks=tasks_of(boxes_of(tasks_document, unread), Resolver(index)) if tasks_document is not None else (),
        history=tuple(history),
        unread=tuple(unread),
        index=index,
    )


def _sections(document: Document) -> tuple[Specification, dict[int, str]]:
    """The sections; scenarios and other headings below a requirement belong to it."""
    folded: set[int] = set()
    level = 0
    for heading in document.headings:
        if heading.level == 3 and _REQUIREMENT.match(heading.title):
            level = 3
        elif heading.level <= 3:
            level = 0
        elif level:
            folded.add(heading.index)
    return sectioned(document, folded)


def _blocks(document: Document, unread: list[UnreadLine], *, is_delta: bool) -> Iterator[_Block]:
    """The requirements of a file in order. Those that OpenSpec does not see are added to `unread`."""
    operation = _ELSEWHERE
    has_section = is_delta or any(h.level == 2 and _REQUIREMENTS.match(h.title) for h in document.headings)
    found: list[tuple[Heading, str]] = []
    for heading in document.headings:
        if heading.level == 2:
            delta = _DELTA.match(heading.title)
            holds = _REQUIREMENTS.match(heading.title) is not None
            operation = _operation(delta, holds=holds, is_delta=is_delta)
            if delta is not None and not is_delta:
                unread.append(UnreadLine(document.path, heading.line.number, "a delta heading outside a change"))
            if holds and is_delta:
                unread.append(
                    UnreadLine(document.path, heading.line.number, "a change needs ADDED, MODIFIED or REMOVED")
                )
        if heading.level != 3:
            continue
        name = _REQUIREMENT.match(heading.title)
        if name is None and operation in ("", "added", "modified"):
            unread.append(UnreadLine(document.path, heading.line.number, "not `### Requirement: Name`"))
        elif name is not None and operation == _ELSEWHERE:
            if has_section:
                unread.append(UnreadLine(document.path, heading.line.number, "a requirement outside `## Requirements`"))
                continue
            # Without that heading anywhere, they were all meant, although OpenSpec itself sees none.
            if not found:
                unread.append(UnreadLine(document.path, heading.line.number, "no `## Requirements` above this"))
            found.append((heading, ""))
        elif name is not None and operation in ("", "added", "modified"):
            found.append((heading, operation))
    ends = _block_ends(document, {heading.index for heading, _ in found})
    for number, (heading, operation) in enumerate(found):
        if number == MAX_REQUIREMENTS:
            unread.append(UnreadLine(document.path, heading.line.number, "too many requirements: the rest is not read"))
            return
        yield _Block(requirement_name(heading.title), heading, ends[heading.index], operation)


def _operation(delta: re.Match[str] | None, *, holds: bool, is_delta: bool) -> str:
    """What the text below a heading of level 2 does: empty if it holds."""
    if delta is None:
        return "" if holds and not is_delta else _ELSEWHERE
    operation = delta[1].lower()
    return operation if is_delta or operation not in ("added", "modified") else ""


def requirement_name(title: str) -> str:
    return trim(_REQUIREMENT.sub("", title, count=1))


def _block_ends(document: Document, starts: set[int]) -> dict[int, int]:
    """A requirement ends at the next one or at the next `## `."""
    ends: dict[int, int] = {}
    current: int | None = None
    for heading in document.headings:
        is_requirement = heading.level == 3 and _REQUIREMENT.match(heading.title) is not None
        if heading.level <= 2 or is_requirement:
            if current is not None:
                ends[current] = heading.index
            current = heading.index if heading.index in starts else None
    if current is not None:
        ends[current] = len(document.lines)
    return ends


def _declare(document: Document, block: _Block, section_of: Mapping[int, str], prefix: str = "") -> DeclaredRequirement:
    lines = document.lines[block.heading.index + 1 : block.end]
    body = _body(document, block)
    pieces = [(line.start + line.text.find(text), text) for line in body if (text := trim(line.text))]
    if not pieces:
        pieces = [(block.heading.line.start + block.heading.line.text.rfind(block.name), block.name)]
    text = " ".join([piece for _, piece in pieces])
    level = level_of(text)
    last = next((line.number for line in reversed(lines) if trim(line.text)), block.heading.line.number)
    return DeclaredRequirement(
        key=f"{prefix}{block.name}",
        text=text,
        level=level or Level.MUST,
        place=Place(document.path, block.heading.line.number, last),
        spans=tuple([(start, start + len(piece)) for start, piece in pieces]),
        section_id=section_of[block.heading.index],
        has_modal_word=level is not None,
        scenarios=tuple(_scenarios(document, block)),
    )


def _body(document: Document, block: _Block) -> Sequence[Line]:
    """The text up to the first heading, without code and without lines of metadata such as `**ID**: x`."""
    lines: list[Line] = []
    for index in range(block.heading.index + 1, block.end):
        if index in document.headings_by_index:
            break
        if not document.lines[index].is_code:
            lines.append(document.lines[index])
    body = [line for line in lines if trim(line.text) and _METADATA.match(trim(line.text)) is None]
    return body or lines


def _scenarios(document: Document, block: _Block) -> Iterator[str]:
    for index in range(block.heading.index + 1, block.end):
        heading = document.headings_by_index.get(index)
        if heading is not None and heading.level == 4:
            yield trim(_SCENARIO.sub("", heading.title, count=1))


def _steps(document: Document, change: str) -> Iterator[HistoryStep]:
    """What a change does with the requirements of one capability."""
    prefix = f"{capability_of(document.path)}/"
    for block in _blocks(document, [], is_delta=True):
        yield HistoryStep(change, block.operation, prefix + block.name)
    for _, name in _quoted_names(document, "removed"):
        yield HistoryStep(change, "removed", prefix + name)
    old = ""
    for mark, name in _quoted_names(document, "renamed"):
        if mark == "FROM":
            old = name
        elif mark == "TO" and old:
            yield HistoryStep(change, "renamed", prefix + name, prefix + old)
            old = ""


def _quoted_names(document: Document, operation: str) -> Iterator[tuple[str, str]]:
    """The names below a heading, which are headings or quoted headings in a list; each after `FROM`, `TO` or nothing."""
    for line in _lines_below(document, operation):
        found = _QUOTED.match(line.text)
        if found is not None:
            yield (found[1] or "").upper(), trim(trim(line.text[found.end() :]).rstrip("`"))


def _lines_below(document: Document, operation: str) -> Iterator[Line]:
    for heading in document.headings:
        found = _DELTA.match(heading.title) if heading.level == 2 else None
        if found is not None and found[1].lower() == operation:
            yield from (
                line for line in document.lines[heading.index + 1 : document.end_of(heading)] if not line.is_code
            )


def _key_index(requirements: Iterable[DeclaredRequirement]) -> KeyIndex:
    """Names are compared with case. The slug of a name is accepted where it is unique."""
    requirements = list(requirements)
    further = [(slugged(requirement.key), requirement.key) for requirement in requirements]
    return KeyIndex.of((requirement.key for requirement in requirements), further)
