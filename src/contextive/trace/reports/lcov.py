"""The LCOV report: a specification as if it were source code, so coverage viewers show what is implemented and tested.

Sections are reported as functions. Branch block 0 of a line is its implementation, block 1 its test.
"""

from __future__ import annotations

from collections.abc import Iterator

from contextive.trace.analysis import SpanReference, TargetReport
from contextive.trace.level import CitationType
from contextive.trace.specification import Section
from contextive.trace.target import cached_path

_IMPLEMENTED = frozenset({CitationType.CITATION, CitationType.IMPLICATION, CitationType.EXCEPTION})
_TESTED = frozenset({CitationType.TEST, CitationType.IMPLICATION, CitationType.EXCEPTION})


def write_lcov(
    report: TargetReport, *, download_dir: str, require_citations: bool = True, require_tests: bool = True
) -> str:
    """The record of one specification. `download_dir` is the directory with the texts of URLs.

    duvet writes the last lines in hash table order; here they are sorted.
    """
    target = report.target
    path = cached_path(target.path, download_dir) if target.is_url else target.path
    lines = [f"TN:Compliance\nSF:{path}", *_sections(report)]
    implemented: set[int] = set()
    tested: set[int] = set()
    significant: set[int] = set()
    for reference in report.references:
        line = report.specification.source.line_of(reference.start)
        significant.add(line)
        kind = reference.citation.type
        lines += _branches(report, reference, 0, kind in _IMPLEMENTED, implemented)
        lines += _branches(report, reference, 1, kind in _TESTED, tested)
    lines += [f"DA:{line},0" for line in sorted(significant)]
    required = [seen for seen, needed in ((implemented, require_citations), (tested, require_tests)) if needed]
    complete = set.intersection(*required) if required else implemented | tested
    lines += [f"DA:{line},1" for line in sorted(complete)]
    lines += [f"DA:{line},0" for line in sorted((implemented | tested) - complete)]
    return "\n".join([*lines, "end_of_record", ""])


def _sections(report: TargetReport) -> Iterator[str]:
    for section in report.specification.sections:
        yield f"FN:{_title_line(report, section)},{section.title_text}"
    yield f"FNF:{len(report.specification.sections)}"


def _title_line(report: TargetReport, section: Section) -> int:
    return report.specification.source.line_of(section.title_start)


def _branches(report: TargetReport, reference: SpanReference, block: int, hit: bool, seen: set[int]) -> Iterator[str]:
    """One branch of the line and of its section's title. The title is counted once, even if several lines are hit."""
    line = report.specification.source.line_of(reference.start)
    if hit:
        seen.add(line)
    yield f"BRDA:{line},{block},0,{int(hit)}"
    section = report.specification.section(reference.citation.section_id or "")
    if section is None:
        return
    title_line = _title_line(report, section)
    counts = hit and title_line not in seen
    if counts:
        seen.add(title_line)
    yield f"FNDA:{int(counts)},{section.title_text}"
    yield f"BRDA:{title_line},{block},0,{int(counts)}"
