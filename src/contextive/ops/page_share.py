"""The last chapters of the HTML report as another process can make them: what it must know, and how they are made.

A chapter rests on one specification and on the citations that name it. So a page can be made in two places without either
knowing all of it, where each citation names its specification as the configuration does. Where one does not, nothing is shared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

from contextive.ingest.traced_project import GeneratedFile, TracedProject
from contextive.ops.excerpts import Excerpts, places_of
from contextive.trace.citation import Citation, ParsedFile, Place
from contextive.trace.level import CitationType, Level
from contextive.trace.reports.html import OPEN_UP_TO, write_chapters
from contextive.trace.requirement import identify
from contextive.trace.specification import Format
from contextive.trace.target import Target

_OWN_PART = 0.6
"""How much of the page is made here. The other process has files to write, too."""


class PageShare(NamedTuple):
    """What another process makes of a page. All of it can be marshalled."""

    first: int
    """The number of its first chapter."""
    paths: tuple[str, ...]
    """The specifications of its chapters, as they are configured."""
    taken: dict[str, int]
    """How often a requirement of these stands before them too, by its identifier."""
    citations: list[list[tuple[Any, ...]]]
    """What quotes them, by file."""


def page_share(
    project: TracedProject, generated: Sequence[GeneratedFile], parsed: Iterable[ParsedFile]
) -> PageShare | None:
    """What another process can make of the page; None where it could not tell which citations belong there."""
    files = [file.citations for file in parsed if file.citations]
    if sum([len(file.requirements) for file in generated]) <= OPEN_UP_TO or not _is_simple(project, chain(*files)):
        return None
    weights = Counter([citation.target_path for citation in chain(*files)])
    for file in generated:
        weights[file.target.path] += len(file.requirements)
    paths = sorted(weights, key=lambda path: Target(path).sort_key())
    first, done = 0, 0
    while first < len(paths) and done < weights.total() * _OWN_PART:
        done += weights[paths[first]]
        first += 1
    last = frozenset(paths[first:])
    if not last:
        return None
    cited = [[_plain(citation) for citation in citations if citation.target_path in last] for citations in files]
    return PageShare(first + 1, tuple(paths[first:]), _taken(generated, last), [some for some in cited if some])


def _is_simple(project: TracedProject, citations: Iterable[Citation]) -> bool:
    """Whether every citation names a specification just as it is configured, and none is a requirement itself."""
    sources = project.settings.specifications
    configured = {project.configured_target(source).path for source in sources}
    return all(source.format is Format.AUTO for source in sources) and all(
        citation.target_path in configured
        and citation.format is Format.AUTO
        and citation.type is not CitationType.SPEC
        for citation in citations
    )  # fmt: skip


def _taken(generated: Iterable[GeneratedFile], last: frozenset[str]) -> dict[str, int]:
    here = {requirement.text for file in generated if file.target.path in last for requirement in file.requirements}
    before = {
        (file.target.path, file.section.id, requirement.text)
        for file in generated
        if file.target.path not in last
        for requirement in file.requirements
        if requirement.text in here
    }
    return {identify(text): count for text, count in Counter([text for _, _, text in before]).items()}


def _plain(citation: Citation) -> tuple[Any, ...]:
    return (
        citation.source, citation.line, citation.type.value, citation.target, citation.quote, int(citation.level),
        citation.comment, citation.feature, citation.tracking_issue, citation.tags, citation.blob_link, citation.base,
        tuple(citation.target_place), tuple(citation.quote_place), tuple(citation.quote_end), citation.text,
        citation.end_line,
    )  # fmt: skip


def _citation(plain: tuple[Any, ...]) -> Citation:
    source, line, kind, target, quote, level, comment, feature, issue, tags, blob_link, base, *places, text, end = plain
    at_target, at_quote, at_end = (Place(*place) for place in places)
    return Citation(
        source, line, CitationType(kind), target, quote, Level(level), Format.AUTO, comment, feature, issue, tags,
        blob_link, base, at_target, at_quote, at_end, text, end,
    )  # fmt: skip


def make_share(
    project: TracedProject, share: PageShare, *, blob_link: str | None, issue_link: str | None
) -> dict[int, str]:
    """The chapters of a share, by their number. The requirements of their specifications must have been extracted."""
    sources = [ParsedFile(tuple(map(_citation, citations))) for citations in share.citations]
    cited = chain.from_iterable(file.citations for file in sources)
    return write_chapters(
        project.analyse([*_extracted(project, frozenset(share.paths)), *sources]),
        first=share.first,
        taken=share.taken,
        code_of=Excerpts(project.files, places_of(cited)).of,
        blob_link=blob_link,
        issue_link=issue_link,
    )


def _extracted(project: TracedProject, paths: frozenset[str]) -> Iterator[ParsedFile]:
    for target, _, files in project.extracted():
        if target.path in paths:
            yield from (file.parsed for file in files)
