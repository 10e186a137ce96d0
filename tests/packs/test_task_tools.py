"""The tools for tasks: verdicts, and ticking a box."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from contextive.errors import Conflict, Forbidden, InvalidRequest, NotFound
from contextive.ingest.task_files import tick
from contextive.registry import OWNER_AS_MAINTAINER, OWNER_AS_WRITER, Caller
from tests.ingest.projects import Project
from tests.packs.spec_project import SpecHost, spec_project
from tests.workspace.repositories import commit, init

TASKS = ".kiro/specs/user-auth/tasks.md"
PLAN = """\
# Implementation Plan

- [x] 1. Check passwords
  - _Requirements: 1.1_
- [x] 2. Lock accounts in `src/lock.py`
  - _Requirements: 1.2_
- [ ] 3. Write the log
  - _Requirements: 1.3_
- [ ] 4. Show the login in `src/login.py`
- [ ]* 5. Celebrate
"""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    project = spec_project(tmp_path)
    project.write(TASKS, PLAN)
    return project


def tasks(host: SpecHost, **arguments: Any) -> dict[str, dict[str, Any]]:
    found = host.call("list_tasks", **arguments)["result"]
    return {row["task"]: row for row in found}


def complete(host: SpecHost, task: str, caller: Caller = OWNER_AS_MAINTAINER, **arguments: Any) -> Mapping[str, Any]:
    """Tick a task, by default with the version that `list_tasks` returns."""
    given = {"spec": "user-auth", "task": task, "version": tasks(host)["1"]["version"], **arguments}
    surface = host.host.surface(host.profile, caller.scope)
    context = host.host.context(caller, door="test", profile=host.profile, request_id="r")
    data: Mapping[str, Any] = asyncio.run(host.host.dispatcher.call(surface, "complete_task", given, context)).data
    return data


##= docs/spec/trace.md#spec-driven-formats
##% The tool `list_tasks` MUST say of each task whether its box agrees with the code, the tests and the files that it
##% names.
def test_each_task_has_a_verdict_and_the_doubtful_ones_come_first(project: Project) -> None:
    project.write("tests/test_log.py", "# Requirement 1.3 of user-auth\n")
    found = tasks(SpecHost(project))
    assert [(key, row["state"], row["verdict"]) for key, row in found.items()] == [
        ("2", "done", "ticked without evidence"),
        ("3", "open", "done but not ticked"),
        ("4", "open", "open"),
        ("5", "optional", "open"),
        ("1", "done", "ok"),
    ]
    assert found["1"]["evidence"] == "1.1 is named in src/login.py:1"
    assert found["4"]["evidence"] == "src/login.py exists"
    assert "evidence" not in found["2"]


def test_tasks_can_be_filtered_by_state_and_specification(project: Project) -> None:
    host = SpecHost(project)
    assert set(tasks(host, state="done")) == {"1", "2"}
    assert set(tasks(host, spec="user-auth", state="optional")) == {"5"}
    assert tasks(host, spec="openspec:audit") == {}


def test_a_file_that_was_changed_after_the_task_was_added_is_evidence(project: Project) -> None:
    init(project.root)
    commit(project.root, {}, 1_700_000_000)
    commit(project.root, {"src/lock.py": "def lock(): ..."}, 1_700_000_100)
    project.remove("src/lock.py")
    commit(project.root, {}, 1_700_000_200)
    found = tasks(SpecHost(project))["2"]
    assert found["evidence"] == "src/lock.py changed after its task was added"
    assert found["verdict"] == "ok"


##= docs/spec/trace.md#spec-driven-formats
##% Ticking a task MUST change exactly one character of its file, which must not have changed since it was read.
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_ticking_changes_one_character_and_keeps_line_endings_and_mode(ending: str, project: Project) -> None:
    text = ("\ufeff" + PLAN.replace("Show", "Zeige größere Anmeldung 登录")).replace("\n", ending)
    project.write(TASKS, text)
    path = project.root / TASKS
    path.chmod(0o640)
    host = SpecHost(project)
    answer = complete(host, "4")
    assert (answer["changed"], answer["evidence"]) == (True, "src/login.py exists")
    assert path.read_bytes().decode() == text.replace("- [ ] 4.", "- [x] 4.")
    assert path.stat().st_mode & 0o777 == 0o640
    assert tasks(host)["4"]["state"] == "done"
    assert answer["version"] == tasks(host)["4"]["version"]


def test_a_ticked_task_is_left_alone(project: Project) -> None:
    assert complete(SpecHost(project), "1")["changed"] is False
    assert (project.root / TASKS).read_text(encoding="utf-8") == PLAN


def test_an_edit_since_the_version_is_a_conflict(project: Project) -> None:
    host = SpecHost(project)
    version = tasks(host)["1"]["version"]
    project.write(TASKS, PLAN + "\n")
    with pytest.raises(Conflict):
        complete(host, "4", version=version)
    assert (project.root / TASKS).read_text(encoding="utf-8") == PLAN + "\n"


##= docs/spec/trace.md#spec-driven-formats
##% The tool `complete_task` MUST be for maintainers, and refuse to tick a task without evidence.
def test_a_task_without_evidence_is_not_ticked(project: Project) -> None:
    host = SpecHost(project)
    with pytest.raises(InvalidRequest, match="Nothing shows that task 5 was done"):
        complete(host, "5")
    with pytest.raises(Forbidden, match="maintainer"):
        complete(host, "4", OWNER_AS_WRITER)
    assert (project.root / TASKS).read_text(encoding="utf-8") == PLAN


def test_an_unknown_or_ambiguous_task_is_an_error(project: Project) -> None:
    host = SpecHost(project)
    with pytest.raises(NotFound):
        complete(host, "77")
    project.write(TASKS, PLAN + "- [ ] 4. Again\n")
    with pytest.raises(InvalidRequest, match="Several tasks"):
        complete(host, "4")
    assert complete(host, f"{TASKS}:9")["changed"] is True


##= docs/spec/trace.md#spec-driven-formats
##% Each ticked task MUST be in the audit log `tasks.log`, with the caller and the evidence.
def test_a_ticked_task_is_in_the_audit_log(project: Project) -> None:
    host = SpecHost(project)
    complete(host, "4")
    (line,) = (host.host.state_dir / "audit" / "tasks.log").read_text(encoding="utf-8").splitlines()
    entry = json.loads(line)
    assert (entry["caller"], entry["spec"], entry["task"]) == ("owner", "kiro:user-auth", "4")
    assert entry["evidence"] == "src/login.py exists"


def test_a_link_out_of_the_project_is_never_written(project: Project, tmp_path_factory: pytest.TempPathFactory) -> None:
    host = SpecHost(project)
    version = tasks(host)["1"]["version"]
    (found,) = [t for t in _specification(host).tasks if t.key == "4"]
    outside = tmp_path_factory.mktemp("outside")
    (outside / "tasks.md").write_text(PLAN, encoding="utf-8")
    folder = project.root / ".kiro/specs/user-auth"
    folder.rename(project.root / "elsewhere")
    folder.symlink_to(outside)
    with pytest.raises(Forbidden):
        tick(project.root, found, version)
    folder.unlink()
    folder.mkdir()
    (folder / "tasks.md").symlink_to(outside / "tasks.md")
    with pytest.raises(Forbidden):
        tick(project.root, found, version)
    assert (outside / "tasks.md").read_text(encoding="utf-8") == PLAN


def _specification(host: SpecHost) -> Any:
    from contextive.ingest.trace_service import TraceService

    return host.host.services.get(TraceService).view().state.formats.by_id["kiro:user-auth"]
