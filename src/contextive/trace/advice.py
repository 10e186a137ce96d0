"""Help with citations: is this one right, what did it mean, and what would be right in its place."""

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

Part = Literal["format", "specification", "section", "quote"]

##= docs/spec/trace.md#validate-citation
##% A citation MUST be understood in each of the usual comment styles, and without any.
STYLES = (
    CommentStyle("//=", "//#"),
    CommentStyle("*=", "*#"),
    CommentStyle("##=", "##%"),
    CommentStyle("#=", "#%"),
    CommentStyle("--=", "--#"),
    CommentStyle(";=", ";#"),
    CommentStyle("%=", "%#"),
)
"""Every comment style that a pasted citation may be written in."""

_FIELD = re.compile(r"(source|type|level|format|reason|feature|tracking-issue)\s*=")
_OPENING = re.compile(r"(?:/(?=\*[=#])|/\*+|\(\*|<!--|\"\"\"|''')\s*")
_CLOSINGS = ("*/", "*)", "-->", '"""', "'''")
_PLAIN_COMMENT = re.compile(r"(?:///?|//!|(?<!#)#++|--|(?<!;);++|(?<!%)%++|\*)\s++")
_WORD = re.compile(r"\w+")
_WIDTH = 78
_CLOSE_ENOUGH = 0.55
_MOST_META_LINES = 10
_COMPARED = 500
"""How much of two sentences is compared letter by letter: the time for it grows with the square."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is to be said about a citation."""

    valid: bool
    error: str = ""
    part: Part | None = None
    nearest: str = ""
    suggestion: str = ""
    requirements: tuple[Requirement, ...] = ()
    kind: MatchKind | None = None


_META, _CONTENT = "//= ", "//# "


def read_citation(text: str, styles: Sequence[CommentStyle] = STYLES) -> tuple[Citation | None, str, CommentStyle]:
    """A citation as a person pastes it; or why it is none. And the style it was in.

    That is a comment, with or without prefixes, or an entry of a requirement file.
    """
    if text.lstrip().startswith("[["):
        entry = parse_requirement_file(text, "citation")
        if not entry.problems and len(entry.citations) == 1:
            return entry.citations[0], "", styles[0]
    style, lines = _unprefixed(text, styles)
    citation, error = _parsed(lines)
    return citation, error, style


def _parsed(lines: Sequence[str]) -> tuple[Citation | None, str]:
    if not lines:
        return None, "The citation is empty"
    if lines[0].startswith(_CONTENT):
        return None, "Invalid citation: it must begin with the specification that it quotes (path or URL, #, section)"
    parsed = parse_citations("\n".join(lines), "citation", CommentStyle("//=", "//#"))
    if parsed.problems:
        return None, f"Invalid citation: {parsed.problems[0].message}"
    if len(parsed.citations) != 1:
        return None, "Expected one citation: validate each one by itself"
    return parsed.citations[0], ""


def _unprefixed(text: str, styles: Sequence[CommentStyle]) -> tuple[CommentStyle, list[str]]:
    found = styles[0]
    lines: list[str] = []
    if "\n" not in text:
        text = text.replace("\\n", "\n")  # as it comes out of a shell, or of JSON that was encoded twice
    opened = False
    for raw in text.split("\n"):
        line = trim(raw)
        opening = _OPENING.match(line)
        if opening is not None:
            opened, line = True, line[opening.end() :]
        if opened:
            line = _without_closing(line)
        style = next((s for s in styles if line.startswith((s.meta, s.content))), None)
        if style is not None:
            found = style
            is_meta = line.startswith(style.meta)
            body = line[len(style.meta if is_meta else style.content) :]
        else:
            body = _PLAIN_COMMENT.sub("", _without_closing(line), count=1)
            is_meta = not lines or bool(_FIELD.match(body))
        if trim(body):
            lines.append((_META if is_meta else _CONTENT) + trim(body))
    return found, lines


def _without_closing(line: str) -> str:
    """The line without the mark that ends a comment, and without the space around that mark."""
    bare = line.rstrip()
    mark = next((mark for mark in _CLOSINGS if bare.endswith(mark)), None)
    return line if mark is None else bare.removesuffix(mark).rstrip()


def judge(text: str, catalog: TraceCatalog, styles: Iterable[CommentStyle] = ()) -> Verdict:
    """Whether a pasted citation points at something that exists; if not, which part fails and what was probably meant.

    `styles` are those of the project, beside the usual ones.
    """
    own = [style for style in styles if style.meta and style.content and style not in STYLES]
    longest_first = sorted(
        {*own, *STYLES}, key=lambda style: (-len(style.meta), STYLES.index(style) if style in STYLES else -1)
    )
    citation, error, style = read_citation(text, longest_first)
    if citation is None:
        return replace(_help_with_format(text, longest_first, catalog), error=error)
    return judge_citation(citation, catalog, style)


def _help_with_format(text: str, styles: Sequence[CommentStyle], catalog: TraceCatalog) -> Verdict:
    """What a citation that cannot be parsed probably meant: its quote tells where it belongs, or one line is too much."""
    style, lines = _unprefixed(text, styles)
    wrong = Verdict(False, part="format")
    named, _ = _parsed([f"{_META}?#?", *lines])
    home = _home_of(named.quote, catalog) if named is not None else None
    if named is not None and home is not None:
        entry, section = home
        target = f"{entry.target.path}#{section.id}"
        return replace(wrong, nearest=target, suggestion=_mended(_paste(style, target, named), catalog))
    for number, line in enumerate(lines[:_MOST_META_LINES]):
        if line.startswith(_CONTENT):
            break
        shorter, _ = _parsed([*lines[:number], *lines[number + 1 :]])
        if shorter is not None and shorter.section_id:
            meant = _meant_type(line)
            likely = shorter.with_type(meant) if meant is not None else shorter
            return replace(wrong, suggestion=_mended(_paste(style, likely.target, likely), catalog))
    return wrong


def _meant_type(line: str) -> CitationType | None:
    """The type that a mistaken `type=` line most resembles."""
    key, _, value = line.removeprefix(_META).partition("=")
    words = {"implementation": CitationType.CITATION, **{kind.value: kind for kind in CitationType}}
    close = get_close_matches(trim(value).lower(), words, n=1) if trim(key) == "type" else []
    return words[close[0]] if close else None


def _home_of(quote: str, catalog: TraceCatalog) -> tuple[SpecificationEntry, Section] | None:
    """Where a quote stands, in whichever specification."""
    for entry in catalog.specifications.values() if quote else ():
        section = _section_with(entry, quote)
        if section is not None:
            return entry, section
    return None


##= docs/spec/trace.md#validate-citation
##% A citation MUST be valid only if its specification, its section and its quoted text exist.
##= docs/spec/trace.md#validate-citation
##% The answer on an invalid citation MUST say whether its format, specification, section or quote fails.
def judge_citation(citation: Citation, catalog: TraceCatalog, style: CommentStyle) -> Verdict:
    verdict = _judge(citation, catalog, style)
    return replace(verdict, suggestion=_mended(verdict.suggestion, catalog)) if verdict.suggestion else verdict


def _mended(suggestion: str, catalog: TraceCatalog) -> str:
    """The suggestion with whatever else is wrong in it put right, too; nothing where it cannot be made valid."""
    for _ in range(3):
        citation, _, style = read_citation(suggestion)
        verdict = _judge(citation, catalog, style) if citation is not None else Verdict(False)
        if verdict.valid:
            return suggestion
        suggestion = verdict.suggestion
    return ""


def _judge(citation: Citation, catalog: TraceCatalog, style: CommentStyle) -> Verdict:
    path, section_id = citation.target_path, citation.section_id
    entry = catalog.cited(path, citation.format)
    if section_id is None:
        section_id = _likely_section(entry, citation.quote)
        suggestion = _paste(style, f"{path}#{section_id}", citation) if section_id else ""
        return Verdict(
            False, "Invalid URL format: missing section anchor (…#section)", "format", section_id, suggestion
        )
    nameless = not section_id and (entry is None or entry.specification.section("") is None)
    if nameless or re.search(r"\s", section_id):
        nearest = _likely_section(entry, citation.quote) or _nearest_section(entry, section_id)
        suggestion = _paste(style, f"{path}#{nearest}", citation) if nearest else ""
        error = "Invalid section anchor: it must not be empty or hold white space"
        return Verdict(False, error, "section", nearest, suggestion)
    if entry is None:
        return _unknown_specification(citation, catalog, style)
    section = entry.specification.section(section_id)
    if section is None:
        return _unknown_section(citation, entry, section_id, style)
    if not citation.quote:
        return Verdict(True)
    match = match_quote(citation.quote, Haystack.of(section))  # not remembered: anybody may ask about anything
    if match is None:
        return _unknown_quote(citation, entry, section, style)
    touched = tuple(
        requirement
        for requirement in catalog.by_section.get((entry.id, section.id), ())
        if any(a < d and c < b for a, b in requirement.spans for c, d in match.spans)
    )
    return Verdict(True, requirements=touched, kind=match.kind)


def _unknown_specification(citation: Citation, catalog: TraceCatalog, style: CommentStyle) -> Verdict:
    """A specification that is not there. Another RFC is not what was meant, however alike the addresses are."""
    error, path, section_id = "Specification not found", citation.target_path, citation.section_id
    known = [entry.target.path for entry in catalog.specifications.values()]
    meant = catalog.resolve(path)
    close = [meant.target.path] if meant else get_close_matches(path, known, n=1, cutoff=0.5)
    nearest = next((name for name in close if rfc_number(name) == rfc_number(path)), "")
    if not nearest and (home := _home_of(citation.quote, catalog)):
        nearest, section_id = home[0].target.path, home[1].id
    if "://" in path:
        error += ": no text of it is stored in this project (duvet report --fetch stores what .duvet/config.toml names)"
    suggestion = _paste(style, f"{nearest}#{section_id}", citation) if nearest else ""
    return Verdict(False, error, "specification", nearest, suggestion)


def _unknown_section(citation: Citation, entry: SpecificationEntry, wanted: str, style: CommentStyle) -> Verdict:
    nearest = _likely_section(entry, citation.quote) or _nearest_section(entry, wanted)
    suggestion = _paste(style, f"{citation.target_path}#{nearest}", citation) if nearest else ""
    return Verdict(False, "Section not found", "section", nearest, suggestion)


def _nearest_section(entry: SpecificationEntry | None, wanted: str) -> str:
    """The section whose id or title a wrong id most resembles."""
    if entry is None:
        return ""
    by_title = {section.title.lower(): section.id for section in entry.specification.sections}
    close = get_close_matches(wanted, list(entry.specification.by_id), n=1, cutoff=0.5)
    titles = get_close_matches(wanted.replace("-", " ").strip().lower(), by_title, n=1, cutoff=0.6)
    return close[0] if close else (by_title[titles[0]] if titles else "")


##= docs/spec/trace.md#validate-citation
##% The answer on an invalid citation SHOULD hold what comes nearest and a corrected citation.
def _unknown_quote(citation: Citation, entry: SpecificationEntry, section: Section, style: CommentStyle) -> Verdict:
    elsewhere = _section_with(entry, citation.quote)
    if elsewhere is not None:
        suggestion = _paste(style, f"{citation.target_path}#{elsewhere.id}", citation)
        error = f"Requirement not found: the quote stands in section {elsewhere.id}, not in {section.id}"
        return Verdict(False, error, "section", elsewhere.id, suggestion)
    nearest, home = _nearest_sentence(citation.quote, entry, section)
    suggestion = _paste(style, f"{citation.target_path}#{home.id}", citation, nearest) if nearest else ""
    error = "Requirement not found: the quote does not stand in that section"
    return Verdict(False, error, "quote", nearest, suggestion)


def _section_with(entry: SpecificationEntry, quote: str) -> Section | None:
    needle = normalise(quote)
    for section, text in _normal_texts(entry.specification):
        if needle and needle in text:
            return section
    return None


def _normal_texts(specification: Specification) -> list[tuple[Section, str]]:
    """Each section with its normalised text, remembered with the specification."""
    known = specification._memory.get("normal texts")
    if not isinstance(known, list):
        known = [(section, normalise(section.content())) for section in specification.sections]
        specification._memory["normal texts"] = known
    return known


def _likely_section(entry: SpecificationEntry | None, quote: str) -> str:
    found = _section_with(entry, quote) if entry is not None and quote else None
    return found.id if found is not None else ""


def _nearest_sentence(quote: str, entry: SpecificationEntry, section: Section) -> tuple[str, Section]:
    """The sentence that a mistaken quote most resembles, looked for in its own section first."""
    words = set(_WORD.findall(quote.lower()))
    best, best_score, home = "", 0.0, section
    for candidate_section in (section, *entry.specification.sections):
        for sentence, other in _words_of_sentences(entry, candidate_section):
            overlap = len(words & other) / (len(words | other) or 1)
            if overlap * 1.5 <= best_score:
                continue
            alike = SequenceMatcher(None, quote[:_COMPARED], sentence[:_COMPARED], autojunk=False)
            score = (overlap + alike.ratio()) / 2
            if score > best_score:
                best, best_score, home = sentence, score, candidate_section
        if candidate_section is section and best_score >= _CLOSE_ENOUGH:
            break
    return (best, home) if best_score >= _CLOSE_ENOUGH else ("", section)


def _words_of_sentences(entry: SpecificationEntry, section: Section) -> list[tuple[str, frozenset[str]]]:
    """Each sentence of a section with its words, remembered with the specification."""
    memory, key = entry.specification._memory, ("sentences", section.id)
    known = memory.get(key)
    if not isinstance(known, list):
        known = [(sentence, frozenset(_WORD.findall(sentence.lower()))) for sentence in sentences_of(section)]
        memory[key] = known
    return known


def sentences_of(section: Section) -> Iterable[str]:
    """The sentences of a section, one paragraph or list item at a time."""
    paragraph: list[str] = []
    for line in [*section.lines, None]:
        if line is not None and trim(line.text):
            paragraph.append(trim(line.text))
            continue
        if paragraph:
            yield from (trim(part) for part in re.split(r"(?<=\.)\s+", " ".join(paragraph)) if trim(part))
            paragraph = []


def _paste(style: CommentStyle, target: str, citation: Citation, quote: str | None = None) -> str:
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
class Missing:
    """What a requirement still lacks, and the citation that would say that it is there."""

    what: str
    citation: str


def what_is_missing(requirement: Requirement, style: CommentStyle) -> list[Missing]:
    """The steps from a requirement's status to done."""
    target = f"{requirement.target.path}#{requirement.section.id}"
    implement = Missing(
        "an implementation: put this above the code that does it", write_citation(style, target, requirement.text)
    )
    test = Missing(
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
            whole = "the rest of the sentence: its citations cover only a part"
            return [Missing(whole, write_citation(style, target, requirement.text)), test]
        case _:
            return [implement, test]


def toml_entry(citation: Citation, suggestion: str) -> str:
    """A suggested citation as the entry of a requirement file, ready to paste there; the old one says what it is."""
    mended, _, _ = read_citation(suggestion)
    if mended is None:
        return ""
    fields = {
        "target": mended.target,
        "quote": mended.quote,
        "reason": citation.comment if citation.type is CitationType.EXCEPTION else "",
        "tracking-issue": citation.tracking_issue,
        "feature": citation.feature,
    }
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in fields.items() if value]
    return "\n".join([f"[[{citation.type.value}]]", *lines])


def problem_text(citation: Citation, style: CommentStyle) -> str:
    """A citation that has no comment of its own, such as an entry of a requirement file, in comment form."""
    return write_citation(style, citation.target, citation.quote, citation.type)


__all__ = [
    "STYLES",
    "Missing",
    "Verdict",
    "judge",
    "judge_citation",
    "problem_text",
    "read_citation",
    "sentences_of",
    "toml_entry",
    "what_is_missing",
    "write_citation",
]
