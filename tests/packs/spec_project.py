"""A project with specifications of all three formats, and a host in this process that serves it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from contextive.config import ConfigRequest, load_config
from contextive.packs import BUILTIN
from contextive.server.host import Host
from contextive.server.profiles import PROFILES
from tests.ingest.projects import Project

REQUIREMENTS = """\
# Requirements Document

## Requirements

### Requirement 1: Login

**User Story:** As a user, I want to log in, so that I see my data.

#### Acceptance Criteria

1. WHEN a password is wrong THE SYSTEM SHALL refuse the login
2. WHEN five logins fail THE SYSTEM SHALL lock the account
3. THE SYSTEM SHALL log every attempt
"""
TASKS = """\
# Implementation Plan

- [x] 1. Check passwords in `src/login.py`
  - _Requirements: 1.1, 9.9_
- [x] 2. Lock accounts
  - _Requirements: 1.2_
- [ ] 3. Write the log
"""
EVENTS = """\
# Feature Specification: Events

## Requirements

### Functional Requirements

- **FR-001**: System MUST send an event after a login
- **FR-002**: System SHOULD retry three times
"""
AUDIT = """\
# audit

## Requirements

### Requirement: Keep Entries
The system SHALL keep entries for a year.

#### Scenario: An old entry
- **WHEN** an entry is a year old
- **THEN** it is deleted
"""
LOGIN = """\
# Requirements: 1.1
def login(): ...


# FR-001
def send(): ...


#= kiro:user-auth/1.3
#% THE SYSTEM SHALL log every attempt
def log(): ...


#= openspec:audit/keep-entries
#% The system SHALL keep entries for a year.
def keep(): ...
"""
TESTS = '''\
def test_login():
    """Feature: user-auth, Validates: Requirements 1.1, 7.7"""
'''


def spec_project(root: Path) -> Project:
    project = Project(root)
    project.write(".kiro/specs/user-auth/requirements.md", REQUIREMENTS)
    project.write(".kiro/specs/user-auth/tasks.md", TASKS)
    project.write("specs/004-events/spec.md", EVENTS)
    project.write("specs/004-events/plan.md", "# Plan\n\nThe plan MUST not be a specification.\n")
    project.write("openspec/specs/audit/spec.md", AUDIT)
    project.write("src/login.py", LOGIN)
    project.write("tests/test_login.py", TESTS)
    return project


class SpecHost:
    """One profile on a project."""

    def __init__(self, project: Project, profile: str = "contextive") -> None:
        self.project = project
        loaded = load_config(ConfigRequest(project=project.root, builtin_packs=frozenset(BUILTIN)))
        self.host = Host(loaded, mode="in-process")
        self.profile = PROFILES[profile]
        self.surface = self.host.surface(self.profile, self.host.owner.scope)
        self._context = self.host.context(self.host.owner, door="test", profile=self.profile, request_id="r")

    def call(self, tool: str, **arguments: Any) -> Any:
        return asyncio.run(self.host.dispatcher.call(self.surface, tool, arguments, self._context)).data

    def status(self, spec: str | None = None) -> dict[str, dict[str, Any]]:
        """The rows of `spec_status` by the id of the specification or requirement."""
        found = self.call("spec_status", **({"spec": spec} if spec else {}))["result"]
        return {row.get("spec") or row.get("handle") or row["identifier"]: row for row in found}
