"""Reviews of specifications in spec-driven formats, here in the layout of Kiro."""

from __future__ import annotations

from pathlib import Path

import pytest

from contextive.ingest.review_service import ReviewService
from contextive.ingest.trace_service import TraceService
from contextive.trace.formats.values import SpecFormat

from .reviewed_project import ReviewedProject

REQUIREMENTS = """\
# Requirements Document

## Introduction

Signing in.

## Requirements

### Requirement 1: Sign in

**User Story:** As a user, I want to sign in, so that I see my data.

#### Acceptance Criteria

1. WHEN the password is right THEN the system SHALL open a session
2. WHEN the password is wrong THEN the system SHALL count the failure
"""
TASKS = """\
# Implementation Plan

- [ ] 1. Open a session
  - _Requirements: 1.1_
- [ ] 2. Count the failures
  - _Requirements: 1.2_
"""
CODE = "# Requirement 1.1 of user-auth\ndef sign_in(password):\n    return Session(password)\n"
FILES = {
    ".kiro/specs/user-auth/requirements.md": REQUIREMENTS,
    ".kiro/specs/user-auth/tasks.md": TASKS,
    "src/auth.py": CODE,
}


@pytest.fixture
def project(tmp_path: Path) -> ReviewedProject:
    project = ReviewedProject(tmp_path, FILES)
    project.service = ReviewService(TraceService(tmp_path, formats=tuple(SpecFormat)))
    return project


##= docs/spec/review.md#findings
##% A task that a change ticks and for which neither code nor a file is evidence MUST be reported.
def test_a_task_that_is_ticked_without_evidence_is_reported(project: ReviewedProject) -> None:
    project.change(".kiro/specs/user-auth/tasks.md", "[ ] 1.", "[x] 1.")
    assert project.findings() == []
    project.change(".kiro/specs/user-auth/tasks.md", "[ ] 2.", "[x] 2.")
    (found,) = project.findings()
    assert (found.kind, found.place) == ("task_without_evidence", ".kiro/specs/user-auth/tasks.md:5")
    project.git("commit", "-qam", "x")
    assert project.findings() == []


def test_requirements_of_the_format_are_reviewed_like_any_other(project: ReviewedProject) -> None:
    project.change(".kiro/specs/user-auth/requirements.md", "count the failure", "count the failure and wait")
    (found,) = project.findings()
    assert found.kind == "requirement_reworded"
    assert found.requirement.startswith("kiro:user-auth/1.2 ")


def test_code_below_a_comment_that_names_a_requirement_is_reviewed(project: ReviewedProject) -> None:
    project.change("src/auth.py", "Session(password)", "Session(None)")
    assert project.kinds() == ["code_changed"]
    project.write("src/auth.py", CODE.replace("# Requirement 1.1 of user-auth\n", ""))
    assert project.kinds() == ["citation_removed"]


##= docs/spec/review.md#findings
##% A comment that names a number which now belongs to another requirement MUST be reported.
def test_a_number_that_means_another_requirement_now_is_reported(project: ReviewedProject) -> None:
    opens, counts = "WHEN the password is right THEN", "WHEN the password is wrong THEN"
    text = REQUIREMENTS.replace(f"2. {counts}", f"3. {counts}")
    text = text.replace(f"1. {opens}", f"1. WHEN the page opens THEN the system SHALL ask for the password\n2. {opens}")
    project.write(".kiro/specs/user-auth/requirements.md", text)
    broken = [one for one in project.findings() if one.kind == "citation_broken"]
    assert ["kiro:user-auth/1.2 now" in one.reason for one in broken] == [True]
    assert broken[0].path == "src/auth.py"
