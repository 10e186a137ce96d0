from __future__ import annotations

import time

import pytest

from contextive.trace.formats.layout import find_specifications, read_specification
from contextive.trace.formats.values import SpecFiles, SpecFormat, SpecState


def found(*paths: str) -> list[tuple[str, str, tuple[str, ...]]]:
    return [(f"{spec.format}:{spec.key}", spec.state.value, spec.paths) for spec in find_specifications(paths)]


def test_the_files_of_each_format_are_found_without_configuration() -> None:
    assert found(
        ".kiro/specs/auth/tasks.md",
        ".kiro/specs/auth/requirements.md",
        ".kiro/done/search/requirements.md",
        ".kiro/steering/product.md",
        ".kiro/settings/templates/specs/requirements.md",
        ".specify/memory/constitution.md",
        "specs/events/spec.md",
        "apps/web/specs/004-login/spec.md",
        "apps/web/specs/login/spec.md",
        "openspec/specs/auth/spec.md",
        "openspec/changes/add-sso/specs/auth/spec.md",
        "openspec/changes/add-sso/tasks.md",
        "openspec/changes/archive/2026-01-02-old/proposal.md",
        "docs/spec/pot.md",
    ) == [
        ("kiro:search", "finished", (".kiro/done/search/requirements.md",)),
        ("kiro:auth", "current", (".kiro/specs/auth/requirements.md", ".kiro/specs/auth/tasks.md")),
        ("speckit:constitution", "current", (".specify/memory/constitution.md",)),
        ("speckit:004-login", "current", ("apps/web/specs/004-login/spec.md",)),
        ("openspec:add-sso", "proposed", (
            "openspec/changes/add-sso/specs/auth/spec.md", "openspec/changes/add-sso/tasks.md")),
        ("openspec:2026-01-02-old", "archived", ("openspec/changes/archive/2026-01-02-old/proposal.md",)),
        ("openspec:auth", "current", ("openspec/specs/auth/spec.md",)),
        ("speckit:events", "current", ("specs/events/spec.md",)),
    ]  # fmt: skip


def test_two_specifications_never_have_the_same_key() -> None:
    keys = [key for key, _, _ in found(".kiro/done/auth/requirements.md", ".kiro/specs/auth/requirements.md",
        "a/.kiro/specs/auth/requirements.md", "b/.kiro/specs/auth/requirements.md")]  # fmt: skip
    assert keys == ["kiro:done/auth", "kiro:auth", "kiro:a/auth", "kiro:b/auth"]


def test_only_the_wanted_formats_are_found() -> None:
    paths = (".kiro/specs/a/requirements.md", "openspec/specs/b/spec.md")
    assert [spec.key for spec in find_specifications(paths, (SpecFormat.OPENSPEC,))] == ["b"]
    assert find_specifications(paths, ()) == []


HOSTILE = {
    "criteria": "### Requirement 1\n\n#### Acceptance Criteria\n\n" + "1. A SHALL b\n" * 30_000,
    "a long line": "### Requirement 1\n#### Acceptance Criteria\n1. " + "SHALL a, " * 1_000_000,
    "references": "- [ ] 1. A\n  - _Requirements: " + "1.1, " * 100_000 + "_\n",
    "keys like patterns": "### Requirement 1\n" + "- **FR-1(.*)+**: System MUST [a-z]*\n" * 10_000,
    "requirements": "## Requirements\n" + "### Requirement: A\nB SHALL c\n" * 15_000,
    "stories": "### User Story 1 - A\n**Acceptance Scenarios**:\n1. **Given** a\n" * 10_000,
}
PLACES = {
    SpecFormat.KIRO: (".kiro/specs/a/requirements.md", ".kiro/specs/a/design.md", ".kiro/specs/a/tasks.md"),
    SpecFormat.SPECKIT: ("specs/001-a/spec.md", "specs/001-a/tasks.md"),
    SpecFormat.OPENSPEC: ("openspec/specs/a/spec.md",),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_read_in_bounded_time(name: str) -> None:
    for format_, paths in PLACES.items():
        started = time.process_time()
        texts = dict.fromkeys(paths, HOSTILE[name])
        found = read_specification(SpecFiles(format_, "a", SpecState.CURRENT, paths), texts)
        assert time.process_time() - started < 5, format_
        assert len(found.requirements) <= 20_000


def test_too_many_criteria_are_named() -> None:
    text = "### Requirement 1\n#### Acceptance Criteria\n" + "".join(f"{n}. A SHALL b\n" for n in range(21_000))
    found = read_specification(
        SpecFiles(SpecFormat.KIRO, "a", SpecState.CURRENT, ("requirements.md",)), {"requirements.md": text}
    )
    assert len(found.requirements) == 20_000
    assert "too many criteria: the rest is not read" in [line.reason for line in found.unread]
