"""The coverage snapshot: a text file, made for diffs, that says what covers each cited line of each specification."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from contextive.trace.analysis import SpanReference, TargetReport
from contextive.trace.level import CitationType, Level
from contextive.trace.specification import SpecLine
from contextive.trace.text import trim_end

_TYPE_NAMES = {
    CitationType.CITATION: "implementation",
    CitationType.IMPLICATION: "implication",
    CitationType.TEST: "test",
    CitationType.EXCEPTION: "exception",
    CitationType.TODO: "todo",
}


@dataclass(frozen=True, slots=True)
class LineSpan:
    """A part of a line that the same references cover."""

    start: int
    end: int
    references: tuple[SpanReference, ...]

    def status(self) -> str:
        return _status(frozenset((reference.citation.type, reference.citation.level) for reference in self.references))


@cache
def _status(covered_by: frozenset[tuple[CitationType, Level]]) -> str:
    """The status of a part of a line in the snapshot. Cached, because thousands of parts share a few statuses."""
    types, level = {kind for kind, _ in covered_by}, max((level for _, level in covered_by), default=Level.AUTO)
    parts = [f"!{level.name}"] if level is not Level.AUTO else []
    return ",".join(parts + [name for kind, name in _TYPE_NAMES.items() if kind in types])


def split_line(line: SpecLine, references: Sequence[SpanReference]) -> Iterator[LineSpan]:
    """A line split where references begin and end. Offsets are counted from the start of the line."""
    position, end = line.start, line.end
    while position < end:
        stop = end
        current = []
        for reference in references:
            if reference.start <= position:
                if position < reference.end:
                    stop = min(stop, reference.end)
                    current.append(reference)
            else:
                stop = min(stop, reference.start)
        yield LineSpan(position - line.start, stop - line.start, tuple(current))
        position = stop


##= docs/spec/trace.md#reports
##% The snapshot MUST be byte-for-byte the one that duvet writes for the same project.
def write_snapshot(reports: Iterable[TargetReport]) -> str:
    """The snapshot of all targets, in the given order."""
    return "\n".join("".join(f"{line}\n" for line in _target_lines(report)) for report in reports)


def _target_lines(report: TargetReport) -> Iterator[str]:
    specification, path = report.specification, report.target.display_name
    titled = separated = False
    for section in specification.sections:
        opened = False
        for line in section.text_lines:
            references = report.by_line.get(specification.source.line_of(line.start))
            if references is None:
                continue
            if not titled:
                titled = True
                yield (
                    f"SPECIFICATION: [{specification.title}]({path})"
                    if specification.title is not None
                    else f"SPECIFICATION: {path}"
                )
            if not opened:
                opened = True
                if separated:
                    yield ""
                separated = True
                yield f"  SECTION: [{section.title}](#{section.id})"
            yield from _text_lines(line, references)


def _text_lines(line: SpecLine, references: Sequence[SpanReference]) -> Iterator[str]:
    pending_start: int | None = None
    open_start, open_end, open_status = 0, 0, ""
    for run in [*split_line(line, references), None]:
        status = run.status() if run is not None else ""
        if run is not None and status == open_status:
            open_end = max(open_end, run.end)
            continue
        text = trim_end(line.text[open_start:open_end])
        pending_start = open_start if not text and open_end > open_start and open_start == 0 else None
        if text and open_status:
            yield f"    TEXT[{open_status}]: {text}"
        if run is not None:
            open_start = run.start if pending_start is None else pending_start
            open_end, open_status = run.end, status
