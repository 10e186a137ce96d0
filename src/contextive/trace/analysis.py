"""From citations and specifications to references: which bytes of which specification each citation covers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import NamedTuple, TypeAlias

from contextive.trace.citation import Citation, Problem
from contextive.trace.level import TYPE_ORDER
from contextive.trace.matching import Haystack, Match, MatchKind, match_quote
from contextive.trace.specification import Section, Specification
from contextive.trace.target import Target
from contextive.trace.text import quoted

Resolve: TypeAlias = Callable[[Citation], Target | Problem]
Load: TypeAlias = Callable[[Target], Specification | str]
"""Gives a specification, or in words why there is none."""


class Reference(NamedTuple):
    """A citation's claim on one piece of a specification's text. A tuple: there are tens of thousands of them."""

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


class Matched(NamedTuple):
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
    ordered = sorted(citations, key=_order)
    doubled = [index for index, (one, other) in enumerate(pairwise(ordered), 1) if _is_same(one, other)]
    for index in reversed(doubled):
        del ordered[index]
    return ordered


def _is_same(one: Citation, other: Citation) -> bool:
    """Whether two readings of a file found one citation. Two that say the same on one line are still two."""
    return one.line == other.line and one == other and one.quote_end == other.quote_end


@lru_cache(maxsize=65_536)
def _path_parts(path: str) -> tuple[str, ...]:
    return tuple(part for part in path.split("/") if part not in ("", "."))


def _order(citation: Citation) -> tuple[object, ...]:
    place = citation.target_place
    return (
        _path_parts(citation.source),
        citation.line,
        place.line,
        place.column,
        citation.quote_end.line,
        citation.quote_end.column,
        citation.quote_place.line,
        citation.quote_place.column,
        TYPE_ORDER[citation.type],
        citation.target,
        citation.quote,
        citation.blob_link is not None,
        citation.blob_link or "",
    )


@dataclass(slots=True)
class _Bucket:
    """One target while citations are sorted into it."""

    target: Target
    specification: Specification | str
    references: list[Reference] = field(default_factory=list)


##= docs/spec/trace.md#matching
##% A citation that cannot be parsed or matched MUST NOT cover anything, and keeps no other citation from being
##% matched.
def analyse(citations: Sequence[Citation], resolve: Resolve, load: Load) -> Analysis:
    """Match every citation. Each one that fails costs itself alone; why it failed is kept with its number."""
    ordered = sort_citations(citations)
    buckets: dict[Target, _Bucket] = {}
    # A resolver gives the same object for the same target; hashing a number is cheaper than hashing a target.
    by_object: dict[int, _Bucket] = {}
    matched: list[Matched] = []
    invalid: dict[int, Problem] = {}
    for number, citation in enumerate(ordered):
        target = resolve(citation)
        if isinstance(target, Problem):
            invalid[number] = target
            continue
        bucket = by_object.get(id(target))
        if bucket is None:
            bucket = buckets.get(target) or _Bucket(target, load(target))
            buckets[target] = by_object[id(target)] = bucket
        outcome = _place(citation, bucket)
        if isinstance(outcome, Problem):
            invalid[number] = outcome
            continue
        section, match = outcome
        matched.append(Matched(number, citation, bucket.target, section, match))
        spans = match.spans if match else ((section.title_start, section.title_end),)
        bucket.references += [Reference(number, citation, start, end) for start, end in spans]
    reports = {
        bucket.target: TargetReport(bucket.target, bucket.specification, tuple(bucket.references))
        for bucket in sorted(buckets.values(), key=lambda bucket: bucket.target.sort_key())
        if bucket.references and isinstance(bucket.specification, Specification)
    }
    return Analysis(tuple(ordered), reports, tuple(matched), tuple(invalid.values()), invalid)


def _place(citation: Citation, bucket: _Bucket) -> tuple[Section, Match | None] | Problem:
    """A citation's section and its place there, None for one that quotes nothing."""
    specification, target = bucket.specification, bucket.target
    if isinstance(specification, str):
        return Problem("specification_not_found", specification, citation.target_place, "referenced here")
    section_id = citation.section_id
    if section_id is None:
        message = f"reference to {target.shown} is missing a section"
        return Problem("section_missing", message, citation.target_place, "referenced here")
    section = specification.section(section_id)
    if section is None:
        message = f"missing section {quoted(section_id)} in {target.shown}"
        return Problem("section_not_found", message, citation.target_place, "referenced here")
    ##= docs/spec/trace.md#citation-comments
    ##% A citation without quoted lines MUST be valid where its section exists, and covers nothing.
    if not citation.quote:
        return section, None
    match = find_match(specification, section, citation.quote)
    ##= docs/spec/trace.md#matching
    ##% A quote that does not stand in its section MUST be an error.
    if match is None:
        message = f"could not find text in section {quoted(section_id)} of {target.shown}"
        label = "text here" if section.text_lines else "section is empty"
        return Problem("quote_not_found", message, citation.quote_place, label)
    return section, match


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
