"""Pages of requirements and citations: filters, entries, and how many of them fit into an answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

from contextive.errors import InvalidRequest
from contextive.ingest.trace_service import TraceView
from contextive.packs.trace.schemas import ListInput, PageInput, PriorityItem, RequirementItem, StatusItem
from contextive.registry import Reply, Text, ToolOutput
from contextive.registry.budget import ANSWER_TOKENS, compact_json, page_within
from contextive.registry.registry import safe_repr
from contextive.trace.catalog import SpecificationEntry, TraceCatalog
from contextive.trace.ranking import PRIORITY_DETAIL, PRIORITY_STATUS, SIMPLE_STATUS, level_word
from contextive.trace.requirement import Requirement

T = TypeVar("T")

PAGE_SIZE: Final = 20
"""Entries on a page, unless the caller sets a limit."""
_REST_TOKENS: Final = 100
"""The tokens of an answer besides its entries and the note."""
_NO_LIMIT: Final = 10**9
REGISTRY_NOTE: Final = "about a registry: no code can implement it"


##= docs/spec/trace.md#answers
##% The first text of a list answer MUST be a JSON array of the entries.
##= docs/spec/trace.md#answers
##% The structured data of a list answer MUST contain `result`, `total` and, if there are more entries, `next_cursor`.
def page_reply(
    kind: str,
    items: Sequence[T],
    show: Callable[[T], ToolOutput],
    given: PageInput,
    *,
    note: str = "",
    fields: dict[str, Any] | None = None,
) -> Reply:
    """One page of items: the array as text, then how to get the next page. `fields` are added to the data."""
    ##= docs/spec/trace.md#answers
    ##% Without a limit, a page MUST have at most 20 entries, and only as many as fit into 2500 tokens.
    limit = PAGE_SIZE if given.limit is None else given.limit
    rest = _REST_TOKENS + len(note) // 4
    tokens = ANSWER_TOKENS - rest if given.limit is None else _NO_LIMIT
    page = page_within(
        kind, items, given.cursor, tokens=tokens, show=lambda item: without_none(show(item)), limit=limit
    )
    data: dict[str, Any] = {"result": list(page.items), "total": len(items), **(fields or {})}
    counted = f"{len(page.items)} of {len(items)}"
    if page.next_cursor:
        data["next_cursor"] = page.next_cursor
        counted += f"; for the next page, call again with cursor={page.next_cursor}"
    return Reply(data=data, content=[Text(compact_json(data["result"])), Text(f"{counted}. {note}".rstrip())])


def without_none(output: ToolOutput) -> dict[str, Any]:
    return output.model_dump(mode="json", exclude_none=True)


def data_reply(output: ToolOutput) -> Reply:
    return Reply(data=without_none(output))


##= docs/spec/trace.md#answers
##% In a project without a specification, an answer that lists requirements MUST say that there is no specification.
def missing_specification_hint(view: TraceView, spec: str | None = None) -> str:
    """Why an answer may be empty: there is no specification, or it is not extracted. Otherwise the empty string."""
    if not view.catalog.specifications:
        hint = "No specification was found in this project. Name one in .duvet/config.toml, or put it below docs/spec or specs."
        return f"{hint} {view.project_above}".rstrip()
    entry = view.catalog.resolve(spec) if spec is not None else None
    return not_extracted_hint(view, entry) if entry is not None else ""


##= docs/spec/trace.md#answers
##% A specification that is cited and not extracted MUST be reported as not extracted, never as done.
def not_extracted_hint(view: TraceView, entry: SpecificationEntry) -> str:
    """That the requirements of a specification are not known, and what to do; empty if they are."""
    if view.is_extracted(entry):
        return ""
    return (
        f"{entry.id} is not extracted: it is cited, but it is not a [[specification]] in .duvet/config.toml, so its "
        f'requirements are not known. Add: source = "{entry.url}".'
    )


def requirement_item(catalog: TraceCatalog) -> Callable[[Requirement], RequirementItem]:
    def show(requirement: Requirement) -> RequirementItem:
        return RequirementItem(
            identifier=requirement.identifier,
            handle=requirement.handle or None,
            full_path=catalog.full_path(requirement),
            text=requirement.text,
            level=level_word(requirement.level),
            status=SIMPLE_STATUS[requirement.status],
        )

    return show


def status_items(requirements: Sequence[Requirement], catalog: TraceCatalog) -> list[StatusItem]:
    return [
        StatusItem(full_path=catalog.full_path(r), handle=r.handle or None, status=SIMPLE_STATUS[r.status])
        for r in requirements
    ]


def priority_item(catalog: TraceCatalog) -> Callable[[Requirement], PriorityItem]:
    def show(requirement: Requirement) -> PriorityItem:
        return PriorityItem(
            full_path=catalog.full_path(requirement),
            level=level_word(requirement.level),
            status=PRIORITY_STATUS[requirement.implementation],
            todo_count=requirement.todo_count,
            identifier=requirement.identifier,
            handle=requirement.handle or None,
            text=requirement.text,
            detail=PRIORITY_DETAIL.get(requirement.status),
            note=REGISTRY_NOTE if catalog.is_about_registry(requirement) else None,
        )

    return show


##= docs/spec/trace.md#answers
##% Lists of requirements MUST be filterable by specification, section, level and status; an unknown specification or
##% section is an error.
def filter_requirements(view: TraceView, given: ListInput, requirements: Sequence[Requirement]) -> list[Requirement]:
    """The requirements that pass the filters. An unknown specification or section is an error, not an empty list."""
    catalog = view.catalog
    chosen, entry = list(requirements), None
    if given.spec is not None:
        entry = catalog.resolve(given.spec)
        if entry is None:
            known = ", ".join(list(catalog.specifications)[:20]) or "none"
            raise InvalidRequest(f"No specification {safe_repr(given.spec)}.", hint=f"Known: {known}.")
        chosen = [r for r in chosen if r.target == entry.target]
    if given.section is not None:
        searched = [entry] if entry is not None else list(catalog.specifications.values())
        named = {e.target: e.section(given.section) for e in searched}
        if not any(named.values()):
            where = f" in {entry.id}" if entry is not None else ""
            path = entry.path if entry is not None else "/specifications/{spec_id}"
            raise InvalidRequest(f"No section {safe_repr(given.section)}{where}.", hint=f"Read {path}/sections.")
        chosen = [r for r in chosen if r.section is named[r.target]]
    if given.level is not None:
        chosen = [r for r in chosen if level_word(r.level) == given.level]
    if given.status is not None:
        chosen = [r for r in chosen if SIMPLE_STATUS[r.status] == given.status]
    return chosen
