"""From citations and specifications to references: which bytes of which specification each citation covers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import chain, pairwise
from typing import TypeAlias

from contextive.trace.citation import Citation, ParsedFile, Problem
from contextive.trace.level import TYPE_ORDER
from contextive.trace.matching import CitedText, Haystack, Match, MatchKind, match_quote
from contextive.trace.requirement import Requirement, find_requirements
from contextive.trace.specification import Section, Specification
from contextive.trace.target import Target, TargetQuery, UnavailableSpec
from contextive.trace.text import quoted


@dataclass(frozen=True, slots=True)
class ResolvedSpec:
    """A specification that citations name, and the name under which reports show it."""

    target: Target
    specification: Specification


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
    """A citation whose target exists: its section and, unless it quotes nothing, where its quote is."""

    number: int
    citation: Citation
    target: Target
    section: Section
    match: Match | None


@dataclass(frozen=True, slots=True)
class _ResolvedTarget:
    """Where the target of a citation is."""

    spec: ResolvedSpec
    section: Section
    match: Match | None


@dataclass(frozen=True, eq=False, slots=True)
class FileCitations:
    """The citations of one specification in one file. Compared by identity: an unchanged file keeps its object."""

    cited: tuple[CitedText, ...]


@dataclass(frozen=True, slots=True)
class MatchedFile:
    """The citations of one file in order, each with its text in a specification or the reason why it has none."""

    parsed: tuple[ParsedFile, ...]
    """What the file holds, once for each way in which it is read."""
    specs: tuple[ResolvedSpec | UnavailableSpec, ...]
    """What its queries were answered with."""
    citations: tuple[Citation, ...]
    outcomes: tuple[_ResolvedTarget | Problem, ...]
    by_target: dict[Target, FileCitations]


@dataclass(frozen=True)
class TargetReport:
    """One specification with everything that refers to it."""

    target: Target
    specification: Specification
    files: tuple[FileCitations, ...]
    first_numbers: tuple[int, ...]
    """For each file the number of its first citation."""
    requirements: tuple[Requirement, ...]
    """In the order of the text."""

    @cached_property
    def cited(self) -> tuple[CitedText, ...]:
        """What all files cite of it."""
        return tuple(chain.from_iterable(file.cited for file in self.files))

    @property
    def reference_count(self) -> int:
        return sum(len(item.spans) for item in self.cited)

    @cached_property
    def references(self) -> tuple[SpanReference, ...]:
        """The same span by span, each with the number of its citation."""
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
    """All that a project's citations come to. duvet fails on each of the `problems`; the rest still counts.

    Citations are numbered from the first file to the last.
    """

    files: dict[tuple[str, ...], MatchedFile] = field(repr=False)
    """By the parts of their paths, in order."""
    reports: dict[Target, TargetReport]

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
        """The number of each citation that could not be matched → why."""
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
    """Every citation once, in the order from which reports take their ids."""
    ordered = sorted(citations, key=_citation_sort_key)
    return ordered[:1] + [other for one, other in pairwise(ordered) if not _is_same(one, other)]


def _is_same(one: Citation, other: Citation) -> bool:
    """Whether two readings of a file found one citation. Two that say the same on one line are still two."""
    return one.line == other.line and one == other and one.quote_end == other.quote_end


@lru_cache(maxsize=65_536)
def path_parts(path: str) -> tuple[str, ...]:
    """The parts of a path, by which files are sorted: two spellings of a path are one file."""
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
def match_files(files: Iterable[ParsedFile], specs: ResolvedSpecs, previous: Analysis | None = None) -> Analysis:
    """Match the citations of all files.

    What `previous` found is kept for files that are the same objects, and name the same specifications, as then.
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
        answers = tuple(specs[query] for parsed in parsed_files for query in parsed.queries)
        if known is not None and known.specs == answers:
            matched[path] = known
        else:
            matched[path] = _match_file(tuple(parsed_files), answers, specs, known.by_target if known else {})
    return Analysis(matched, _reports(matched.values(), specs, previous.reports if previous else {}))


def _reports(
    files: Iterable[MatchedFile], specs: ResolvedSpecs, previous: Mapping[Target, TargetReport]
) -> dict[Target, TargetReport]:
    cited: dict[Target, list[tuple[int, FileCitations]]] = {}
    number = 0
    for file in files:
        for target, citations in file.by_target.items():
            cited.setdefault(target, []).append((number, citations))
        number += len(file.citations)
    specifications = {spec.target: spec.specification for spec in specs.values() if isinstance(spec, ResolvedSpec)}
    return {
        target: _report(target, specifications[target], cited[target], previous.get(target))
        for target in sorted(cited, key=Target.sort_key)
    }


def _report(
    target: Target,
    specification: Specification,
    numbered: Sequence[tuple[int, FileCitations]],
    previous: TargetReport | None,
) -> TargetReport:
    files = tuple(citations for _, citations in numbered)
    first_numbers = tuple(number for number, _ in numbered)
    if previous is not None and previous.specification is specification and previous.files == files:
        requirements = previous.requirements
    else:
        cited = tuple(chain.from_iterable(file.cited for file in files))
        requirements = find_requirements(target, specification, cited)
    return TargetReport(target, specification, files, first_numbers, requirements)


##= docs/spec/trace.md#matching
##% A citation that cannot be parsed or matched MUST NOT cover anything or prevent other citations from being matched.
def _match_file(
    parsed: tuple[ParsedFile, ...],
    answers: tuple[ResolvedSpec | UnavailableSpec, ...],
    specs: ResolvedSpecs,
    previous: Mapping[Target, FileCitations],
) -> MatchedFile:
    """Match the citations of one file. `previous` is what the same citations covered before a specification changed."""
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
    return MatchedFile(parsed, answers, tuple(citations), outcomes, by_target)


def _match(citation: Citation, spec: ResolvedSpec | UnavailableSpec) -> _ResolvedTarget | Problem:
    """A citation's section and the location of its quote there; no location for one that quotes nothing."""
    match spec:
        case UnavailableSpec(reason=reason):
            return Problem("specification_not_found", reason, citation.target_location, "referenced here")
        case ResolvedSpec(target=target, specification=specification):
            shown, section_id = target.display_name, citation.section_id
    if section_id is None:
        message = f"reference to {shown} is missing a section"
        return Problem("section_missing", message, citation.target_location, "referenced here")
    section = specification.section(section_id)
    if section is None:
        message = f"missing section {quoted(section_id)} in {shown}"
        return Problem("section_not_found", message, citation.target_location, "referenced here")
    ##= docs/spec/trace.md#citation-comments
    ##% A citation without quoted lines MUST be valid if its section exists, but it covers nothing.
    if not citation.quote:
        return _ResolvedTarget(spec, section, None)
    found = _find_quote(citation.quote, section, specification)
    ##= docs/spec/trace.md#matching
    ##% A quote that does not occur in its section MUST be an error.
    if found is None:
        message = f"could not find text in section {quoted(section_id)} of {shown}"
        label = "text here" if section.text_lines else "section is empty"
        return Problem("quote_not_found", message, citation.quote_location, label)
    return _ResolvedTarget(spec, section, found)


@dataclass(frozen=True, slots=True)
class _SearchedSection:
    """The text of a section, and every quote that was looked for in it, each with its match if there is one."""

    haystack: Haystack
    matches: dict[str, Match | None]


def _find_quote(quote: str, section: Section, specification: Specification) -> Match | None:
    """Where a quote is in a section. The answer is remembered with the specification, so each quote is searched for once."""
    key = ("searched", section.id)
    searched = specification._cache.get(key)
    if not isinstance(searched, _SearchedSection):
        searched = specification._cache[key] = _SearchedSection(Haystack.of(section), {})
    if quote not in searched.matches:
        searched.matches[quote] = match_quote(quote, searched.haystack)
    return searched.matches[quote]


def fuzzy_matches(analysis: Analysis) -> list[MatchedCitation]:
    """The citations whose words are not quite those of the specification."""
    return [item for item in analysis.matched if item.match is not None and item.match.kind is MatchKind.FUZZY]
