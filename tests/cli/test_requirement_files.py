"""The requirement files that `duvet report` writes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.processes import clean_environment

SECTIONS = 100
CONFIG = """\
'$schema' = "https://awslabs.github.io/duvet/config/v0.4.0.json"

[[source]]
pattern = "{pattern}"

[[specification]]
source = "spec.md"

[report.html]
enabled = false
"""


def _project(folder: Path, pattern: str = "src/**/*.rs") -> Path:
    (folder / ".duvet").mkdir()
    (folder / ".duvet/config.toml").write_text(CONFIG.format(pattern=pattern), encoding="utf-8")
    sections = (f"## Part {number}\n\nPart {number} MUST hold.\n" for number in range(SECTIONS))
    (folder / "spec.md").write_text("# Parts\n\n" + "\n".join(sections), encoding="utf-8")
    (folder / "src").mkdir()
    (folder / "src/main.rs").write_text("//= spec.md#part-3\n//# Part 3 MUST hold.\n", encoding="utf-8")
    return folder


def _report(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from contextive.cli import duvet_main; duvet_main()", "report"]
    return subprocess.run(command, cwd=folder, env=clean_environment({}), capture_output=True, text=True, timeout=60)


def _written(folder: Path) -> dict[str, str]:
    files = (folder / ".duvet/requirements").rglob("*.toml")
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in files}


def test_every_requirement_file_is_written(tmp_path: Path) -> None:
    project = _project(tmp_path)
    done = _report(project)
    assert done.returncode == 0, done.stderr
    by_report = _written(project)
    assert len(by_report) == SECTIONS
    for number in (0, SECTIONS - 1):
        assert f"Part {number} MUST hold." in by_report[f".duvet/requirements/spec/part-{number}.toml"]
    assert done.stderr.count("Extracted") == 1


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="a directory in place of a file is tried on POSIX")
def test_a_file_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    project = _project(tmp_path)
    (project / ".duvet/requirements/spec/part-7.toml").mkdir(parents=True)
    done = _report(project)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "part-7.toml" in done.stderr


def test_requirement_files_are_written_before_sources_are_scanned(tmp_path: Path) -> None:
    project = _project(tmp_path, pattern="**/*.toml")
    first, second = _report(project), _report(project)
    assert first.returncode == second.returncode == 0, first.stderr
    scanned = [next(line for line in done.stderr.splitlines() if "Scanned" in line) for done in (first, second)]
    assert scanned[0] == scanned[1]


def test_no_file_is_written_if_a_specification_is_missing(tmp_path: Path) -> None:
    project = _project(tmp_path)
    config = project / ".duvet/config.toml"
    more = '[[specification]]\nsource = "other.md"\n\n[report.html]'
    config.write_text(config.read_text(encoding="utf-8").replace("[report.html]", more), encoding="utf-8")
    done = _report(project)
    assert done.returncode == 1
    assert "other.md does not exist" in done.stderr
    assert _written(project) == {}
