"""`find_usages`: where a symbol is defined, called and tested."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from contextive.errors import InvalidRequest
from contextive.packs.knowledge.graph import GraphAnswer
from contextive.packs.knowledge.pack import LABELS, Cursor, as_of_to_dict, index_of, pack
from contextive.registry import Context, Reply, ToolInput
from contextive.registry.budget import estimated_tokens, first_that_fit, page_within

if TYPE_CHECKING:
    from contextive.search.index import Index
    from contextive.search.usages import Definition, Usage, UsageFinder

_TOKENS = 2_000
_FRAME_TOKENS = 120
"""Tokens for the fields around the lists: counts, cursor and the state of the index."""
_DEFINITION_TOKENS = 200
_OTHER_TOKENS = 300


class UsagesInput(ToolInput):
    name: str | None = Field(None, max_length=2000, description="Class.method or bare name")
    id: str | None = Field(None, max_length=2000, description="Or its id")
    path: str | None = Field(None, max_length=2000, description="File or folder that defines it")
    cursor: Cursor = None


class UsagesAnswer(GraphAnswer):
    usages: list[dict[str, Any]] = Field(description="at, symbol, kind (call, test), match (exact, by_name)")


##= docs/spec/knowledge.md#find-usages
##% The tool `find_usages` MUST take `name` or `id` and return the definitions, calls and tests of a symbol, each with
##% its path and line, and marked `exact` or `by_name`.
##= docs/spec/knowledge.md#find-usages
##% An answer MUST NOT exceed 2,000 tokens, and more usages follow with `cursor`.
@pack.tool(
    "find_usages",
    title="Find usages",
    description="Where a function, method or class is defined, called and tested.",
    labels=LABELS,
    invocation_hints="before changing or removing a symbol",
    untrusted=("usages",),
    output=UsagesAnswer,
)
def find_usages(given: UsagesInput, ctx: Context) -> Reply:
    name = (given.id or given.name or "").strip()
    if not name or (given.id and given.name):
        raise InvalidRequest("Give either name or id.", hint="For example name: Class.method.")
    index = index_of(ctx)
    finder = index.usages
    found = finder.definitions(name, given.path)
    kind = f"find_usages {name} {given.path}"
    if found.chosen is None:
        return _reply(index, _candidates(finder, kind, found.others, given.cursor))
    return _reply(index, _usages(finder, kind, found.chosen, found.others, given.cursor))


def _usages(
    finder: UsageFinder, kind: str, chosen: Definition, others: tuple[Definition, ...], cursor: str | None
) -> dict[str, Any]:
    usages = finder.usages(chosen)
    calls = sum(usage.kind == "call" for usage in usages)
    definitions = first_that_fit((_definition_rows(chosen)), _DEFINITION_TOKENS)
    shown_others = first_that_fit([_candidate(finder, one, counted=False) for one in others[:50]], _OTHER_TOKENS)
    page = page_within(
        kind,
        usages,
        cursor,
        tokens=_TOKENS - _FRAME_TOKENS - estimated_tokens([definitions, shown_others]),
        show=_usage,
        limit=len(usages),
    )
    return {
        "definitions": definitions,
        "usages": list(page.items),
        "calls": calls,
        "tests": len(usages) - calls,
        "candidates": shown_others or None,
        "cursor": page.next_cursor,
    }


def _candidates(
    finder: UsageFinder, kind: str, candidates: tuple[Definition, ...], cursor: str | None
) -> dict[str, Any]:
    """The answer for an ambiguous name: the candidates and how much each is used."""
    page = page_within(
        f"{kind} candidates",
        candidates,
        cursor,
        tokens=_TOKENS - 2 * _FRAME_TOKENS,
        show=lambda one: _candidate(finder, one, counted=True),
        limit=len(candidates),
    )
    return {
        "definitions": [],
        "usages": [],
        "candidates": list(page.items),
        "total": len(candidates),
        "warnings": [f"{len(candidates)} symbols have this name. Call again with the id of one, or with path."],
        "cursor": page.next_cursor,
    }


def _definition_rows(definition: Definition) -> list[dict[str, Any]]:
    return [
        {
            "at": f"{definition.path}:{symbol.line_start}",
            "symbol": symbol.qualified_name,
            "kind": symbol.kind,
            "id": symbol.id,
            "match": _match(by_name=not definition.is_exact),
        }
        for symbol in definition.symbols
    ]


def _candidate(finder: UsageFinder, definition: Definition, *, counted: bool) -> dict[str, Any]:
    symbol = definition.symbol
    row: dict[str, Any] = {"at": f"{definition.path}:{symbol.line_start}", "kind": symbol.kind, "id": symbol.id}
    if counted:
        usages = finder.usages(definition)
        calls = sum(usage.kind == "call" for usage in usages)
        row |= {"calls": calls, "tests": len(usages) - calls}
    return row


def _usage(usage: Usage) -> dict[str, Any]:
    row: dict[str, Any] = {"at": f"{usage.path}:{usage.line}"}
    if usage.symbol:
        row["symbol"] = usage.symbol
    return {**row, "kind": usage.kind, "match": _match(by_name=usage.by_name)}


def _match(*, by_name: bool) -> str:
    return "by_name" if by_name else "exact"


def _reply(index: Index, fields: dict[str, Any]) -> Reply:
    answer = {name: value for name, value in fields.items() if value is not None}
    return Reply(data={"status": "success", **answer, "as_of": as_of_to_dict(index.as_of())})
