"""`contextive-mcp report` on specifications of Kiro, spec-kit and OpenSpec."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from contextive.cli import run
from tests.ingest.projects import Project
from tests.packs.spec_project import spec_project
from tests.review.reviewed_project import ReviewedProject


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "user"))
    return spec_project(tmp_path)


def report(capsys: pytest.CaptureFixture[str], *arguments: str, program: str = "contextive-mcp") -> tuple[int, str]:
    code = run(["report", *arguments], program=program)
    return code, "".join(capsys.readouterr())


def test_a_report_contains_the_table_and_the_findings(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    code, output = report(capsys, "--sarif", "report.sarif")
    assert code == 0
    assert "    3     2       2      1       1       1         2          0       0  kiro:user-auth" in output
    assert "Task 1 names 9.9, which is no requirement of kiro:user-auth." in output
    (ran,) = json.loads((project.root / "report.sarif").read_text(encoding="utf-8"))["runs"]
    places = {
        (
            result["ruleId"],
            result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"],
            result["locations"][0]["physicalLocation"]["region"]["startLine"],
        )
        for result in ran["results"]
    }
    assert places == {
        ("dangling_reference", ".kiro/specs/user-auth/tasks.md", 4),
        ("dangling_reference", "tests/test_login.py", 2),
        ("no_task", ".kiro/specs/user-auth/requirements.md", 13),
    }


##= docs/spec/trace.md#spec-driven-formats
##% With `--ci` and `--require`, the command `contextive-mcp report` MUST fail if a requirement lacks a task, code or a
##% test, whichever is required.
def test_required_tasks_and_tests_are_a_gate(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    code, output = report(capsys, "--ci", "--require", "tasks", "--require-tests", "false")
    assert code == 1
    assert ".kiro/specs/user-auth/requirements.md:13  kiro:user-auth/1.3" in output
    assert report(capsys, "--require", "tasks")[0] == 0
    code, output = report(capsys, "--ci", "--require", "code", "--require-tests", "false")
    assert "speckit:004-events/FR-002" in output
    assert "kiro:user-auth/1.1" not in output.partition("×")[2]
    code, output = report(capsys, "--ci", "--require", "everything")
    assert (code, "'everything' cannot be required" in output) == (2, True)


##= docs/spec/trace.md#spec-driven-formats
##% The profile `duvet` MUST show these specifications only if `trace.formats` is set, and the `duvet` commands never.
def test_the_duvet_commands_never_show_them(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    project.remove("src/login.py")
    project.write("contextive.config.json", '{"trace": {"formats": ["kiro"]}}')
    code, output = report(capsys, program="duvet")
    assert code == 0
    assert "kiro" not in output
    assert "of 3 requirements done" in output  # the sentences with key words below specs/


##= docs/spec/review.md#shown-evidence
##% With `--ci` and a level in `--require`, the command `contextive-mcp report` MUST fail if the evidence of a requirement is
##% weaker.
def test_required_evidence_is_a_gate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    project = ReviewedProject(tmp_path)
    project.change("docs/spec/door.md", "The door SHOULD ring when it opens.\n", "")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "user"))
    project.change(
        "src/door.py", "    ##= docs/spec/door.md#locking\n    ##% The door SHOULD ring when it opens.\n", ""
    )
    code, output = report(capsys, "--ci", "--require", "passed", "--sarif", "report.sarif")
    assert (code, "docs/spec/door.md:5  tested: The door MUST be locked at night." in output) == (1, True)
    assert "evidence" not in (tmp_path / "report.sarif").read_text(encoding="utf-8")
    assert report(capsys, "--ci", "--require", "tested")[0] == 0
    assert report(capsys, "--require", "exercised")[0] == 0
    project.write(
        "junit.xml", '<testsuite><testcase classname="tests.test_door" name="test_the_door_is_locked"/></testsuite>'
    )
    assert run(["evidence", "add", "junit.xml"], program="contextive-mcp") == 0
    assert report(capsys, "--ci", "--require", "passed")[0] == 0
    assert report(capsys, "--ci", "--require", "tested,exercised")[0] == 1
    project.write("docs/spec/bell.md", "# Bell\n\n## Ring\n\nThe bell MUST ring.\n")
    assert report(capsys, "--ci=false", "--sarif", "report.sarif")[0] == 0
    (ran,) = json.loads((tmp_path / "report.sarif").read_text(encoding="utf-8"))["runs"]
    assert ran["properties"] == {"evidence": {"none": 1, "passed": 1}}
    assert [result["properties"] for result in ran["results"]] == [{"evidence": "none"}]
