"""`duvet init | extract | report | merge | query`, and `contextive-mcp report`."""

from __future__ import annotations

import argparse
import gc
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from contextive.cli.parser import add_project_options
from contextive.cli.printing import print_data, print_line
from contextive.errors import InvalidRequest, UsageError

if TYPE_CHECKING:
    from contextive.ingest.evidence_service import EvidenceService
    from contextive.ops.duvet_output import ReportOptions
    from contextive.ops.duvet_report import DuvetProject

_NO_OPS = ("--package", "--features", "--exclude", "--target", "--target-dir", "--manifest-path")
_NO_OP_FLAGS = ("--workspace", "--all-features", "--no-default-features", "--no-cargo")


def _project() -> DuvetProject:
    from contextive.ops.duvet_report import DuvetProject

    return DuvetProject(
        Path.cwd(), os.environ, lambda line: print_line(line, file=sys.stderr), lambda text: print_data(text, end="")
    )


def _add_project_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--config-path", metavar="FILE", help="configuration file (default: .duvet/config.toml)")
    for flag in ("--source-pattern", "--spec-pattern"):
        parser.add_argument(flag, action="append", default=[], help=argparse.SUPPRESS)
    parser.add_argument("--spec-path", help=argparse.SUPPRESS)
    for flag in _NO_OPS:
        parser.add_argument(flag, *(["-p"] if flag == "--package" else []), dest="ignored", help=argparse.SUPPRESS)
    for flag in _NO_OP_FLAGS:
        parser.add_argument(flag, action="store_true", dest="ignored_flag", help=argparse.SUPPRESS)


def _add_switch(parser: argparse.ArgumentParser, flag: str, help_: str) -> None:
    """Add a flag that takes an optional `true` or `false`."""
    parser.add_argument(flag, nargs="?", const=True, default=None, type=_parse_bool, metavar="BOOL", help=help_)


def _parse_bool(text: str) -> bool:
    if text not in ("true", "false"):
        raise argparse.ArgumentTypeError(f"expected true or false, found {text[:20]!r}")
    return text == "true"


# -- report ------------------------------------------------------------------------------------------------------------


def configure_report(parser: argparse.ArgumentParser) -> None:
    _add_project_options(parser)
    for flag, help_ in (
        ("--json", "write the JSON report (v1) here"),
        ("--json-v2", "write the JSON report (v2) here"),
        ("--html", "write the HTML report here"),
        ("--lcov", "write LCOV records into this directory"),
        ("--sarif", "write a SARIF report here, for code scanning"),
        ("--junit", "write a JUnit report here, with one test case per requirement"),
        ("--badge", "write a coverage badge (SVG) here"),
    ):
        parser.add_argument(flag, metavar="PATH", help=help_)
    parser.add_argument("--format", choices=["github"], help="also print findings as workflow annotations")
    _add_switch(parser, "--ci", "fail if something is not covered, or if the snapshot differs")
    _add_switch(parser, "--require-citations", "with --ci: every requirement must be cited (default: true)")
    _add_switch(parser, "--require-tests", "with --ci: every citation must be tested (default: true)")
    parser.add_argument("--blob-link", metavar="URL", help="base URL for links to source files")
    parser.add_argument("--issue-link", metavar="URL", help="base URL for links to issues")
    parser.add_argument("--fetch", action="store_true", help="download specifications that are not stored yet")
    parser.set_defaults(run=run_report, project=None, config=None)
    if parser.prog.startswith("contextive-mcp"):
        add_project_options(parser, profile=False)
        parser.add_argument(
            "--require",
            metavar="LIST",
            help="with --ci: what each requirement of Kiro, spec-kit and OpenSpec must have: tasks, code, tests; or the "
            "evidence that every requirement must have: tested, passed, exercised",
        )


def report_options(options: argparse.Namespace) -> ReportOptions:
    from contextive.ops.duvet_output import ReportOptions

    return ReportOptions(
        config_path=options.config_path,
        json=options.json,
        json_v2=options.json_v2,
        html=options.html,
        lcov=options.lcov,
        sarif=options.sarif,
        junit=options.junit,
        badge=options.badge,
        github=options.format == "github",
        ci=options.ci,
        require_citations=options.require_citations is not False,
        require_tests=options.require_tests is not False,
        require=_required(getattr(options, "require", None)),
        blob_link=options.blob_link,
        issue_link=options.issue_link,
        fetch=options.fetch,
        source_patterns=tuple(options.source_pattern),
        spec_patterns=tuple(options.spec_pattern),
        spec_path=options.spec_path,
    )


def _required(text: str | None) -> tuple[str, ...]:
    """The words after `--require`."""
    if not text:
        return ()
    from contextive.ops.spec_report import EVIDENCE_GATES, GATES

    known = (*GATES, *EVIDENCE_GATES)
    words = tuple(word.strip() for word in text.split(",") if word.strip())
    if unknown := [word for word in words if word not in known]:
        raise UsageError(f"{unknown[0][:40]!r} cannot be required.", hint=f"Known: {', '.join(known)}.")
    return words


def run_report(options: argparse.Namespace) -> int:
    gc.disable()  # a short process that keeps nearly all its objects: the collector would find nothing
    try:
        return _report(options)
    finally:
        gc.enable()


def _report(options: argparse.Namespace) -> int:
    project, requested = _project(), report_options(options)
    shows_formats = hasattr(options, "require")
    if options.project or options.config or not _has_duvet_config():
        project, may_fetch = _with_config(project, options, shows_formats=shows_formats)
        requested = replace(requested, fetch=requested.fetch or may_fetch)
    elif shows_formats:
        project, _ = _with_config(project, options, shows_formats=True)
    return project.report(requested)


def _has_duvet_config() -> bool:
    return (Path.cwd() / ".duvet" / "config.toml").exists()


def _with_config(
    project: DuvetProject, options: argparse.Namespace, *, shows_formats: bool = False
) -> tuple[DuvetProject, bool]:
    """The project with the specifications and sources of its Contextive configuration, and whether that allows fetching.

    Loading the configuration takes longer than reporting on a small project, so it is loaded only if it is needed.
    """
    from contextive.cli.load_project import config_loader

    loaded = config_loader(options)()
    trace = loaded.config.trace
    specifications, sources = tuple(trace.specifications), tuple(trace.sources)
    found = replace(project, root=loaded.project, specifications=specifications, sources=sources)
    if shows_formats:
        from contextive.trace.formats.values import SpecFormat

        wanted = tuple(SpecFormat) if trace.formats is None else trace.formats
        formats = tuple(map(SpecFormat, wanted))

        def open_evidence() -> EvidenceService:
            from contextive.ingest.evidence_service import EvidenceService
            from contextive.ingest.trace_service import TraceService

            service = TraceService(loaded.project, specifications=specifications, sources=sources, formats=formats)
            state_dir = loaded.project / loaded.config.store.state_path
            return EvidenceService(service, state_dir, tuple(loaded.config.evidence.paths))

        found = replace(found, formats=formats, open_evidence=open_evidence)
    return found, trace.fetch


# -- init --------------------------------------------------------------------------------------------------------------


def configure_init(parser: argparse.ArgumentParser) -> None:
    from contextive.ops.duvet_init import LANGUAGES

    parser.add_argument("--specification", action="append", default=[], metavar="URL", help="include a specification")
    for language in LANGUAGES:
        parser.add_argument(
            f"--lang-{language}", action="append_const", dest="languages", const=language, help=argparse.SUPPRESS
        )
    parser.set_defaults(run=run_init)


def run_init(options: argparse.Namespace) -> int:
    from contextive.ops.duvet_init import initialise

    project = _project()
    initialise(Path.cwd(), options.specification, options.languages or [], project.progress)
    return 0


# -- extract -----------------------------------------------------------------------------------------------------------


def configure_extract(parser: argparse.ArgumentParser) -> None:
    _add_project_options(parser)
    parser.add_argument("target_path", metavar="TARGET", help="path or URL of the specification")
    parser.add_argument("-f", "--format", default="IETF", help="IETF, markdown or auto (default: IETF)")
    parser.add_argument("-e", "--extension", default="toml", help="toml or rs (default: toml)")
    parser.add_argument("-o", "--out", default=".", help="directory to write to (default: .)")
    parser.add_argument("--fetch", action="store_true", help="download the specification if it is not stored yet")
    parser.set_defaults(run=run_extract)


def run_extract(options: argparse.Namespace) -> int:
    from contextive.ops.duvet_extract import extract_to
    from contextive.ops.duvet_output import ReportOptions

    project = _project()
    settings, _ = project.settings(
        ReportOptions(
            config_path=options.config_path,
            spec_path=options.spec_path,
            source_patterns=("",) if options.spec_path else (),
        )
    )
    extract_to(
        project,
        options.target_path,
        options.format,
        options.extension,
        options.out,
        settings.download_dir if settings.config_path or options.spec_path else "specs",
        fetch=options.fetch,
    )
    return 0


# -- merge -------------------------------------------------------------------------------------------------------------


def configure_merge(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--input", action="append", required=True, metavar="PATH", help="a JSON v2 report; repeat it")
    parser.add_argument("--output", required=True, metavar="PATH", help="file for the merged report")
    parser.set_defaults(run=run_merge)


def run_merge(options: argparse.Namespace) -> int:
    from contextive.ops.duvet_output import write_report
    from contextive.trace.reports.merge import merge_reports

    texts = []
    for path in options.input:
        try:
            texts.append(Path(path).read_text(encoding="utf-8"))
        except (OSError, UnicodeError):
            raise InvalidRequest(f"{path} cannot be read.", hint="Name JSON v2 reports with --input.") from None
    write_report(Path(options.output), merge_reports(texts))
    return 0


# -- query -------------------------------------------------------------------------------------------------------------


def configure_query(parser: argparse.ArgumentParser) -> None:
    _add_project_options(parser)
    parser.add_argument("-c", "--check", default="implementation,test,duplicates", metavar="CHECKS",
                        help="implementation, test, duplicates; separated by commas (default: all)")  # fmt: skip
    parser.add_argument("-s", "--section", action="append", default=[], metavar="PATH[#SECTION]",
                        help="only this specification or section; repeat it for more")  # fmt: skip
    parser.add_argument("-q", "--quote", metavar="TEXT", help="only requirements with this text; case is ignored")
    parser.add_argument("-v", "--verbose", action="store_true", help="show the comment that fixes each finding")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run_query, project=None, config=None)


def run_query(options: argparse.Namespace) -> int:
    import json
    from dataclasses import asdict

    from contextive.ops.duvet_output import ReportOptions, all_requirements
    from contextive.trace.checks import CHECKS, run_checks

    checks = [word.strip() for word in options.check.split(",") if word.strip()]
    unknown = [word for word in checks if word not in CHECKS]
    if unknown:
        is_coverage = "coverage" in unknown[0]
        reason = "needs execution data of a JVM and is not supported" if is_coverage else "is not a known check"
        raise UsageError(f"{unknown[0][:40]!r} {reason}.", hint=f"Checks: {', '.join(CHECKS)}.")
    project = _project()
    if not options.config_path and not _has_duvet_config():
        project, _ = _with_config(project, options)
    state = project.analyse(ReportOptions(config_path=options.config_path))
    if state is None:
        return 1
    chosen = [
        r for r in all_requirements(state) if _matches_filters(f"{r.target.path}#{r.section.id}", r.text, options)
    ]
    found = run_checks([c for c in CHECKS if c in checks], state.analysis, chosen)
    if options.json:
        print_data(json.dumps({check: [asdict(finding) for finding in findings] for check, findings in found.items()}))
        return 1 if any(found.values()) else 0
    failed = False
    for check, findings in found.items():
        print_line(f"{check}: {'ok' if not findings else f'{len(findings)} findings'}")
        failed |= bool(findings)
        for finding in findings:
            print_line(f"  {finding.kind}: {finding.where}")
            print_line(f"    {finding.text}")
            if options.verbose and finding.help:
                for line in finding.help.splitlines():
                    print_line(f"      {line}")
    return 1 if failed else 0


def _matches_filters(where: str, text: str, options: argparse.Namespace) -> bool:
    sections = options.section
    in_section = not sections or any(where == s or where.startswith(f"{s}#") for s in sections)
    return in_section and (not options.quote or options.quote.lower() in text.lower())
