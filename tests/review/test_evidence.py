"""Results of tests are believed only as far as they go, and only while nothing changed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextive.errors import InvalidRequest, ParseError
from contextive.ingest.evidence_service import EvidenceService
from contextive.ingest.review_service import ReviewService
from contextive.ingest.trace_service import TraceService
from contextive.review.evidence import EvidenceLevel, EvidenceState
from contextive.review.evidence_readers import Outcome, read_evidence
from tests.packs.duvet_host import DuvetHost
from tests.processes import run_in_process
from tests.workspace.repositories import commit, init

from .reviewed_project import FILES, ReviewedProject

JUNIT = """<?xml version="1.0"?>
<testsuites><testsuite name="pytest">
<testcase classname="tests.test_door" name="test_the_door_is_locked">{inner}</testcase>
</testsuite></testsuites>
"""
COVERAGE = {
    "files": {
        "src/door.py": {
            "executed_lines": [1, 6, 7, 8, 9],
            "contexts": {"7": ["tests/test_door.py::test_the_door_is_locked|run"], "14": [""]},
        }
    }
}


@pytest.fixture
def project(tmp_path: Path) -> ReviewedProject:
    return ReviewedProject(tmp_path / "project")


def service_of(project: ReviewedProject) -> EvidenceService:
    return EvidenceService(TraceService(project.root), project.root / ".contextive")


def add(project: ReviewedProject, **files: str) -> EvidenceService:
    paths = []
    for name, text in files.items():
        path = project.root.parent / name
        path.write_text(text, encoding="utf-8")
        paths.append(path)
    service = service_of(project)
    service.add(paths)
    return service


def state(project: ReviewedProject) -> EvidenceState:
    """The evidence of the requirement that the door is locked."""
    requirements = TraceService(project.root).view().catalog.requirements
    return service_of(project).states([r for r in requirements if "locked" in r.text])[0]


def test_without_results_a_requirement_is_tested_at_most(project: ReviewedProject) -> None:
    assert state(project).level is EvidenceLevel.TESTED
    (project.root / "tests/test_door.py").unlink()
    assert state(project).level is EvidenceLevel.QUOTED


def test_a_test_that_passed_and_ran_the_cited_code_exercises_it(project: ReviewedProject) -> None:
    add(project, junit=JUNIT.format(inner=""))
    assert state(project).level is EvidenceLevel.PASSED
    add(project, junit=JUNIT.format(inner=""), coverage=json.dumps(COVERAGE))
    found = state(project)
    assert (found.level, found.is_current, found.commit) == (
        EvidenceLevel.EXERCISED,
        True,
        project.git("rev-parse", "HEAD"),
    )


def test_lines_that_ran_without_the_name_of_a_test_exercise_nothing(project: ReviewedProject) -> None:
    lines = "SF:src/door.py\nDA:7,3\nDA:8,3\nend_of_record\n"
    add(project, junit=JUNIT.format(inner=""), lcov=lines)
    assert state(project).level is EvidenceLevel.PASSED


##= docs/spec/review.md#evidence
##% A level MUST NOT be higher than its evidence: `passed` and `exercised` hold only while the test, the code and the
##% requirement are the same as in the record.
@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("src/door.py", "bolt, 2", "bolt, 3"),
        ("tests/test_door.py", "is_locked\n", "is_open\n"),
        ("docs/spec/door.md", "door MUST be locked at night", "door MUST be locked at night."),
    ],
)  # fmt: skip
def test_what_was_exercised_counts_as_tested_after_a_change(
    project: ReviewedProject, path: str, old: str, new: str
) -> None:
    add(project, junit=JUNIT.format(inner=""), coverage=json.dumps(COVERAGE))
    if path.endswith(".md"):
        for changed in (path, "src/door.py", "tests/test_door.py"):
            project.change(changed, "locked at night", "locked at dusk")
    else:
        project.change(path, old, new)
    assert (state(project).level, state(project).is_current) == (EvidenceLevel.TESTED, False)


def test_a_comment_or_another_layout_changes_nothing(project: ReviewedProject) -> None:
    add(project, junit=JUNIT.format(inner=""))
    project.change("src/door.py", "    for bolt", "    # Twice.\n    for bolt")
    assert state(project).level is EvidenceLevel.PASSED


##= docs/spec/review.md#evidence
##% A newer result of a test MUST replace the older ones of that test.
def test_a_newer_failure_replaces_an_older_success(project: ReviewedProject) -> None:
    add(project, junit=JUNIT.format(inner=""))
    add(project, junit=JUNIT.format(inner="<failure/>"))
    assert state(project).level is EvidenceLevel.TESTED
    add(project, junit=JUNIT.format(inner="<skipped/>"))
    assert state(project).level is EvidenceLevel.TESTED


##= docs/spec/review.md#evidence
##% A result MUST count for a test only if its name and its file or class are those of that test, and of no other cited test
##% unless a property of the result names the requirement.
@pytest.mark.parametrize(
    ("attributes", "is_match"),
    [
        ('classname="tests.test_door" name="test_the_door_is_locked[two]"', True),
        ('classname="" file="tests/test_door.py" name="test_the_door_is_locked"', True),
        ('classname="" file="/build/project/tests/test_door.py" name="test_the_door_is_locked"', True),
        ('classname="tests.test_window" name="test_the_door_is_locked"', False),
        ('classname="tests.test_door" name="test_the_door_is_locked_twice"', False),
        ('classname="" name="test_the_door_is_locked"', False),
        ('classname="x" file="other/tests/test_window.py" name="test_the_door_is_locked"', False),
    ],
)
def test_results_are_matched_by_name_and_place(project: ReviewedProject, attributes: str, is_match: bool) -> None:
    add(project, junit=f"<testsuite><testcase {attributes}/></testsuite>")
    assert (state(project).level is EvidenceLevel.PASSED) == is_match


def test_a_result_that_fits_two_cited_tests_counts_for_none(tmp_path: Path) -> None:
    copy = FILES["tests/test_door.py"]
    project = ReviewedProject(tmp_path / "project", FILES | {"more/tests/test_door.py": copy})
    add(project, junit=JUNIT.format(inner=""))
    assert state(project).level is EvidenceLevel.TESTED


def test_a_property_says_which_requirement_an_ambiguous_result_is_about(tmp_path: Path) -> None:
    copy = FILES["tests/test_door.py"]
    project = ReviewedProject(tmp_path / "project", FILES | {"more/tests/test_door.py": copy})
    catalog = TraceService(project.root).view().catalog
    for name, level in (("0" * 12, EvidenceLevel.TESTED), ("", EvidenceLevel.TESTED)):
        add(
            project, junit=JUNIT.format(inner=f'<properties><property name="requirement" value="{name}"/></properties>')
        )
        assert state(project).level is level
    (locked,) = (r for r in catalog.requirements if "locked" in r.text)
    inner = f'<properties><property name="requirement" value="{locked.identifier[:12]}"/></properties>'
    add(project, junit=JUNIT.format(inner=inner))
    assert state(project).level is EvidenceLevel.PASSED


levels = st.sampled_from(["", "<failure/>", "<error/>", "<skipped/>"])


@given(inner=levels, has_result=st.booleans(), has_contexts=st.booleans(), has_lines=st.booleans())
def test_a_level_is_never_higher_than_the_evidence(
    tmp_path_factory: pytest.TempPathFactory, inner: str, has_result: bool, has_contexts: bool, has_lines: bool
) -> None:
    project = ReviewedProject(tmp_path_factory.mktemp("evidence") / "project")
    files = {"junit": JUNIT.format(inner=inner)} if has_result else {"junit": "<testsuite/>"}
    if has_contexts:
        files["coverage"] = json.dumps(COVERAGE)
    if has_lines:
        files["lcov"] = "SF:src/door.py\nDA:7,1\nend_of_record\n"
    add(project, **files)
    passed = has_result and not inner
    highest = EvidenceLevel.TESTED if not passed else EvidenceLevel.EXERCISED if has_contexts else EvidenceLevel.PASSED
    assert state(project).level is highest


def test_all_formats_are_recognised_by_their_content() -> None:
    lines = '<lines><line number="3" hits="1"/><line number="4" hits="0"/></lines>'
    cobertura = f'<!DOCTYPE coverage SYSTEM "http://x.example/c.dtd"><coverage><class filename="a.py">{lines}</class></coverage>'
    file = '<sourcefile name="Door.java"><line nr="3" mi="0" ci="2"/></sourcefile>'
    jacoco = (
        f'<!DOCTYPE report PUBLIC "-//JACOCO//DTD" "x.dtd"><report><package name="org/door">{file}</package></report>'
    )
    assert read_evidence(cobertura.encode()).lines == {"a.py": frozenset({3})}
    assert read_evidence(jacoco.encode()).lines == {"org/door/Door.java": frozenset({3})}
    (result,) = read_evidence(
        JUNIT.format(inner='<properties><property name="requirement" value="a1"/></properties>').encode()
    ).results
    assert (result.outcome, result.requirements) == (Outcome.PASSED, ("a1",))
    assert read_evidence(b"TN:first\nSF:a.c\nDA:1,2\nend_of_record\n").by_test == {"first": {"a.c": frozenset({1})}}


##= docs/spec/review.md#evidence
##% XML with an entity declaration, an external reference, more than 64 levels or more than 50 MB MUST be refused.
@pytest.mark.parametrize(
    "text",
    [
        '<!DOCTYPE a [<!ENTITY x "y">]><testsuite/>',
        '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><testsuite>&x;</testsuite>',
        '<!DOCTYPE a [<!ENTITY % x SYSTEM "http://x.example/"> %x;]><testsuite/>',
        '<!DOCTYPE a SYSTEM "x.dtd"><testsuite>&x;</testsuite>',
        "<a>" * 65 + "</a>" * 65,
        "<testsuite",
    ],
)
def test_dangerous_xml_is_refused(text: str) -> None:
    with pytest.raises(ParseError):
        read_evidence(text.encode())


def test_files_over_the_limit_are_refused() -> None:
    with pytest.raises(ParseError, match="larger than 50 MB"):
        read_evidence(b"<" + bytes(50 * 1024 * 1024))


##= docs/spec/review.md#evidence
##% A file of evidence in a format that is not known, or that is not valid, MUST be refused.
@pytest.mark.parametrize("text", ["", "hello", "{}", '{"files": 1}', "<html/>", "SF:a\nDA:x,1\n", "[" * 100_000])
def test_what_is_no_evidence_is_refused_and_stores_nothing(project: ReviewedProject, text: str) -> None:
    with pytest.raises(InvalidRequest):
        add(project, junit=text)
    assert service_of(project).records() == ()


def test_a_damaged_store_counts_as_empty(project: ReviewedProject) -> None:
    service = add(project, junit=JUNIT.format(inner=""))
    (project.root / ".contextive" / "evidence.json").write_text('{"version": 1, "records": [{}]}', encoding="utf-8")
    assert service.records() == ()


##= docs/spec/review.md#evidence
##% With `--require`, the command `evidence` MUST exit with 1 if the evidence of a requirement is weaker than that level.
def test_the_command_adds_evidence_and_fails_below_the_required_level(project: ReviewedProject) -> None:
    (project.root / "junit.xml").write_text(JUNIT.format(inner=""), encoding="utf-8")
    project.change("docs/spec/door.md", "The door SHOULD ring when it opens.\n", "")
    added = run_in_process("evidence", "add", "junit.xml", cwd=project.root)
    assert "1 results (junit); tests of 1 requirements are among them." in added.stdout
    assert run_in_process("evidence", "--require", "passed", cwd=project.root).returncode == 0
    weak = run_in_process("evidence", "--require", "exercised", cwd=project.root)
    assert (weak.returncode, "passed: /specifications" in weak.stdout) == (1, True)
    assert run_in_process("evidence", "add", cwd=project.root).returncode == 2
    weak = run_in_process("evidence", "--require", "exercised", "--json", cwd=project.root)
    assert weak.returncode == 1
    facts = json.loads(weak.stdout)
    assert sum(facts["levels"].values()) >= len(facts["weak"]) > 0
    assert {row["level"] for row in facts["weak"]} <= set(facts["levels"])


##= docs/spec/review.md#findings
##% Evidence that holds for the version before a change and not for the one after it MUST be reported.
def test_a_review_says_which_evidence_a_change_makes_old(project: ReviewedProject) -> None:
    service = add(project, junit=JUNIT.format(inner=""))
    project.service = ReviewService(TraceService(project.root), service.records)
    assert project.kinds() == []
    project.change("src/door.py", "bolt, 2", "bolt, 3")
    assert project.kinds() == ["code_changed", "evidence_outdated"]
    service.add([project.root.parent / "junit"])
    assert project.kinds() == ["code_changed"]


def test_explain_requirement_shows_the_evidence(tmp_path: Path) -> None:
    host = DuvetHost(tmp_path)
    init(tmp_path)
    commit(tmp_path, {}, 1_700_000_000)
    identifier = host.identifier("The pot MUST brew coffee.")
    assert "evidence" not in host.call("explain_requirement", req_identifier=identifier)
    (tmp_path / "junit.xml").write_text(
        '<testsuite><testcase classname="coffee" name="brews"/></testsuite>', encoding="utf-8"
    )
    host.host.services.get(EvidenceService).add([tmp_path / "junit.xml"])
    assert host.call("explain_requirement", req_identifier=identifier)["evidence"] == "passed"
