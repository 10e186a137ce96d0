"""Which requirement to work on first, and the words for how far it is."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from contextive.trace.catalog import TraceCatalog
from contextive.trace.level import Level
from contextive.trace.requirement import Implementation, Requirement, Status

_WORD = re.compile(r"\w+")

PRIORITY_STATUS: Final[dict[Implementation, str]] = {
    "whole": "fully_implemented",
    "part": "partially_implemented",
    "none": "not_started",
}
PRIORITY_DETAIL: Final = {
    Status.MISSING_TEST: "needs tests",
    Status.MISSING_CITATION: "tested, not implemented",
    Status.EXCEPTION: "exception",
}
"""What the priority status does not say."""
SIMPLE_STATUS: Final = {
    Status.COMPLETE: "done",
    Status.EXCEPTION: "done",
    Status.MISSING_TEST: "needs tests",
    Status.MISSING_CITATION: "in progress",
    Status.PARTIAL: "in progress",
    Status.TODO: "not started",
    Status.NOT_STARTED: "not started",
}
STATUS_WORDS: Final = {
    Status.COMPLETE: "done",
    Status.EXCEPTION: "exception",
    Status.MISSING_TEST: "needs tests",
    Status.MISSING_CITATION: "in progress",
    Status.PARTIAL: "in progress",
    Status.TODO: "todo",
    Status.NOT_STARTED: "not started",
}
"""The words that people read, the same on the site and in the HTML report."""
##= docs/spec/trace.md#get-prioritized-requirements
##% Within a level, prioritized requirements MUST be sorted by status: partially_implemented, not_started,
##% fully_implemented.
_IMPLEMENTATION_ORDER: Final[tuple[Implementation, ...]] = ("part", "none", "whole")


def level_word(level: Level) -> str:
    return "unspecified" if level is Level.AUTO else level.name


def least_finished(requirements: Sequence[Requirement]) -> Requirement:
    """Of the places of one text, the one that is farthest from done."""
    order = list(Status)
    return max(requirements, key=lambda requirement: order.index(requirement.status))


##= docs/spec/trace.md#get-prioritized-requirements
##% Prioritized requirements MUST be sorted by level first: "MUST", "SHOULD", "MAY", unspecified.
##= docs/spec/trace.md#get-prioritized-requirements
##% Within a status, prioritized requirements with more todos MUST come first.
def prioritise(requirements: Iterable[Requirement], catalog: TraceCatalog) -> list[Requirement]:
    """Sorted by level, then started, not started, implemented, then by number of todos.

    Of equals, those that code can implement and that are not done come first; otherwise they keep the text order.
    """

    def key(requirement: Requirement) -> tuple[int, int, int, bool, bool]:
        return (
            -requirement.level,
            _IMPLEMENTATION_ORDER.index(requirement.implementation),
            -requirement.todo_count,
            catalog.is_about_registry(requirement),
            requirement.status.is_done,
        )

    return sorted(requirements, key=key)


def similar_requirements(requirement: Requirement, among: Sequence[Requirement], limit: int = 3) -> list[Requirement]:
    """Requirements with similar words, most similar first."""
    words = Counter(_WORD.findall(requirement.text.lower()))
    scored = []
    for other in among:
        if other.identifier != requirement.identifier:
            theirs = Counter(_WORD.findall(other.text.lower()))
            common = sum((words & theirs).values())
            bonus = 0.2 if other.section.id == requirement.section.id else 0.0
            scored.append((common / (len(words) + len(theirs) or 1) + bonus, other))
    scored.sort(key=lambda item: -item[0])
    return [other for score, other in scored[:limit] if score > 0.15]
