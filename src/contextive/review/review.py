"""The findings of one change: everything that concerns requirements and differs between two versions."""

from __future__ import annotations

from collections.abc import Collection

from contextive.review.citation_changes import broken_citations, citation_changes
from contextive.review.findings import Finding, sort_findings
from contextive.review.requirement_changes import MentionedIn, requirement_changes
from contextive.review.task_changes import renumbered
from contextive.review.versions import ProjectVersion


def _nothing(_identifier: str) -> tuple[str, ...]:
    return ()


def review_versions(
    old: ProjectVersion, new: ProjectVersion, changed: Collection[str], mentioned_in: MentionedIn | None = None
) -> list[Finding]:
    """The findings about requirements and citations. `changed` are the files that differ."""
    requirements = requirement_changes(old, new, mentioned_in or _nothing)
    citations = citation_changes(old, new, changed)
    broken = broken_citations(old, new, requirements.explained)
    return sort_findings([*requirements.findings, *citations.findings, *broken, *renumbered(old, new)])
