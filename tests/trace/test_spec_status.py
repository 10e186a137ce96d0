from __future__ import annotations

from contextive.trace.comments import blocks_of_lines
from contextive.trace.natural_references import find_references
from contextive.trace.reference_owners import OwnerResolver
from contextive.trace.spec_evidence import ProjectReferences, collect_references, resolve_references
from contextive.trace.spec_status import (
    Evidence,
    Strength,
    Verdict,
    requirement_rows,
    spec_findings,
    spec_row,
    task_rows,
    totals,
)

from .formats.reading import kiro, read_one, speckit

REQUIREMENTS = """
    ### Requirement 1

    #### Acceptance Criteria

    1. A SHALL b
    2. C SHALL d
    3. E SHALL f
    4. G does h
"""
TASKS = """
    - [x] 1. All of it
      - [x] 1.1 First in `src/a.py`
        - _Requirements: 1.1_
      - [x] 1.2 Second in `src/gone.py`
        - _Requirements: 1.2, 9.9_
    - [ ] 2. Third
      - _Requirements: 1.3_
    - [x] 3. Checkpoint
"""
SPEC = kiro(requirements=REQUIREMENTS, tasks=TASKS)


def references(**comments: str) -> ProjectReferences:
    """The references in files, given with one underscore for each dot."""
    found = [
        reference
        for name, comment in comments.items()
        for reference in find_references(
            name.replace("_", "."), blocks_of_lines(f"# {comment}"), OwnerResolver.of([SPEC]).candidate
        )
    ]
    quote = Evidence("src/quoted.py", 3, False, Strength.QUOTED)
    resolved = resolve_references(found, OwnerResolver.of([SPEC]))
    return collect_references(resolved, [("kiro:auth", "1.3", quote)], lambda path: "test" in path)


EVIDENCE = references(app_py="Requirement 1.1", app_test_py="Requirements 1.1, 1.3 and 7.7")


def test_a_row_counts_what_is_planned_ticked_in_the_code_and_tested() -> None:
    row = spec_row(SPEC, EVIDENCE.of("kiro:auth"))
    assert (row.requirements, row.with_task, row.ticked, row.named, row.quoted, row.tested) == (4, 3, 2, 1, 1, 2)
    assert (row.dangling, row.ambiguous, row.not_understood) == (2, 0, 0)
    assert [one.reference.key for one in EVIDENCE.dangling] == ["7.7"]
    assert totals([row, row])["requirements"] == 8


def test_the_worst_requirements_come_first() -> None:
    rows = requirement_rows(SPEC, EVIDENCE.of("kiro:auth"))
    assert [row.handle for row in rows] == ["kiro:auth/1.2", "kiro:auth/1.4", "kiro:auth/1.1", "kiro:auth/1.3"]
    assert [str(one) for one in rows[2].code] == ["app.py:1"]
    assert [str(one) for one in rows[2].tests] == ["app.test.py:1"]
    assert rows[0].is_ticked


def test_a_ticked_task_needs_a_reference_or_a_file() -> None:
    exists = {"src/a.py": "exists"}.get
    rows = {row.task.key: row for row in task_rows(SPEC, EVIDENCE.of("kiro:auth"), lambda path: exists(path, ""))}
    assert {key: row.verdict for key, row in rows.items()} == {
        "1": Verdict.OK,
        "1.1": Verdict.OK,
        "1.2": Verdict.TICKED_WITHOUT_EVIDENCE,
        "2": Verdict.DONE_BUT_NOT_TICKED,
        "3": Verdict.OK,
    }
    assert rows["1.1"].evidence == "1.1 is named in app.py:1"
    assert rows["1"].evidence == "1.1 is named in app.py:1"
    assert rows["3"].evidence == "it names no requirement and no file"


def test_a_file_that_changed_since_is_evidence() -> None:
    rows = task_rows(SPEC, EVIDENCE.of("nothing"), lambda path: "was changed" if path == "src/gone.py" else "")
    assert [(row.task.key, row.verdict) for row in rows if row.verdict is Verdict.TICKED_WITHOUT_EVIDENCE] == [
        ("1.1", Verdict.TICKED_WITHOUT_EVIDENCE)
    ]
    assert rows[2].evidence == "src/gone.py was changed"


def test_an_open_task_of_a_story_is_not_called_done() -> None:
    spec = speckit(
        spec="### User Story 1 - A\n**Acceptance Scenarios**:\n1. **Given** a\n",
        tasks="- [ ] T001 [US1] One\n- [ ] T002 [US1] Two\n",
    )
    resolver = OwnerResolver.of([spec])
    found = find_references("test_a.py", blocks_of_lines("# US1, T002"), resolver.candidate)
    evidence = collect_references(resolve_references(found, resolver), [], lambda path: True).of(spec.id)
    verdicts = [row.verdict for row in task_rows(spec, evidence, lambda path: "")]
    assert verdicts == [Verdict.OPEN, Verdict.DONE_BUT_NOT_TICKED]


def test_findings_are_certain_and_have_a_place_and_a_fix() -> None:
    found = spec_findings(SPEC, EVIDENCE.of("kiro:auth"))
    assert [(one.code, one.path.rpartition("/")[2], one.line) for one in found] == [
        ("no_modal_word", "requirements.md", 8),
        ("no_task", "requirements.md", 8),
        ("dangling_reference", "tasks.md", 5),
        ("dangling_reference", "app.test.py", 1),
    ]
    assert all(one.message and one.fix for one in found)


def test_a_style_without_modal_words_is_not_reported() -> None:
    spec = kiro(requirements="### Requirement 1\n#### Acceptance Criteria\n1. A\n2. B\n3. C SHALL d\n")
    assert [one.code for one in spec_findings(spec, EVIDENCE.of("none"))] == []


def test_duplicate_ids_and_open_questions_are_reported() -> None:
    spec = read_one(
        {"specs/001-a/spec.md": "- **FR-001**: A MUST b\n- **FR-001**: C MUST [NEEDS CLARIFICATION: what?]\n"}
    )
    assert [(one.code, one.line) for one in spec_findings(spec, EVIDENCE.of("none"))] == [
        ("duplicate_id", 2),
        ("needs_clarification", 2),
    ]
