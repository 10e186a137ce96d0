"""The example project, and the demo that plays on it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from contextive.ingest.notes_service import NotesService
from contextive.ingest.trace_service import TraceService
from contextive.ops.clients import CLIENTS
from contextive.ops.demo import example_folder
from contextive.trace.requirement import Status
from tests.processes import clean_environment
from tests.raw_clients import PROGRAM

ROOT = Path(__file__).resolve().parents[2]


def test_one_requirement_is_kept_by_nobody_and_one_citation_is_broken() -> None:
    view = TraceService(example_folder()).view()
    open_ = {requirement.status: requirement.text for requirement in view.catalog.requirements}
    assert set(open_) == {Status.COMPLETE, Status.MISSING_CITATION, Status.NOT_STARTED}
    statuses = [requirement.status for requirement in view.catalog.requirements]
    assert statuses.count(Status.NOT_STARTED) == statuses.count(Status.MISSING_CITATION) == 1
    (broken,) = view.state.problems
    assert broken.location.path == "src/locker/doors.py"


def test_a_note_links_to_the_requirement_that_the_broken_citation_means() -> None:
    view = NotesService(example_folder()).view()
    links = [link for note in view.catalog.notes for link in note.links if link.kind == "requirement"]
    catalog = TraceService(example_folder()).view().catalog
    ((link, requirement),) = [
        (link, r) for link in links for r in catalog.requirements if r.identifier.startswith(link.target)
    ]
    assert requirement.status is Status.MISSING_CITATION
    assert len(links) == 1
    assert link.target == requirement.identifier[:8]


def test_the_tests_of_the_example_pass() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "pyproject.toml"],
        cwd=example_folder(),
        env=clean_environment({"PYTHONDONTWRITEBYTECODE": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ended.returncode == 0, ended.stdout


def test_this_projects_own_trace_does_not_see_the_example() -> None:
    state = TraceService(ROOT).view().state
    assert not any("locker" in target.path for target in state.specifications)
    assert not any(citation.source.startswith("examples/") for citation in state.analysis.citations)


@pytest.fixture(scope="module")
def played() -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*PROGRAM, "demo"],
        env=clean_environment({"PYTHONIOENCODING": "utf-8"}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
    )


##= docs/spec/commands.md#demo
##% The command `demo` MUST show a real session of a real client, and change nothing in the example project.
def test_the_demo_shows_what_is_open_and_mends_what_is_broken(played: subprocess.CompletedProcess[str]) -> None:
    assert played.returncode == 0, played.stderr
    shown = played.stdout
    for part in (
        "files indexed",
        "speaks protocol",
        "A parcel that is not fetched within seven days SHOULD be returned to its sender.",
        "notes/jammed-locks.md:",
        "linked from",
        "src/locker/doors.py:22: could not find text",
        "The requirement is in progress.",
        "Broken citations: 0. The requirement is done.",
    ):
        assert part in shown
    assert shown.index("in progress.") < shown.index("is done.")


def test_the_demo_ends_with_the_line_that_attaches_each_client(played: subprocess.CompletedProcess[str]) -> None:
    last = played.stdout.partition("Attach it")[2]
    assert [key for key in CLIENTS if re.search(rf"contextive-mcp install {key} --write$", last, re.MULTILINE)] == [
        *CLIENTS
    ]


def test_the_demo_is_plain_in_a_pipe(played: subprocess.CompletedProcess[str]) -> None:
    assert "\x1b" not in played.stdout


def test_the_demo_changes_nothing_in_the_example(played: subprocess.CompletedProcess[str]) -> None:
    assert "three seconds" in (example_folder() / "src" / "locker" / "doors.py").read_text(encoding="utf-8")
    assert not (example_folder() / ".contextive").exists()
