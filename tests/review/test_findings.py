"""What a review reports, and what it does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from .reviewed_project import DOOR, FILES, LOCK, RING, SPEC, TEST, ReviewedProject


@pytest.fixture
def project(tmp_path: Path) -> ReviewedProject:
    return ReviewedProject(tmp_path)


def test_a_change_of_nothing_has_no_findings(project: ReviewedProject) -> None:
    assert project.findings() == []


##= docs/spec/review.md#findings
##% A citation that was removed MUST be reported, unless its requirement was removed as well.
def test_a_removed_citation_is_reported_with_what_still_cites_the_requirement(project: ReviewedProject) -> None:
    project.change("src/door.py", LOCK, "")
    (found,) = project.findings()
    assert (found.kind, found.place) == ("citation_removed", "src/door.py:4")
    assert "the code below it is still there" in found.reason
    assert "Still cited in tests/test_door.py:1." in found.reason


def test_citations_of_a_removed_requirement_are_not_reported_one_by_one(project: ReviewedProject) -> None:
    project.change("docs/spec/door.md", "The door MUST be locked at night.\n", "")
    project.change("src/door.py", LOCK, "")
    (found,) = project.findings()
    assert found.kind == "requirement_removed"
    assert "src/door.py:4, tests/test_door.py:1" in found.reason


##= docs/spec/review.md#findings
##% A citation that no longer matches its specification MUST be reported as broken.
def test_a_citation_whose_section_is_gone_is_broken(project: ReviewedProject) -> None:
    project.change("docs/spec/door.md", "## Locking", "## Bolts")
    assert {(found.kind.value, found.place) for found in project.findings()} == {
        ("citation_broken", "src/door.py:4"),
        ("citation_broken", "src/door.py:13"),
        ("citation_broken", "tests/test_door.py:1"),
    }


##= docs/spec/review.md#findings
##% Code that changed under a citation MUST be reported with the tests of the requirement and whether they changed.
def test_changed_code_is_reported_with_its_tests(project: ReviewedProject) -> None:
    project.change("src/door.py", "bolt, 2", "bolt, 3")
    (found,) = project.findings()
    assert (found.kind, found.place) == ("code_changed", "src/door.py:4")
    assert found.reason == (
        "The code under the citation in evening changed. Its tests: not changed: tests/test_door.py:1."
    )
    project.change("tests/test_door.py", "is_locked\n", "is_locked is True\n")
    code, test = project.findings()
    assert "changed too: tests/test_door.py:1" in code.reason
    assert test.kind == "test_changed"


def test_a_citation_covers_its_statement_and_not_the_rest_of_the_function(project: ReviewedProject) -> None:
    project.change("src/door.py", "return door.open()", "return door.open(slowly=True)")
    assert project.findings() == []
    project.change("src/door.py", "times=1", "times=2")
    assert project.kinds() == ["code_changed"]


def test_a_citation_that_moved_to_other_code_is_reported(project: ReviewedProject) -> None:
    without = DOOR.replace(LOCK, "")
    project.write("src/door.py", without.replace("def morning", f"{LOCK}def morning"))
    (found,) = project.findings()
    assert found.kind == "citation_moved"
    assert "from evening" in found.reason


def test_a_removed_test_of_a_requirement_is_reported(project: ReviewedProject) -> None:
    project.write("tests/test_door.py", "def test_other():\n    assert True\n")
    (found,) = project.findings()
    assert found.kind == "test_removed"
    assert "test_the_door_is_locked" in found.reason
    (project.root / "tests/test_door.py").unlink()
    assert project.kinds() == ["test_removed"]


def test_a_citation_that_now_quotes_another_requirement_is_reported(project: ReviewedProject) -> None:
    project.change("src/door.py", LOCK, RING)
    (found,) = project.findings()
    assert found.kind == "citation_changed"
    assert "The door MUST be locked at night." in found.reason


def test_a_citation_of_another_type_is_reported(project: ReviewedProject) -> None:
    project.change("src/door.py", LOCK, LOCK.replace("locking", "locking\n##= type=exception\n##= reason=why"))
    assert [found.reason for found in project.findings()] == ["The implementation citation is now of type exception."]


##= docs/spec/review.md#findings
##% A requirement that was added, reworded or removed, or has another level, MUST be reported with what cites it.
def test_a_reworded_requirement_is_one_finding_with_the_places_that_cite_it(project: ReviewedProject) -> None:
    project.change("docs/spec/door.md", "locked at night", "locked from dusk")
    (found,) = project.findings()
    assert found.kind == "requirement_reworded"
    assert "It was: The door MUST be locked at night. Cited in src/door.py:4, tests/test_door.py:1." in found.reason
    assert found.place == "docs/spec/door.md:5"


@pytest.mark.parametrize(
    ("old", "new", "words"), [("SHOULD", "MAY", "SHOULD to MAY"), ("MUST", "SHOULD", "MUST to SHOULD")]
)
def test_another_level_is_reported(project: ReviewedProject, old: str, new: str, words: str) -> None:
    project.change("docs/spec/door.md", f"The door {old}", f"The door {new}")
    (found,) = project.findings()
    assert found.kind == "requirement_level_changed"
    assert f"from {words}" in found.reason


##= docs/spec/review.md#findings
##% A new requirement of the highest level that no code implements MUST be reported as such.
def test_a_new_must_without_code_is_reported(project: ReviewedProject) -> None:
    project.write("docs/spec/door.md", SPEC + "The key MUST be kept inside.\nThe key MAY be blue.\n")
    assert project.kinds() == ["must_without_code", "requirement_added"]


def test_a_new_specification_is_one_finding(project: ReviewedProject) -> None:
    project.write("docs/spec/window.md", "# Window\n\nIt MUST open.\nIt MUST close.\nIt MAY tilt.\n")
    (found,) = project.findings()
    assert found.reason == "The specification is new: 3 requirements, 2 MUST without code."


def test_a_removed_specification_is_one_finding(project: ReviewedProject) -> None:
    (project.root / "docs/spec/door.md").unlink()
    kinds = project.kinds()
    assert kinds.count("requirement_removed") == 1
    assert "citation_broken" not in kinds


##= docs/spec/review.md#findings
##% One change of code MUST be one finding, however many citations are above the code.
def test_one_change_under_two_citations_is_one_finding(tmp_path: Path) -> None:
    project = ReviewedProject(tmp_path, FILES | {"src/door.py": DOOR.replace(LOCK, LOCK + RING)})
    project.change("src/door.py", "bolt, 2", "bolt, 3")
    (found,) = project.findings()
    assert len(found.also) == 1


##= docs/spec/review.md#findings
##% The id of a finding MUST stay the same while the content that it is about stays the same, and change with it.
def test_the_id_of_a_finding_depends_on_its_content_and_not_on_its_line(project: ReviewedProject) -> None:
    project.change("src/door.py", "bolt, 2", "bolt, 3")
    (first,) = project.findings()
    project.change("src/door.py", "import lock\n", "import lock\nimport bell\n")
    (later,) = project.findings()
    assert (later.id, later.line) == (first.id, first.line + 1)
    project.change("src/door.py", "bolt, 3", "bolt, 4")
    (other,) = project.findings()
    assert other.id != first.id


RENAMED = DOOR.replace("bolt in", "one in").replace("turn(bolt", "turn(one")
FORMATTED = DOOR.replace("lock.turn(bolt, 2)", "lock.turn(\n            bolt,\n            2,\n        )").replace(
    "\n\n\ndef", "\n\ndef"
)
COMMENTED = DOOR.replace("    for bolt", '    """Lock every bolt."""\n    # Twice.\n    for bolt')


##= docs/spec/review.md#code-under-a-citation
##% Moved files, moved code, formatting, comments and renamed local variables MUST NOT cause a finding.
@pytest.mark.parametrize(
    "text",
    [RENAMED, FORMATTED, COMMENTED, DOOR.replace("\n", "\r\n")],
    ids=["renamed", "formatted", "commented", "CRLF"],
)
def test_what_means_nothing_is_not_reported(project: ReviewedProject, text: str) -> None:
    assert text != DOOR
    (project.root / "src/door.py").write_bytes(text.encode())
    assert project.findings() == []


def test_a_moved_file_and_moved_code_are_not_reported(project: ReviewedProject) -> None:
    (project.root / "src/door.py").unlink()
    project.write("src/doors/front.py", DOOR)
    assert project.findings() == []
    evening, morning = DOOR.index(LOCK), DOOR.index("def morning")
    project.write("src/doors/front.py", f"import lock\n\n\n{DOOR[morning:]}\n\n{DOOR[evening:morning]}")
    assert project.findings() == []


def test_a_citation_that_was_broken_before_is_not_reported_when_its_file_moves(project: ReviewedProject) -> None:
    broken = "#= docs/spec/door.md#nowhere\n#% The door MUST sing.\ndef sing(door):\n    door.sing()\n"
    project.write("src/song.py", broken)
    project.git("add", ".")
    project.git("commit", "--quiet", "-m", "song")
    (project.root / "src/song.py").unlink()
    project.write("src/songs/song.py", broken)
    assert project.findings() == []
    project.write("src/songs/copy.py", broken)
    assert project.kinds() == ["citation_broken"]


@pytest.mark.parametrize(
    "text",
    [
        DOOR.replace("bolt in", "one in").replace("turn(bolt", "turn(door"),
        DOOR.replace("lock.turn", "bell.turn"),
        DOOR.replace("        lock.turn(bolt, 2)", "        pass\n    lock.turn(bolt, 2)"),
        DOOR.replace("door.bolts", "door.bolt"),
    ],
    ids=["other variable", "other object", "other block", "other attribute"],
)
def test_what_looks_like_a_renamed_variable_or_formatting_and_is_not_is_reported(
    project: ReviewedProject, text: str
) -> None:
    project.write("src/door.py", text)
    assert project.kinds() == ["code_changed"]


def test_a_change_in_a_test_and_nothing_else_is_about_the_test(project: ReviewedProject) -> None:
    project.write("tests/test_door.py", TEST.replace("assert evening", "assert not evening"))
    assert project.kinds() == ["test_changed"]
