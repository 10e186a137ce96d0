from __future__ import annotations

from collections.abc import Collection

from contextive.trace.comments import blocks_of_lines
from contextive.trace.natural_references import find_references
from contextive.trace.reference_owners import OwnerResolver, Reason, Resolution, ResolvedReference

from .formats.reading import read

CRITERIA = "### Requirement 1\n\n#### Acceptance Criteria\n\n1. A SHALL b\n2. C SHALL d\n"
PROJECT = {
    ".kiro/specs/user-auth/requirements.md": CRITERIA + "3. E SHALL f\n",
    ".kiro/specs/user-auth/design.md": "### Property 3: Round trip\n\n**Validates: Requirements 1.2**\n",
    ".kiro/specs/search/requirements.md": CRITERIA,
    ".kiro/specs/search/tasks.md": "- [ ] 1. Rank in `src/rank.py`\n",
    "specs/004-events/spec.md": "### User Story 1 - A\n**Acceptance Scenarios**:\n1. **Given** a\n\n"
    "- **FR-001**: A MUST b\n- **FR-002**: C MUST d\n",
    "specs/004-events/tasks.md": "- [ ] T012 [US1] Do it\n",
    "specs/005-mail/spec.md": "- **FR-001**: A MUST b\n",
    "openspec/specs/auth/spec.md": "## Requirements\n### Requirement: Log in\nIt SHALL.\n#### Scenario: Right password\n",
    "openspec/changes/add-x/specs/auth/spec.md": "## MODIFIED Requirements\n### Requirement: Log in\nIt SHALL now.\n",
}
RESOLVER = OwnerResolver.of(read(PROJECT))


def resolve(comment: str, path: str = "src/app.py", owners: Collection[str] = ()) -> list[ResolvedReference]:
    references = find_references(
        path, blocks_of_lines("\n".join(f"# {line}" for line in comment.split("\n"))), RESOLVER.candidate
    )
    found = (RESOLVER.resolve(reference, lambda _path, _line: owners) for reference in references)
    return [one for one in found if one is not None]


def only(
    comment: str, path: str = "src/app.py", owners: Collection[str] = ()
) -> tuple[str, tuple[str, ...], Reason | None]:
    (one,) = resolve(comment, path, owners)
    assert one.resolution is Resolution.RESOLVED
    return one.owner, one.keys or (one.task,), one.reason


def test_a_key_of_only_one_specification_is_its_own() -> None:
    assert only("Requirement 1.3") == ("kiro:user-auth", ("1.3",), Reason.ONLY)
    assert only("FR-002") == ("speckit:004-events", ("FR-002",), Reason.ONLY)
    assert only("US1") == ("speckit:004-events", ("US1.1",), Reason.ONLY)
    assert only("T012") == ("speckit:004-events", ("T012",), Reason.ONLY)


def test_a_feature_in_the_same_comment_decides() -> None:
    assert only("Feature: search\nValidates: Requirements 1.1") == ("kiro:search", ("1.1",), Reason.FEATURE)
    assert only("Feature: user-auth, Property 3: Round trip") == ("kiro:user-auth", ("1.2",), Reason.FEATURE)


def test_the_name_in_front_of_a_key_decides() -> None:
    assert only("@requirement user-auth/REQ-1.1") == ("kiro:user-auth", ("1.1",), Reason.WRITTEN)
    assert only("kiro:search/1.2") == ("kiro:search", ("1.2",), Reason.WRITTEN)
    assert only("openspec:auth/log-in") == ("openspec:auth", ("Log in",), Reason.WRITTEN)


def test_a_path_in_the_same_comment_decides() -> None:
    assert only("see specs/005-mail/spec.md, FR-001") == ("speckit:005-mail", ("FR-001",), Reason.PATH)
    assert only("spec/004 FR-001") == ("speckit:004-events", ("FR-001",), Reason.PATH)


def test_the_tasks_that_name_the_file_decide() -> None:
    assert only("Requirement 1.1", "backend/src/rank.py") == ("kiro:search", ("1.1",), Reason.TASKS)


def test_the_commit_of_the_line_decides() -> None:
    assert only("FR-001", owners=["speckit:005-mail"]) == ("speckit:005-mail", ("FR-001",), Reason.COMMIT)


def test_anything_else_is_ambiguous_and_shows_its_candidates() -> None:
    (one,) = resolve("Requirement 1.1")
    assert (one.resolution, one.owner, one.candidates) == (
        Resolution.AMBIGUOUS, "", ("kiro:search/1.1", "kiro:user-auth/1.1"),
    )  # fmt: skip


def test_names_of_openspec_mean_what_holds_now() -> None:
    assert only("Requirement: Log in") == ("openspec:auth", ("Log in",), Reason.ONLY)
    assert only("Scenario: Right password") == ("openspec:auth", ("Log in",), Reason.ONLY)


def test_an_unknown_key_is_dangling_only_with_a_keyword() -> None:
    assert [one.resolution for one in resolve("Requirement 9.9 and FR-099")] == [Resolution.DANGLING] * 2
    assert resolve("US9 and T099 and REQ-9 and SHA-256 and Requirement: Nothing") == []
    (one,) = resolve("Feature: search, Requirement 1.3")
    assert (one.resolution, one.owner) == (Resolution.DANGLING, "kiro:search")


def test_a_project_without_such_keys_has_no_dangling_references() -> None:
    resolver = OwnerResolver.of(read({"openspec/specs/auth/spec.md": PROJECT["openspec/specs/auth/spec.md"]}))
    references = list(find_references("a.py", blocks_of_lines("# Requirement 9.9 and FR-099"), RESOLVER.candidate))
    assert len(references) == 2
    assert [resolver.resolve(reference) for reference in references] == [None, None]


def test_ranges_name_every_requirement_between() -> None:
    assert only("Feature: user-auth\nRequirements 1.1-1.3")[1] == ("1.1", "1.2", "1.3")
    assert only("FR-001-002 of specs/004-events")[1] == ("FR-001", "FR-002")
