"""The tools for specifications in spec-driven formats: what is planned, ticked, in the code and tested."""

from __future__ import annotations

from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field

from contextive.errors import InvalidRequest
from contextive.ingest.evidence_service import EvidenceService
from contextive.ingest.trace_service import TraceView
from contextive.packs.trace.lists import missing_specification_hint
from contextive.packs.trace.pack import LABELS, pack, view_of
from contextive.packs.trace.schemas import PageInput
from contextive.registry import Context, Reply
from contextive.registry.budget import estimated_tokens, page_within
from contextive.registry.registry import safe_repr
from contextive.trace.formats.values import FormatSpecification
from contextive.trace.spec_rows import (
    ambiguous_to_dicts,
    cited_rows,
    dangling_to_dicts,
    spec_row_to_dict,
    specification_rows,
    unread_to_dicts,
    with_evidence,
)
from contextive.trace.spec_status import totals
from contextive.trace.spec_trace import table

STATUS_TOKENS: Final = 2_000
_REST_TOKENS: Final = 60
_MOST_ROWS: Final = 1_000
_MOST_FURTHER: Final = 5


class StatusInput(PageInput):
    spec: str | None = Field(
        None,
        max_length=4096,
        description="One specification, such as kiro:user-auth: its requirements, the worst first",
    )


class StatusSchema(BaseModel):
    """The published output schema."""

    model_config = ConfigDict(extra="allow", frozen=True)

    result: list[dict[str, Any]]
    total: int
    totals: dict[str, int] | None = Field(None, description="Sums over all specifications")
    next_cursor: str | None = None


##= docs/spec/trace.md#spec-driven-formats
##% The tool `spec_status` MUST count, for each specification, the requirements that have a task, are ticked, named,
##% quoted or tested, and the references that are dangling or ambiguous.
##= docs/spec/trace.md#spec-driven-formats
##% An answer of `spec_status` MUST have at most 2000 tokens.
@pack.tool(
    "spec_status",
    title="Status of the specifications",
    description="What is planned, ticked, in the code and tested: one row for each specification (Kiro, spec-kit, OpenSpec, "
    "duvet), or with spec one for each of its requirements, the worst first, with tasks, code and tests, and evidence once "
    "test results were added.",
    labels=LABELS,
    invocation_hints="to see how far a project is, and what is ticked without being in the code",
    untrusted=("result", "dangling", "ambiguous", "not_understood"),
    output=StatusSchema,
)
def spec_status(given: StatusInput, ctx: Context) -> Reply:
    view = view_of(ctx)
    if given.spec is None:
        rows = table(view.catalog, view.state.formats)
        further: dict[str, Any] = {"totals": totals(rows)} if len(rows) > 1 else {}
        counts = ctx.service(EvidenceService).counts(view.catalog)
        items = [spec_row_to_dict(row) | counts.get(row.id, {}) for row in rows]
        if not items:
            further = {"note": missing_specification_hint(view)}
    else:
        items, further = _one_specification(view, given.spec)
        items = with_evidence(items, evidence_of_rows(view, ctx.service(EvidenceService), given.spec))
    tokens = STATUS_TOKENS - _REST_TOKENS - estimated_tokens(further)
    page = page_within(
        f"spec_status {given.spec}", items, given.cursor, tokens=tokens, show=dict, limit=given.limit or _MOST_ROWS
    )
    data = {"result": list(page.items), "total": len(items), **further}
    return Reply(data=data | ({"next_cursor": page.next_cursor} if page.next_cursor else {}))


def find_format_specification(view: TraceView, name: str) -> FormatSpecification | None:
    """The specification in a spec-driven format with this id or key, or whose document a path or id names."""
    formats = view.state.formats
    if name in formats.by_id:
        return formats.by_id[name]
    same_key = [one for one in formats.current if one.key == name]
    if len(same_key) == 1:
        return same_key[0]
    entry = view.catalog.resolve(name)
    document = view.catalog.analysis.declarations.documents.by_target.get(entry.target) if entry is not None else None
    return document.owner if document is not None else None


def evidence_of_rows(view: TraceView, service: EvidenceService, name: str) -> dict[str, str]:
    """How well the requirements of a specification are shown to work; empty if results of tests were never added."""
    specification, catalog = find_format_specification(view, name), view.catalog
    entry = catalog.resolve(name) if specification is None else None
    if specification is not None:
        handles = [specification.handle(requirement.key) for requirement in specification.requirements]
        chosen = [one for handle in handles for one in catalog.by_handle.get(handle, ())]
    else:
        chosen = list(catalog.requirements_of(entry)) if entry is not None else []
    return {name: state.words for name, state in service.described(chosen).items()}


def unknown_specification(view: TraceView, name: str) -> InvalidRequest:
    known = [row.id for row in table(view.catalog, view.state.formats)]
    return InvalidRequest(f"No specification {safe_repr(name)}.", hint=f"Known: {', '.join(known[:20]) or 'none'}.")


def _one_specification(view: TraceView, name: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The rows of one specification, and what is wrong with references to it."""
    specification = find_format_specification(view, name)
    if specification is None:
        entry = view.catalog.resolve(name)
        if entry is None:
            raise unknown_specification(view, name)
        return cited_rows(view.catalog, entry), {}
    formats = view.state.formats
    further = {
        "dangling": dangling_to_dicts(formats, specification),
        "ambiguous": ambiguous_to_dicts(formats, specification),
        "not_understood": unread_to_dicts([specification]),
    }
    return specification_rows(formats, specification), {
        key: found[:_MOST_FURTHER] for key, found in further.items() if found
    }
