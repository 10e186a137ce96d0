"""Specifications and citations made of strings, traced without a file system."""

from __future__ import annotations

from collections.abc import Mapping

from contextive.trace.analysis import Analysis, analyse
from contextive.trace.citation import Citation, Problem, parse_citations
from contextive.trace.requirement_file import parse_requirement_file
from contextive.trace.specification import Format, Section, Specification, parse_specification
from contextive.trace.target import Target


def markdown(text: str) -> Specification:
    return parse_specification(text, Format.MARKDOWN, "spec.md")


def ietf(text: str) -> Specification:
    return parse_specification(text, Format.IETF, "spec.txt")


def only_section(specification: Specification) -> Section:
    (section,) = specification.sections
    return section


def trace(specifications: Mapping[str, str], files: Mapping[str, str]) -> Analysis:
    """The analysis of files, which cite specifications by their path or URL. Files that end in `.toml` are read as such."""
    citations: list[Citation] = []
    for path, text in files.items():
        parsed = parse_requirement_file(text, path) if path.endswith(".toml") else parse_citations(text, path)
        assert not parsed.problems
        citations += parsed.citations

    def resolve(citation: Citation) -> Target | Problem:
        return Target(citation.target_path, citation.format)

    def load(target: Target) -> Specification | str:
        if target.path not in specifications:
            return f"{target.path} does not exist"
        return parse_specification(specifications[target.path], target.format, target.path)

    return analyse(citations, resolve, load)
