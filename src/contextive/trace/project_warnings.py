"""Warnings about things that are valid but probably not intended. duvet itself has no warnings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from contextive.trace.analysis import Analysis
from contextive.trace.citation import Citation, Location, Problem
from contextive.trace.level import CitationType
from contextive.trace.matching import Match, MatchKind
from contextive.trace.specification import Format, Specification
from contextive.trace.target import Target


@dataclass(frozen=True, slots=True)
class WarningContext:
    """What the warnings need to know about a project besides its citations."""

    specifications: dict[Target, Specification]
    requirement_counts: dict[Target, int]
    source_count: int
    stale_files: tuple[str, ...] = ()
    config_path: str | None = None


def find_warnings(analysis: Analysis, context: WarningContext) -> list[Problem]:
    """Every warning, grouped by kind."""
    quotes = list(_quotes(analysis))
    return [
        *_nothing_found(analysis, context),
        *_aliases(analysis, context),
        *_duplicate_sections(context),
        *_empty_specifications(context),
        *_stale_files(context),
        *_inexact(quotes),
        *_duplicate_citations(quotes),
    ]


##= docs/spec/trace.md#reports
##% A run that finds neither a specification nor a citation MUST say so.
def _nothing_found(analysis: Analysis, context: WarningContext) -> Iterator[Problem]:
    location = Location(context.config_path or ".duvet/config.toml", 1)
    if not context.specifications and not analysis.citations:
        message = "nothing found: no specification and no citation"
        help_ = "Run in the project's directory, or name specifications and sources in .duvet/config.toml (duvet init)."
        yield Problem("nothing_found", message, location, help=help_, fatal=False)
    elif context.source_count == 0:
        message = "no source file matches the configured patterns"
        yield Problem(
            "no_sources", message, location, help="Patterns are relative to the current directory.", fatal=False
        )


def _aliases(analysis: Analysis, context: WarningContext) -> Iterator[Problem]:
    by_document: dict[str, list[Target]] = {}
    for target in {*context.specifications, *analysis.reports}:
        by_document.setdefault(target.canonical, []).append(target)
    for targets in by_document.values():
        spellings = sorted({target.path for target in targets})
        if len(spellings) > 1:
            first = next((c for c in analysis.citations if c.target_path == spellings[1]), None)
            message = f"one document is cited under several names, which count separately: {', '.join(spellings)}"
            location = first.target_location if first else Location(context.config_path or spellings[0], 1)
            yield Problem("spec_aliases", message, location, help=f"Write {spellings[0]} everywhere.", fatal=False)


def _duplicate_sections(context: WarningContext) -> Iterator[Problem]:
    for target, specification in context.specifications.items():
        if specification.format is Format.IETF:
            for section_id in specification.duplicates:
                section = specification.by_id[section_id]
                message = f'section "{section_id}" occurs more than once in {target.path}; only the last can be cited'
                line = specification.source.line_of(section.title_start)
                yield Problem("duplicate_section", message, Location(target.path, line), fatal=False)


def _empty_specifications(context: WarningContext) -> Iterator[Problem]:
    for target, count in context.requirement_counts.items():
        if count == 0:
            message = f"no requirement found in {target.path}"
            help_ = "Check its format. Requirements are sentences with MUST, SHOULD or MAY in capitals."
            yield Problem("no_requirements", message, Location(target.path, 1), help=help_, fatal=False)


def _stale_files(context: WarningContext) -> Iterator[Problem]:
    for path in context.stale_files:
        message = "a generated requirement file whose section no longer has requirements"
        yield Problem("stale_requirements", message, Location(path, 1), help="Delete it.", fatal=False)


_Quote: TypeAlias = tuple[Citation, Target, Match]


def _quotes(analysis: Analysis) -> Iterator[_Quote]:
    """The citations that quote something, and where the quote is."""
    for item in analysis.matched:
        if item.citation.type is not CitationType.SPEC and item.match is not None:
            yield item.citation, item.target, item.match


##= docs/spec/trace.md#matching
##% A quote that matches only with a difference of one byte MUST be reported as a warning.
def _inexact(quotes: Iterable[_Quote]) -> Iterator[Problem]:
    for citation, _, match in quotes:
        if match.kind is MatchKind.FUZZY:
            message = "the quote differs from the specification in one character"
            yield Problem("fuzzy_quote", message, citation.quote_location, help="Copy the sentence again.", fatal=False)
        elif match.repeated:
            message = "the quote occurs more than once in its section; only the first occurrence counts"
            yield Problem("ambiguous_quote", message, citation.quote_location, help="Quote more of it.", fatal=False)


def _duplicate_citations(quotes: Iterable[_Quote]) -> Iterator[Problem]:
    seen: dict[tuple[object, ...], Citation] = {}
    for citation, target, match in quotes:
        key = (citation.source, citation.type, target, match.spans)
        first = seen.setdefault(key, citation)
        if first is not citation:
            message = f"the same text is cited twice in this file, first on line {first.line}"
            yield Problem(
                "duplicate_citation", message, citation.target_location, help="Keep one of them.", fatal=False
            )
