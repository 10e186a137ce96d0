"""`duvet report`: reads the settings, extracts, parses, matches and reports. All errors of a step are collected."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from contextive.errors import ConfigError
from contextive.ingest.traced_project import TracedProject, TraceState
from contextive.ingest.traced_specifications import GeneratedFile
from contextive.ops.duvet_output import (
    ReportOptions,
    ReportWriter,
    all_requirements,
    write_report,
    write_requirement_files,
)
from contextive.ops.duvet_summary import gate_failures, summary_line
from contextive.trace.analysis import Analysis
from contextive.trace.citation import CommentStyle, Location, Problem
from contextive.trace.duvet_config import SourcePattern, TraceSettings, parse_duvet_config
from contextive.trace.formats.values import SpecFormat
from contextive.trace.level import CitationType
from contextive.trace.project_warnings import WarningContext, find_warnings
from contextive.trace.target import Target, cached_path
from contextive.workspace.files import FileText, ProjectFiles
from contextive.workspace.globs import Glob

if TYPE_CHECKING:
    from contextive.ingest.evidence_service import EvidenceService

CONFIG_PATH = ".duvet/config.toml"
_VERB_WIDTH = 12


@dataclass(frozen=True, slots=True)
class DuvetProject:
    """A project for duvet's commands: its directory, its settings, and where to print progress."""

    root: Path
    environ: Mapping[str, str]
    print_progress: Callable[[str], None]
    """Prints a line of progress or diagnostics."""
    print_result: Callable[[str], None]
    """Prints results to standard output."""
    specifications: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    formats: tuple[SpecFormat, ...] = ()
    """The spec-driven formats to report on, too. The duvet commands read none."""
    open_evidence: Callable[[], EvidenceService] | None = None
    """The evidence of the project. The duvet commands use none."""

    ##= docs/spec/trace.md#defaults
    ##% If there is a `.duvet/config.toml`, it alone MUST decide which specifications are extracted and which sources
    ##% are read.
    def settings(self, options: ReportOptions) -> tuple[TraceSettings, bool]:
        """The effective settings, and whether they were configured (otherwise they are defaults)."""
        path = options.config_path or CONFIG_PATH
        legacy = bool(options.source_patterns or options.spec_patterns)
        file = self.root / path
        if file.exists() or options.config_path:
            try:
                text = file.read_text(encoding="utf-8")
            except (OSError, UnicodeError):
                raise ConfigError(f"{path} cannot be read.", hint="Check the path given with --config-path.") from None
            settings = parse_duvet_config(text, path, self.environ)
            return (_with_legacy(settings, options) if legacy else settings), True
        if legacy:
            base = TraceSettings(requirement_patterns=(), html=replace(TraceSettings().html, enabled=False))
            return _with_legacy(base, options), True
        from contextive.ingest.trace_defaults import default_trace_settings

        defaults = default_trace_settings(str(self.root), self.specifications, self.sources)
        return replace(defaults, html=replace(defaults.html, enabled=False)), False

    def progress(self, verb: str, rest: str) -> None:
        self.print_progress(f"{verb:>{_VERB_WIDTH}} {rest}")

    # -- the run -------------------------------------------------------------------------------------------------------

    def report(self, options: ReportOptions) -> int:
        """Run the whole report. Returns 1 if it found an error, otherwise 0."""
        settings, configured = self.settings(options)
        files = ProjectFiles(self.root)
        project = TracedProject(files, settings, formats=self.formats)
        if not configured:
            where = "the paths in the configuration" if self.specifications else "the default paths"
            self.progress("Note", f"no {CONFIG_PATH}; using {where}")
        ##= docs/spec/trace.md#network
        ##% A specification MUST NOT be downloaded unless the user asks for it with `--fetch` or with the setting
        ##% `trace.fetch`.
        if options.fetch:
            self._fetch(settings)
        self._extract(project, write=configured)
        state, is_valid = self._scan(project)
        if not is_valid:
            self._write_findings(options, settings, state, state.problems, self._warnings(state, ()), files)
            return 1
        self.progress("Sorting", "references")
        self.progress("Sorted", f"{_reference_count(state.analysis)} references ")
        warnings = self._warnings(state, state.generated)
        self._print_problems(files, warnings, "⚠")
        # A leftover file of an earlier run concerns the user of the command, not the readers of a report.
        report_warnings = [warning for warning in warnings if warning.code != "stale_requirements"]
        return self._write_reports(ReportWriter(self.root, options, settings, state, report_warnings, files))

    def analyse(self, options: ReportOptions) -> TraceState | None:
        """Extract, parse and match without writing a report. If there are errors, prints them and returns None."""
        settings, configured = self.settings(options)
        project = TracedProject(ProjectFiles(self.root), settings)
        self._extract(project, write=configured)
        state, is_valid = self._scan(project)
        return state if is_valid else None

    def _extract(self, project: TracedProject, *, write: bool) -> None:
        """Extract the requirements of all specifications into files. Raises if a specification cannot be read."""
        specifications = project.settings.specifications
        self.progress("Extracting", "requirements")
        for target, reason in project.missing():
            hint = " Save its text at that path, or use --fetch to download it." if target.is_url else ""
            raise ConfigError(f"{reason}.{hint}")
        if write:
            # Before the sources are scanned, because these files may be among them.
            write_requirement_files(self.root, project.extract())
        if specifications:
            self.progress("Extracted", f"requirements from {len(specifications)} specifications ")
        else:
            self.progress("Extracted", "no requirements - config does not include any specifications ")

    def _scan(self, project: TracedProject) -> tuple[TraceState, bool]:
        """The state of the project, and whether it is valid. Errors are printed."""
        self.progress("Scanning", "sources")
        state = project.read()
        self.progress("Scanned", f"{state.source_count} sources ")
        self.progress("Parsing", "annotations")
        files = project.files
        if self._report_errors(files, state, state.file_problems):
            return state, False
        analysis = state.analysis
        self.progress("Parsed", f"{len(analysis.citations)} annotations ")
        self.progress("Loading", "specifications")
        unloaded = [p for p in analysis.problems if p.code == "specification_not_found"]
        if self._report_errors(files, state, unloaded):
            return state, False
        self.progress("Loaded", f"{len(analysis.reports)} specifications ")
        self.progress("Mapping", "sections")
        self.progress("Mapped", f"{analysis.mapped_sections} sections ")
        self.progress("Matching", "references")
        if self._report_errors(files, state, analysis.problems):
            return state, False
        self.progress("Matched", f"{_reference_count(analysis)} references ")
        return state, True

    ##= docs/spec/trace.md#reports
    ##% An invalid citation MUST make `duvet report` end with the exit code 1, after all errors of the same kind are
    ##% shown.
    def _report_errors(self, files: ProjectFiles, state: TraceState, problems: Sequence[Problem]) -> bool:
        if not problems:
            return False
        from contextive.ops.duvet_suggestions import MAX_SUGGESTIONS, Suggestions

        suggestions = Suggestions(state)
        explained = [replace(p, help=p.help or suggestions.of(p)) for p in problems[:MAX_SUGGESTIONS]]
        self._print_problems(files, [*explained, *problems[MAX_SUGGESTIONS:]], "×")
        self.print_progress(f"  × encountered {len(problems)} errors")  # duvet's text, also for one error
        return True

    def _print_problems(self, files: ProjectFiles, problems: Sequence[Problem], mark: str) -> None:
        lines = _source_lines(files, (problem.location for problem in problems))
        for problem in problems:
            location = problem.location
            self.print_progress(f"  {mark} {problem.message}")
            self.print_progress(f"    ╭─[{location}]")
            if location in lines:
                self.print_progress(f"{location.line:>4}│ {lines[location][:200]}")
                if problem.label:
                    self.print_progress(f"    · {' ' * (location.column - 1)}╰── {problem.label}")
            self.print_progress("    ╰────" + (f" {problem.help}" if problem.help else ""))

    def _fetch(self, settings: TraceSettings) -> None:
        from contextive.workspace.http_fetch import FetchPolicy, fetch_specification

        for source in settings.specifications:
            if "://" in source.source:
                path = self.root / cached_path(source.source, settings.download_dir)
                if not path.exists():
                    self.progress("Downloading", source.source)
                    fetch_specification(Target(source.source).canonical, path, policy=FetchPolicy(), within=self.root)
                    self.progress("Downloaded", f"{source.source} ")

    # -- warnings ------------------------------------------------------------------------------------------------------

    def _warnings(self, state: TraceState, generated: Sequence[GeneratedFile]) -> list[Problem]:
        counts: dict[Target, int] = dict.fromkeys(state.specifications, 0)
        for citation in state.analysis.matched:
            if citation.citation.type is CitationType.SPEC:
                counts[citation.target] = counts.get(citation.target, 0) + 1
        declared = state.analysis.declarations.documents.by_path
        configured = {s.source for s in state.settings.specifications if s.source not in declared}
        return find_warnings(
            state.analysis,
            WarningContext(
                specifications=dict(state.specifications),
                requirement_counts={t: n for t, n in counts.items() if t.path in configured},
                source_count=state.source_count,
                stale_files=tuple(self._stale_files(state.settings, generated)),
                config_path=state.settings.config_path,
            ),
        )

    def _stale_files(self, settings: TraceSettings, generated: Sequence[GeneratedFile]) -> Iterator[str]:
        """Generated files of earlier runs in the directories of this extraction."""
        written = {file.path for file in generated}
        folders = {path.rpartition("/")[0] for path in written}
        if not folders:
            return
        for path in Glob(f"{settings.requirements_dir}/**/*.toml").walk(str(self.root)):
            if path not in written and path.rpartition("/")[0] in folders:
                yield path

    # -- reports -------------------------------------------------------------------------------------------------------

    ##= docs/spec/trace.md#reports
    ##% The command `duvet report` MUST be able to write JSON in both versions, LCOV, HTML, SARIF, JUnit, GitHub
    ##% annotations and a badge.
    def _write_reports(self, writer: ReportWriter) -> int:
        options, settings, state = writer.options, writer.settings, writer.state
        for path, make in writer.requested_reports():
            self.progress("Writing", path)
            write_report(self.root / path, make())
            self.progress("Wrote", f"{path} ")
        if options.lcov:
            self._write_lcov(options, settings, state.analysis)
        spec_warnings = self._show_formats(state) if self.formats else []
        self._write_findings(options, settings, state, (), [*writer.warnings, *spec_warnings], writer.files)
        self.progress("Result", summary_line(all_requirements(state)))
        return max(self._check_gate(options, settings, state), self._check_required(options, settings, state))

    def _show_formats(self, state: TraceState) -> list[Problem]:
        """Print the table of all specifications and the findings; returns the findings."""
        from contextive.ops.spec_report import spec_warnings, table_lines, warning_lines
        from contextive.trace.catalog import TraceCatalog
        from contextive.trace.spec_trace import table

        if not state.formats.current:
            return []
        for line in table_lines(table(TraceCatalog(state.analysis, state.specifications), state.formats)):
            self.print_progress(line)
        warnings = spec_warnings(state.formats)
        for line in warning_lines(warnings):
            self.print_progress(line)
        return warnings

    def _check_required(self, options: ReportOptions, settings: TraceSettings, state: TraceState) -> int:
        if not options.ci or not options.require:
            return 0
        from contextive.ops.spec_report import EVIDENCE_GATES, failed_gates, weak_evidence
        from contextive.review.evidence import EvidenceLevel

        failures = list(failed_gates(state.formats, options.require))
        levels = [EvidenceLevel[word.upper()] for word in options.require if word in EVIDENCE_GATES]
        if levels and self.open_evidence is not None:
            reports = state.analysis.reports.values()
            failures += weak_evidence(reports, self.open_evidence(), max(levels), settings.download_dir)
        for line in failures:
            self.print_progress(line)
        return 1 if failures else 0

    def _write_findings(
        self,
        options: ReportOptions,
        settings: TraceSettings,
        state: TraceState,
        problems: Sequence[Problem],
        warnings: Sequence[Problem],
        files: ProjectFiles,
    ) -> None:
        """Write the SARIF report and GitHub annotations. They are also written when there are errors."""
        declared = state.analysis.declarations.documents.by_target
        # What is open in a spec-driven format is in its table. A warning for each would hide the certain findings.
        reports = [report for target, report in state.analysis.reports.items() if target not in declared]
        if options.sarif:
            from contextive.trace.reports.findings import location_in_project
            from contextive.trace.reports.sarif import write_sarif

            self.progress("Writing", options.sarif)
            locations = (
                location_in_project(problem.location, settings.download_dir) for problem in (*problems, *warnings)
            )
            lines = _source_lines(files, locations)
            evidence = self.open_evidence().described(all_requirements(state)) if self.open_evidence is not None else {}
            text = write_sarif(
                problems, warnings, reports, download_dir=settings.download_dir, lines=lines,
                evidence={r.identifier: evidence[r.identifier].words for r in all_requirements(state) if evidence},
            )  # fmt: skip
            write_report(self.root / options.sarif, text)
            self.progress("Wrote", f"{options.sarif} ")
        if options.github:
            from contextive.trace.reports.github import write_github

            self.print_result(write_github(problems, warnings, reports, download_dir=settings.download_dir))

    def _write_lcov(self, options: ReportOptions, settings: TraceSettings, analysis: Analysis) -> None:
        from contextive.trace.reports.lcov import write_lcov

        folder = options.lcov or ""
        self.progress("Writing", folder)
        for index, report in enumerate(analysis.reports.values()):
            text = write_lcov(
                report,
                download_dir=settings.download_dir,
                require_citations=options.require_citations,
                require_tests=options.require_tests,
            )
            write_report(self.root / folder / f"compliance.{index}.lcov", text)
        self.progress("Wrote", f"{folder} ")

    def _check_gate(self, options: ReportOptions, settings: TraceSettings, state: TraceState) -> int:
        reports = list(state.analysis.reports.values())
        snapshot = settings.snapshot
        ci = options.ci
        if ci is None:
            ci = snapshot.enabled and self.environ.get("CI", "false") not in ("false", "0")
        if snapshot.enabled:
            from contextive.trace.snapshot import write_snapshot

            text = write_snapshot(reports)
            if not ci:
                self.progress("Writing", snapshot.path)
                write_report(self.root / snapshot.path, text)
                self.progress("Wrote", f"{snapshot.path} ")
                return 0
            self.progress("Checking", snapshot.path)
            if not self._snapshot_agrees(snapshot.path, text):
                return 1
            self.progress("Checked", f"{snapshot.path} ")
            return 0
        if not ci:
            return 0
        has_failures = False
        for line in gate_failures(reports, options.require_citations, options.require_tests, settings.download_dir):
            self.print_progress(line)
            has_failures = True
        return 1 if has_failures else 0

    ##= docs/spec/trace.md#ci-rules
    ##% With `--ci` and a snapshot, a report MUST fail if the stored snapshot is missing or different, and leaves it
    ##% unchanged.
    def _snapshot_agrees(self, path: str, expected: str) -> bool:
        try:
            actual = (self.root / path).read_bytes().decode("utf-8")
        except (OSError, UnicodeError):
            self.print_progress(f"  × {path}")
            self.print_progress("  ╰─▶ Could not read report snapshot. This is required to enforce CI checks.")
            return False
        if actual == expected:
            return True
        import difflib

        for line in ("", f"Differences detected in {path}:", ""):
            self.print_progress(line)
        diff = difflib.unified_diff(actual.splitlines(), expected.splitlines(), lineterm="", n=3)
        for line in list(diff)[2:]:
            self.print_progress(line)
        self.print_progress(f"  × {path}")
        self.print_progress("  ╰─▶ Report snapshot does not match with CI mode enabled.")
        return False


def _source_lines(files: ProjectFiles, locations: Iterable[Location]) -> dict[Location, str]:
    """The source line of each location; locations that cannot be read are left out."""
    by_path: dict[str, list[Location]] = {}
    for location in locations:
        by_path.setdefault(location.path, []).append(location)
    found: dict[Location, str] = {}
    for path, in_file in by_path.items():
        content = files.read(path) if path else None
        if isinstance(content, FileText):
            lines = content.text.split("\n")
            found |= {
                location: lines[location.line - 1].rstrip("\r")
                for location in in_file
                if 0 < location.line <= len(lines)
            }
    return found


def _reference_count(analysis: Analysis) -> int:
    return sum([report.reference_count for report in analysis.reports.values()])


def _with_legacy(settings: TraceSettings, options: ReportOptions) -> TraceSettings:
    """The settings with the flags of older duvet versions, which name sources and requirement files."""
    sources = []
    for pattern in options.source_patterns:
        style = CommentStyle()
        if pattern.startswith("("):
            inside, closed, pattern = pattern[1:].partition(")")
            meta, comma, content = inside.partition(",")
            if not closed or not comma:
                raise ConfigError(f"The source pattern ({inside} does not have the form (META,CONTENT)glob.")
            style = CommentStyle(meta, content)
        sources.append(SourcePattern(pattern, style))
    download = f"{options.spec_path}/specs" if options.spec_path else settings.download_dir
    if settings.config_path is None and not options.spec_path:
        download = "specs"
    return replace(
        settings,
        sources=(*settings.sources, *sources),
        requirement_patterns=(*settings.requirement_patterns, *options.spec_patterns),
        download_dir=download,
    )
