"""The output of `duvet report`: requirement files and the requested reports."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from contextive.file_writing import new_file
from contextive.ingest.traced_project import TraceState
from contextive.ingest.traced_specifications import GeneratedFile
from contextive.ops.excerpts import code_blocks
from contextive.trace.citation import Problem
from contextive.trace.duvet_config import TraceSettings
from contextive.trace.requirement import Requirement, StatusSummary
from contextive.workspace.files import ProjectFiles

_WRITE_CHARS = 128 * 1024


@dataclass(frozen=True, slots=True)
class ReportOptions:
    """The options of a report. Paths are relative to the project directory."""

    config_path: str | None = None
    json: str | None = None
    json_v2: str | None = None
    html: str | None = None
    lcov: str | None = None
    sarif: str | None = None
    junit: str | None = None
    badge: str | None = None
    github: bool = False
    ci: bool | None = None
    require_citations: bool = True
    require_tests: bool = True
    require: tuple[str, ...] = ()
    """What each requirement in a spec-driven format must have with `ci`: tasks, code, tests; and the evidence of every
    requirement: tested, passed, exercised."""
    blob_link: str | None = None
    issue_link: str | None = None
    fetch: bool = False
    source_patterns: tuple[str, ...] = ()
    spec_patterns: tuple[str, ...] = ()
    spec_path: str | None = None


class ReportWriter:
    """The requested reports, with the functions that create them."""

    def __init__(
        self,
        root: Path,
        options: ReportOptions,
        settings: TraceSettings,
        state: TraceState,
        warnings: Sequence[Problem],
        files: ProjectFiles,
    ) -> None:
        self.root = root
        self.options = options
        self.settings = settings
        self.state = state
        self.warnings = warnings
        self.files = files
        self._blob_link = options.blob_link or settings.blob_link
        self._issue_link = options.issue_link or settings.issue_link

    def requested_reports(self) -> Iterator[tuple[str, Callable[[], str]]]:
        options, settings = self.options, self.settings
        makers: list[tuple[str | None, Callable[[], str]]] = [
            (options.json, self._json),
            (options.json_v2, self._json_v2),
            (options.html, lambda: self._html),
            (settings.json.path if settings.json.enabled else None, self._json),
            (settings.html.path if settings.html.enabled else None, lambda: self._html),
            (options.junit, self._junit),
            (options.badge, self._badge),
        ]
        yield from ((path, make) for path, make in makers if path)

    def _json(self) -> str:
        from contextive.trace.reports.json_v1 import write_json_v1

        return write_json_v1(self.state.analysis, blob_link=self._blob_link, issue_link=self._issue_link)

    def _json_v2(self) -> str:
        from contextive.trace.reports.json_v2 import write_json_v2

        return write_json_v2(
            self.state.analysis,
            download_dir=self.settings.download_dir,
            blob_link=self._blob_link,
            issue_link=self._issue_link,
        )

    @cached_property
    def _html(self) -> str:
        """The HTML report; cached, because it may be requested by an option and by the configuration."""
        from contextive.trace.reports.html import write_html

        analysis = self.state.analysis
        return write_html(
            analysis,
            project=self.root.resolve().name,
            date=time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
            code=code_blocks(self.files, analysis.citations),
            blob_link=self._blob_link,
            issue_link=self._issue_link,
            warnings=self.warnings,
        )

    def _junit(self) -> str:
        from contextive.trace.reports.junit import write_junit

        return write_junit(
            self.state.analysis.reports.values(),
            require_citations=self.options.require_citations,
            require_tests=self.options.require_tests,
            download_dir=self.settings.download_dir,
        )

    def _badge(self) -> str:
        from contextive.trace.reports.badge import write_badge

        return write_badge(StatusSummary.of(all_requirements(self.state)))


def all_requirements(state: TraceState) -> list[Requirement]:
    return [r for report in state.analysis.reports.values() for r in report.requirements]


def write_requirement_files(root: Path, generated: Sequence[GeneratedFile]) -> None:
    """Write the extracted requirements. Not atomically, because the next run writes these files again."""
    for folder in {file.path.rpartition("/")[0] for file in generated}:
        (root / folder).mkdir(parents=True, exist_ok=True)
    for file in generated:
        (root / file.path).write_bytes(file.text.encode("utf-8", "surrogatepass"))


##= docs/spec/trace.md#reports
##% A report or a downloaded text MUST be written completely or not at all.
def write_report(path: Path, text: str) -> None:
    """Write a file atomically. Not durably, because the next run writes it again."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with new_file(path.parent, durable=False) as new:
        # In parts: encoding a large report at once would double its memory.
        for start in range(0, len(text), _WRITE_CHARS):
            new.stream.write(text[start : start + _WRITE_CHARS].encode("utf-8", "surrogatepass"))
        new.publish(path.name)
