"""Where the levels of evidence are shown, once results of tests were added."""

from __future__ import annotations

from pathlib import Path

import pytest

from contextive.ingest.evidence_service import EvidenceService
from tests.packs.spec_project import SpecHost, spec_project

JUNIT = '<testsuite><testcase classname="tests.test_login" name="test_login"/></testsuite>'


@pytest.fixture
def host(tmp_path: Path) -> SpecHost:
    project = spec_project(tmp_path / "project")
    project.write(
        "tests/test_login.py", "# Feature: user-auth, Validates: Requirements 1.1\ndef test_login():\n    login()\n"
    )
    return SpecHost(project)


def add(host: SpecHost) -> None:
    (host.project.root / "junit.xml").write_text(JUNIT, encoding="utf-8")
    host.host.services.get(EvidenceService).add([host.project.root / "junit.xml"])


##= docs/spec/review.md#shown-evidence
##% Once results were added, `spec_status`, `list_tasks` and the command `specs` MUST show the level of each requirement, and
##% whether its evidence changed since.
def test_levels_are_shown_once_results_were_added(host: SpecHost) -> None:
    assert "passed" not in host.status()["kiro:user-auth"]
    assert not any("evidence" in row for row in host.status("kiro:user-auth").values())
    assert not any("level" in row for row in host.call("list_tasks")["result"])
    add(host)
    assert host.status()["kiro:user-auth"]["passed"] == 1
    assert host.status()["openspec:audit"]["passed"] == 0
    shown = {handle[-3:]: row["evidence"] for handle, row in host.status("user-auth").items()}
    assert shown == {"1.1": "passed", "1.2": "none", "1.3": "quoted"}
    assert {row["task"]: row.get("level") for row in host.call("list_tasks")["result"]} == {
        "1": "passed", "2": "none", "3": None,
    }  # fmt: skip
    host.project.write("src/login.py", "# Requirements: 1.1\ndef login():\n    return 1\n")
    assert host.status()["kiro:user-auth"]["changed_since"] == 1
    assert host.status("user-auth")["kiro:user-auth/1.1"]["evidence"] == "tested, changed since"
