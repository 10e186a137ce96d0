"""From citations and specifications to references: which bytes of which specification each citation covers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, lru_cache, partial
from itertools import accumulate, chain, pairwise
from operator import is_, lt
from typing import NamedTuple, TypeAlias

from contextive.trace.citation import Citation, ParsedFile, Problem
from contextive.trace.level import TYPE_ORDER
from contextive.trace.matching import Haystack, Match, MatchKind, match_quote
from contextive.trace.specification import Format, Section, Specification
from contextive.trace.target import Target
from contextive.trace.text import quoted

Resolve: TypeAlias = Callable[[Citation], Target | Problem]
Load: TypeAlias = Callable[[Target], Specification | str]
"""Gives a specification, or in words why there is none."""


class Reference(NamedTuple):
    """A citation's claim on one piece of a specification's text. A tuple: there are tens of thousands of them."""

    number: int
    citation: Citation
    start: int
    end: int


_reference = partial(tuple.__new__, Reference)
"""A reference from a tuple. `Reference` itself would take each apart and put it together again, in Python."""


Span: TypeAlias = tuple[int, int]
Claim: TypeAlias = tuple[int, Citation, tuple[Span, ...]]
"""A citation behind its number, and before the text that it claims, in one piece a line. A bare tuple is taken apart fastest."""


class Share(NamedTuple):
    """What one file says about one specification. Its claims are numbered by their place in the file."""

    claims: tuple[Claim, ...]


class TargetReport:
    """One specification with everything that refers to it."""

    def __init__(
        self, target: Target, specification: Specification, shares: tuple[Share, ...], firsts: tuple[int, ...]
    ) -> None:
        self.target = target
        self.specification = specification
        self.shares = shares
        """The same objects as in the analysis before, for files and specifications that did not change since."""
        self._firsts = firsts
        """For each share the number of its file's first citation."""
        self._memory: dict[str, object] = {}
        """What was worked out about it, for whoever asks again."""

    @cached_property
    def claims(self) -> list[Claim]:
        """What all files say about it, each citation once and under its own number."""
        return [
            (first + index, citation, spans)
            for first, share in zip(self._firsts, self.shares, strict=True)
            for index, citation, spans in share.claims
        ]

    @property
    def reference_count(self) -> int:
        return sum([len(spans) for _, _, spans in self.claims])

    @cached_property
    def references(self) -> tuple[Reference, ...]:
        """The same piece by piece."""
        return tuple(
            map(
                _reference,
                [(number, citation, start, end) for number, citation, spans in self.claims for start, end in spans],
            )
        )

    @cached_property
    def by_line(self) -> dict[int, list[Reference]]:
        lines: dict[int, list[Reference]] = {}
        source = self.specification.source
        for reference in self.references:
            for line in source.line_range(reference.start, reference.end):
                lines.setdefault(line, []).append(reference)
        return lines


class Matched(NamedTuple):
    """A citation that stands on firm ground: its section and, unless it quotes nothing, its place there."""

    number: int
    citation: Citation
    target: Target
    section: Section
    match: Match | None


_matched = partial(tuple.__new__, Matched)


class Analysis:
    """All that a project's citations come to. `problems` are what duvet fails on; the rest still counts.

    Citations are numbered from the first file to the last. A number is worked out when it is asked for: one new citation
    changes thousands of them, and few questions are about numbers.
    """

    def __init__(self, files: tuple[PlacedFile, ...]) -> None:
        self._files = files

    @cached_property
    def citations(self) -> tuple[Citation, ...]:
        return tuple(chain.from_iterable(file.citations for file in self._files))

    @cached_property
    def reports(self) -> dict[Target, TargetReport]:
        shares: dict[Ground, tuple[list[Share], list[int]]] = {}
        for first, file in zip(self._firsts, self._files, strict=True):
            for ground, share in file.shares:
                pair = shares.get(ground)
                if pair is None:
                    pair = shares[ground] = ([], [])
                pair[0].append(share)
                pair[1].append(first)
        return {
            ground.target: TargetReport(ground.target, ground.specification, tuple(parts), tuple(firsts))
            for ground, (parts, firsts) in sorted(shares.items(), key=lambda item: item[0].target.sort_key())
            if isinstance(ground.specification, Specification)
        }

    @cached_property
    def matched(self) -> tuple[Matched, ...]:
        return tuple(
            map(
                _matched,
                [
                    (number, citation, *outcome)
                    for first, file in zip(self._firsts, self._files, strict=True)
                    for number, (citation, outcome) in enumerate(zip(file.citations, file.outcomes, strict=True), first)
                    if not isinstance(outcome, Problem)
                ],
            )
        )

    @cached_property
    def invalid(self) -> dict[int, Problem]:
        """Number of a citation that could not be placed → why."""
        return {
            number: outcome
            for first, file in zip(self._firsts, self._files, strict=True)
            if file.has_problems
            for number, outcome in enumerate(file.outcomes, first)
            if isinstance(outcome, Problem)
        }

    @property
    def problems(self) -> tuple[Problem, ...]:
        return tuple(self.invalid.values())

    @property
    def mapped_sections(self) -> int:
        # Most citations of a section spell it alike: those are told apart before anything is cut out of them.
        spellings = {(id(target), citation.target): (target, citation) for _, citation, target, _, _ in self.matched}
        return len({(target.path, target.format, citation.section_id) for target, citation in spellings.values()})

    @property
    def _firsts(self) -> Iterable[int]:
        """For each file the number of its first citation."""
        return accumulate((len(file.citations) for file in self._files[:-1]), initial=0) if self._files else ()


def sort_citations(citations: Iterable[Citation]) -> list[Citation]:
    """Every citation once, in the order from which reports take their ids."""
    ordered = list(citations)
    lines = [citation.line for citation in ordered]
    if all(map(lt, lines, lines[1:])) and len({citation.source for citation in ordered}) < 2:
        return ordered  # as one reading of one file finds them
    ordered.sort(key=_order)
    doubled = [index for index, (one, other) in enumerate(pairwise(ordered), 1) if _is_same(one, other)]
    for index in reversed(doubled):
        del ordered[index]
    return ordered


def _is_same(one: Citation, other: Citation) -> bool:
    """Whether two readings of a file found one citation. Two that say the same on one line are still two."""
    return one.line == other.line and one == other and one.quote_end == other.quote_end


@lru_cache(maxsize=65_536)
def _path_parts(path: str) -> tuple[str, ...]:
    return tuple(part for part in path.split("/") if part not in ("", "."))


def _order(citation: Citation) -> tuple[object, ...]:
    place = citation.target_place
    return (
        _path_parts(citation.source),
        citation.line,
        place.line,
        place.column,
        citation.quote_end.line,
        citation.quote_end.column,
        citation.quote_place.line,
        citation.quote_place.column,
        TYPE_ORDER[citation.type],
        citation.target,
        citation.quote,
        citation.blob_link is not None,
        citation.blob_link or "",
    )


class Ground:
    """A specification as citations were placed on it, or why there is none."""

    __slots__ = ("searched", "specification", "target")

    def __init__(self, target: Target, specification: Specification | str) -> None:
        self.target = target
        self.specification = specification
        self.searched: dict[str, _Searched] = {}
        """The sections that citations name, by the target that they wrote."""


class Ask:
    """What citations ask for that are resolved alike: one of them, and the ground that it was given last."""

    __slots__ = ("citation", "ground")

    def __init__(self, citation: Citation) -> None:
        self.citation = citation
        self.ground: Ground | None = None
        """None where nothing was found."""


Outcome: TypeAlias = tuple[Target, Section, Match | None] | Problem


class PlacedFile:
    """The citations of one file in order, and where each of them stands."""

    __slots__ = ("asked", "asks", "citations", "has_problems", "outcomes", "parsed", "shares")

    def __init__(
        self,
        parsed: list[ParsedFile],
        citations: list[Citation],
        asked: list[Ask],
        asks: tuple[Ask, ...],
        outcomes: list[Outcome] | None = None,
        shares: list[tuple[Ground, Share]] | None = None,
        has_problems: bool = False,
    ) -> None:
        self.parsed = parsed
        self.citations = citations
        self.asked = asked
        self.asks = asks
        """The different ones, in the order in which they are met."""
        self.outcomes = outcomes or []
        self.shares = shares or []
        self.has_problems = has_problems

    def place(self, resolve: Resolve) -> PlacedFile:
        """Find each citation's place on the grounds as they are now."""
        outcomes: list[Outcome] = []
        claims: dict[Ground, list[Claim]] = {}
        has_problems = False
        for index, (citation, ask) in enumerate(zip(self.citations, self.asked, strict=True)):
            ground = ask.ground
            outcome = _place(citation, ground) if ground else resolve(citation)
            assert not isinstance(outcome, Target)
            outcomes.append(outcome)
            if isinstance(outcome, Problem):
                has_problems = True
            elif ground:
                _, section, match = outcome
                spans = match.spans if match else ((section.title_start, section.title_end),)
                if not spans:
                    continue
                if ground in claims:
                    claims[ground].append((index, citation, spans))
                else:
                    claims[ground] = [(index, citation, spans)]
        shares = [(ground, Share(tuple(found))) for ground, found in claims.items()]
        return PlacedFile(self.parsed, self.citations, self.asked, self.asks, outcomes, shares, has_problems)


class Memory:
    """What one analysis leaves to the next: files whose citations, and the specifications they name, stay the same."""

    __slots__ = ("asks", "files", "grounds")

    def __init__(
        self,
        files: dict[tuple[str, ...], PlacedFile] | None = None,
        asks: dict[tuple[str, Format, str | None], Ask] | None = None,
        grounds: dict[Target, Ground] | None = None,
    ) -> None:
        self.files = files or {}
        self.asks = asks or {}
        self.grounds = grounds or {}

    def file(self, parts: tuple[str, ...], parsed: list[ParsedFile]) -> PlacedFile | None:
        known = self.files.get(parts)
        same = known is not None and len(known.parsed) == len(parsed) and all(map(is_, known.parsed, parsed))
        return known if same else None

    def take_in(self, parsed: list[ParsedFile]) -> PlacedFile:
        """A file that is yet to be placed."""
        citations = sort_citations(chain.from_iterable([file.citations for file in parsed]))
        asked: list[Ask] = []
        before: Citation | None = None
        for citation in citations:
            alike = before is not None and _asks_alike(citation, before)
            asked.append(asked[-1] if alike else self._ask(citation))
            before = citation
        return PlacedFile(parsed, citations, asked, tuple(dict.fromkeys(asked)))

    def _ask(self, citation: Citation) -> Ask:
        key = (citation.target_path, citation.format, citation.base)
        ask = self.asks.get(key)
        if ask is None:
            ask = self.asks[key] = Ask(citation)
        return ask


def _asks_alike(one: Citation, other: Citation) -> bool:
    return one.target == other.target and one.format is other.format and one.base == other.base


##= docs/spec/trace.md#matching
##% A citation that cannot be parsed or matched MUST NOT cover anything, and keeps no other citation from being
##% matched.
def analyse(citations: Sequence[Citation], resolve: Resolve, load: Load) -> Analysis:
    """Match every citation. Each one that fails costs itself alone; why it failed is kept with its number."""
    by_source: dict[str, list[Citation]] = {}
    for citation in citations:
        by_source.setdefault(citation.source, []).append(citation)
    return analyse_files([ParsedFile(tuple(found)) for found in by_source.values()], resolve, load, Memory())


##= docs/spec/trace.md#fresh-answers
##% A file that did not change SHOULD NOT be parsed or matched again.
def analyse_files(files: Iterable[ParsedFile], resolve: Resolve, load: Load, memory: Memory) -> Analysis:
    """Match the citations of all files, those of a remembered file only where the ground under one of them changed."""
    # Two spellings of a path are one file, and so are two readings of it.
    by_path: dict[tuple[str, ...], list[ParsedFile]] = {}
    for parsed in files:
        if parsed.citations:
            by_path.setdefault(_path_parts(parsed.citations[0].source), []).append(parsed)
    remembered = Memory(memory.files, memory.asks, memory.grounds)
    memory.files, memory.asks, memory.grounds = {}, {}, {}  # a failure on the way forgets everything
    now: dict[tuple[str, ...], PlacedFile] = {}
    new: set[tuple[str, ...]] = set()
    for parts in sorted(by_path):
        known = remembered.file(parts, by_path[parts])
        if known is None:
            new.add(parts)
            known = remembered.take_in(by_path[parts])
        now[parts] = known
    # In the order of the citations: the first spelling of a document that is met names it.
    asks = dict.fromkeys(chain.from_iterable(file.asks for file in now.values()))
    grounds: dict[Target, Ground] = {}
    changed = _find_grounds(asks, resolve, load, remembered.grounds, grounds)
    for parts, file in now.items():
        if parts in new or (changed and not changed.isdisjoint(file.asks)):
            now[parts] = file.place(resolve)
    used = asks.keys()
    memory.files, memory.grounds = now, grounds
    memory.asks = {key: ask for key, ask in remembered.asks.items() if ask in used}
    return Analysis(tuple(now.values()))


def _find_grounds(
    asks: Iterable[Ask], resolve: Resolve, load: Load, before: dict[Target, Ground], now: dict[Target, Ground]
) -> set[Ask]:
    """Give every ask its ground of now; those whose ground is another than before are returned."""
    changed = set()
    # A resolver gives the same object for the same target; hashing a number is cheaper than hashing a target.
    by_object: dict[int, Ground] = {}
    kept = []  # a number stands for an object only as long as that lives
    for ask in asks:
        target = resolve(ask.citation)
        ground = None
        if not isinstance(target, Problem):
            kept.append(target)
            ground = by_object.get(id(target)) or now.get(target)
            if ground is None:
                specification = load(target)
                ground = before.get(target)
                if ground is None or ground.specification is not specification:
                    ground = Ground(target, specification)
                now[target] = ground
            by_object[id(target)] = ground
        if ground is not ask.ground:
            ask.ground = ground
            changed.add(ask)
    return changed


def _place(citation: Citation, ground: Ground) -> Outcome:
    """A citation's section and its place there, None for one that quotes nothing."""
    searched = ground.searched.get(citation.target)
    if searched is None:
        outcome = _find_section(citation, ground)
        if isinstance(outcome, Problem):
            return outcome
        searched = ground.searched[citation.target] = outcome
    target, section, quote = ground.target, searched.section, citation.quote
    ##= docs/spec/trace.md#citation-comments
    ##% A citation without quoted lines MUST be valid where its section exists, and covers nothing.
    if not quote:
        return target, section, None
    # An unchanged quote is looked up, not searched.
    match = searched.found.get(quote)
    if match is None and quote not in searched.found:
        match = searched.found[quote] = match_quote(quote, searched.haystack)
    ##= docs/spec/trace.md#matching
    ##% A quote that does not stand in its section MUST be an error.
    if match is None:
        message = f"could not find text in section {quoted(citation.section_id or '')} of {target.shown}"
        label = "text here" if section.text_lines else "section is empty"
        return Problem("quote_not_found", message, citation.quote_place, label)
    return target, section, match


def _find_section(citation: Citation, ground: Ground) -> _Searched | Problem:
    """The section that a citation names. What is found in it is remembered with the specification."""
    specification, shown = ground.specification, ground.target.shown
    if isinstance(specification, str):
        return Problem("specification_not_found", specification, citation.target_place, "referenced here")
    section_id = citation.section_id
    if section_id is None:
        message = f"reference to {shown} is missing a section"
        return Problem("section_missing", message, citation.target_place, "referenced here")
    section = specification.section(section_id)
    if section is None:
        message = f"missing section {quoted(section_id)} in {shown}"
        return Problem("section_not_found", message, citation.target_place, "referenced here")
    key = ("searched", section.id)
    searched = specification._memory.get(key)
    if not isinstance(searched, _Searched):
        searched = specification._memory[key] = _Searched(section, Haystack.of(section), {})
    return searched


class _Searched(NamedTuple):
    """A section, its text, and every quote that was looked for in it, each with its place if there is one."""

    section: Section
    haystack: Haystack
    found: dict[str, Match | None]


def fuzzy_matches(analysis: Analysis) -> list[Matched]:
    """The citations whose words are not quite those of the specification."""
    return [item for item in analysis.matched if item.match is not None and item.match.kind is MatchKind.FUZZY]
