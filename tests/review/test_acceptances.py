"""Accepted findings are not reported until what they are about changes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextive.errors import ConfigError, InvalidRequest
from contextive.review.acceptances import ACCEPTANCES_PATH, Acceptance, format_acceptances, parse_acceptances
from tests.answers.calls import all_tools
from tests.packs.duvet_host import DuvetHost
from tests.processes import run_in_process

from .reviewed_project import ReviewedProject


@pytest.fixture
def project(tmp_path: Path) -> ReviewedProject:
    project = ReviewedProject(tmp_path)
    project.change("src/door.py", "bolt, 2", "bolt, 3")
    return project


def accept(project: ReviewedProject, note: str = "Three turns are right.") -> Acceptance:
    (found,) = (one for one in project.findings() if one.kind != "acceptances_changed")
    return project.service.accept(found.id, note, "HEAD")


##= docs/spec/review.md#acceptances
##% An accepted finding MUST NOT be reported until the content that it is about changes.
def test_an_acceptance_holds_until_the_content_changes(project: ReviewedProject) -> None:
    accept(project)
    assert project.kinds() == ["acceptances_changed"]
    assert project.review().as_of["accepted"] == 1
    project.change("src/door.py", "import lock\n", "import lock\nimport bell\n")
    assert project.kinds() == ["acceptances_changed"]
    project.change("src/door.py", "bolt, 3", "bolt, 4")
    assert project.kinds() == ["code_changed", "acceptances_changed"]


##= docs/spec/review.md#acceptances
##% A change of the acceptances MUST be reported itself.
def test_a_change_of_the_acceptances_is_reported_with_its_notes(project: ReviewedProject) -> None:
    accept(project)
    (found,) = project.findings()
    assert found.reason == "1 accepted: code_changed src/door.py (Three turns are right.)."
    project.git("add", ACCEPTANCES_PATH)
    project.git("commit", "-q", "-m", "x")
    assert project.kinds() == []
    (project.root / ACCEPTANCES_PATH).unlink()
    assert project.kinds() == ["code_changed", "acceptances_changed"]


def test_a_change_of_the_acceptances_cannot_be_accepted(project: ReviewedProject) -> None:
    accept(project)
    (found,) = project.findings()
    with pytest.raises(InvalidRequest, match="cannot be accepted itself"):
        project.service.accept(found.id, "note", "HEAD")


##= docs/spec/review.md#acceptances
##% The acceptances MUST be one file in the repository, sorted, with an entry for each finding and a note.
def test_the_file_is_sorted_whatever_the_order_of_acceptances(project: ReviewedProject) -> None:
    project.change("tests/test_door.py", "assert evening", "assert not evening")
    first, second = project.findings()
    project.service.accept(second.id, 'A "quoted"\nnote\\', "HEAD")
    project.service.accept(first.id, "b", "HEAD")
    text = (project.root / ACCEPTANCES_PATH).read_text(encoding="utf-8")
    assert [one.place for one in parse_acceptances(text)] == ["src/door.py", "tests/test_door.py"]
    assert parse_acceptances(text)[1].note == 'A "quoted" note\\'


@pytest.mark.parametrize("note", ["", " \n ", "x" * 501])
def test_a_note_is_needed(project: ReviewedProject, note: str) -> None:
    with pytest.raises(InvalidRequest, match="A note"):
        accept(project, note)


def test_an_unknown_finding_and_a_link_in_place_of_the_file_are_refused(project: ReviewedProject) -> None:
    with pytest.raises(InvalidRequest, match="no finding"):
        project.service.accept("0" * 12, "note", "HEAD")
    (project.root / ACCEPTANCES_PATH).symlink_to("src/door.py")
    with pytest.raises((InvalidRequest, ConfigError)):
        accept(project)


@pytest.mark.parametrize("text", ["accepted = 1", "[[accepted]]\nid = 'x'", "no toml ["])
def test_a_broken_file_is_an_error_that_names_it(project: ReviewedProject, text: str) -> None:
    project.write(ACCEPTANCES_PATH, text)
    with pytest.raises(ConfigError, match=r"contextive\.accepted\.toml"):
        project.review()


texts = st.text(max_size=40)


@given(
    st.lists(
        st.builds(Acceptance, texts, texts, st.from_regex(r"[0-9a-f]{12}", fullmatch=True), texts, texts), max_size=6
    )
)
def test_every_acceptance_is_read_back_as_written(entries: list[Acceptance]) -> None:
    assert parse_acceptances(format_acceptances(entries)) == sorted(set(entries))


##= docs/spec/review.md#acceptances
##% Findings MUST be accepted by the command `accept` and never by a tool, because agents do not vouch for themselves.
def test_only_the_command_accepts(project: ReviewedProject, tmp_path: Path) -> None:
    shown = json.loads(run_in_process("review", "--base", "HEAD", "--format", "json", cwd=project.root).stdout)
    finding = shown["findings"][0]["id"]
    ended = run_in_process("accept", finding, "--base", "HEAD", "--note", "Right.", cwd=project.root)
    assert (ended.returncode, (project.root / ACCEPTANCES_PATH).exists()) == (0, True)
    tools = all_tools(DuvetHost(tmp_path / "other").host)
    assert [name for name in tools if "accept" in name or "evidence" in name] == []
