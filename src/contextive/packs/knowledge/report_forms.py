"""The short form of a report: its counts, the first entries of each list, and pages of one list."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from contextive.errors import InvalidRequest
from contextive.packs.knowledge.pack import Cursor
from contextive.registry import ToolInput
from contextive.registry.budget import Detail, concise, estimated_tokens, page_within
from contextive.registry.registry import safe_repr

REPORT_TOKENS: Final = 1_500
_FRAME_TOKENS: Final = 80
_ENTRIES: Final = (10, 8, 6, 5, 4, 3, 2, 1)
"""Entries of each list, tried in this order until the report fits."""


class ReportInput(ToolInput):
    section: str | None = Field(None, max_length=100, description="Only this list, in pages")
    cursor: Cursor = None
    detail: Detail = "concise"

    @model_validator(mode="after")
    def _cursor_needs_section(self) -> Self:
        if self.cursor is not None and self.section is None:
            raise PydanticCustomError("cursor_needs_section", "cursor continues a section, so section must be given")
        return self


@dataclass(frozen=True, slots=True)
class ReportList:
    """One list of a report, worst first, and how an entry is shown in the short form."""

    rows: Sequence[Any]
    show: Callable[[Any], Mapping[str, Any]]


##= docs/spec/knowledge.md#short-reports
##% A report MUST by default return its counts and the ten worst entries of each list, within 1,500 tokens.
def short_report(frame: Mapping[str, Any], lists: Mapping[str, ReportList]) -> dict[str, Any]:
    """The fields of `frame` and the first entries of each list. A name such as `isolated.Note` is a list in an object."""
    for most in _ENTRIES:
        report = {**frame, **_nested({name: _shown(part, most) for name, part in lists.items()})}
        omitted = {name: len(part.rows) - most for name, part in lists.items() if len(part.rows) > most}
        report |= {"omitted": omitted} if omitted else {}
        if estimated_tokens(report) <= REPORT_TOKENS:
            break
    return report


##= docs/spec/knowledge.md#short-reports
##% The argument `section` MUST return one list of a report in pages.
def report_section(tool: str, frame: Mapping[str, Any], lists: Mapping[str, ReportList], given: ReportInput) -> Any:
    """One page of the list that the caller names."""
    name = given.section or ""
    if name not in lists:
        raise InvalidRequest(f"No section {safe_repr(name)}.", hint=f"Sections: {', '.join(lists)}.")
    part = lists[name]
    page = page_within(
        f"{tool} {name}",
        part.rows,
        given.cursor,
        tokens=REPORT_TOKENS - _FRAME_TOKENS - estimated_tokens(frame),
        show=lambda row: concise(part.show(row)),
        limit=len(part.rows),
    )
    answer = {**frame, "section": name, "total": len(part.rows), **_nested({name: list(page.items)})}
    return answer | ({"cursor": page.next_cursor} if page.next_cursor else {})


def fields(*names: str) -> Callable[[Mapping[str, Any]], Mapping[str, Any]]:
    """Shows these fields of a row."""
    return lambda row: {name: row[name] for name in names}


def _shown(part: ReportList, most: int) -> list[Any]:
    return [concise(part.show(row)) for row in part.rows[:most]]


def _nested(lists: Mapping[str, Any]) -> dict[str, Any]:
    """The lists by name; those with a dot in the name together in one object."""
    found: dict[str, Any] = {}
    for name, rows in lists.items():
        outer, _, inner = name.partition(".")
        if inner:
            found.setdefault(outer, {})[inner] = rows
        else:
            found[name] = rows
    return found
