"""Match citations with specifications: which text of which specification each citation covers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import chain, pairwise
from typing import TypeAlias

from contextive.trace.citation import Citation, ParsedFile, Problem
from contextive.trace.declared_requirements import Declarations, NamedHandle, declared_requirements
from contextive.trace.level import TYPE_ORDER
from contextive.trace.matching import CitedText, Haystack, Match, MatchKind, match_quote
from contextive.trace.requirement import Requirement, find_requirements
from contextive.trace.specification import Section, Specification
from contextive.trace.target import Target, TargetQuery, UnavailableSpec
from contextive.trace.text import quoted


@dataclass(frozen=True, slots=True)
class ResolvedSpec:
    """A specification that citations name, and its target, whose name reports show."""

    target: Target
    specification: Specification
    handle: NamedHandle | None = None
    """The requirement, if the citation names its handle in place of a section."""


ResolvedSpecs: TypeAlias = Mapping[TargetQuery, ResolvedSpec | UnavailableSpec]


@dataclass(frozen=True, slots=True)
class SpanReference:
    """One span of a specification's text, and the citation that covers it."""

    number: int
    citation: Citation
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class MatchedCitation:
    """A citation whose target exists, with its section and, if it has a quote, where the quote is."""

    number: int
    citation: Citation
    target: Target
    section: Section
    match: Match | None


@dataclass(frozen=True, slots=True)
class _ResolvedTarget:
    """The specification and section of a citation, and the match of its quote."""

    spec: ResolvedSpec
    section: Section
    match: Match | None


@dataclass(frozen=True, eq=False, slots=True)
class FileCitations:
    """The citations of one specification in one file. Compared by identity: unchanged files keep their object."""

    cited: tuple[CitedText, ...]


@dataclass(frozen=True, slots=True)
class MatchedFile:
    """The citations of one file in order, each with its match in a specification or the problem."""

    parsed: tuple[ParsedFile, ...]
    """The parsed file, once for each source pattern that matches it."""
    specs: tuple[ResolvedSpec | UnavailableSpec, ...]
    """The results of its target queries."""
    citations: tuple[Citation, ...]
    outcomes: tuple[_ResolvedTarget | Problem, ...]
    by_target: dict[Target, FileCitations]


@dataclass(frozen=True)
class TargetReport:
    """One specification with everything that cites it."""

    target: Target
    specification: Specification
    files: tuple[FileCitations, ...]
    first_numbers: tuple[int, ...]
    """The number of the first citation of each file."""
    requirements: tuple[Requirement, ...]
    """In text order."""

    @cached_property
    def cited(self) -> tuple[CitedText, ...]:
        """The citations of all files."""
        return tuple(chain.from_iterable(file.cited for file in self.files))

    @property
    def reference_count(self) -> int:
        return sum(len(item.spans) for item in self.cited)

    @cached_property
    def references(self) -> tuple[SpanReference, ...]:
        """The spans of the citations, each with the number of its citation."""
        return tuple(
            SpanReference(first + item.index, item.citation, start, end)
            for first, file in zip(self.first_numbers, self.files, strict=True)
            for item in file.cited
            for start, end in item.spans
        )

    @cached_property
    def by_line(self) -> dict[int, list[SpanReference]]:
        lines: dict[int, list[SpanReference]] = {}
        source = self.specification.source
        for reference in self.references:
            for line in source.line_range(reference.start, reference.end):
                lines.setdefault(line, []).append(reference)
        return lines


@dataclass(frozen=True)
class Analysis:
    """The result of matching a project's citations. duvet fails on any of the `problems`; the rest still counts.

    Citations are numbered across all files.
    """

    files: dict[tuple[str, ...], MatchedFile] = field(repr=False)
    """Sorted by the parts of their paths."""
    reports: dict[Target, TargetReport]
    declarations: Declarations = field(default_factory=Declarations, repr=False)

    @cached_property
    def citations(self) -> tuple[Citation, ...]:
        return tuple(chain.from_iterable(file.citations for file in self.files.values()))

    @cached_property
    def matched(self) -> tuple[MatchedCitation, ...]:
        return tuple(
            MatchedCitation(number, citation, outcome.spec.target, outcome.section, outcome.match)
            for number, (citation, outcome) in enumerate(zip(self.citations, self._outcomes(), strict=True))
            if isinstance(outcome, _ResolvedTarget)
        )

    @cached_property
    def invalid(self) -> dict[int, Problem]:
        """The problem of each citation that cannot be matched, by its number."""
        return {number: outcome for number, outcome in enumerate(self._outcomes()) if isinstance(outcome, Problem)}

    @property
    def problems(self) -> tuple[Problem, ...]:
        return tuple(self.invalid.values())

    @property
    def mapped_sections(self) -> int:
        return len({(item.target, item.citation.section_id) for item in self.matched})

    def _outcomes(self) -> Iterator[_ResolvedTarget | Problem]:
        return chain.from_iterable(file.outcomes for file in self.files.values())


def sort_citations(citations: Iterable[Citation]) -> list[Citation]:
    """The citations without duplicates, in the order that determines ids in reports."""
    ordered = sorted(citations, key=_citation_sort_key)
    return ordered[:1] + [second for first, second in pairwise(ordered) if not _is_same(first, second)]


def _is_same(first: Citation, second: Citation) -> bool:
    """Whether two citations are one, found by parsing a file twice. Equal ones with different ends are two."""
    return first.line == second.line and first == second and first.quote_end == second.quote_end


@lru_cache(maxsize=65_536)
def path_parts(path: str) -> tuple[str, ...]:
    """The parts of a path, by which files are sorted. Two spellings of a path have the same parts."""
    return tuple(part for part in path.split("/") if part not in ("", "."))


def _citation_sort_key(citation: Citation) -> tuple[object, ...]:
    location = citation.target_location
    return (
        path_parts(citation.source),
        citation.line,
        location.line,
        location.column,
        citation.quote_end.line,
        citation.quote_end.column,
        citation.quote_location.line,
        citation.quote_location.column,
        TYPE_ORDER[citation.type],
        citation.target,
        citation.quote,
        citation.blob_link is not None,
        citation.blob_link or "",
    )


##= docs/spec/trace.md#freshness
##% An unchanged file SHOULD NOT be parsed or matched again.
def match_files(
    files: Iterable[ParsedFile],
    specs: ResolvedSpecs,
    previous: Analysis | None = None,
    declarations: Declarations | None = None,
) -> Analysis:
    """Match the citations of all files. `declarations` are requirements besides those extracted from sentences.

    Results of `previous` are reused for files whose parsed objects and resolved specifications have not changed.
    """
    by_path: dict[tuple[str, ...], list[ParsedFile]] = {}
    for parsed in files:
        if parsed.citations:
            by_path.setdefault(path_parts(parsed.citations[0].source), []).append(parsed)
    matched: dict[tuple[str, ...], MatchedFile] = {}
    for path, parsed_files in sorted(by_path.items()):
        known = previous.files.get(path) if previous else None
        if known is not None and known.parsed != tuple(parsed_files):
            known = None
        file_specs = tuple(specs[query] for parsed in parsed_files for query in parsed.queries)
        if known is not None and known.specs == file_specs:
            matched[path] = known
        else:
            matched[path] = _match_file(tuple(parsed_files), file_specs, specs, known.by_target if known else {})
    declarations = declarations or Declarations()
    return Analysis(matched, _reports(matched.values(), specs, previous, declarations), declarations)


def _reports(
    files: Iterable[MatchedFile],
    specs: ResolvedSpecs,
    previous: Analysis | None,
    declarations: Declarations,
) -> dict[Target, TargetReport]:
    cited: dict[Target, list[tuple[int, FileCitations]]] = {}
    number = 0
    for file in files:
        for target, citations in file.by_target.items():
            cited.setdefault(target, []).append((number, citations))
        number += len(file.citations)
    specifications = {spec.target: spec.specification for spec in specs.values() if isinstance(spec, ResolvedSpec)}
    declared = declarations.documents.by_target
    specifications |= {target: document.specification for target, document in declared.items()}
    return {
        target: _report(target, specifications[target], cited.get(target, []), previous, declarations)
        for target in sorted({*cited, *declared}, key=Target.sort_key)
    }


def _report(
    target: Target,
    specification: Specification,
    numbered: Sequence[tuple[int, FileCitations]],
    previous: Analysis | None,
    declarations: Declarations,
) -> TargetReport:
    files = tuple(citations for _, citations in numbered)
    first_numbers = tuple(number for number, _ in numbered)
    document = declarations.documents.by_target.get(target)
    names = declarations.names_in(document) if document is not None else ()
    known = previous.reports.get(target) if previous is not None else None
    if (
        known is not None
        and (known.specification is specification and known.files == files)
        and (document is None or (previous is not None and previous.declarations.names_in(document) == names))
    ):
        return TargetReport(target, specification, files, first_numbers, known.requirements)
    cited = tuple(chain.from_iterable(file.cited for file in files))
    if document is not None:
        requirements = declared_requirements(document, cited, names)
    else:
        requirements = find_requirements(target, specification, cited)
    return TargetReport(target, specification, files, first_numbers, requirements)


##= docs/spec/trace.md#matching
##% A citation that cannot be parsed or matched MUST NOT cover anything or prevent other citations from being matched.
def _match_file(
    parsed: tuple[ParsedFile, ...],
    file_specs: tuple[ResolvedSpec | UnavailableSpec, ...],
    specs: ResolvedSpecs,
    previous: Mapping[Target, FileCitations],
) -> MatchedFile:
    """Match the citations of one file. `previous` has their results before a specification changed."""
    citations = sort_citations(chain.from_iterable(file.citations for file in parsed))
    outcomes = tuple(_match(citation, specs[citation.target_query]) for citation in citations)
    cited: dict[Target, list[CitedText]] = {}
    for index, (citation, outcome) in enumerate(zip(citations, outcomes, strict=True)):
        match outcome:
            case _ResolvedTarget(spec=spec, section=section, match=None):
                spans = ((section.title_start, section.title_end),)
            case _ResolvedTarget(spec=spec, match=Match(spans=spans)):
                pass
            case Problem():
                continue
        if spans:
            cited.setdefault(spec.target, []).append(CitedText(index, citation, spans))
    by_target: dict[Target, FileCitations] = {}
    for target, found in cited.items():
        known = previous.get(target)
        by_target[target] = known if known and known.cited == tuple(found) else FileCitations(tuple(found))
    return MatchedFile(parsed, file_specs, tuple(citations), outcomes, by_target)


def _match(citation: Citation, spec: ResolvedSpec | UnavailableSpec) -> _ResolvedTarget | Problem:
    """The section of a citation and the match of its quote, which is None if it has no quote; or the problem."""
    match spec:
        case UnavailableSpec(reason=reason):
            return Problem("specification_not_found", reason, citation.target_location, "referenced here")
        case ResolvedSpec(handle=NamedHandle() as named):
            return _match_handle(citation, spec, named)
        case ResolvedSpec(target=target, specification=specification):
            name, section_id = target.display_name, citation.section_id
    if section_id is None:
        message = f"reference to {name} is missing a section"
        return Problem("section_missing", message, citation.target_location, "referenced here")
    section = specification.section(section_id)
    if section is None:
        message = f"missing section {quoted(section_id)} in {name}"
        return Problem("section_not_found", message, citation.target_location, "referenced here")
    ##= docs/spec/trace.md#citation-comments
    ##% A citation without quoted lines MUST be valid if its section exists, but it covers nothing.
    if not citation.quote:
        return _ResolvedTarget(spec, section, None)
    found = _find_quote(citation.quote, section, specification)
    ##= docs/spec/trace.md#matching
    ##% A quote that does not occur in its section MUST be an error.
    if found is None:
        message = f"could not find text in section {quoted(section_id)} of {name}"
        label = "text here" if section.text_lines else "section is empty"
        return Problem("quote_not_found", message, citation.quote_location, label)
    return _ResolvedTarget(spec, section, found)


def _match_handle(citation: Citation, spec: ResolvedSpec, named: NamedHandle) -> _ResolvedTarget | Problem:
    """The match of a citation whose target is a handle. Without a quote, it names the whole requirement."""
    section = named.document.specification.by_id[named.requirement.section_id]
    if not citation.quote:
        return _ResolvedTarget(spec, section, Match(MatchKind.EXACT, named.requirement.spans))
    found = match_quote(citation.quote, named.haystack)
    if found is None:
        message = f"could not find text in {named.handle}"
        return Problem("quote_not_found", message, citation.quote_location, "text here")
    return _ResolvedTarget(spec, section, found)


@dataclass(frozen=True, slots=True)
class _SearchedSection:
    """The text of a section, and the result for every quote that was searched for in it."""

    haystack: Haystack
    matches: dict[str, Match | None]


def _find_quote(quote: str, section: Section, specification: Specification) -> Match | None:
    """The match of a quote in a section. It is cached with the specification, so each quote is searched for once."""
    key = ("searched", section.id)
    searched = specification._cache.get(key)
    if not isinstance(searched, _SearchedSection):
        searched = specification._cache[key] = _SearchedSection(Haystack.of(section), {})
    if quote not in searched.matches:
        searched.matches[quote] = match_quote(quote, searched.haystack)
    return searched.matches[quote]


def fuzzy_matches(analysis: Analysis) -> list[MatchedCitation]:
    """The citations whose quote differs from the specification in one byte."""
    return [item for item in analysis.matched if item.match is not None and item.match.kind is MatchKind.FUZZY]
