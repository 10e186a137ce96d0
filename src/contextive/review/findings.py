"""What a review reports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from blake3 import blake3


class Kind(StrEnum):
    """The kinds of findings, those that matter most first."""

    CITATION_BROKEN = "citation_broken"
    REQUIREMENT_REMOVED = "requirement_removed"
    REQUIREMENT_LEVEL = "requirement_level_changed"
    REQUIREMENT_REWORDED = "requirement_reworded"
    CITATION_REMOVED = "citation_removed"
    TEST_REMOVED = "test_removed"
    CITATION_MOVED = "citation_moved"
    CITATION_CHANGED = "citation_changed"
    MUST_WITHOUT_CODE = "must_without_code"
    TASK_WITHOUT_EVIDENCE = "task_without_evidence"
    CODE_CHANGED = "code_changed"
    TEST_CHANGED = "test_changed"
    REQUIREMENT_ADDED = "requirement_added"
    EVIDENCE_OUTDATED = "evidence_outdated"
    ACCEPTANCES_CHANGED = "acceptances_changed"


NOTICES: Final = frozenset({Kind.ACCEPTANCES_CHANGED, Kind.EVIDENCE_OUTDATED})
"""Kinds that only say what to read. `--fail-on any` does not include them."""
_ORDER = {kind: number for number, kind in enumerate(Kind)}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a person should read before a change is merged."""

    kind: Kind
    path: str
    line: int
    requirement: str
    """The requirement's identifier and section; empty if it is about none."""
    reason: str
    do: str
    content: str = ""
    """What the finding is about, as a digest. An acceptance of the finding holds while it is the same."""
    also: tuple[str, ...] = ()
    """Further requirements that the same change is about."""

    ##= docs/spec/review.md#findings
    ##% The id of a finding MUST stay the same while the content that it is about stays the same, and change with it.
    @property
    def id(self) -> str:
        parts = (self.kind, self.path, self.requirement, *self.also, self.content)
        return blake3("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:12]

    @property
    def place(self) -> str:
        return f"{self.path}:{self.line}"


def sort_findings(findings: Iterable[Finding]) -> list[Finding]:
    """The findings without duplicates, those that matter most first."""
    unique = {finding.id: finding for finding in reversed(list(findings))}
    return sorted(unique.values(), key=lambda one: (_ORDER[one.kind], one.path, one.line, one.id))


def count_kinds(findings: Sequence[Finding]) -> dict[str, int]:
    counted = Counter(finding.kind for finding in findings)
    return {kind.value: counted[kind] for kind in Kind if counted[kind]}


def short(text: str, most: int = 140) -> str:
    """A text on one line, cut at a word."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[:most].rpartition(' ')[0] or line[:most]} …"


def listed(places: Sequence[str], most: int = 4) -> str:
    """Some places, and how many more there are."""
    more = f" and {len(places) - most} more" if len(places) > most else ""
    return ", ".join(places[:most]) + more


def content_digest(*parts: str) -> str:
    return blake3("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]
