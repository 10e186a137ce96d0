"""Trace specifications and citations from strings, without a file system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from contextive.trace.analysis import Analysis, ResolvedSpec, match_files
from contextive.trace.catalog import TraceCatalog
from contextive.trace.citation import ParsedFile, parse_citations
from contextive.trace.extraction import extract_requirements, requirement_file_citations
from contextive.trace.requirement_file import parse_requirement_file
from contextive.trace.specification import Format, Section, Specification, parse_specification
from contextive.trace.target import Target, TargetQuery, UnavailableSpec


def markdown(text: str) -> Specification:
    return parse_specification(text, Format.MARKDOWN, "spec.md")


def ietf(text: str) -> Specification:
    return parse_specification(text, Format.IETF, "spec.txt")


def only_section(specification: Specification) -> Section:
    (section,) = specification.sections
    return section


def trace(specifications: Mapping[str, str], files: Mapping[str, str]) -> Analysis:
    """The analysis of files, which cite specifications by path or URL. Files named `.toml` are requirement files."""
    parsed = [
        parse_requirement_file(text, path) if path.endswith(".toml") else parse_citations(text, path)
        for path, text in files.items()
    ]
    assert not any(file.problems for file in parsed)
    return match_texts(parsed, specifications)


def catalog_of(specifications: Mapping[str, str], files: Mapping[str, str] | None = None) -> TraceCatalog:
    """The catalog of specifications with all their requirements, and of files that cite them."""
    parsed = [
        requirement_file_citations(f"requirements/{path}/{section.id}.toml", path, section, requirements)
        for path, text in specifications.items()
        for section, requirements in extract_requirements(parse_specification(text, Format.AUTO, path))
    ]
    parsed += [parse_citations(text, path) for path, text in (files or {}).items()]
    analysis = match_texts(parsed, specifications)
    return TraceCatalog(analysis, {target: report.specification for target, report in analysis.reports.items()})


def match_texts(files: Sequence[ParsedFile], specifications: Mapping[str, str]) -> Analysis:
    """The analysis of parsed files against the texts of specifications, by path or URL."""

    @cache
    def specification(path: str, format_: Format) -> Specification:
        return parse_specification(specifications[path], format_, path)

    def resolve(query: TargetQuery) -> ResolvedSpec | UnavailableSpec:
        if query.path not in specifications:
            return UnavailableSpec(f"{query.path} does not exist")
        return ResolvedSpec(Target(query.path, query.format), specification(query.path, query.format))

    return match_files(files, {query: resolve(query) for file in files for query in file.queries})
