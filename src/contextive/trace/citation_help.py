"""Check a citation; if it is wrong, find what it probably means and suggest a correct one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Literal

from contextive.trace.catalog import SpecificationEntry, TraceCatalog, rfc_number
from contextive.trace.citation import Citation, CommentStyle
from contextive.trace.citation_reading import (
    COMMENT_STYLES,
    CONTENT,
    META,
    is_toml_entry,
    parse_lines,
    read_citation,
    strip_prefixes,
    styles_of,
)
from contextive.trace.citation_writing import citation_target, write_citation
from contextive.trace.declared_requirements import is_handle
from contextive.trace.level import CitationType
from contextive.trace.matching import Haystack, MatchKind, match_quote
from contextive.trace.nearest_text import (
    find_quote_anywhere,
    likely_section,
    nearest_passage,
    nearest_section,
    section_containing,
)
from contextive.trace.requirement import Requirement
from contextive.trace.specification import Section
from contextive.trace.text import trim

CitationPart = Literal["format", "specification", "section", "quote"]

_FIELDS = ("source", "type", "level", "format", "reason", "feature", "tracking-issue")
_MAX_META_LINES = 10


@dataclass(frozen=True, slots=True)
class CitationCheck:
    """The result of checking a citation."""

    valid: bool
    error: str = ""
    part: CitationPart | None = None
    nearest: str = ""
    suggestion: str = ""
    requirements: tuple[Requirement, ...] = ()
    kind: MatchKind | None = None
    warnings: tuple[str, ...] = ()
    """What is wrong with a citation although its target and quote exist."""


def check_citation_text(
    text: str, catalog: TraceCatalog, styles: Iterable[CommentStyle] = (), used: Iterable[CommentStyle] = ()
) -> CitationCheck:
    """Whether the target and quote of a pasted citation exist; if not, what is wrong and what was probably meant.

    `styles` are the comment styles of the project, in addition to the common ones. `used` are those of its files.
    """
    known = styles_of(styles)
    citation, error, style = read_citation(text, known)
    if citation is None:
        return replace(_help_with_format(text, known, catalog), error=error)
    check = check_citation(citation, catalog, style)
    warnings = (*_style_warnings(text, known, tuple(used)), *_quote_warnings(citation, check))
    return replace(check, warnings=warnings) if check.valid else check


##= docs/spec/trace.md#validate-citation
##% A valid citation in a comment style that no source file of the project uses MUST be answered with a warning.
def _style_warnings(text: str, known: Sequence[CommentStyle], used: Sequence[CommentStyle]) -> Iterator[str]:
    style = None if is_toml_entry(text) else strip_prefixes(text, known)[0]
    if style is not None and used and style not in used:
        names = " or ".join(f"{other.meta} and {other.content}" for other in used[:3])
        yield (
            f"No source file of this project is read with {style.meta} and {style.content}, so this comment would be "
            f"ignored. The project uses {names}."
        )


##= docs/spec/trace.md#validate-citation
##% A valid citation whose quote covers no part of a requirement MUST be answered with a warning.
def _quote_warnings(citation: Citation, check: CitationCheck) -> Iterator[str]:
    if citation.quote and not check.requirements:
        yield "The quote is in the section, but it covers no word of a requirement, so it implements nothing."


def _help_with_format(text: str, styles: Sequence[CommentStyle], catalog: TraceCatalog) -> CitationCheck:
    """A suggestion for a citation that cannot be parsed: find its target by the quote, or correct the wrong line."""
    found_style, lines = strip_prefixes(text, styles)
    style, invalid = found_style or styles[0], CitationCheck(False, part="format")
    with_target, _ = parse_lines([f"{META}?#?", *lines])
    found_section = find_quote_anywhere(with_target.quote, catalog) if with_target is not None else None
    if with_target is not None and found_section is not None:
        entry, section = found_section
        target = f"{entry.target.path}#{section.id}"
        suggestion = _fix_suggestion(_write_suggestion(style, target, with_target), catalog)
        return replace(invalid, nearest=target, suggestion=suggestion)
    for number, line in enumerate(lines[:_MAX_META_LINES]):
        if line.startswith(CONTENT):
            break
        for corrected in _corrections(line):
            likely, _ = parse_lines([*lines[:number], *corrected, *lines[number + 1 :]])
            if likely is not None and likely.section_id:
                suggestion = _fix_suggestion(_write_suggestion(style, likely.target, likely), catalog)
                return replace(invalid, suggestion=suggestion)
    return invalid


def _corrections(line: str) -> Iterator[list[str]]:
    """What a wrong meta line may mean. A line that may set the type is corrected or kept, but never dropped."""
    key, equals, value = line.removeprefix(META).partition("=")
    key, value = trim(key), trim(value)
    field = next(iter(get_close_matches(key.lower(), _FIELDS, n=1, cutoff=0.7)), "") if equals else ""
    if field == "type":
        words = ("implementation", *(kind.value for kind in CitationType))
        close = get_close_matches(value.lower(), words, n=1)
        if close:
            yield [f"{META}type={close[0]}"]
        return
    if field and field != key:
        yield [f"{META}{field}={value}"]
    yield []


##= docs/spec/trace.md#validate-citation
##% A citation MUST be valid only if its specification, its section and its quoted text exist.
##= docs/spec/trace.md#validate-citation
##% The answer for an invalid citation MUST say whether its format, specification, section or quote is wrong.
def check_citation(citation: Citation, catalog: TraceCatalog, style: CommentStyle) -> CitationCheck:
    check = _check(citation, catalog, style)
    return replace(check, suggestion=_fix_suggestion(check.suggestion, catalog)) if check.suggestion else check


def _fix_suggestion(suggestion: str, catalog: TraceCatalog) -> str:
    """The suggestion with its remaining errors corrected; empty if it cannot be made valid."""
    for _ in range(3):
        citation, _, style = read_citation(suggestion)
        check = _check(citation, catalog, style) if citation is not None else CitationCheck(False)
        if check.valid:
            return suggestion
        suggestion = check.suggestion
    return ""


def _check(citation: Citation, catalog: TraceCatalog, style: CommentStyle) -> CitationCheck:
    path, section_id = citation.target_path, citation.section_id
    if is_handle(path) and catalog.analysis.declarations.documents.documents:
        return _check_handle(citation, catalog, style)
    entry = catalog.find_cited(path, citation.format)
    if section_id is None:
        section_id = likely_section(entry, citation.quote)
        suggestion = _write_suggestion(style, f"{path}#{section_id}", citation) if section_id else ""
        return CitationCheck(
            False, "Invalid URL format: missing section anchor (…#section)", "format", section_id, suggestion
        )
    is_nameless = not section_id and (entry is None or entry.specification.section("") is None)
    if is_nameless or re.search(r"\s", section_id):
        nearest = likely_section(entry, citation.quote) or nearest_section(entry, section_id)
        suggestion = _write_suggestion(style, f"{path}#{nearest}", citation) if nearest else ""
        error = "Invalid section anchor: it must not be empty or contain white space"
        return CitationCheck(False, error, "section", nearest, suggestion)
    if entry is None:
        return _unknown_specification(citation, catalog, style)
    section = entry.specification.section(section_id)
    if section is None:
        return _unknown_section(citation, entry, section_id, style)
    if not citation.quote:
        return CitationCheck(True)
    match = match_quote(citation.quote, Haystack.of(section))  # not cached: callers can send any text
    if match is None:
        return _unknown_quote(citation, entry, section, style)
    touched = tuple(
        requirement
        for requirement in catalog.by_section.get((entry.id, section.id), ())
        if any(a < d and c < b for a, b in requirement.spans for c, d in match.spans)
    )
    return CitationCheck(True, requirements=touched, kind=match.kind)


##= docs/spec/trace.md#spec-driven-formats
##% A citation MUST be accepted whose target is a handle and that quotes the text of that requirement.
def _check_handle(citation: Citation, catalog: TraceCatalog, style: CommentStyle) -> CitationCheck:
    """The check of a citation whose target is a handle. A quote must be in the text of that requirement."""
    documents = catalog.analysis.declarations.documents
    named = documents.find(citation.target_path)
    if named is None:
        close = get_close_matches(citation.target_path, catalog.by_handle, n=1, cutoff=0.5)
        nearest = catalog.by_handle[close[0]][0] if close else None
        suggestion = _write_suggestion(style, citation_target(nearest), citation) if nearest is not None else ""
        return CitationCheck(False, "Requirement not found", "specification", close[0] if close else "", suggestion)
    requirements = tuple(catalog.by_handle[named.handle])
    if not citation.quote:
        return CitationCheck(True, requirements=requirements)
    match = match_quote(citation.quote, named.haystack)
    if match is not None:
        return CitationCheck(True, requirements=requirements, kind=match.kind)
    text = requirements[0].text
    suggestion = _write_suggestion(style, citation_target(requirements[0]), citation, text)
    return CitationCheck(False, "The quote is not in the text of that requirement", "quote", text, suggestion)


def _unknown_specification(citation: Citation, catalog: TraceCatalog, style: CommentStyle) -> CitationCheck:
    """The check of a citation whose specification does not exist. It never suggests another RFC with a similar URL."""
    error, path, section_id = "Specification not found", citation.target_path, citation.section_id
    known = [entry.target.path for entry in catalog.specifications.values()]
    meant = catalog.resolve(path)
    close = [meant.target.path] if meant else get_close_matches(path, known, n=1, cutoff=0.5)
    nearest = next((name for name in close if rfc_number(name) == rfc_number(path)), "")
    if not nearest and (found_section := find_quote_anywhere(citation.quote, catalog)):
        nearest, section_id = found_section[0].target.path, found_section[1].id
    if "://" in path:
        error += ": its text is not stored in this project (duvet report --fetch stores what .duvet/config.toml names)"
    suggestion = _write_suggestion(style, f"{nearest}#{section_id}", citation) if nearest else ""
    return CitationCheck(False, error, "specification", nearest, suggestion)


def _unknown_section(citation: Citation, entry: SpecificationEntry, wanted: str, style: CommentStyle) -> CitationCheck:
    nearest = likely_section(entry, citation.quote) or nearest_section(entry, wanted)
    suggestion = _write_suggestion(style, f"{citation.target_path}#{nearest}", citation) if nearest else ""
    return CitationCheck(False, "Section not found", "section", nearest, suggestion)


##= docs/spec/trace.md#validate-citation
##% The answer for an invalid citation SHOULD contain the closest match and a corrected citation.
def _unknown_quote(
    citation: Citation, entry: SpecificationEntry, section: Section, style: CommentStyle
) -> CitationCheck:
    elsewhere = section_containing(entry, citation.quote)
    if elsewhere is not None:
        suggestion = _write_suggestion(style, f"{citation.target_path}#{elsewhere.id}", citation)
        error = f"Requirement not found: the quote is in section {elsewhere.id}, not in {section.id}"
        return CitationCheck(False, error, "section", elsewhere.id, suggestion)
    nearest, found_section = nearest_passage(citation.quote, entry, section)
    suggestion = (
        _write_suggestion(style, f"{citation.target_path}#{found_section.id}", citation, nearest) if nearest else ""
    )
    error = "Requirement not found: the quote is not in that section"
    return CitationCheck(False, error, "quote", nearest, suggestion)


def _write_suggestion(style: CommentStyle, target: str, citation: Citation, quote: str | None = None) -> str:
    has_reason = citation.type not in (CitationType.TODO, CitationType.SPEC)
    fields = {
        "reason": citation.comment if has_reason else "",
        "tracking-issue": citation.tracking_issue,
        "feature": citation.feature,
    }
    return write_citation(style, target, citation.quote if quote is None else quote, citation.type, fields)


def toml_entry(citation: Citation, suggestion: str) -> str:
    """A suggested citation as an entry of a requirement file, with the type and details of the old citation."""
    fixed, _, _ = read_citation(suggestion)
    if fixed is None:
        return ""
    fields = {
        "target": fixed.target,
        "quote": fixed.quote,
        "reason": citation.comment if citation.type is CitationType.EXCEPTION else "",
        "tracking-issue": citation.tracking_issue,
        "feature": citation.feature,
    }
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in fields.items() if value]
    return "\n".join([f"[[{citation.type.value}]]", *lines])


__all__ = [
    "COMMENT_STYLES",
    "CitationCheck",
    "check_citation",
    "check_citation_text",
    "read_citation",
    "toml_entry",
]
