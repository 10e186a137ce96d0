"""`contextive-mcp specs`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import InProcessCli
from tests.ingest.projects import Project
from tests.packs.spec_project import spec_project


@pytest.fixture
def spec_cli(in_process_cli: InProcessCli) -> InProcessCli:
    spec_project(in_process_cli.folder)
    return in_process_cli


##= docs/spec/trace.md#spec-driven-formats
##% The command `specs` MUST print the same table, and with `--json` print it as JSON.
def test_the_table_is_printed_as_text_or_json(spec_cli: InProcessCli) -> None:
    lines = spec_cli.run("specs").stdout.splitlines()
    assert lines[0].split() == [
        "total", "task", "ticked", "named", "quoted", "tested", "dangling", "ambiguous", "unread", "specification",
    ]  # fmt: skip
    assert lines[1].split() == ["3", "2", "2", "1", "1", "1", "2", "0", "0", "kiro:user-auth"]
    assert lines[-1].split()[0] == "6"
    data = json.loads(spec_cli.run("specs", "--json").stdout)
    assert [row["spec"] for row in data["specifications"]] == [
        "kiro:user-auth", "openspec:audit", "speckit:004-events",
    ]  # fmt: skip
    assert data["specifications"][0]["path"] == ".kiro/specs/user-auth/requirements.md"


def test_one_specification_is_printed_with_its_requirements(spec_cli: InProcessCli) -> None:
    lines = spec_cli.run("specs", "user-auth").stdout.splitlines()
    assert lines[1].startswith("kiro:user-auth/1.2  2 done  -")
    data = json.loads(spec_cli.run("specs", "user-auth", "--json").stdout)
    assert data["dangling"] == [{"place": "tests/test_login.py:2", "key": "7.7"}]


def test_an_unknown_specification_is_an_error(spec_cli: InProcessCli) -> None:
    assert spec_cli.error_message("specs", "nothing", code=1).startswith("No such specification.")


def test_a_project_without_specifications_has_no_table(in_process_cli: InProcessCli, tmp_path: Path) -> None:
    assert in_process_cli.run("specs").stdout == "No specification was found in this project.\n"


def test_init_says_how_to_show_them(spec_cli: InProcessCli) -> None:
    assert "contextive-mcp specs" in spec_cli.run("init", "--dry-run").stdout


def test_levels_of_evidence_are_shown_once_results_were_added(spec_cli: InProcessCli) -> None:
    project = Project(spec_cli.folder)
    project.write(
        "tests/test_login.py", "# Feature: user-auth, Validates: Requirements 1.1\ndef test_login():\n    login()\n"
    )
    assert "evidence" not in spec_cli.run("specs", "user-auth").stdout
    project.write("junit.xml", '<testsuite><testcase classname="tests.test_login" name="test_login"/></testsuite>')
    spec_cli.run("evidence", "add", "junit.xml")
    lines = spec_cli.run("specs", "user-auth").stdout.splitlines()
    assert "evidence" in lines[0]
    assert any("1.1" in line and "passed" in line for line in lines)
    data = json.loads(spec_cli.run("specs", "--json").stdout)
    assert {row["spec"]: row["passed"] for row in data["specifications"]}["kiro:user-auth"] == 1
