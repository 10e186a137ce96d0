"""Write citations: the comment for a requirement, and what a requirement still needs."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote as quote_url

from contextive.trace.citation import Citation, CommentStyle
from contextive.trace.level import CitationType
from contextive.trace.requirement import Requirement

_WIDTH = 78
_NOT_IN_TARGETS = re.compile(r"[\s#%]")


@dataclass(frozen=True, slots=True)
class MissingCitation:
    """What a requirement still needs, and the citation for it."""

    what: str
    citation: str


def write_citation(
    style: CommentStyle,
    target: str,
    quote: str,
    kind: CitationType | None = None,
    fields: Mapping[str, str] | None = None,
) -> str:
    """A citation ready to paste into code. `fields` are further meta lines; empty ones are left out."""
    lines = [f"{style.meta} {target}"]
    if kind is not None and kind is not CitationType.CITATION:
        lines.append(f"{style.meta} type={kind.value}")
    lines += [f"{style.meta} {name}={value}" for name, value in (fields or {}).items() if value]
    wrapped = textwrap.wrap(quote, _WIDTH, break_long_words=False, break_on_hyphens=False) if quote else []
    lines += [f"{style.content} {line}" for line in wrapped]
    return "\n".join(lines)


def citation_comment(citation: Citation, style: CommentStyle) -> str:
    """A citation as a comment, also if it is an entry of a requirement file."""
    return write_citation(style, citation.target, citation.quote, citation.type)


def citation_target(requirement: Requirement) -> str:
    """The target of a citation of a requirement: its handle without white space, or else its section."""
    if requirement.handle:
        return _NOT_IN_TARGETS.sub(lambda found: quote_url(found[0], safe=""), requirement.handle)
    return f"{requirement.target.path}#{requirement.section.id}"


def missing_citations(requirement: Requirement, style: CommentStyle) -> list[MissingCitation]:
    """The citations that a requirement needs to be done. If only some words are open, they alone are quoted."""
    if requirement.status.is_done:
        return []
    target = citation_target(requirement)
    missing = []
    code, tests = requirement.words_not_implemented(), requirement.words_not_tested()
    if code:
        is_rest = requirement.implementation == "part"
        what = "the rest of the implementation" if is_rest else "an implementation"
        quote = code[0] if is_rest and len(code) == 1 else requirement.text
        missing.append(
            MissingCitation(f"{what}: put this above the code that implements it", write_citation(style, target, quote))
        )
    if tests:
        is_rest = bool(requirement.citations_of(CitationType.TEST))
        what = "a test of the rest" if is_rest else "a test"
        quote = tests[0] if is_rest and len(tests) == 1 else requirement.text
        missing.append(
            MissingCitation(
                f"{what}: put this above the test that would fail without it",
                write_citation(style, target, quote, CitationType.TEST),
            )
        )
    return missing
