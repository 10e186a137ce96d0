"""Files of results that the configuration names are added when they change."""

from __future__ import annotations

import logging
import os
from pathlib import Path

import pytest

from contextive.ingest.evidence_service import EvidenceService
from contextive.ingest.trace_service import TraceService
from contextive.review.evidence import EvidenceLevel, EvidenceState
from tests.processes import run_in_process

from .reviewed_project import ReviewedProject

OLD, NOW, LATER = 1_700_000_000, 1_700_000_100, 1_700_000_200


def junit(inner: str = "", name: str = "test_the_door_is_locked") -> str:
    return f'<testsuite><testcase classname="tests.test_door" name="{name}">{inner}</testcase></testsuite>'


@pytest.fixture
def project(tmp_path: Path) -> ReviewedProject:
    project = ReviewedProject(tmp_path / "project")
    for path in ("docs/spec/door.md", "src/door.py", "tests/test_door.py"):
        os.utime(project.root / path, (OLD, OLD))
    return project


def service_of(project: ReviewedProject, *globs: str) -> EvidenceService:
    return EvidenceService(TraceService(project.root), project.root / ".contextive", globs or ("build/*.xml",))


def write_at(project: ReviewedProject, path: str, text: str, at: int) -> None:
    project.write(path, text)
    os.utime(project.root / path, (at, at))


def state(service: EvidenceService) -> EvidenceState:
    (requirement,) = (r for r in service._trace.view().catalog.requirements if "locked" in r.text)
    return service.described([requirement]).get(requirement.identifier, EvidenceState(EvidenceLevel.NONE))


##= docs/spec/review.md#evidence
##% A file of `evidence.paths` MUST be added when its content changed, and count only for requirements whose code, tests and
##% specification are older.
def test_a_configured_file_is_added_when_it_changes(project: ReviewedProject) -> None:
    service = service_of(project)
    assert service.records() == ()
    write_at(project, "build/junit.xml", junit(), NOW)
    assert state(service).level is EvidenceLevel.PASSED
    assert state(service_of(project)).level is EvidenceLevel.PASSED
    write_at(project, "build/junit.xml", junit("<failure/>"), LATER)
    assert state(service).level is EvidenceLevel.TESTED


@pytest.mark.parametrize("path", ["docs/spec/door.md", "src/door.py", "tests/test_door.py"])
def test_results_that_are_older_than_what_they_are_about_count_for_nothing(project: ReviewedProject, path: str) -> None:
    write_at(project, "build/junit.xml", junit(), NOW)
    os.utime(project.root / path, (LATER, LATER))
    service = service_of(project)
    assert service.records() == ()


def test_a_file_that_is_only_written_again_vouches_for_nothing_new(project: ReviewedProject) -> None:
    service = service_of(project)
    write_at(project, "build/junit.xml", junit(), NOW)
    assert state(service).level is EvidenceLevel.PASSED
    project.change("src/door.py", "bolt, 2", "bolt, 3")
    os.utime(project.root / "src/door.py", (OLD, OLD))
    os.utime(project.root / "build/junit.xml", (LATER, LATER))
    for one in (service, service_of(project)):
        assert (state(one).level, state(one).is_current) == (EvidenceLevel.TESTED, False)


def test_an_old_file_beside_a_new_one_counts_only_for_older_code(project: ReviewedProject) -> None:
    write_at(project, "build/a.xml", junit("<failure/>"), OLD - 1)
    write_at(project, "build/b.xml", junit(), NOW)
    assert state(service_of(project)).level is EvidenceLevel.PASSED


def test_what_is_no_evidence_or_outside_the_project_is_left_out(
    project: ReviewedProject, caplog: pytest.LogCaptureFixture
) -> None:
    write_at(project, "build/a.xml", "<html/>", NOW)
    (project.root.parent / "out.xml").write_text(junit(), encoding="utf-8")
    (project.root / "build/link.xml").symlink_to(project.root.parent / "out.xml")
    with caplog.at_level(logging.WARNING):
        assert service_of(project, "build/*.xml", "../*.xml", str(project.root.parent / "*.xml")).records() == ()
    assert "is no evidence" in caplog.text
    assert str(project.root) not in caplog.text


def test_results_that_were_added_by_hand_are_kept(project: ReviewedProject) -> None:
    write_at(project, "build/junit.xml", junit(), NOW)
    write_at(project, "other.xml", junit("<failure/>"), NOW)
    service = service_of(project)
    assert state(service).level is EvidenceLevel.PASSED
    service.add([project.root / "other.xml"])
    assert [state(one).level for one in (service, service_of(project))] == [EvidenceLevel.TESTED] * 2


def test_the_configuration_names_the_files(project: ReviewedProject) -> None:
    project.write("contextive.config.json", '{"evidence": {"paths": ["build/*.xml"]}}')
    write_at(project, "build/junit.xml", junit(), NOW)
    shown = run_in_process("evidence", cwd=project.root)
    assert "1 passed" in shown.stdout
    reported = run_in_process("report", "--ci", "--require", "passed", cwd=project.root)
    assert (reported.returncode, "tested: The door SHOULD" in reported.stdout + reported.stderr) == (1, False)
    assert "weaker evidence than passed" in reported.stdout + reported.stderr
