"""Long specifications are shown in parts: consecutive sections that fit on one page."""

from __future__ import annotations

from typing import Final

from contextive.trace.specification import Section, Specification

PART_CHARACTERS: Final = 40_000
"""The text on one page. Marks and badges make it up to five times as long."""


def parts_of(specification: Specification) -> list[list[Section]]:
    """The sections of a specification, in parts."""
    parts: list[list[Section]] = [[]]
    size = 0
    for section in specification.sections:
        length = sum(len(line.text) for line in section.text_lines) + len(section.title)
        if parts[-1] and size + length > PART_CHARACTERS:
            parts.append([])
            size = 0
        parts[-1].append(section)
        size += length
    return parts


def part_with(specification: Specification, section_id: str) -> int:
    """The number of the part that contains a section."""
    for number, sections in enumerate(parts_of(specification), 1):
        if any(section.id == section_id for section in sections):
            return number
    return 1
