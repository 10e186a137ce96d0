from __future__ import annotations

from contextive.trace.formats.values import ReferenceState, RequirementKind, TaskState
from contextive.trace.level import Level

from .reading import lines, read_one, speckit, unread

SPEC = """
    # Feature Specification: Events

    **Status**: Draft

    ## User Scenarios & Testing

    ### User Story 1 - Publish an event (Priority: P1)

    As an app, I publish events.

    **Acceptance Scenarios**:

    1. **Given** an app, **When** it publishes, **Then** users see it
    2. **Given** no app,
       **Then** nothing happens

    ### User Story 2 - Dismiss (Priority: P2)

    **Acceptance Scenarios**:

    1. **Given** an event, **Then** it goes away

    ### Edge Cases

    1. What if nobody listens?

    ## Requirements

    ### Functional Requirements

    - **FR-001**: System MUST publish events
      - in order
    - **FR-001b** System SHOULD retry
    - ~~**FR-002**: System MUST fax events~~
    - **NFR-001** (speed): Answers come [NEEDS CLARIFICATION: how fast?]

    ## Success Criteria

    - **SC-001**: Users see events within a second

    ## Notes

    - FR-001 changed in March
"""


def test_requirements_outcomes_and_scenarios_are_found() -> None:
    found = speckit(spec=SPEC)
    assert [(lines(r), r.kind) for r in found.requirements] == [
        (("US1.1", 13, 13), RequirementKind.SCENARIO),
        (("US1.2", 14, 15), RequirementKind.SCENARIO),
        (("US2.1", 21, 21), RequirementKind.SCENARIO),
        (("FR-001", 31, 32), RequirementKind.CRITERION),
        (("FR-001b", 33, 33), RequirementKind.CRITERION),
        (("NFR-001", 35, 35), RequirementKind.CRITERION),
        (("SC-001", 39, 39), RequirementKind.OUTCOME),
    ]
    assert found.title == "Events"
    assert found.handle("FR-001") == "speckit:004-events/FR-001"
    assert found.requirements[3].text == "System MUST publish events - in order"
    assert [(group.key, group.title, group.story) for group in found.groups] == [
        ("US1", "Publish an event (Priority: P1)", "As an app, I publish events."),
        ("US2", "Dismiss (Priority: P2)", ""),
    ]


def test_only_criteria_need_a_modal_word() -> None:
    by_key = {r.key: r for r in speckit(spec=SPEC).requirements}
    assert [by_key[key].level for key in ("FR-001", "FR-001b", "NFR-001", "SC-001", "US1.1")] == [
        Level.MUST,
        Level.SHOULD,
        Level.MUST,
        Level.AUTO,
        Level.AUTO,
    ]
    assert [r.key for r in by_key.values() if not r.has_modal_word] == ["NFR-001"]


def test_open_questions_and_struck_out_requirements_are_named() -> None:
    found = speckit(spec=SPEC)
    assert found.clarifications == (35,)
    assert by_line(found.unread) == {34: "FR-002 is struck out"}


def by_line(unread: tuple[object, ...]) -> dict[int, str]:
    return {line.line: line.reason for line in unread}  # type: ignore[attr-defined]


def test_a_scenario_can_be_a_heading_with_steps() -> None:
    found = speckit(
        spec="""
            ### Primary User Story

            ### Acceptance Scenarios

            #### Scenario 1: Publish
            1. **Given** an app
            2. **Then** users see it

            #### Scenario 2: Dismiss
            1. **Given** an event
        """
    )
    assert [(lines(r), r.text) for r in found.requirements] == [
        (("US1.1", 5, 7), "Publish 1. **Given** an app 2. **Then** users see it"),
        (("US1.2", 9, 10), "Dismiss 1. **Given** an event"),
    ]


TASKS = """
    ## Phase 1: Setup

    - [X] T001 Create `src/app.py`

    ## Phase 3: User Story 1 - Publish (Priority: P1)

    - [x] **T012** [P] [US2] Dismiss in web/src/Dismiss.tsx
    - [ ] T013 Publish events (FR-001)
    - [ ] T014 [US9] Fly

    - [x] All tests pass
"""


def test_a_task_reaches_requirements_through_its_story() -> None:
    found = speckit(spec=SPEC, tasks=TASKS)
    assert [(t.key, t.state, t.group, t.requirement_keys, t.files) for t in found.tasks] == [
        ("T001", TaskState.DONE, "", (), ("src/app.py",)),
        ("T012", TaskState.DONE, "US2", ("US2.1",), ("web/src/Dismiss.tsx",)),
        ("T013", TaskState.OPEN, "US1", ("US1.1", "US1.2", "FR-001"), ()),
        ("T014", TaskState.OPEN, "US9", (), ()),
    ]
    assert [(r.text, r.state) for r in found.tasks[3].references] == [("US9", ReferenceState.DANGLING)]
    assert (11, "a box without a task id such as T001") in unread(found)


def test_the_constitution_is_a_specification_of_its_own() -> None:
    found = read_one(
        {
            ".specify/memory/constitution.md": """
                # Constitution

                ### I. Simple

                Code MUST be simple. It SHOULD
                be short.

                ### Security

                - Inputs MUST be checked
            """
        }
    )
    assert found.id == "speckit:constitution"
    assert [(lines(r), r.level) for r in found.requirements] == [
        (("I.1", 5, 5), Level.MUST),
        (("I.2", 5, 6), Level.SHOULD),
        (("security.1", 10, 10), Level.MUST),
    ]
