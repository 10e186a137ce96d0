from __future__ import annotations

import pytest

from contextive.trace.formats.layout import read_specification
from contextive.trace.formats.values import ReferenceState, SpecFiles, SpecFormat, SpecState, TaskState
from contextive.trace.level import Level
from contextive.trace.requirement import identify

from .reading import kiro, lines, unread

REQUIREMENTS = """
    # Requirements Document: User Authentication

    ## Glossary

    - **Token**: a secret that proves who someone is

    ## Requirements

    ### Requirement 1: Login

    **User Story:** As a user, I want to log in, so that I see my data.

    #### Acceptance Criteria

    1. WHEN the password is right THEN THE system SHALL log the user in
       _Requirements: REQ-027, REQ-028_
    2. THE system SHOULD greet the user
       by name

    3. IF a login fails three times the account is locked

    ### Requirement 2

    #### Acceptance Criteria

    1. THE system MAY remember the user
"""


def test_criteria_have_the_number_of_their_requirement_and_of_the_list() -> None:
    found = kiro(requirements=REQUIREMENTS)
    assert [lines(r) for r in found.requirements] == [
        ("1.1", 15, 15),
        ("1.2", 17, 18),
        ("1.3", 20, 20),
        ("2.1", 26, 26),
    ]
    assert found.handle("1.2") == "kiro:auth/1.2"
    assert unread(found) == []


def test_a_criterion_keeps_the_identifier_of_its_text() -> None:
    second = kiro(requirements=REQUIREMENTS).requirements[1]
    assert second.text == "THE system SHOULD greet the user by name"
    assert identify(second.text) == identify("THE system SHOULD greet the user by name")


def test_the_spans_of_a_criterion_are_its_text_in_the_file() -> None:
    text = "### Requirement 1\n\n#### Acceptance Criteria\n\n1. THE system SHALL\n   work\r\n"
    found = kiro(requirements=text).requirements[0]
    assert [text[start:end] for start, end in found.spans] == ["THE system SHALL", "work"]


def test_a_criterion_has_the_level_of_its_modal_word_and_must_without_one() -> None:
    levels = [(r.level, r.has_modal_word) for r in kiro(requirements=REQUIREMENTS).requirements]
    assert levels == [(Level.MUST, True), (Level.SHOULD, True), (Level.MUST, False), (Level.MAY, True)]


def test_the_story_the_glossary_and_outer_ids_are_kept() -> None:
    found = kiro(requirements=REQUIREMENTS)
    assert found.title == "User Authentication"
    assert found.groups[0].story == "**User Story:** As a user, I want to log in, so that I see my data."
    assert [(entry.term, entry.line) for entry in found.glossary] == [("Token", 5)]
    assert found.requirements[0].outer_ids == ("REQ-027", "REQ-028")


def test_the_section_of_a_criterion_has_the_story_and_all_criteria() -> None:
    found = kiro(requirements=REQUIREMENTS)
    section = found.documents[found.path].section("requirement-1-login")
    assert section is not None
    assert "User Story" in section.content()
    assert "greet the user" in section.content()
    assert found.documents[found.path].section("1.2") is section
    assert found.documents[found.path].section("acceptance-criteria") is section


@pytest.mark.parametrize(
    ("heading", "label"),
    [
        ("### 要件 1: ログイン", "#### 受入基準"),
        ("### 需求 1：登录", "#### 验收标准"),
        ("### Требование 1", "#### Критерии приемки"),
        ("### Anforderung 1", "**Akzeptanzkriterien:**"),
        ("## Requirement 1 - Login", "### Acceptance Criteria"),
        ("### 1. Login", "#### Acceptance criteria"),
        ("### REQ-1: Login", "Acceptance Criteria:"),
        ("### Requirement 1: Acceptance Criteria", "#### Acceptance Criteria"),
    ],
)
def test_headings_in_other_languages_and_styles_are_understood(heading: str, label: str) -> None:
    found = kiro(requirements=f"{heading}\n\n{label}\n\n1. WHEN x THEN y SHALL z\n")
    assert [lines(r) for r in found.requirements] == [("1.1", 5, 5)]
    assert unread(found) == []


@pytest.mark.parametrize(
    ("items", "keys"),
    [
        ("1. A SHALL b\n1. C SHALL d\n1. E SHALL f", ["7.1", "7.2", "7.3"]),
        ("- A SHALL b\n- C SHALL d", ["7.1", "7.2"]),
        ("7.1 A SHALL b\n\n7.2. C SHALL d", ["7.1", "7.2"]),
        ("**7.1** A SHALL b", ["7.1"]),
        ("1. A SHALL\n   1. b\n   2. c\n2. D SHALL e", ["7.1", "7.2"]),
        ("1a. A SHALL b\n1b. C SHALL d", ["7.1a", "7.1b"]),
        ("2) A SHALL b", ["7.2"]),
        ("1. A SHALL b\n\n```\n2. C SHALL d\n```", ["7.1"]),
        ("1. A SHALL b\n\n<!--\n2. C SHALL d\n-->", ["7.1"]),
        ("1. A SHALL b\n\n##### More\n\n2. C SHALL d", ["7.1", "7.2"]),
    ],
)
def test_lists_of_criteria_are_read_line_by_line(items: str, keys: list[str]) -> None:
    found = kiro(requirements=f"### Requirement 7\n\n#### Acceptance Criteria\n\n{items}\n")
    assert [requirement.key for requirement in found.requirements] == keys


def test_two_kinds_of_numbers_keep_their_prefix() -> None:
    criteria = "#### Acceptance Criteria\n\n1. [AC-701] A SHALL b\n"
    found = kiro(requirements=f"### FR1: One\n\n{criteria}\n### NFR1: Two\n\n{criteria}")
    assert [requirement.key for requirement in found.requirements] == ["FR1.1", "NFR1.1"]
    assert found.requirements[0].outer_ids == ("AC-701",)


def test_a_requirement_without_criteria_is_its_sentence() -> None:
    found = kiro(
        requirements="### FR4: Roles\n\n**Source:** x\n**Description:** The model SHALL keep\na role.\n**Note:** y\n"
    )
    assert [(lines(r), r.text) for r in found.requirements] == [
        (("4", 4, 5), "**Description:** The model SHALL keep a role.")
    ]


def test_what_is_not_understood_is_named_with_its_line() -> None:
    text = """
        ### Requirement 1

        Nothing here.

        ## 4. Acceptance criteria

        1. It works.
    """
    assert unread(kiro(requirements=text)) == [
        (1, "no acceptance criteria below this heading"),
        (5, "criteria outside a numbered requirement"),
    ]
    assert unread(kiro(requirements="# Plan\n")) == [(1, "no numbered requirement in this file")]
    assert (3, "this code block or comment is not closed") in unread(kiro(requirements="# Plan\n\n```\n"))


def test_a_bugfix_declares_what_is_expected_and_what_stays() -> None:
    found = kiro(
        bugfix="""
            # Bugfix Requirements Document

            ### Current Behavior (Defect)

            1.1 WHEN x THEN the system fails

            ### Expected Behavior (Correct)

            2.1 WHEN x THEN the system SHALL work

            **2.2** Dashboard
            It SHALL show:
              - a total

            ### Unchanged Behavior (Regression Prevention)

            3.1 Sums continue to be right
        """
    )
    assert [lines(r) for r in found.requirements] == [("2.1", 9, 9), ("2.2", 11, 13), ("3.1", 17, 17)]
    assert found.groups[1].title == "Unchanged Behavior (Regression Prevention)"


TASKS = """
    # Implementation Plan

    - [x] 1. Set up `src/app.py`
      - Create the folder
      - _Requirements: 1.1, 1.3-1.4, 9.9_
    - [ ] 2. Login
      - [-] 2.1 Form in web/login.tsx (P)
        - **Property 1: Round trip**
        - **Validates: Requirements 2.1**
      - [ ]* 2.2 Tests
        - _Requirements: 2, All, REQ-027, regression prevention_
    - [ ] 3.1* More tests
    - [!] 4. What
"""


def test_tasks_have_a_state_and_their_details() -> None:
    found = kiro(requirements=REQUIREMENTS, tasks=TASKS)
    assert [(t.key, t.state, t.place.line, t.place.end_line, t.parent) for t in found.tasks] == [
        ("1", TaskState.DONE, 3, 5, ""),
        ("2", TaskState.OPEN, 6, 6, ""),
        ("2.1", TaskState.DOING, 7, 9, "2"),
        ("2.2", TaskState.OPTIONAL, 10, 11, "2"),
        ("3.1", TaskState.OPTIONAL, 12, 12, ""),
    ]
    assert found.tasks[0].title == "Set up `src/app.py`"
    assert [task.files for task in found.tasks[:3]] == [("src/app.py",), (), ("web/login.tsx",)]
    assert unread(found) == [(13, "the box [!] has no known state")]


def test_references_of_tasks_are_resolved_or_named() -> None:
    tasks = kiro(requirements=REQUIREMENTS, tasks=TASKS).tasks
    assert [(r.text, r.state, r.keys) for r in (*tasks[0].references, *tasks[2].references, *tasks[3].references)] == [
        ("1.1", ReferenceState.RESOLVED, ("1.1",)),
        ("1.3-1.4", ReferenceState.DANGLING, ()),
        ("9.9", ReferenceState.DANGLING, ()),
        ("2.1", ReferenceState.RESOLVED, ("2.1",)),
        ("2", ReferenceState.RESOLVED, ("2.1",)),
        ("All", ReferenceState.RESOLVED, ("1.1", "1.2", "1.3", "2.1")),
        ("REQ-027", ReferenceState.RESOLVED, ("1.1",)),
        ("regression prevention", ReferenceState.OTHER, ()),
    ]


@pytest.mark.parametrize(
    ("line", "keys"),
    [
        ("_Requirements: 1.1-1.3_", ("1.1", "1.2", "1.3")),
        ("_Requirements: 1.1-3_", ("1.1", "1.2", "1.3")),
        ("_Requirements: REQ-1.2_", ("1.2",)),
        ("**Validates: Requirements 1.1, 2.1**", ("1.1", "2.1")),
        ("_需求：1.1、1.2_", ("1.1", "1.2")),
        ("_Requirements: 1.1 and 1.2_", ("1.1", "1.2")),
        ("Show the list (Requirements 1.2, 1.3)", ("1.2", "1.3")),
        ("画面を作る（要件1.2、1.3）", ("1.2", "1.3")),
        ("_Boundary: Auth_", ()),
        ("Requirements are met", ()),
    ],
)
def test_references_are_read_in_every_style(line: str, keys: tuple[str, ...]) -> None:
    (task,) = kiro(requirements=REQUIREMENTS, tasks=f"- [ ] 1. Do it\n  - {line}\n").tasks
    assert task.requirement_keys == keys


def test_the_box_of_a_task_is_one_character_of_the_file() -> None:
    text = "- [x] 1. One\r\n  * [ ]* 1.1 Two\r\n"
    files = SpecFiles(SpecFormat.KIRO, "auth", SpecState.CURRENT, ("tasks.md",))
    assert [text[task.box] for task in read_specification(files, {"tasks.md": text}).tasks] == ["x", " "]


def test_properties_of_a_design_validate_requirements() -> None:
    found = kiro(
        requirements=REQUIREMENTS,
        design="""
            ## Correctness Properties

            ### Property 3: Round trip

            *For any* token, reading it SHALL return the user.

            **Validates: Requirements 1.1, 1.2**

            ### Property-Based Testing
        """,
    )
    (one,) = found.properties
    assert (one.key, one.title, one.requirement_keys) == ("3", "Round trip", ("1.1", "1.2"))
    assert (one.text, one.place.line, one.place.end_line) == (
        "*For any* token, reading it SHALL return the user.",
        3,
        7,
    )
