"""The example project, and the demo that uses it."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from contextive.ingest.notes_service import NotesService
from contextive.ingest.trace_service import TraceService
from contextive.ops.clients import CLIENTS
from contextive.ops.demo import example_folder, kiro_example_folder
from contextive.trace.requirement import Status
from tests.processes import clean_environment
from tests.raw_clients import PROGRAM

ROOT = Path(__file__).resolve().parents[2]


def test_the_example_has_one_uncited_requirement_and_one_invalid_citation() -> None:
    view = TraceService(example_folder()).view()
    statuses = [requirement.status for requirement in view.catalog.requirements]
    assert set(statuses) == {Status.COMPLETE, Status.MISSING_CITATION, Status.NOT_STARTED}
    assert statuses.count(Status.NOT_STARTED) == statuses.count(Status.MISSING_CITATION) == 1
    (problem,) = view.state.problems
    assert problem.location.path == "src/locker/doors.py"


def test_a_note_links_to_the_requirement_of_the_invalid_citation() -> None:
    view = NotesService(example_folder()).view()
    links = [link for note in view.catalog.notes for link in note.links if link.kind == "requirement"]
    catalog = TraceService(example_folder()).view().catalog
    ((link, requirement),) = [
        (link, r) for link in links for r in catalog.requirements if r.identifier.startswith(link.target)
    ]
    assert requirement.status is Status.MISSING_CITATION
    assert len(links) == 1
    assert link.target == requirement.identifier[:8]


@pytest.mark.parametrize("folder", [example_folder(), kiro_example_folder()], ids=["sentences", "kiro"])
def test_the_tests_of_the_example_pass(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "pyproject.toml"],
        cwd=folder,
        env=clean_environment({"PYTHONDONTWRITEBYTECODE": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout


def test_the_example_is_not_part_of_our_own_trace() -> None:
    state = TraceService(ROOT).view().state
    assert not any("locker" in target.path for target in state.specifications)
    assert not any(citation.source.startswith("examples/") for citation in state.analysis.citations)


@pytest.fixture(scope="module")
def demo_run() -> subprocess.CompletedProcess[str]:
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
def test_the_demo_shows_open_requirements_and_fixes_an_invalid_citation(
    demo_run: subprocess.CompletedProcess[str],
) -> None:
    assert demo_run.returncode == 0, demo_run.stderr
    output = demo_run.stdout
    for part in (
        "files indexed",
        "MCP version",
        "tests/test_codes.py:51-62",
        "A parcel that is not fetched within seven days SHOULD be returned to its sender.",
        "notes/jammed-locks.md:",
        "linked from",
        "src/locker/doors.py:22: could not find text",
        "The requirement is in progress.",
        "Invalid citations: 0. The requirement is done.",
        "5      5     3       2      2       4       0         0          0       kiro:tickets",
        "kiro:tickets/1.3  2 done",
    ):
        assert part in output
    assert output.index("in progress.") < output.index("is done.")


def test_the_demo_ends_with_the_install_command_and_the_clients(demo_run: subprocess.CompletedProcess[str]) -> None:
    last = demo_run.stdout.partition("Use it in your own project")[2]
    assert re.search(r"contextive-mcp install --write$", last, re.MULTILINE)
    assert [client.title for client in CLIENTS.values() if client.title not in last] == []


def test_the_demo_prints_plain_text_in_a_pipe(demo_run: subprocess.CompletedProcess[str]) -> None:
    assert "\x1b" not in demo_run.stdout


def test_the_demo_changes_nothing_in_the_example(demo_run: subprocess.CompletedProcess[str]) -> None:
    assert "three seconds" in (example_folder() / "src" / "locker" / "doors.py").read_text(encoding="utf-8")
    assert not (example_folder() / ".contextive").exists()


def test_the_picture_of_the_readme_shows_the_output(demo_run: subprocess.CompletedProcess[str]) -> None:
    script = runpy.run_path(str(ROOT / "tools" / "demo_picture.py"))
    drawn = [element.text for element in ET.parse(ROOT / "docs" / "demo.svg").iter("{http://www.w3.org/2000/svg}text")]
    printed = [line for line in script["shown_lines"](demo_run.stdout) if line]
    assert drawn == printed, "run .venv/bin/python tools/demo_picture.py"
