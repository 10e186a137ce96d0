"""`orient`: what this project is, and what to know before touching a part of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import Field

from contextive.errors import InvalidRequest, Unavailable, UnsupportedOperation
from contextive.ingest.notes_service import NotesService
from contextive.ingest.trace_service import TraceService
from contextive.registry import Context, Pack, Reply, ToolInput, ToolOutput
from contextive.registry.budget import shortened
from contextive.search.index import Index
from contextive.search.requirement_search import RequirementSearch

if TYPE_CHECKING:
    from contextive.search.orientation import Orientation, Overview
    from contextive.search.places import Place, Surroundings

pack = Pack("orient", title="Orientation", description="What to know before touching this project, in one call.")

_TOKENS: Final = 1_150
Text = Annotated[str | None, Field(min_length=1, max_length=4000)]


class OrientInput(ToolInput):
    task: Text = Field(None, description="What you are about to do, in your words")
    path: Text = Field(None, description="File or directory that you are about to touch")
    symbol: Text = Field(None, description="Function, class or Class.method that you are about to touch")


class OrientAnswer(ToolOutput):
    project: dict[str, Any] | None = None
    languages: dict[str, int] | None = None
    subsystems: dict[str, int] | None = None
    specifications: list[dict[str, Any]] | None = Field(None, description="name, done, total")
    read_first: list[dict[str, Any]] | None = None
    broken: list[str] | None = None
    requirements: list[dict[str, Any]] | None = Field(None, description="path, reason, title")
    code: list[dict[str, Any]] | None = Field(None, description="path, lines, reason, title")
    tests: list[dict[str, Any]] | None = None
    documents: list[dict[str, Any]] | None = None
    notes: list[dict[str, Any]] | None = None
    warnings: list[str] | None = None
    message: str | None = None


##= docs/spec/host.md#orientation
##% The tool `orient` MUST describe the project without arguments, and with a task, a path or a symbol what matters for
##% it, each place with path, lines and reason.
##= docs/spec/host.md#orientation
##% An answer of `orient` MUST have at most 1,200 tokens and leave out empty sections.
@pack.tool(
    "orient",
    title="Get oriented",
    description="What this project is, or, with a task, path or symbol, what to read before you touch it: requirements, code, "
    "tests, documents and notes that matter, each with its place and reason. Call it first.",
    labels=("orientation",),
    invocation_hints="first, and before changing a part of the project",
    untrusted=(
        "project",
        "subsystems",
        "specifications",
        "read_first",
        "requirements",
        "code",
        "tests",
        "documents",
        "notes",
    ),
    essential=True,
    output=OrientAnswer,
)
def orient(given: OrientInput, ctx: Context) -> Reply:
    if sum(argument is not None for argument in (given.task, given.path, given.symbol)) > 1:
        raise InvalidRequest("Give only one of task, path and symbol.")
    orientation = _orientation(ctx)
    if given.task is not None:
        data = _surroundings_to_dict(orientation.task(given.task))
    elif given.path is not None:
        data = _surroundings_to_dict(orientation.path(given.path))
    elif given.symbol is not None:
        data = _surroundings_to_dict(orientation.symbol(given.symbol))
    else:
        data = _overview_to_dict(orientation.overview())
    return Reply(data=shortened(data, _TOKENS).value)


def _orientation(ctx: Context) -> Orientation:
    from contextive.search.orientation import Orientation

    try:
        index = ctx.service(Index)
    except Unavailable:
        raise UnsupportedOperation(
            "orient needs a local index, and this server uses a gateway.", hint="Use km-search."
        ) from None
    return Orientation(
        index,
        ctx.service(TraceService).for_profile(ctx.profile),
        ctx.service(NotesService),
        ctx.service(RequirementSearch),
    )


def _overview_to_dict(overview: Overview) -> dict[str, Any]:
    return _without_empty(
        {
            "project": _without_empty({"name": overview.name, "summary": overview.summary}),
            "languages": dict(overview.languages),
            "subsystems": dict(overview.subsystems),
            "specifications": [{"name": s.name, "done": s.done, "total": s.total} for s in overview.specifications],
            "read_first": [_place_to_dict(place) for place in overview.read_first],
            "broken": list(overview.broken),
        }
    )


def _surroundings_to_dict(found: Surroundings) -> dict[str, Any]:
    sections = {name: [_place_to_dict(place) for place in places] for name, places in found.sections.items()}
    message = None if found.sections else "Nothing that matters for this was found."
    return _without_empty({**sections, "warnings": list(found.warnings), "message": message})


def _place_to_dict(place: Place) -> dict[str, Any]:
    return _without_empty({"path": place.path, "lines": place.lines, "title": place.title, "reason": place.reason})


def _without_empty(values: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value}
