"""Small sample projects made of strings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from contextive.trace.analysis import Analysis
from contextive.trace.citation import Citation, ParsedFile, Problem, parse_citations
from contextive.trace.extraction import extract_requirements
from contextive.trace.level import CitationType
from contextive.trace.reports.code_excerpt import CodeExcerpt, code_block
from contextive.trace.requirement import Requirement
from contextive.trace.specification import Format, parse_specification
from tests.trace.in_memory_trace import match_texts

SPEC = """# Frames

## Length

An endpoint MUST check the length of a frame.
A frame that is too long MUST be refused.
The limit SHOULD be configurable.
The limit MAY be infinite.
An error MUST be logged, and its cause MUST be named.
Logs MUST be kept for a day.
"""

CODE = """// The limit.
//= spec.md#length
//# An endpoint MUST check the length of a frame.
fn check() {}

//= spec.md#length
//= type=test
//# An endpoint MUST check the length of a frame.
fn checks() {}

//= spec.md#length
//# A frame that is too long MUST be refused.
fn refuse() {}

//= spec.md#length
//= type=exception
//= reason=One size fits all.
//# The limit SHOULD be configurable.

//= spec.md#length
//= type=todo
//= tracking-issue=42
//# The limit MAY be infinite.

//= spec.md#length
//# An error MUST be logged
fn log() {}
"""

HOSTILE = (
    "</script><script>alert(1)</script>",
    "<!-- <![CDATA[ ]]> -->",
    "\"' onmouseover='alert(1)' x=\"",
    "<img src=x onerror=alert(1)>",
    "&lt;b&gt; &amp; &#60;",
    "javascript:alert(1)",
    "line\u2028separator\u2029here",
    "\u202egnp.exe\u2066\u2069",
    "zero\u200bwidth\u200d\ufeff",
    "tags\U000e0041\U000e0042\U000e007f",
    "null\x00escape\x1b[31mbell\x07delete\x7f",
    "half \ud800 of a pair",
    "not\ufffea character\uffff",
    "%0A::error::fake, 100% : done",
    "\r\n::error file=x::fake",
)
"""Texts that break a report that does not escape them."""

HIDDEN = "\x00\x07\x1b\x7f\u200b\u200d\u2028\u2029\u202e\u2066\u2069\ufeff\ufffe\uffff\ud800\U000e0041\U000e007f"


@dataclass(frozen=True)
class Sample:
    """A project: specifications and sources by path."""

    specifications: dict[str, str]
    sources: dict[str, str]

    @cached_property
    def analysis(self) -> Analysis:
        files: list[ParsedFile] = []
        for path, text in self.specifications.items():
            for section, extracted in extract_requirements(parse_specification(text, Format.AUTO, path)):
                # Built directly, because a TOML file cannot contain every character.
                file, target = f".duvet/requirements/{section.id}.toml", f"{path}#{section.id}"
                citations = (
                    Citation(file, line, CitationType.SPEC, target, found.text, found.level)
                    for line, found in enumerate(extracted, 1)
                )
                files.append(ParsedFile(tuple(citations)))
        files += [parse_citations(text, path) for path, text in self.sources.items()]
        return match_texts(files, self.specifications)

    @property
    def problems(self) -> Sequence[Problem]:
        return self.analysis.problems

    @property
    def requirements(self) -> list[Requirement]:
        return [found for report in self.analysis.reports.values() for found in report.requirements]

    @property
    def code(self) -> dict[Citation, str]:
        return {citation: self._code_of(citation) for citation in self.analysis.citations}

    def _code_of(self, citation: Citation) -> str:
        lines = self.sources.get(citation.source, "").split("\n")
        first = max(0, citation.line - 2)
        code = CodeExcerpt(first + 1, lines[first : citation.end_line + 2])
        return code_block(code, range(citation.line, citation.end_line + 1))


def ordinary() -> Sample:
    """Six requirements: complete, missing a test, an exception, a todo, partial, not started."""
    return Sample({"spec.md": SPEC}, {"src/frame.rs": CODE})


def hostile() -> Sample:
    """Every hostile text as title, requirement, reason, feature, issue and code."""
    requirements = "\n\n".join(f"It MUST bear {text.strip()} number {n}." for n, text in enumerate(HOSTILE))
    specification = f"# {' '.join(HOSTILE[0].split())}\n\n## Title {HOSTILE[3]} {{#s}}\n\n{requirements}\n"
    code = []
    for number, text in enumerate(HOSTILE):
        line = " ".join(text.split("\n"))
        code += [f"//= spec.md#s\n//= type=exception\n//= reason={line}\n//# number {number}.\n{line}\n"]
        code += [f"//= spec.md#s\n//= type=todo\n//= feature={line}\n//= tracking-issue={line}\n//# It MUST bear\n"]
    code += ["//= spec.md#s\n//# nowhere <b>\u202e\n", "//= <img src=x>.md#s\n//# lost\n"]
    return Sample({"spec.md": specification}, {"src/<evil>\u202e.rs": "\n".join(code)})
