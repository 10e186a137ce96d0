from __future__ import annotations

from contextive.trace.formats.values import SpecState, TaskState
from contextive.trace.level import Level

from .reading import capability, lines, read, unread

SPEC = """
    \ufeff# auth Specification

    ## Purpose

    Who is who.

    ## Requirements

    ### Requirement: User Authentication

    **Priority**: High
    The system SHALL ask for a password.
    It hashes it.

    ```markdown
    ### Requirement: Not one
    ```

    #### Scenario: Right password

    - **WHEN** the password is right
    - **THEN** the user is logged in

    ### Requirement: Logout
    The system MAY log out.

    ## Notes

    ### Requirement: Too late
"""


def test_requirements_are_known_by_their_names() -> None:
    found = capability(SPEC)
    assert [lines(r) for r in found.requirements] == [("User Authentication", 9, 22), ("Logout", 24, 25)]
    assert found.handle("User Authentication") == "openspec:auth/User Authentication"
    assert [r.level for r in found.requirements] == [Level.MUST, Level.MAY]
    assert found.requirements[0].text == "The system SHALL ask for a password. It hashes it."
    assert found.requirements[0].scenarios == ("Right password",)


def test_a_requirement_that_openspec_does_not_see_is_named() -> None:
    assert unread(capability(SPEC)) == [(29, "a requirement outside `## Requirements`")]


def test_without_the_usual_heading_all_requirements_are_read_and_the_file_is_named() -> None:
    found = capability("## ADDED Requirements\n### Requirement: A\nB\n## REMOVED Requirements\n### Requirement: C\n")
    assert [lines(r) for r in found.requirements] == [("A", 2, 3)]
    assert unread(found) == [(1, "a delta heading outside a change"), (4, "a delta heading outside a change")]
    found = capability("# Auth\n\n### Requirement: A\nB\n### Requirement: C\nD\n")
    assert [lines(r) for r in found.requirements] == [("A", 3, 4), ("C", 5, 6)]
    assert unread(found) == [(3, "no `## Requirements` above this")]


def test_names_are_compared_with_case_and_a_unique_slug_is_accepted() -> None:
    found = capability(
        "## Requirements\n### Requirement: Log in\nA\n### Requirement: LOG IN\nB\n### Requirement: Out Now\nC\n"
    )
    assert found.index.find("Log in") == ("Log in",)
    assert found.index.find("LOG IN") == ("LOG IN",)
    assert found.index.find("out-now") == ("Out Now",)
    assert len(found.index.find("log-in")) == 2


CHANGE = {
    "openspec/changes/add-sso/proposal.md": "# Change: Single sign-on\n",
    "openspec/changes/add-sso/tasks.md": "## 1. Code\n- [x] 1.1 Add src/sso.py\n  - [ ] 1.1.1 Test it\n",
    "openspec/changes/add-sso/specs/auth/spec.md": (
        "## ADDED Requirements\n\n### Requirement: Single Sign-On\nThe system SHALL use SSO.\n\n"
        "## REMOVED Requirements\n\n- `### Requirement: Old Login`\n\n### Requirement: Older Login\n\n"
        "## RENAMED Requirements\n\n- FROM: `### Requirement: Logout`\n- TO: `### Requirement: Sign out`\n"
    ),
}


def test_a_change_is_proposed_and_keeps_its_capabilities_apart() -> None:
    (found,) = read(CHANGE)
    assert (found.state, found.key, found.title) == (SpecState.PROPOSED, "add-sso", "Change: Single sign-on")
    assert [lines(r) for r in found.requirements] == [("auth/Single Sign-On", 3, 4)]
    assert [(t.key, t.state, t.files, t.parent) for t in found.tasks] == [
        ("1.1", TaskState.DONE, ("src/sso.py",), ""),
        ("1.1.1", TaskState.OPEN, (), "1.1"),
    ]


def test_the_archive_is_history_with_renames() -> None:
    (found,) = read({path.replace("changes/", "changes/archive/2026-01-02-"): text for path, text in CHANGE.items()})
    assert found.state is SpecState.ARCHIVED
    assert found.requirements == ()
    assert [(step.operation, step.key, step.old_key) for step in found.history] == [
        ("added", "auth/Single Sign-On", ""),
        ("removed", "auth/Old Login", ""),
        ("removed", "auth/Older Login", ""),
        ("renamed", "auth/Sign out", "auth/Logout"),
    ]
