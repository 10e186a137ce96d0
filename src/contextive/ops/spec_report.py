"""The specifications in spec-driven formats in `contextive-mcp report`: the table, the findings, and the rules for CI."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from contextive.ingest.evidence_service import EvidenceService
from contextive.review.evidence import EvidenceLevel
from contextive.trace.analysis import TargetReport
from contextive.trace.citation import Location, Problem
from contextive.trace.formats.values import SpecFormat, SpecState
from contextive.trace.reports.findings import requirement_location
from contextive.trace.reports.safe_text import printable_line
from contextive.trace.spec_rows import COLUMNS
from contextive.trace.spec_status import RequirementRow, SpecRow, requirement_rows, spec_findings, totals
from contextive.trace.spec_trace import SpecTrace

GATES: Final = ("tasks", "code", "tests")
EVIDENCE_GATES: Final = ("tested", "passed", "exercised")
HEADINGS: Final = ("total", "task", "ticked", "named", "quoted", "tested", "dangling", "ambiguous", "unread")
_MAX_LINES: Final = 10
_TEXT: Final = 160
_GATE_TEXTS: Final = {
    "tasks": "Requirements without a task.",
    "code": "Requirements that no code names or quotes.",
    "tests": "Requirements that no test names or quotes.",
}


def table_cells(rows: Sequence[SpecRow]) -> list[tuple[str, ...]]:
    """The table as text: headings, one row for each specification, and the sums if there are several."""
    cells: list[tuple[str, ...]] = [(*HEADINGS, "specification")]
    for row in rows:
        name = row.id if row.state == SpecState.CURRENT else f"{row.id} ({row.state})"
        cells.append((*(str(getattr(row, column)) for column in COLUMNS), printable_line(name)))
    if len(rows) > 1:
        sums = totals(rows)
        cells.append((*(str(sums[column]) for column in COLUMNS), "all of them"))
    return cells


def table_lines(rows: Sequence[SpecRow]) -> Iterator[str]:
    cells = table_cells(rows)
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)][:-1]
    for row in cells:
        yield "  ".join((*(cell.rjust(width) for cell, width in zip(row, widths, strict=False)), row[-1]))


def spec_warnings(formats: SpecTrace) -> list[Problem]:
    """The findings and the lines that were not understood, as warnings."""
    found = []
    for specification in formats.current:
        for finding in spec_findings(specification, formats.references.of(specification.id)):
            place = Location(finding.path, finding.line)
            found.append(Problem(finding.code, finding.message, place, help=finding.fix, fatal=False))
        for line in specification.unread:
            place = Location(line.path, line.line)
            found.append(Problem("not_understood", f"This line was not understood: {line.reason}.", place, fatal=False))
    return found


def warning_lines(warnings: Sequence[Problem]) -> Iterator[str]:
    """The first warnings of each kind."""
    by_code: dict[str, list[Problem]] = {}
    for warning in warnings:
        by_code.setdefault(warning.code, []).append(warning)
    for code, found in by_code.items():
        yield f"  {code}: {len(found)}"
        for warning in found[:_MAX_LINES]:
            help_ = f" {warning.help}" if warning.help else ""
            yield printable_line(f"    {warning.location.path}:{warning.location.line}  {warning.message}{help_}")
        if len(found) > _MAX_LINES:
            yield f"    and {len(found) - _MAX_LINES} more: --sarif FILE writes all"


##= docs/spec/trace.md#spec-driven-formats
##% With `--ci` and `--require`, the command `contextive-mcp report` MUST fail if a requirement lacks a task, code or a
##% test, whichever is required.
def failed_gates(formats: SpecTrace, required: Iterable[str]) -> Iterator[str]:
    """The requirements that lack what is required: a message, then a line for each."""
    rows = [
        row
        for specification in formats.current
        for row in requirement_rows(specification, formats.references.of(specification.id))
    ]
    for gate in (one for one in required if one in GATES):
        lacking = [row for row in rows if _lacks(row, gate)]
        if lacking:
            yield f"  × {_GATE_TEXTS[gate]}"
            for row in lacking[:_MAX_LINES]:
                yield printable_line(f"    {row.requirement.place}  {row.handle}")
            if len(lacking) > _MAX_LINES:
                yield f"    and {len(lacking) - _MAX_LINES} more: contextive-mcp specs SPEC shows all"


##= docs/spec/review.md#shown-evidence
##% With `--ci` and a level in `--require`, the command `contextive-mcp report` MUST fail if the evidence of a requirement is
##% weaker.
def weak_evidence(
    reports: Iterable[TargetReport], evidence: EvidenceService, required: EvidenceLevel, download_dir: str
) -> Iterator[str]:
    """The requirements with weaker evidence than required: a message, then a line for each."""
    pairs = [(report, requirement) for report in reports for requirement in report.requirements]
    states = evidence.states([requirement for _, requirement in pairs])
    weak = [(*pair, state) for pair, state in zip(pairs, states, strict=True) if state.level < required]
    if weak:
        yield f"  × Requirements with weaker evidence than {required.word}."
    for report, requirement, state in weak[:_MAX_LINES]:
        place, _ = requirement_location(report, requirement, download_dir)
        yield printable_line(f"    {place.path}:{place.line}  {state.words}: {requirement.text[:_TEXT]}")
    if len(weak) > _MAX_LINES:
        yield f"    and {len(weak) - _MAX_LINES} more: contextive-mcp evidence --require {required.word} --json"


def _lacks(row: RequirementRow, gate: str) -> bool:
    match gate:
        case "tasks":
            # The tasks of OpenSpec never name requirements.
            return not row.tasks and not row.handle.startswith(f"{SpecFormat.OPENSPEC}:")
        case "code":
            return not row.code
        case _:
            return not row.tests
