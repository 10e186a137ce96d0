"""Run the real duvet as a process and Contextive in this process, on the same files at the same path."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path

from contextive.errors import ConfigError, ContextiveError
from contextive.ingest.traced_project import TracedProject, TraceState
from contextive.trace.citation import Problem
from contextive.trace.duvet_config import TraceSettings, parse_duvet_config
from contextive.trace.reports.json_v1 import write_json_v1
from contextive.trace.reports.json_v2 import write_json_v2
from contextive.trace.reports.lcov import write_lcov
from contextive.trace.reports.merge import merge_reports
from contextive.trace.snapshot import write_snapshot
from contextive.trace.target import Target, UnavailableSpec
from contextive.workspace.files import ProjectFiles
from tests.differential.outcome import JSON_V1, JSON_V2, LCOV, SNAPSHOT, Failure, Outcome, read_text
from tests.differential.projects import ROOT

CONFIG = ".duvet/config.toml"
BLOB_LINK = "https://code.example/blob/main"
ISSUE_LINK = "https://code.example/issues"
Project = Mapping[str, bytes]


@contextmanager
def project_on_disk(project: Project) -> Iterator[Path]:
    shared_memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shared_memory if shared_memory.is_dir() else None) as folder:
        root = Path(folder).resolve() / "p"
        for name, content in project.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(_insert_root(content, root))
        root.mkdir(exist_ok=True)
        yield root


def _insert_root(content: bytes, root: Path) -> bytes:
    return content.replace(ROOT.encode(), str(root).encode())


def run_both(project: Project, duvet: str) -> tuple[Outcome, Outcome]:
    with project_on_disk(project) as root:
        theirs = run_duvet(root, duvet)
        # duvet writes a heading of several lines as invalid TOML, which it then refuses to read.
        if any(f.message == "unusable" and _is_generated(f.location, project) for f in theirs.failures):
            theirs.crash = "duvet cannot read a requirement file that it wrote"
        shutil.rmtree(root / "out", ignore_errors=True)
        for path in (root / ".duvet/requirements").rglob("*.toml"):
            if str(path.relative_to(root)) not in project:
                path.unlink()
        for name, content in project.items():
            (root / name).write_bytes(_insert_root(content, root))
        return theirs, run_ours(root)


def _is_generated(path: str, project: Project) -> bool:
    return path.startswith(".duvet/requirements/") and path not in project


def run_duvet(root: Path, duvet: str) -> Outcome:
    command = [duvet, "report", "--json", JSON_V1, *(() if is_0_4_2(duvet) else ("--json-v2", JSON_V2))]
    command += ["--blob-link", BLOB_LINK, "--issue-link", ISSUE_LINK, "--lcov", LCOV]
    environ = {"PATH": os.environ.get("PATH", ""), "NO_COLOR": "1", "DUVET_INTERNAL_CI_SNAPSHOT": SNAPSHOT}
    (root / "out").mkdir(exist_ok=True)
    done = subprocess.run(command, cwd=root, env=environ, capture_output=True, timeout=60, check=False)
    if b"lcov.rs" in done.stderr:
        # duvet cannot write LCOV for a section cited without its prefix. The rest can still be compared.
        done = subprocess.run(command[:-2], cwd=root, env=environ, capture_output=True, timeout=60, check=False)
        shutil.rmtree(root / LCOV, ignore_errors=True)
    errors = done.stderr.decode("utf-8", "replace")
    outcome = Outcome(done.returncode)
    if "panicked" in errors or done.returncode not in (0, 1):
        outcome.crash = errors
        return outcome
    if done.returncode:
        outcome.failures.update(_failures(errors))
    outcome.read_reports(root)
    return outcome


@cache
def is_0_4_2(duvet: str) -> bool:
    """Whether this duvet is release 0.4.2 or older. It cannot tell its version, but 0.4.3 added `--json-v2`."""
    done = subprocess.run([duvet, "report", "--help"], capture_output=True, timeout=60, check=False)
    return b"--json-v2" not in done.stdout


_BLOCK = re.compile(r"×(.*?)(?=×|╰─▶ encountered|\Z)", re.DOTALL)
_LOCATION = re.compile(r"╭─\[([^\]]*)\]")
_BOX_DRAWING = re.compile(r"[\s│]+")
_CAUSE = "╰─▶"


def _failures(errors: str) -> Iterator[Failure]:
    for block in _BLOCK.findall(errors):
        if not _BOX_DRAWING.sub("", block):
            continue
        location = _LOCATION.search(block)
        if location is not None:
            yield Failure(_compact(block[: location.start()]), _BOX_DRAWING.sub("", location.group(1)))
            continue
        head, _, cause = block.partition(_CAUSE)
        path = _compact(head)
        if "errorsendingrequest" in _compact(block):
            yield Failure("download")
        elif cause:
            yield Failure("unusable", path)
        else:
            yield Failure(path)


def _compact(text: str) -> str:
    return _BOX_DRAWING.sub("", text)


def run_ours(root: Path) -> Outcome:
    """The steps of `report`, stopping where duvet stops."""
    outcome = Outcome(0)
    (root / "out").mkdir(exist_ok=True)
    try:
        outcome.failures.update(_report(root))
    except Exception:
        outcome.crash = traceback.format_exc()
    outcome.exit_code = 1 if outcome.failures else 0
    outcome.read_reports(root)
    return outcome


def _report(root: Path) -> list[Failure]:
    try:
        settings = parse_duvet_config((root / CONFIG).read_text(encoding="utf-8"), CONFIG, {})
    except ConfigError:
        return [Failure("unusable", CONFIG)]
    if failed := _extract(root, settings):
        return failed
    # The written requirement files are read back, as in duvet, so nothing is left to extract.
    project = TracedProject(ProjectFiles(root), replace(settings, specifications=()))
    state = project.read()
    if failures := _first_failures(state):
        return failures
    _write_reports(root, settings, state)
    return []


def _extract(root: Path, settings: TraceSettings) -> list[Failure]:
    project = TracedProject(ProjectFiles(root), settings)
    for source in settings.specifications:
        if isinstance(project.specification(Target(source.source)), UnavailableSpec):
            return [_missing(source.source)]
        alone = TracedProject(project.files, replace(settings, specifications=(source,)))
        for file in alone.extract():
            path = root / file.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(file.text.encode("utf-8", "surrogatepass"))
    return []


_INVALID_FILE_CODES = {
    "invalid_toml",
    "unknown_key",
    "repeated_key",
    "invalid_value",
    "missing_field",
    "unreadable_file",
}


def _first_failures(state: TraceState) -> list[Failure]:
    if state.file_problems:
        return [_failure(problem) for problem in state.file_problems]
    unresolved = [problem for problem in state.analysis.problems if problem.message.startswith("Could not resolve")]
    if unresolved:
        return [Failure(_compact(unresolved[0].message))]
    if any(problem.code == "specification_not_found" for problem in state.analysis.problems):
        return [_missing(target.display_name) for target in state.specification_problems]
    return [_failure(problem) for problem in state.analysis.problems]


def _missing(path: str) -> Failure:
    return Failure("download") if "://" in path else Failure("unusable", _compact(path))


def _failure(problem: Problem) -> Failure:
    if problem.code in _INVALID_FILE_CODES:
        return Failure("unusable", _compact(problem.location.path))
    if problem.message == "missing target":
        return Failure("missingtarget")
    return Failure(_compact(problem.message), _compact(str(problem.location)))


def _write_reports(root: Path, settings: TraceSettings, state: TraceState) -> None:
    analysis = state.analysis
    out = root / "out"
    _write(root / SNAPSHOT, write_snapshot(analysis.reports.values()))
    _write(root / JSON_V1, write_json_v1(analysis, blob_link=BLOB_LINK, issue_link=ISSUE_LINK))
    text = write_json_v2(analysis, download_dir=settings.download_dir, blob_link=BLOB_LINK, issue_link=ISSUE_LINK)
    _write(root / JSON_V2, text)
    (out / "lcov").mkdir()
    for number, report in enumerate(analysis.reports.values()):
        record = write_lcov(report, download_dir=str(root / settings.download_dir))
        _write(out / "lcov" / f"compliance.{number}.lcov", record)


def _write(path: Path, text: str) -> None:
    path.write_bytes(text.encode("utf-8", "surrogatepass"))


def merge_both(texts: list[str], duvet: str) -> tuple[str | None, str | None]:
    """The reports merged by duvet and by Contextive; None for a merge that failed."""
    with tempfile.TemporaryDirectory() as folder:
        command = [duvet, "merge", "--output", "merged.json"]
        for number, text in enumerate(texts):
            _write(Path(folder) / f"{number}.json", text)
            command += ["--input", f"{number}.json"]
        done = subprocess.run(command, cwd=folder, capture_output=True, timeout=60, check=False)
        theirs = read_text(Path(folder) / "merged.json") if done.returncode == 0 else None
    try:
        return theirs, merge_reports(texts)
    except ContextiveError:
        return theirs, None
