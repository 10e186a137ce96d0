"""The table of specifications and the rows of one specification, as the data that tools and commands return."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from contextive.trace.catalog import SpecificationEntry, TraceCatalog
from contextive.trace.formats.values import FormatSpecification, SpecState, Task
from contextive.trace.reference_owners import ResolvedReference
from contextive.trace.requirement import Requirement
from contextive.trace.spec_status import Evidence, RequirementRow, SpecRow, requirement_rows
from contextive.trace.spec_trace import SpecTrace, evidence_of

COLUMNS: Final = (
    "requirements", "with_task", "ticked", "named", "quoted", "tested", "dangling", "ambiguous", "not_understood",
)  # fmt: skip
_PLACES: Final = 3
_TEXT: Final = 160


def spec_row_to_dict(row: SpecRow) -> dict[str, Any]:
    """A row of the table. A specification that holds now has no `state`."""
    state = {} if row.state == SpecState.CURRENT else {"state": row.state}
    return {"spec": row.id, **state, **{column: getattr(row, column) for column in COLUMNS}}


def whole_row_to_dict(row: SpecRow) -> dict[str, Any]:
    """A row of the table with everything that is known."""
    found = asdict(row)
    return {"spec": found.pop("id"), **found}


def specification_rows(formats: SpecTrace, specification: FormatSpecification) -> list[dict[str, Any]]:
    """One row for each requirement of a specification in a spec-driven format, the worst first."""
    rows = requirement_rows(specification, formats.references.of(specification.id))
    return [_requirement_row_to_dict(row) for row in rows]


def cited_rows(catalog: TraceCatalog, entry: SpecificationEntry) -> list[dict[str, Any]]:
    """The same for a specification that only citations refer to."""
    found = [(requirement, evidence_of(requirement)) for requirement in catalog.requirements_of(entry)]
    ranked = sorted(found, key=lambda pair: len({evidence.is_test for evidence in pair[1]}))
    return [_cited_row_to_dict(requirement, evidence) for requirement, evidence in ranked]


def with_evidence(rows: Iterable[dict[str, Any]], words: Mapping[str, str]) -> list[dict[str, Any]]:
    """The rows of a specification with how well each requirement is shown to work, by handle or identifier."""
    named = [(row, words.get(row.get("handle") or row.get("identifier", ""))) for row in rows]
    return [row | ({"evidence": found} if found else {}) for row, found in named]


def _requirement_row_to_dict(row: RequirementRow) -> dict[str, Any]:
    return {
        "handle": row.handle,
        "text": _shortened(row.requirement.text),
        **_listed("tasks", [_task_text(task) for task in row.tasks]),
        **_listed("code", [_place_text(one) for one in row.code]),
        **_listed("tests", [_place_text(one) for one in row.tests]),
    }


def _cited_row_to_dict(requirement: Requirement, evidence: Sequence[Evidence]) -> dict[str, Any]:
    return {
        "identifier": requirement.identifier,
        "text": _shortened(requirement.text),
        **_listed("code", [_place_text(one) for one in evidence if not one.is_test]),
        **_listed("tests", [_place_text(one) for one in evidence if one.is_test]),
    }


def _task_text(task: Task) -> str:
    return f"{task.key} {task.state}"


def _place_text(evidence: Evidence) -> str:
    return f"{evidence} {evidence.strength}"


def _listed(name: str, values: Sequence[str]) -> dict[str, list[str]]:
    """The first values under a name, and how many there are more; nothing if there are none."""
    more = [f"{len(values) - _PLACES} more"] if len(values) > _PLACES else []
    return {name: [*values[:_PLACES], *more]} if values else {}


def _shortened(text: str) -> str:
    return text if len(text) <= _TEXT else text[: _TEXT - 1].rstrip() + "…"


def dangling_to_dicts(formats: SpecTrace, specification: FormatSpecification) -> list[dict[str, Any]]:
    """The comments that name a requirement of the specification that does not exist."""
    unknown = formats.references.of(specification.id).dangling
    return [{"place": f"{one.path}:{one.line}", "key": one.key} for one in unknown]


def ambiguous_to_dicts(formats: SpecTrace, specification: FormatSpecification) -> list[dict[str, Any]]:
    """The comments that may mean the specification or another one, with everything that they may mean."""
    own = f"{specification.id}/"
    return [
        ambiguous_to_dict(one)
        for one in formats.references.ambiguous
        if any(candidate.startswith(own) for candidate in one.candidates)
    ]


def ambiguous_to_dict(one: ResolvedReference) -> dict[str, Any]:
    place = f"{one.reference.path}:{one.reference.line}"
    return {"place": place, "key": one.reference.key, "candidates": list(one.candidates)}


##= docs/spec/trace.md#spec-driven-formats
##% A line that a reader did not understand MUST be listed with its file, its number and the reason.
def unread_to_dicts(specifications: Iterable[FormatSpecification]) -> list[dict[str, Any]]:
    """What the readers did not understand."""
    return [
        {"place": f"{line.path}:{line.line}", "reason": line.reason} for one in specifications for line in one.unread
    ]
