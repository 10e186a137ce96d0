"""`km-search` and `km-search-batch`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from contextive.packs.knowledge.pack import LABELS, index_of, offers, pack
from contextive.packs.knowledge.search_answers import concise_answer, full_answer
from contextive.registry import Context, Reply, ToolInput, ToolOutput
from contextive.registry.budget import Detail

if TYPE_CHECKING:
    from contextive.search.answer import SearchResponse
    from contextive.store.values import SearchEvent

OneOrMore = str | list[str]
_FEEDBACK_TOOL = "km-feedback-submit"
_FEEDBACK_PROMPT = f"Report with {_FEEDBACK_TOOL} which results helped."
_TOKENS_PER_RESULT, _LEAST_TOKENS = 250, 2_500
_MAX_RESULTS = 25
_BATCH_TOKENS_PER_RESULT, _LEAST_BATCH_TOKENS = 195, 400
"""The budget of one answer of a batch, which has no graph context."""


##= docs/spec/knowledge.md#km-search-requests
##% The filters MUST be `subsystems`, `artifact_types`, `namespaces`, `tags`, `symbols`, `symbol_kinds`,
##% `symbol_languages`, `updated_after` and `max_age_days`.
class SearchFilters(ToolInput):
    subsystems: list[str] | None = Field(None, description="Names of subsystems")
    artifact_types: list[str] | None = Field(None, description="code, doc, test, proto, config")
    namespaces: list[str] | None = Field(None, description="First path segments")
    tags: list[str] | None = Field(None, description="Any of these tags")
    symbols: list[str] | None = Field(None, description="Qualified names")
    symbol_kinds: list[str] | None = Field(None, description="class, function, method, interface, type")
    symbol_languages: list[str] | None = Field(None, description="python, typescript, go, …")
    updated_after: str | None = Field(None, description="ISO 8601")
    max_age_days: int | None = Field(None, gt=0, description="Days since the last commit")


##= docs/spec/knowledge.md#km-search-requests
##% The tool `km-search` MUST take `query`, and optionally `limit`, `include_graph`, `filters` and `sort_by_vector`.
class SearchInput(ToolInput):
    query: str = Field(min_length=1, max_length=20_000, description="Question, words or identifiers")
    limit: int = Field(10, description="1 to 25")
    include_graph: bool = Field(True, description="Add graph context")
    filters: SearchFilters | None = Field(None, description="Only matching results")
    sort_by_vector: bool | None = Field(None, description="Order by semantic similarity only")
    symbol: OneOrMore | None = Field(None, description="Shortcut for filters.symbols")
    kind: OneOrMore | None = Field(None, description="Shortcut for filters.symbol_kinds")
    lang: OneOrMore | None = Field(None, description="Shortcut for filters.symbol_languages")
    group: Literal["file", "chunk"] = Field("file", description="The best chunk of each file, or the best chunks")
    detail: Detail = "concise"
    explain: bool = Field(False, description="Add the parts of each score")
    context: dict[str, Any] | None = Field(None, description="Stored with the results for later votes")


class SearchAnswer(ToolOutput):
    ##= docs/spec/gateway.md#tool-results
    ##% Every result of a tool in the knowledge pack MUST have a `status`.
    status: Literal["success"] = "success"
    query: str
    results: list[dict[str, Any]] = Field(description="chunk, graph_context, scoring")
    metadata: dict[str, Any]
    as_of: dict[str, Any]


@pack.tool(
    "km-search",
    title="Search the project",
    description="Hybrid (semantic and lexical) search over documents, code, tests, requirements and notes. "
    "Each result has path, lines, text, symbols, facts from the graph, and a score.",
    essential=True,
    labels=LABELS,
    invocation_hints="to find where something is done, decided or described, before reading files",
    untrusted=("results", "metadata"),
    output=SearchAnswer,
)
def search(given: SearchInput, ctx: Context) -> Reply:
    tokens = max(_LEAST_TOKENS, _TOKENS_PER_RESULT * _bounded(given.limit))
    return Reply(data=_run_search(given, ctx, ctx.request_id, tokens))


def _bounded(limit: int) -> int:
    return max(1, min(limit, _MAX_RESULTS))


def _run_search(given: SearchInput, ctx: Context, request_id: str, tokens: int) -> dict[str, Any]:
    from contextive.search.answer import SearchRequest
    from contextive.search.filters import parse_filters
    from contextive.search.graph_facts import graph_facts

    index = index_of(ctx)
    filters = given.filters.model_dump(exclude_none=True) if given.filters else None
    request = SearchRequest(
        query=given.query,
        limit=given.limit,
        include_graph=given.include_graph,
        filters=parse_filters(filters, now=time.time(), symbol=given.symbol, kind=given.kind, lang=given.lang),
        sort_by_vector=given.sort_by_vector,
        explain=given.explain,
        group=given.group,
        request_id=request_id,
    )
    response = index.search.search(request)
    index.search_event_log.add(list(_events(response, given.context)))
    as_of = index.with_pending(response.as_of)
    prompt = _FEEDBACK_PROMPT if response.results and offers(ctx, _FEEDBACK_TOOL) else None
    if given.detail == "full":
        return full_answer(response, as_of, prompt)
    facts = graph_facts(index.store, [result.chunk for result in response.results]) if given.include_graph else None
    return concise_answer(response, as_of, facts, prompt, tokens)


class BatchInput(ToolInput):
    queries: list[Annotated[str, Field(min_length=1, max_length=20_000)]] = Field(
        min_length=1, max_length=10, description="Up to 10 questions"
    )
    limit: int = Field(5, description="Results for each, 1 to 25")
    detail: Detail = "concise"


class BatchAnswer(ToolOutput):
    status: Literal["success"] = "success"
    answers: list[dict[str, Any]] = Field(description="One km-search answer for each query")


##= docs/spec/knowledge.md#other-query-tools
##% The tool `km-search-batch` MUST answer up to ten queries, each in the same way as `km-search` without graph context.
@pack.tool(
    "km-search-batch",
    title="Several searches",
    description="Several km-search queries at once, without graph context.",
    labels=LABELS,
    invocation_hints="to search for several things, or for one thing in different words",
    untrusted=("answers",),
    output=BatchAnswer,
)
def search_batch(given: BatchInput, ctx: Context) -> Reply:
    answers = []
    for number, query in enumerate(given.queries):
        request = SearchInput(query=query, limit=given.limit, include_graph=False, detail=given.detail)
        tokens = max(_LEAST_BATCH_TOKENS, _BATCH_TOKENS_PER_RESULT * _bounded(given.limit))
        answers.append(_run_search(request, ctx, f"{ctx.request_id}-{number}", tokens))
    return Reply(data={"status": "success", "answers": answers})


def _events(response: SearchResponse, context: dict[str, Any] | None) -> Iterator[SearchEvent]:
    """One row for each returned result, which later votes refer to."""
    from contextive.store.values import SearchEvent

    for rank, result in enumerate(response.results, 1):
        yield SearchEvent(
            request_id=response.metadata.request_id,
            timestamp=time.time(),
            rank=rank,
            query=response.query,
            chunk_id=result.chunk.chunk_id,
            body={
                "result_count": response.metadata.result_count,
                "artifact_path": result.chunk.artifact_path,
                "artifact_type": result.chunk.artifact_type,
                "subsystem": result.chunk.subsystem,
                "vector_score": result.scoring.vector_score,
                "lexical_score": result.scoring.lexical_score,
                "adjusted_score": result.scoring.adjusted_score,
                "signals": {key: value for key, value in asdict(result.scoring.signals).items() if value is not None},
                "graph_context_present": result.graph_context is not None,
                "context": context or {},
            },
        )
