"""`duvet report`, step by step: extract, scan, match, write. Each step says what it does; every error is collected."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from contextive.errors import ConfigError
from contextive.ingest.trace_defaults import settings_for
from contextive.ingest.traced_project import GeneratedFile, TracedProject, TraceState
from contextive.ops.excerpts import Excerpts
from contextive.trace.analysis import Analysis, TargetReport
from contextive.trace.cautions import Surroundings, cautions
from contextive.trace.citation import CommentStyle, Problem
from contextive.trace.duvet_config import SourcePattern, TraceSettings, parse_duvet_config
from contextive.trace.level import CitationType
from contextive.trace.requirement import Requirement, Summary, requirements_of
from contextive.trace.snapshot import write_snapshot
from contextive.trace.target import Target, cached_path
from contextive.workspace.files import FileText, ProjectFiles
from contextive.workspace.globs import Glob

CONFIG_PATH = ".duvet/config.toml"
_VERB_WIDTH = 12


@dataclass(frozen=True, slots=True)
class ReportOptions:
    """What a report is asked for. Paths are relative to the project directory."""

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
    blob_link: str | None = None
    issue_link: str | None = None
    fetch: bool = False
    source_patterns: tuple[str, ...] = ()
    spec_patterns: tuple[str, ...] = ()
    spec_path: str | None = None


@dataclass
class DuvetProject:
    """A project as duvet's commands see it: a directory, its settings, and where progress goes."""

    root: Path
    environ: Mapping[str, str]
    say: Callable[[str], None]
    """Takes progress and diagnostics, a line each."""
    show: Callable[[str], None]
    """Takes results that belong on standard output."""
    specifications: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()

    ##= docs/spec/trace.md#defaults
    ##% A `.duvet/config.toml` alone MUST decide, where there is one, which specifications are extracted and which
    ##% sources are read.
    def settings(self, options: ReportOptions) -> tuple[TraceSettings, bool]:
        """The settings that count, and whether they were configured rather than guessed."""
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
        guessed = settings_for(str(self.root), self.specifications, self.sources)
        return replace(guessed, html=replace(guessed.html, enabled=False)), False

    def progress(self, verb: str, rest: str) -> None:
        self.say(f"{verb:>{_VERB_WIDTH}} {rest}")

    # -- the run -------------------------------------------------------------------------------------------------------

    def report(self, options: ReportOptions) -> int:
        """Do all of it. 0, or 1 when anything was found that must not be."""
        settings, configured = self.settings(options)
        files = ProjectFiles(self.root)
        project = TracedProject(files, settings)
        if not configured:
            self.say(f"{'Note':>{_VERB_WIDTH}} no {CONFIG_PATH}; looking in the usual places")
        ##= docs/spec/trace.md#network
        ##% A specification MUST NOT be downloaded unless the user asks for it with `--fetch` or with the setting
        ##% `trace.fetch`.
        if options.fetch:
            self._fetch(settings)
        generated = self._extract(project, configured)
        state, sound = self._scan(project)
        if not sound:
            self._write_findings(options, settings, state, state.problems, self._cautions(state, ()))
            return 1
        analysis = state.analysis
        self.progress("Sorting", "references")
        self.progress("Sorted", f"{sum(len(r.references) for r in analysis.reports.values())} references ")
        warnings = self._cautions(state, generated)
        for warning in warnings:
            self._print_problem(files, warning, "⚠")
        # What an earlier run left behind is news for who runs this one, and none for who reads a report.
        lasting = [warning for warning in warnings if warning.code != "stale_requirements"]
        return self._write_reports(options, settings, state, files, lasting)

    def analyse(self, options: ReportOptions) -> TraceState | None:
        """Extract, scan and match without writing any report; None after errors, which were printed."""
        settings, configured = self.settings(options)
        project = TracedProject(ProjectFiles(self.root), settings)
        self._extract(project, configured)
        state, sound = self._scan(project)
        return state if sound else None

    def _extract(self, project: TracedProject, configured: bool) -> list[GeneratedFile]:
        specifications = project.settings.specifications
        self.progress("Extracting", "requirements")
        for source in specifications:
            target = project.configured_target(source)
            outcome = project.specification(Target(target.path, source.format))
            if isinstance(outcome, str):
                hint = " Store its text there, or run again with --fetch." if target.is_url else ""
                raise ConfigError(f"{outcome}.{hint}")
        generated = project.extract()
        if configured:
            _write_generated(self.root, generated)
        if specifications:
            self.progress("Extracted", f"requirements from {len(specifications)} specifications ")
        else:
            self.progress("Extracted", "no requirements - config does not include any specifications ")
        return generated

    def _scan(self, project: TracedProject) -> tuple[TraceState, bool]:
        """What the files say, and whether duvet would accept all of it."""
        self.progress("Scanning", "sources")
        state = project.read()
        self.progress("Scanned", f"{state.source_count} sources ")
        self.progress("Parsing", "annotations")
        if self._fails(project.files, state.file_problems):
            return state, False
        analysis = state.analysis
        self.progress("Parsed", f"{len(analysis.citations)} annotations ")
        self.progress("Loading", "specifications")
        unloaded = [p for p in analysis.problems if p.code == "specification_not_found"]
        if self._fails(project.files, unloaded):
            return state, False
        self.progress("Loaded", f"{len(analysis.reports)} specifications ")
        self.progress("Mapping", "sections")
        self.progress("Mapped", f"{analysis.mapped_sections} sections ")
        self.progress("Matching", "references")
        if self._fails(project.files, analysis.problems):
            return state, False
        self.progress("Matched", f"{sum(len(r.references) for r in analysis.reports.values())} references ")
        return state, True

    ##= docs/spec/trace.md#reports
    ##% A citation that is not valid MUST make `duvet report` end with the exit code 1, after all errors of its kind
    ##% were shown.
    def _fails(self, files: ProjectFiles, problems: Sequence[Problem]) -> bool:
        for problem in problems:
            self._print_problem(files, problem, "×")
        if problems:
            self.say(f"  × encountered {len(problems)} errors")
        return bool(problems)

    def _print_problem(self, files: ProjectFiles, problem: Problem, mark: str) -> None:
        place = problem.place
        self.say(f"  {mark} {problem.message}")
        self.say(f"    ╭─[{place}]")
        content = files.read(place.path)
        if isinstance(content, FileText):
            lines = content.text.split("\n")
            if 0 < place.line <= len(lines):
                line = lines[place.line - 1].rstrip("\r")[:200]
                self.say(f"{place.line:>4}│ {line}")
                if problem.label:
                    self.say(f"    · {' ' * (place.column - 1)}╰── {problem.label}")
        self.say("    ╰────" + (f" {problem.help}" if problem.help else ""))

    def _fetch(self, settings: TraceSettings) -> None:
        from contextive.workspace.fetching import FetchPolicy, fetch_specification

        for source in settings.specifications:
            if "://" in source.source:
                path = self.root / cached_path(source.source, settings.download_dir)
                if not path.exists():
                    self.progress("Downloading", source.source)
                    fetch_specification(Target(source.source).canonical, path, policy=FetchPolicy(), within=self.root)
                    self.progress("Downloaded", f"{source.source} ")

    # -- warnings ------------------------------------------------------------------------------------------------------

    def _cautions(self, state: TraceState, generated: Sequence[GeneratedFile]) -> list[Problem]:
        counts: dict[Target, int] = dict.fromkeys(state.specifications, 0)
        for citation in state.analysis.matched:
            if citation.citation.type is CitationType.SPEC:
                counts[citation.target] = counts.get(citation.target, 0) + 1
        configured = {s.source for s in state.settings.specifications}
        return cautions(
            state.analysis,
            Surroundings(
                specifications=dict(state.specifications),
                requirement_counts={t: n for t, n in counts.items() if t.path in configured},
                source_count=state.source_count,
                stale_files=tuple(self._stale(state.settings, generated)),
                config_path=state.settings.config_path,
            ),
        )

    def _stale(self, settings: TraceSettings, generated: Sequence[GeneratedFile]) -> Iterator[str]:
        """Generated files that this extraction did not write, in directories that it writes to."""
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
    def _write_reports(
        self,
        options: ReportOptions,
        settings: TraceSettings,
        state: TraceState,
        files: ProjectFiles,
        warnings: Sequence[Problem],
    ) -> int:
        writer = _Writer(self, options, settings, state, warnings, Excerpts(files, state.analysis.citations))
        for path, make in writer.wanted():
            self.progress("Writing", path)
            write_file(self.root / path, make())
            self.progress("Wrote", f"{path} ")
        if options.lcov:
            self._write_lcov(options, settings, state.analysis)
        self._write_findings(options, settings, state, (), warnings)
        return self._check(options, settings, state)

    def _write_findings(
        self,
        options: ReportOptions,
        settings: TraceSettings,
        state: TraceState,
        problems: Sequence[Problem],
        warnings: Sequence[Problem],
    ) -> None:
        """The reports for machines that show problems: written also, and most of all, when there are errors."""
        reports = list(state.analysis.reports.values())
        if options.sarif:
            from contextive.trace.reports.sarif import write_sarif

            self.progress("Writing", options.sarif)
            write_file(
                self.root / options.sarif, write_sarif(problems, warnings, reports, download_dir=settings.download_dir)
            )
            self.progress("Wrote", f"{options.sarif} ")
        if options.github:
            from contextive.trace.reports.github import write_github

            self.show(write_github(problems, warnings, reports, download_dir=settings.download_dir))

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
            write_file(self.root / folder / f"compliance.{index}.lcov", text)
        self.progress("Wrote", f"{folder} ")

    def _check(self, options: ReportOptions, settings: TraceSettings, state: TraceState) -> int:
        reports = list(state.analysis.reports.values())
        snapshot = settings.snapshot
        ci = options.ci
        if ci is None:
            ci = snapshot.enabled and self.environ.get("CI", "false") not in ("false", "0")
        if snapshot.enabled:
            text = write_snapshot(reports)
            if not ci:
                self.progress("Writing", snapshot.path)
                write_file(self.root / snapshot.path, text)
                self.progress("Wrote", f"{snapshot.path} ")
                return 0
            self.progress("Checking", snapshot.path)
            if not self._snapshot_agrees(snapshot.path, text):
                return 1
            self.progress("Checked", f"{snapshot.path} ")
            return 0
        if ci:
            for report in reports:
                if complaint := unmet(report, options.require_citations, options.require_tests):
                    self.say(f"  × {complaint}")
                    return 1
        return 0

    ##= docs/spec/trace.md#ci-rules
    ##% With `--ci` and a snapshot, a report MUST fail when the stored snapshot is missing or different, and leaves
    ##% it as it is.
    def _snapshot_agrees(self, path: str, expected: str) -> bool:
        try:
            actual = (self.root / path).read_bytes().decode("utf-8")
        except (OSError, UnicodeError):
            self.say(f"  × {path}")
            self.say("  ╰─▶ Could not read report snapshot. This is required to enforce CI checks.")
            return False
        if actual == expected:
            return True
        self.say(f"\nDifferences detected in {path}:\n")
        diff = difflib.unified_diff(actual.splitlines(), expected.splitlines(), lineterm="", n=3)
        for line in list(diff)[2:]:
            self.say(line)
        self.say(f"  × {path}")
        self.say("  ╰─▶ Report snapshot does not match with CI mode enabled.")
        return False


@dataclass
class _Writer:
    """The reports that were asked for, each with the way to make it."""

    project: DuvetProject
    options: ReportOptions
    settings: TraceSettings
    state: TraceState
    warnings: Sequence[Problem]
    excerpts: Excerpts

    def wanted(self) -> Iterator[tuple[str, Callable[[], str]]]:
        options, settings = self.options, self.settings
        makers: list[tuple[str | None, Callable[[], str]]] = [
            (options.json, self._json),
            (options.json_v2, self._json_v2),
            (options.html, self._html),
            (settings.json.path if settings.json.enabled else None, self._json),
            (settings.html.path if settings.html.enabled else None, self._html),
            (options.junit, self._junit),
            (options.badge, self._badge),
        ]
        yield from ((path, make) for path, make in makers if path)

    @property
    def _blob_link(self) -> str | None:
        return self.options.blob_link or self.settings.blob_link

    @property
    def _issue_link(self) -> str | None:
        return self.options.issue_link or self.settings.issue_link

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

    def _html(self) -> str:
        from contextive.trace.reports.html import write_html

        return write_html(
            self.state.analysis,
            project=self.project.root.resolve().name,
            date=f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
            code_of=self.excerpts.of,
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

        return write_badge(Summary.of(all_requirements(self.state)))


def all_requirements(state: TraceState) -> list[Requirement]:
    return [r for report in state.analysis.reports.values() for r in requirements_of(report)]


##= docs/spec/trace.md#ci-rules
##% With `--ci` and no snapshot, a report MUST fail on a referenced line that is not cited, and on a cited line that
##% is not tested.
def unmet(report: TargetReport, require_citations: bool, require_tests: bool) -> str | None:
    """What a specification lacks under duvet's own rule, which looks at whole lines."""
    cited: set[int] = set()
    tested: set[int] = set()
    significant: set[int] = set()
    for reference in report.references:
        line = report.specification.source.line_of(reference.start)
        significant.add(line)
        match reference.citation.type:
            case CitationType.TEST:
                tested.add(line)
            case CitationType.CITATION:
                cited.add(line)
            case CitationType.EXCEPTION | CitationType.IMPLICATION:
                cited.add(line)
                tested.add(line)
            case CitationType.SPEC | CitationType.TODO:
                pass
    if require_citations and significant - cited:
        return "Specification requirements missing citation."
    if require_tests and cited - tested:
        return "Citation missing test."
    return None


def _with_legacy(settings: TraceSettings, options: ReportOptions) -> TraceSettings:
    """The flags of older versions, which name sources and requirement files on the command line."""
    sources = []
    for pattern in options.source_patterns:
        style = CommentStyle()
        if pattern.startswith("("):
            inside, closed, pattern = pattern[1:].partition(")")
            meta, comma, content = inside.partition(",")
            if not closed or not comma:
                raise ConfigError(f"The source pattern ({inside} is not of the form (META,CONTENT)glob.")
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


def _write_generated(root: Path, generated: Sequence[GeneratedFile]) -> None:
    """Write the requirement files. They can be made again at any time, so they need no detour through a temporary file."""
    for folder in {file.path.rpartition("/")[0] for file in generated}:
        (root / folder).mkdir(parents=True, exist_ok=True)
    for file in generated:
        with open(f"{root}/{file.path}", "wb") as written:  # noqa: PTH123 - strings, for speed
            written.write(file.text.encode("utf-8", "surrogatepass"))


##= docs/spec/trace.md#reports
##% A report, and a text that is downloaded, MUST be written whole or not at all.
def write_file(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_bytes(text.encode("utf-8", "surrogatepass"))
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
