"""The tool that reviews a change against the requirements."""

from __future__ import annotations

from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field

from contextive.errors import InvalidRequest
from contextive.ingest.notes_service import NotesService
from contextive.ingest.review_service import ReviewService
from contextive.packs.trace.lists import PAGE_SIZE
from contextive.packs.trace.pack import LABELS, pack
from contextive.packs.trace.schemas import PageInput
from contextive.registry import Context, Reply
from contextive.registry.budget import page_within
from contextive.registry.registry import safe_repr
from contextive.review.findings import Kind, count_kinds
from contextive.review.reports import finding_to_dict

REVIEW_TOKENS: Final = 2_000
_REST_TOKENS: Final = 250
_NO_LIMIT: Final = 10**9


class ReviewInput(PageInput):
    base: str | None = Field(
        None,
        max_length=256,
        description="Commit before the change; default: where it left the main branch",
    )
    head: str | None = Field(None, max_length=256, description="Commit after the change; default: the working tree")
    kind: str | None = Field(None, description="Only this kind, as in counts")


class ReviewSchema(BaseModel):
    """The published output schema."""

    model_config = ConfigDict(extra="allow", frozen=True)

    findings: list[dict[str, Any]] = Field(description="Each has id, kind, place, requirement, reason, do")
    counts: dict[str, int]
    as_of: dict[str, Any]
    next_cursor: str | None = None


##= docs/spec/review.md#findings
##% The tool `review_changes` MUST answer with `findings`, `counts` and `as_of` in at most 2000 tokens.
@pack.tool(
    "review_changes",
    title="Review a change",
    description="What a change means for the requirements: citations removed, moved or broken, code and tests changed under a "
    "citation, requirements added, reworded or removed. Moves, formatting and comments cause no finding.",
    labels=LABELS,
    invocation_hints="when you think that a change is done",
    untrusted=("findings",),
    output=ReviewSchema,
    timeout_seconds=60.0,
)
def review_changes(given: ReviewInput, ctx: Context) -> Reply:
    if given.kind is not None and given.kind not in tuple(Kind):
        raise InvalidRequest(f"No kind {safe_repr(given.kind)}.", hint=f"Kinds: {', '.join(Kind)}.")
    notes = ctx.service(NotesService)

    def mentioned_in(identifier: str) -> list[str]:
        return [note.path for note in notes.view().catalog.about_requirement(identifier)]

    review = (
        ctx.service(ReviewService).for_profile(ctx.profile).review(given.base, given.head, mentioned_in=mentioned_in)
    )
    chosen = [one for one in review.findings if given.kind in (None, one.kind.value)]
    limit = PAGE_SIZE if given.limit is None else given.limit
    tokens = REVIEW_TOKENS - _REST_TOKENS if given.limit is None else _NO_LIMIT
    page = page_within("review", chosen, given.cursor, tokens=tokens, show=finding_to_dict, limit=limit)
    data: dict[str, Any] = {"findings": list(page.items), "counts": count_kinds(chosen), "as_of": review.as_of}
    if page.next_cursor:
        data["next_cursor"] = page.next_cursor
    return Reply(data=data)
