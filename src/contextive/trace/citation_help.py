"""Check a citation; if it is wrong, find what it probably means and suggest a correct one."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher, get_close_matches
from typing import Literal

from contextive.trace.catalog import SpecificationEntry, TraceCatalog, rfc_number
from contextive.trace.citation import Citation, CommentStyle, parse_citations
from contextive.trace.level import CitationType
from contextive.trace.matching import Haystack, MatchKind, match_quote
from contextive.trace.requirement import Requirement, Status
from contextive.trace.requirement_file import parse_requirement_file
from contextive.trace.specification import Section, Specification
from contextive.trace.text import normalise, trim

CitationPart = Literal["format", "specification", "section", "quote"]

##= docs/spec/trace.md#validate-citation
##% A citation MUST be accepted in every common comment style, and without comment markers.
COMMENT_STYLES = (
    CommentStyle("//=", "//#"),
    CommentStyle("*=", "*#"),
    CommentStyle("##=", "##%"),
    CommentStyle("#=", "#%"),
    CommentStyle("--=", "--#"),
    CommentStyle(";=", ";#"),
    CommentStyle("%=", "%#"),
)
"""The comment styles that are accepted in a pasted citation."""

_FIELD = re.compile(r"(source|type|level|format|reason|feature|tracking-issue)\s*=")
_OPENING = re.compile(r"(?:/(?=\*[=#])|/\*+|\(\*|<!--|\"\"\"|''')\s*")
_CLOSINGS = ("*/", "*)", "-->", '"""', "'''")
_PLAIN_COMMENT = re.compile(r"(?:///?|//!|(?<!#)#++|--|(?<!;);++|(?<!%)%++|\*)\s++")
_WORD = re.compile(r"\w+")
_WIDTH = 78
_MIN_SIMILARITY = 0.55
_MAX_META_LINES = 10
_MAX_COMPARED = 500
"""How many characters of two sentences are compared: the time grows with the square."""


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


_META, _CONTENT = "//= ", "//# "


def read_citation(
    text: str, styles: Sequence[CommentStyle] = COMMENT_STYLES
) -> tuple[Citation | None, str, CommentStyle]:
    """The citation in a pasted text, or an error message; and its comment style.

    The text is a comment, with or without prefixes, or an entry of a requirement file.
    """
    if text.lstrip().startswith("[["):
        entry = parse_requirement_file(text, "citation")
        if not entry.problems and len(entry.citations) == 1:
            return entry.citations[0], "", styles[0]
    style, lines = _strip_prefixes(text, styles)
    citation, error = _parse_lines(lines)
    return citation, error, style


def _parse_lines(lines: Sequence[str]) -> tuple[Citation | None, str]:
    if not lines:
        return None, "The citation is empty"
    if lines[0].startswith(_CONTENT):
        return None, "Invalid citation: it must begin with its target (path or URL of the specification, #, section)"
    parsed = parse_citations("\n".join(lines), "citation", CommentStyle("//=", "//#"))
    if parsed.problems:
        return None, f"Invalid citation: {parsed.problems[0].message}"
    if len(parsed.citations) != 1:
        return None, "Expected one citation: validate each one separately"
    return parsed.citations[0], ""


def _strip_prefixes(text: str, styles: Sequence[CommentStyle]) -> tuple[CommentStyle, list[str]]:
    found = styles[0]
    lines: list[str] = []
    if "\n" not in text:
        text = text.replace("\\n", "\n")  # escaped by a shell, or in JSON that was encoded twice
    opened = False
    for raw in text.split("\n"):
        line = trim(raw)
        opening = _OPENING.match(line)
        if opening is not None:
            opened, line = True, line[opening.end() :]
        if opened:
            line = _strip_comment_end(line)
        style = next((s for s in styles if line.startswith((s.meta, s.content))), None)
        if style is not None:
            found = style
            is_meta = line.startswith(style.meta)
            body = line[len(style.meta if is_meta else style.content) :]
        else:
            body = _PLAIN_COMMENT.sub("", _strip_comment_end(line), count=1)
            is_meta = not lines or bool(_FIELD.match(body))
        if trim(body):
            lines.append((_META if is_meta else _CONTENT) + trim(body))
    return found, lines


def _strip_comment_end(line: str) -> str:
    """The line without the end of a comment and the space around it."""
    bare = line.rstrip()
    mark = next((mark for mark in _CLOSINGS if bare.endswith(mark)), None)
    return line if mark is None else bare.removesuffix(mark).rstrip()


def check_citation_text(text: str, catalog: TraceCatalog, styles: Iterable[CommentStyle] = ()) -> CitationCheck:
    """Whether the target and quote of a pasted citation exist; if not, what is wrong and what was probably meant.

    `styles` are the comment styles of the project, in addition to the common ones.
    """
    own = [style for style in styles if style.meta and style.content and style not in COMMENT_STYLES]
    longest_first = sorted(
        {*own, *COMMENT_STYLES},
        key=lambda style: (-len(style.meta), COMMENT_STYLES.index(style) if style in COMMENT_STYLES else -1),
    )
    citation, error, style = read_citation(text, longest_first)
    if citation is None:
        return replace(_help_with_format(text, longest_first, catalog), error=error)
    return check_citation(citation, catalog, style)


def _help_with_format(text: str, styles: Sequence[CommentStyle], catalog: TraceCatalog) -> CitationCheck:
    """A suggestion for a citation that cannot be parsed: find its target by the quote, or drop the wrong line."""
    style, lines = _strip_prefixes(text, styles)
    invalid = CitationCheck(False, part="format")
    with_target, _ = _parse_lines([f"{_META}?#?", *lines])
    found_section = _find_quote_anywhere(with_target.quote, catalog) if with_target is not None else None
    if with_target is not None and found_section is not None:
        entry, section = found_section
        target = f"{entry.target.path}#{section.id}"
        suggestion = _fix_suggestion(_write_suggestion(style, target, with_target), catalog)
        return replace(invalid, nearest=target, suggestion=suggestion)
    for number, line in enumerate(lines[:_MAX_META_LINES]):
        if line.startswith(_CONTENT):
            break
        shorter, _ = _parse_lines([*lines[:number], *lines[number + 1 :]])
        if shorter is not None and shorter.section_id:
            meant = _closest_type(line)
            likely = shorter.with_type(meant) if meant is not None else shorter
            suggestion = _fix_suggestion(_write_suggestion(style, likely.target, likely), catalog)
            return replace(invalid, suggestion=suggestion)
    return invalid


def _closest_type(line: str) -> CitationType | None:
    """The type that is most similar to a wrong `type=` line."""
    key, _, value = line.removeprefix(_META).partition("=")
    words = {"implementation": CitationType.CITATION, **{kind.value: kind for kind in CitationType}}
    close = get_close_matches(trim(value).lower(), words, n=1) if trim(key) == "type" else []
    return words[close[0]] if close else None


def _find_quote_anywhere(quote: str, catalog: TraceCatalog) -> tuple[SpecificationEntry, Section] | None:
    """The specification and section that contain a quote."""
    for entry in catalog.specifications.values() if quote else ():
        section = _section_containing(entry, quote)
        if section is not None:
            return entry, section
    return None


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
    entry = catalog.find_cited(path, citation.format)
    if section_id is None:
        section_id = _likely_section(entry, citation.quote)
        suggestion = _write_suggestion(style, f"{path}#{section_id}", citation) if section_id else ""
        return CitationCheck(
            False, "Invalid URL format: missing section anchor (…#section)", "format", section_id, suggestion
        )
    is_nameless = not section_id and (entry is None or entry.specification.section("") is None)
    if is_nameless or re.search(r"\s", section_id):
        nearest = _likely_section(entry, citation.quote) or _nearest_section(entry, section_id)
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


def _unknown_specification(citation: Citation, catalog: TraceCatalog, style: CommentStyle) -> CitationCheck:
    """The check of a citation whose specification does not exist. It never suggests another RFC with a similar URL."""
    error, path, section_id = "Specification not found", citation.target_path, citation.section_id
    known = [entry.target.path for entry in catalog.specifications.values()]
    meant = catalog.resolve(path)
    close = [meant.target.path] if meant else get_close_matches(path, known, n=1, cutoff=0.5)
    nearest = next((name for name in close if rfc_number(name) == rfc_number(path)), "")
    if not nearest and (found_section := _find_quote_anywhere(citation.quote, catalog)):
        nearest, section_id = found_section[0].target.path, found_section[1].id
    if "://" in path:
        error += ": its text is not stored in this project (duvet report --fetch stores what .duvet/config.toml names)"
    suggestion = _write_suggestion(style, f"{nearest}#{section_id}", citation) if nearest else ""
    return CitationCheck(False, error, "specification", nearest, suggestion)


def _unknown_section(citation: Citation, entry: SpecificationEntry, wanted: str, style: CommentStyle) -> CitationCheck:
    nearest = _likely_section(entry, citation.quote) or _nearest_section(entry, wanted)
    suggestion = _write_suggestion(style, f"{citation.target_path}#{nearest}", citation) if nearest else ""
    return CitationCheck(False, "Section not found", "section", nearest, suggestion)


def _nearest_section(entry: SpecificationEntry | None, wanted: str) -> str:
    """The section whose id or title is most similar to a wrong id."""
    if entry is None:
        return ""
    by_title = {section.title.lower(): section.id for section in entry.specification.sections}
    close = get_close_matches(wanted, list(entry.specification.by_id), n=1, cutoff=0.5)
    titles = get_close_matches(wanted.replace("-", " ").strip().lower(), by_title, n=1, cutoff=0.6)
    return close[0] if close else (by_title[titles[0]] if titles else "")


##= docs/spec/trace.md#validate-citation
##% The answer for an invalid citation SHOULD contain the closest match and a corrected citation.
def _unknown_quote(
    citation: Citation, entry: SpecificationEntry, section: Section, style: CommentStyle
) -> CitationCheck:
    elsewhere = _section_containing(entry, citation.quote)
    if elsewhere is not None:
        suggestion = _write_suggestion(style, f"{citation.target_path}#{elsewhere.id}", citation)
        error = f"Requirement not found: the quote is in section {elsewhere.id}, not in {section.id}"
        return CitationCheck(False, error, "section", elsewhere.id, suggestion)
    nearest, found_section = _nearest_sentence(citation.quote, entry, section)
    suggestion = (
        _write_suggestion(style, f"{citation.target_path}#{found_section.id}", citation, nearest) if nearest else ""
    )
    error = "Requirement not found: the quote is not in that section"
    return CitationCheck(False, error, "quote", nearest, suggestion)


def _section_containing(entry: SpecificationEntry, quote: str) -> Section | None:
    needle = normalise(quote)
    for section, text in _normalised_sections(entry.specification):
        if needle and needle in text:
            return section
    return None


def _normalised_sections(specification: Specification) -> list[tuple[Section, str]]:
    """Each section with its normalised text, cached with the specification."""
    known = specification._cache.get("normalised sections")
    if not isinstance(known, list):
        known = [(section, normalise(section.content())) for section in specification.sections]
        specification._cache["normalised sections"] = known
    return known


def _likely_section(entry: SpecificationEntry | None, quote: str) -> str:
    found = _section_containing(entry, quote) if entry is not None and quote else None
    return found.id if found is not None else ""


def _nearest_sentence(quote: str, entry: SpecificationEntry, section: Section) -> tuple[str, Section]:
    """The sentence that is most similar to a wrong quote, searched for in its own section first."""
    words = set(_WORD.findall(quote.lower()))
    best, best_score, found_section = "", 0.0, section
    for candidate_section in (section, *entry.specification.sections):
        for sentence, other in _words_of_sentences(entry, candidate_section):
            overlap = len(words & other) / (len(words | other) or 1)
            if overlap * 1.5 <= best_score:
                continue
            matcher = SequenceMatcher(None, quote[:_MAX_COMPARED], sentence[:_MAX_COMPARED], autojunk=False)
            score = (overlap + matcher.ratio()) / 2
            if score > best_score:
                best, best_score, found_section = sentence, score, candidate_section
        if candidate_section is section and best_score >= _MIN_SIMILARITY:
            break
    return (best, found_section) if best_score >= _MIN_SIMILARITY else ("", section)


def _words_of_sentences(entry: SpecificationEntry, section: Section) -> list[tuple[str, frozenset[str]]]:
    """Each sentence of a section with its words, cached with the specification."""
    cache, key = entry.specification._cache, ("sentences", section.id)
    known = cache.get(key)
    if not isinstance(known, list):
        known = [(sentence, frozenset(_WORD.findall(sentence.lower()))) for sentence in split_sentences(section)]
        cache[key] = known
    return known


def split_sentences(section: Section) -> Iterable[str]:
    """The sentences of a section, one paragraph or list item at a time."""
    paragraph: list[str] = []
    for line in [*section.lines, None]:
        if line is not None and trim(line.text):
            paragraph.append(trim(line.text))
            continue
        if paragraph:
            yield from (trim(part) for part in re.split(r"(?<=\.)\s+", " ".join(paragraph)) if trim(part))
            paragraph = []


def _write_suggestion(style: CommentStyle, target: str, citation: Citation, quote: str | None = None) -> str:
    kind = citation.type if citation.type is not CitationType.CITATION else None
    reason = "" if citation.type in (CitationType.TODO, CitationType.SPEC) else citation.comment
    return write_citation(style, target, citation.quote if quote is None else quote, kind, reason)


def write_citation(
    style: CommentStyle, target: str, quote: str, kind: CitationType | None = None, reason: str = ""
) -> str:
    """A citation ready to paste into code."""
    lines = [f"{style.meta} {target}"]
    if kind is not None and kind is not CitationType.CITATION:
        lines.append(f"{style.meta} type={kind.value}")
    if reason:
        lines.append(f"{style.meta} reason={reason}")
    wrapped = textwrap.wrap(quote, _WIDTH, break_long_words=False, break_on_hyphens=False) if quote else []
    lines += [f"{style.content} {line}" for line in wrapped]
    return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class MissingCitation:
    """What a requirement still needs, and the citation for it."""

    what: str
    citation: str


def missing_citations(requirement: Requirement, style: CommentStyle) -> list[MissingCitation]:
    """The citations that a requirement needs to be done."""
    target = f"{requirement.target.path}#{requirement.section.id}"
    implement = MissingCitation(
        "an implementation: put this above the code that implements it",
        write_citation(style, target, requirement.text),
    )
    test = MissingCitation(
        "a test: put this above the test that would fail without it",
        write_citation(style, target, requirement.text, CitationType.TEST),
    )
    match requirement.status:
        case Status.COMPLETE | Status.EXCEPTION:
            return []
        case Status.MISSING_TEST:
            return [test]
        case Status.MISSING_CITATION:
            return [implement]
        case Status.PARTIAL:
            rest = "the rest of the sentence: its citations cover only part of it"
            return [MissingCitation(rest, write_citation(style, target, requirement.text)), test]
        case _:
            return [implement, test]


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


def citation_comment(citation: Citation, style: CommentStyle) -> str:
    """A citation as a comment, also if it is an entry of a requirement file."""
    return write_citation(style, citation.target, citation.quote, citation.type)


__all__ = [
    "COMMENT_STYLES",
    "CitationCheck",
    "MissingCitation",
    "check_citation",
    "check_citation_text",
    "citation_comment",
    "missing_citations",
    "read_citation",
    "split_sentences",
    "toml_entry",
    "write_citation",
]
