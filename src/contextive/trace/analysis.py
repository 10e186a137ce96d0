"""From citations and specifications to references: which bytes of which specification each citation covers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

from contextive.trace.citation import Citation, Problem
from contextive.trace.level import TYPE_ORDER
from contextive.trace.matching import Haystack, Match, MatchKind, match_quote
from contextive.trace.specification import Section, Specification
from contextive.trace.target import Target
from contextive.trace.text import quoted

Resolve: TypeAlias = Callable[[Citation], Target | Problem]
Load: TypeAlias = Callable[[Target], Specification | str]
"""Gives a specification, or in words why there is none."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A citation's claim on one piece of a specification's text."""

    number: int
    citation: Citation
    start: int
    end: int


@dataclass(frozen=True)
class TargetReport:
    """One specification with everything that refers to it."""

    target: Target
    specification: Specification
    references: tuple[Reference, ...]

    @cached_property
    def by_line(self) -> dict[int, list[Reference]]:
        lines: dict[int, list[Reference]] = {}
        source = self.specification.source
        for reference in self.references:
            for line in source.line_range(reference.start, reference.end):
                lines.setdefault(line, []).append(reference)
        return lines


@dataclass(frozen=True, slots=True)
class Matched:
    """A citation that stands on firm ground: its section and, unless it quotes nothing, its place there."""

    number: int
    citation: Citation
    target: Target
    section: Section
    match: Match | None


@dataclass(frozen=True)
class Analysis:
    """All that a project's citations come to. `problems` are what duvet fails on; the rest still counts."""

    citations: tuple[Citation, ...]
    reports: dict[Target, TargetReport]
    matched: tuple[Matched, ...]
    problems: tuple[Problem, ...]
    invalid: dict[int, Problem] = field(default_factory=dict)
    """Number of a citation that could not be placed → why."""

    @property
    def mapped_sections(self) -> int:
        return len({(item.target, item.citation.section_id) for item in self.matched})


def sort_citations(citations: Iterable[Citation]) -> list[Citation]:
    """Every citation once, in the order from which reports take their ids."""
    return sorted(dict.fromkeys(citations), key=_order)


def _order(citation: Citation) -> tuple[object, ...]:
    place = citation.target_place
    return (
        tuple(part for part in citation.source.split("/") if part not in ("", ".")),
        citation.line,
        place.line,
        place.column,
        citation.end_line,
        citation.quote_place.line,
        citation.quote_place.column,
        TYPE_ORDER[citation.type],
        citation.target,
        citation.quote,
        citation.blob_link is not None,
        citation.blob_link or "",
    )


def analyse(citations: Sequence[Citation], resolve: Resolve, load: Load) -> Analysis:
    """Match every citation. Each one that fails costs itself alone; why it failed is kept with its number."""
    ordered = sort_citations(citations)
    references: dict[Target, list[Reference]] = {}
    specifications: dict[Target, Specification] = {}
    matched: list[Matched] = []
    invalid: dict[int, Problem] = {}
    for number, citation in enumerate(ordered):
        outcome = _place(number, citation, resolve, load)
        if isinstance(outcome, Problem):
            invalid[number] = outcome
            continue
        item, specification = outcome
        specifications[item.target] = specification
        matched.append(item)
        spans = item.match.spans if item.match else ((item.section.title_start, item.section.title_end),)
        bucket = references.setdefault(item.target, [])
        bucket += [Reference(number, citation, start, end) for start, end in spans]
    reports = {
        target: TargetReport(target, specifications[target], tuple(references[target]))
        for target in sorted(references, key=Target.sort_key)
    }
    return Analysis(tuple(ordered), reports, tuple(matched), tuple(invalid.values()), invalid)


def _place(number: int, citation: Citation, resolve: Resolve, load: Load) -> tuple[Matched, Specification] | Problem:
    target = resolve(citation)
    if isinstance(target, Problem):
        return target
    specification = load(target)
    if isinstance(specification, str):
        return Problem("specification_not_found", specification, citation.target_place, "referenced here")
    section_id = citation.section_id
    if section_id is None:
        message = f"reference to {target.shown} is missing a section"
        return Problem("section_missing", message, citation.target_place, "referenced here")
    section = specification.section(section_id)
    if section is None:
        message = f'missing section {quoted(section_id)} in {target.shown}'
        return Problem("section_not_found", message, citation.target_place, "referenced here")
    if not citation.quote:
        return Matched(number, citation, target, section, None), specification
    match = find_match(specification, section, citation.quote)
    if match is None:
        message = f'could not find text in section {quoted(section_id)} of {target.shown}'
        label = "text here" if section.text_lines else "section is empty"
        return Problem("quote_not_found", message, citation.quote_place, label)
    return Matched(number, citation, target, section, match), specification


def find_match(specification: Specification, section: Section, quote: str) -> Match | None:
    """Like `match_quote`, remembered with the specification: an unchanged quote is looked up, not searched."""
    memory = specification._memory
    key = (section.id, quote)
    if key not in memory:
        haystack = memory.get(section.id)
        if not isinstance(haystack, Haystack):
            haystack = memory[section.id] = Haystack.of(section)
        memory[key] = match_quote(quote, haystack)
    found = memory[key]
    assert found is None or isinstance(found, Match)
    return found


def fuzzy_matches(analysis: Analysis) -> list[Matched]:
    """The citations whose words are not quite those of the specification."""
    return [item for item in analysis.matched if item.match is not None and item.match.kind is MatchKind.FUZZY]
