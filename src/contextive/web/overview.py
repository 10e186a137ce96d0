"""The overview: what to do, in sentences, then each specification in one line, then the state of the index."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from contextive.errors import ContextiveError
from contextive.ingest.progress_trend import ProgressTrend, TrendPoint
from contextive.ingest.trace_service import TraceView
from contextive.trace.catalog import SpecificationEntry
from contextive.trace.level import Level
from contextive.trace.requirement import Requirement, Status
from contextive.trace.spec_status import requirement_rows
from contextive.web.addresses import specification_address, with_query
from contextive.web.changes import review_of
from contextive.web.page import Page, Parameters
from contextive.web.project import SiteProject
from contextive.web.words import Progress, plural, progress_of

Urgency = Literal["fix", "look", "next"]
_INVALID: Final = {
    "quote_not_found": ("citation quotes", "citations quote", "a sentence that changed or does not exist"),
    "section_not_found": ("citation names", "citations name", "a section that does not exist"),
    "section_missing": ("citation names", "citations name", "no section"),
    "specification_not_found": ("citation names", "citations name", "a specification that was not found"),
}
_TREND_DAYS: Final = 30
_MOST_NEXT: Final = 3


@dataclass(frozen=True, slots=True)
class Attention:
    """Something to do, in one sentence."""

    urgency: Urgency
    text: str
    address: str


@dataclass(frozen=True, slots=True)
class SpecificationLine:
    """One specification of the list."""

    id: str
    name: str
    title: str
    address: str
    is_extracted: bool
    progress: Progress
    trend: tuple[int, ...]
    """Percentages of the last 30 days, the oldest first."""


@dataclass(frozen=True, slots=True)
class IndexState:
    """The state of the index in one line."""

    is_healthy: bool
    text: str


@dataclass(frozen=True, slots=True)
class Overview:
    attention: tuple[Attention, ...]
    specifications: tuple[SpecificationLine, ...]
    without_requirements: tuple[SpecificationLine, ...]
    progress: Progress
    index: IndexState
    hint: str
    """What to do in a project without specifications."""


def overview(project: SiteProject, _given: Parameters) -> Page:
    """The first page of the site."""
    view = project.view()
    trend = record_trend(project, view)
    lines = [_line(view, entry, trend) for entry in view.catalog.specifications.values()]
    with_requirements = [line for line in lines if line.progress.total]
    with_requirements.sort(key=lambda line: (line.progress.done - line.progress.total, line.name))
    findings = _findings_of_changes(project)
    problems = [f"{check.name.capitalize()}: {check.reason}" for check in project.checks() if not check.ok]
    content = Overview(
        attention=tuple(_attention(view, problems, findings)),
        specifications=tuple(with_requirements),
        without_requirements=tuple(line for line in lines if not line.progress.total),
        progress=progress_of(view.catalog.requirements),
        index=_index_state(project, problems),
        hint=view.project_above,
    )
    return Page("overview.html", "Overview", content, "overview")


def record_trend(project: SiteProject, view: TraceView) -> Sequence[TrendPoint]:
    """Remember how far the specifications are today; returns all remembered points, the oldest first."""
    now = {
        view.catalog.entry_of(target).id: (progress.done, progress.total)
        for target, report in view.catalog.analysis.reports.items()
        if report.requirements
        for progress in [progress_of(report.requirements)]
    }
    try:
        return ProgressTrend(project.index().store, project.trace.files.root).record(now)
    except ContextiveError:
        return ()  # without an index there is no trend; the last line of the page says why


def _line(view: TraceView, entry: SpecificationEntry, trend: Sequence[TrendPoint]) -> SpecificationLine:
    report = view.catalog.analysis.reports.get(entry.target)
    points = [point.specifications[entry.id] for point in trend if entry.id in point.specifications]
    return SpecificationLine(
        id=entry.id,
        name=entry.name,
        title=entry.title,
        address=specification_address(entry.id),
        is_extracted=view.is_extracted(entry),
        progress=progress_of(report.requirements if report else ()),
        trend=tuple(100 * done // total if total else 0 for done, total in points[-_TREND_DAYS:]),
    )


def _attention(view: TraceView, problems: Sequence[str], findings: int) -> Iterator[Attention]:
    yield from _invalid_citations(view)
    if view.state.file_problems:
        count = len(view.state.file_problems)
        yield Attention("fix", f"{plural(count, 'citation or file', 'citations or files')} cannot be read", "/findings")
    if findings:
        yield Attention("look", f"Your changes have {plural(findings, 'finding')} about requirements", "/changes")
    yield from _ticked_without_evidence(view)
    for problem in problems:
        yield Attention("look", problem, "/status")
    yield from _missing_tests(view)
    yield from _next_requirements(view)


def _findings_of_changes(project: SiteProject) -> int:
    """How many findings a review of the working tree has; none without git."""
    try:
        return len(review_of(project).findings)
    except ContextiveError:
        return 0


def _ticked_without_evidence(view: TraceView) -> Iterator[Attention]:
    """Specifications whose tasks are ticked although nothing in code or tests refers to their requirements."""
    formats = view.state.formats
    for specification in formats.current:
        rows = requirement_rows(specification, formats.references.of(specification.id))
        ticked = sum(row.is_ticked and not row.code and not row.tests for row in rows)
        if ticked:
            verb, them = ("is", "it") if ticked == 1 else ("are", "them")
            subject = f"{plural(ticked, 'requirement')} of {specification.title} {verb} ticked"
            yield Attention(
                "look",
                f"{subject}, and nothing in code or tests refers to {them}",
                with_query("/matrix", {"spec": specification.id, "sort": "tasks", "order": "descending"}),
            )


def _invalid_citations(view: TraceView) -> Iterator[Attention]:
    counts = Counter(problem.code for _, problem in view.catalog.invalid)
    for code, count in counts.most_common():
        one, several, what = _INVALID.get(code, ("citation is", "citations are", "invalid"))
        text = f"{count:,} {one if count == 1 else several} {what}"
        yield Attention("fix", text, with_query("/findings", {"kind": code}))


def _missing_tests(view: TraceView) -> Iterator[Attention]:
    for entry, requirements in _by_specification(view):
        missing = sum(r.status is Status.MISSING_TEST for r in requirements)
        if missing:
            verb = "is" if missing == 1 else "are"
            text = f"{plural(missing, 'requirement')} of {entry.name} {verb} implemented and not tested"
            yield Attention("look", text, with_query(specification_address(entry.id), {"status": "needs tests"}))


def _next_requirements(view: TraceView) -> Iterator[Attention]:
    """The specifications with the most MUST requirements that nothing implements."""
    missing = [
        (sum(r.level is Level.MUST and r.implementation == "none" for r in requirements), entry)
        for entry, requirements in _by_specification(view)
    ]
    missing.sort(key=lambda item: (-item[0], item[1].id))
    for count, entry in missing[:_MOST_NEXT]:
        if count:
            text = f"{count:,} MUST of {entry.name} {'has' if count == 1 else 'have'} no code"
            query = {"level": "MUST", "evidence": "no code"}
            yield Attention("next", text, with_query(specification_address(entry.id), query))


def _by_specification(view: TraceView) -> Iterator[tuple[SpecificationEntry, Sequence[Requirement]]]:
    for target, report in view.catalog.analysis.reports.items():
        if report.requirements:
            yield view.catalog.entry_of(target), report.requirements


def _index_state(project: SiteProject, problems: Sequence[str]) -> IndexState:
    try:
        as_of = project.index().as_of()
    except ContextiveError as error:
        return IndexState(False, error.full_message())
    if problems:
        return IndexState(False, f"{plural(len(problems), 'problem')}, see the status.")
    waiting = f"{plural(as_of.pending_files, 'file')} waiting" if as_of.pending_files else "nothing waiting"
    return IndexState(True, f"The index is up to date: generation {as_of.generation:,}, {waiting}.")
