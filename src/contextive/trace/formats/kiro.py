"""Kiro and cc-sdd: `requirements.md` or `bugfix.md`, `design.md` and `tasks.md` of one feature."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from contextive.trace.formats.criteria import (
    MAX_CRITERIA,
    Criterion,
    GroupHeading,
    find_groups,
    is_criteria_label,
    labels_outside_groups,
    read_bugfix_criteria,
    read_criteria,
)
from contextive.trace.formats.document import Document, Heading, plain, sectioned, text_of
from contextive.trace.formats.glossary import glossary_of
from contextive.trace.formats.keys import KeyIndex
from contextive.trace.formats.modal_words import level_of
from contextive.trace.formats.references import Resolver, references_in
from contextive.trace.formats.task_lists import boxes_of, tasks_of
from contextive.trace.formats.values import (
    DeclaredRequirement,
    FormatSpecification,
    Place,
    Property,
    RequirementGroup,
    SpecFiles,
    UnreadLine,
    WrittenReference,
)
from contextive.trace.level import Level
from contextive.trace.specification import Specification

_PROPERTY = re.compile(
    r"(?:Correctness )?(?:Property|属性|プロパティ|特性|Свойство)[ \t]{0,3}(\d{1,6})(?!\w)[ \t]{0,3}[:.：–—-]?",
    re.IGNORECASE,
)
CLARIFICATION = "[NEEDS CLARIFICATION"


@dataclass(frozen=True, slots=True)
class _Read:
    """What a file with requirements contains."""

    title: str
    sections: Specification | None = None
    requirements: tuple[DeclaredRequirement, ...] = ()
    groups: tuple[RequirementGroup, ...] = ()


def read_kiro(files: SpecFiles, texts: Mapping[str, str]) -> FormatSpecification:
    """The specification of a feature from the texts of its files, by path."""
    unread: list[UnreadLine] = []
    documents = {path.rpartition("/")[2]: Document.parse(path, text) for path, text in texts.items()}
    for document in documents.values():
        unread += document.unread()
    main = documents.get("requirements.md")
    if main is not None:
        read = _read_requirements(main, unread)
    elif (main := documents.get("bugfix.md")) is not None:
        read = _read_bugfix(main, unread)
    else:
        read = _Read(files.key)
    index = _key_index(read)
    resolver = Resolver(index)
    design, tasks = documents.get("design.md"), documents.get("tasks.md")
    return FormatSpecification(
        files,
        read.title,
        {main.path: read.sections} if main is not None and read.sections is not None else {},
        read.requirements,
        read.groups,
        tasks_of(boxes_of(tasks, unread), resolver) if tasks is not None else (),
        tuple(_properties(design, resolver)) if design is not None else (),
        glossary_of(main) if main is not None else (),
        unread=tuple(unread),
        index=index,
    )


def _key_index(read: _Read) -> KeyIndex:
    further = [(requirement.group, requirement.key) for requirement in read.requirements if requirement.group]
    further += [(outer, requirement.key) for requirement in read.requirements for outer in requirement.outer_ids]
    return KeyIndex.of((requirement.key for requirement in read.requirements), further)


def _read_requirements(document: Document, unread: list[UnreadLine]) -> _Read:
    groups = find_groups(document)
    folded = frozenset(
        heading.index
        for group, headings in _headings_in(document, groups)
        for heading in headings
        if heading is not group.heading
    )
    specification, section_of = sectioned(document, folded)
    requirements: list[DeclaredRequirement] = []
    for group in groups:
        section = section_of[group.heading.index]
        criteria = read_criteria(document, group, unread)
        requirements += [_declare(criterion, document.path, section) for criterion in criteria]
        if len(requirements) >= MAX_CRITERIA:
            unread.append(
                UnreadLine(document.path, group.heading.line.number, "too many criteria: the rest is not read")
            )
            break
    unread += [
        UnreadLine(document.path, heading.line.number, "criteria outside a numbered requirement")
        for heading in labels_outside_groups(document, groups)
    ]
    if not groups:
        unread.append(UnreadLine(document.path, 1, "no numbered requirement in this file"))
    specification = _with_key_aliases(specification, requirements)
    title = _title(document)
    return _Read(title, specification, tuple(requirements), tuple(_group(document, group) for group in groups))


def _headings_in(
    document: Document, groups: Sequence[GroupHeading]
) -> Iterator[tuple[GroupHeading, Sequence[Heading]]]:
    """The groups with the headings in each."""
    position = 0
    for group in groups:
        inside = []
        while position < len(document.headings) and document.headings[position].index < group.end:
            if document.headings[position].index >= group.heading.index:
                inside.append(document.headings[position])
            position += 1
        yield group, inside


def _declare(criterion: Criterion, path: str, section_id: str) -> DeclaredRequirement:
    pieces = criterion.pieces
    text = " ".join([piece for _, piece in pieces])
    level = level_of(text)
    return DeclaredRequirement(
        key=criterion.key,
        text=text,
        level=level or Level.MUST,
        place=Place(path, criterion.first.number, criterion.last_line),
        spans=tuple([(start, start + len(piece)) for start, piece in pieces]),
        section_id=section_id,
        group=criterion.group,
        has_modal_word=level is not None,
        outer_ids=tuple(dict.fromkeys(criterion.outer_ids)),
        needs_clarification=CLARIFICATION in text,
    )


def _with_key_aliases(specification: Specification, requirements: Iterable[DeclaredRequirement]) -> Specification:
    """The specification, whose sections are also known by the keys of their requirements."""
    aliases: dict[str, str] = {}
    for requirement in requirements:
        for name in (requirement.group, requirement.key, f"requirement-{requirement.group}"):
            aliases.setdefault(name, requirement.section_id)
    return replace(specification, aliases={**aliases, **specification.aliases})


def _title(document: Document) -> str:
    title = next((plain(heading.title) for heading in document.headings if heading.level == 1), "")
    prefix, colon, rest = title.partition(":")
    is_generic = prefix.lower() in ("requirements document", "requirements", "bugfix requirements document")
    return rest.strip() if colon and is_generic else "" if is_generic else title


def _group(document: Document, group: GroupHeading) -> RequirementGroup:
    last = group.heading.index + 1
    while last < group.end and not _ends_story(document, last):
        last += 1
    story = text_of([line for line in document.lines[group.heading.index + 1 : last] if not line.is_code])
    first, end = group.heading.line.number, document.lines[group.end - 1].number
    return RequirementGroup(group.key, group.title, story, Place(document.path, first, end))


def _ends_story(document: Document, index: int) -> bool:
    return index in document.headings_by_index or (
        len(document.lines[index].text) <= 100 and is_criteria_label(document.lines[index].text)
    )


def _read_bugfix(document: Document, unread: list[UnreadLine]) -> _Read:
    specification, section_of = sectioned(document, frozenset())
    requirements = []
    groups: dict[str, RequirementGroup] = {}
    for criterion, heading in read_bugfix_criteria(document):
        requirements.append(_declare(criterion, document.path, section_of[heading.index]))
        if criterion.group not in groups:
            end = document.lines[document.end_of(heading) - 1].number
            place = Place(document.path, heading.line.number, end)
            groups[criterion.group] = RequirementGroup(criterion.group, plain(heading.title), "", place)
    if not requirements:
        unread.append(UnreadLine(document.path, 1, "no numbered behavior in this file"))
    specification = _with_key_aliases(specification, requirements)
    return _Read(_title(document), specification, tuple(requirements), tuple(groups.values()))


def _properties(document: Document, resolver: Resolver) -> Iterator[Property]:
    """The correctness properties of a design."""
    for heading in document.headings:
        title = plain(heading.title)
        found = _PROPERTY.match(title)
        if found is None or heading.level < 2:
            continue
        lines = document.lines[heading.index + 1 : document.end_of(heading)]
        references: list[WrittenReference] = []
        texts = []
        for line in lines:
            named = list(references_in(line.text, line.number)) if not line.is_code else []
            references += named
            if not named and not line.is_code:
                texts.append(line)
        last = next((line.number for line in reversed(lines) if line.text.strip()), heading.line.number)
        place = Place(document.path, heading.line.number, last)
        yield Property(found[1], title[found.end() :].strip(), text_of(texts), place, resolver.resolve(references))
