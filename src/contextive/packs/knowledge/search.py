"""`km-search` and `km-search-batch`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from contextive.packs.knowledge.pack import LABELS, as_of_to_dict, index_of, node_to_dict, pack
from contextive.registry import Context, Reply, ToolInput, ToolOutput

if TYPE_CHECKING:
    from contextive.search.answer import FoundSymbol, SearchResponse, SearchResult
    from contextive.search.graph_context import GraphContext
    from contextive.store.values import SearchEvent

OneOrMore = str | list[str]
_NULLABLE_FIELDS = ("subsystem", "subsystem_criticality", "git_timestamp")
"""Fields of a chunk that are included even if null."""
_FEEDBACK_PROMPT = "Report with km-feedback-submit which results helped."


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
    query: str = Field(min_length=1, max_length=4000, description="Question, words or identifiers")
    limit: int = Field(10, description="1 to 25")
    include_graph: bool = Field(True, description="Add graph context")
    filters: SearchFilters | None = Field(None, description="Only matching results")
    sort_by_vector: bool | None = Field(None, description="Order by semantic similarity only")
    symbol: OneOrMore | None = Field(None, description="Shortcut for filters.symbols")
    kind: OneOrMore | None = Field(None, description="Shortcut for filters.symbol_kinds")
    lang: OneOrMore | None = Field(None, description="Shortcut for filters.symbol_languages")
    detail: Literal["concise", "full"] = Field("concise", description="full returns whole chunks")
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
    "Each result has path, lines, snippet, graph context and scores; use metadata.request_id to vote.",
    labels=LABELS,
    invocation_hints="to find where something is done, decided or described, before reading files",
    output=SearchAnswer,
)
def search(given: SearchInput, ctx: Context) -> Reply:
    return Reply(data=_run_search(given, ctx, ctx.request_id))


def _run_search(given: SearchInput, ctx: Context, request_id: str) -> dict[str, Any]:
    from contextive.search.answer import SearchRequest
    from contextive.search.filters import parse_filters

    index = index_of(ctx)
    filters = given.filters.model_dump(exclude_none=True) if given.filters else None
    request = SearchRequest(
        query=given.query,
        limit=given.limit,
        include_graph=given.include_graph,
        filters=parse_filters(filters, now=time.time(), symbol=given.symbol, kind=given.kind, lang=given.lang),
        sort_by_vector=given.sort_by_vector,
        detail=given.detail,
        explain=given.explain,
        request_id=request_id,
    )
    response = index.search.search(request)
    index.search_event_log.add(list(_events(response, given.context)))
    return response_to_dict(response, index.with_pending(response.as_of))


class BatchInput(ToolInput):
    queries: list[Annotated[str, Field(min_length=1, max_length=4000)]] = Field(
        min_length=1, max_length=10, description="Up to 10 questions"
    )
    limit: int = Field(5, description="Results for each, 1 to 25")


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
    output=BatchAnswer,
)
def search_batch(given: BatchInput, ctx: Context) -> Reply:
    answers = []
    for number, query in enumerate(given.queries):
        request = SearchInput(query=query, limit=given.limit, include_graph=False)
        answers.append(_run_search(request, ctx, f"{ctx.request_id}-{number}"))
    return Reply(data={"status": "success", "answers": answers})


##= docs/spec/knowledge.md#km-search-answers
##% The `metadata` of an answer MUST contain a `request_id` that a later vote can refer to.
def response_to_dict(response: SearchResponse, as_of: Any) -> dict[str, Any]:
    """A search answer as a JSON object."""
    metadata = asdict(response.metadata)
    for optional in ("filters_applied", "embedding_model", "truncated_results"):
        if not metadata[optional]:
            del metadata[optional]
    metadata["warnings"] = list(response.metadata.warnings)
    if response.results:
        metadata["feedback_prompt"] = _FEEDBACK_PROMPT
    return {
        "status": "success",
        "query": response.query,
        "results": [_result_to_dict(result) for result in response.results],
        "metadata": metadata,
        "as_of": as_of_to_dict(as_of),
    }


##= docs/spec/knowledge.md#km-search-answers
##% Each result MUST have `chunk`, `graph_context` and `scoring`.
##= docs/spec/knowledge.md#km-search-answers
##% A shortened chunk MUST say how much is missing and how to get the rest.
def _result_to_dict(result: SearchResult) -> dict[str, Any]:
    chunk = asdict(result.chunk)
    for internal in ("symbol_ids", "truncated"):
        chunk.pop(internal)
    if result.chunk.truncated:
        chunk["text_omitted"] = f"{result.chunk.truncated} more characters; detail=full returns all"
    chunk["symbols"] = [_symbol_to_dict(symbol) for symbol in result.chunk.symbols]
    chunk["tags"] = list(result.chunk.tags)
    scoring = asdict(result.scoring)
    scoring["signals"] = result.scoring.signals.as_dict()
    data: dict[str, Any] = {
        "chunk": {key: value for key, value in chunk.items() if value is not None or key in _NULLABLE_FIELDS},
        "graph_context": _graph_context_to_dict(result.graph_context),
        "scoring": scoring,
    }
    if result.explain is not None:
        data["explain"] = dict(result.explain)
    return data


##= docs/spec/knowledge.md#km-search-answers
##% A chunk MUST list its symbols with id, qualified name and lines if `knowledge.symbols` is true.
def _symbol_to_dict(found: FoundSymbol) -> dict[str, Any]:
    symbol = asdict(found.symbol)
    if found.editor_uri:
        symbol["editor_uri"] = found.editor_uri
    return symbol


def _graph_context_to_dict(context: GraphContext | None) -> dict[str, Any] | None:
    if context is None:
        return None
    return {
        "primary_node": node_to_dict(context.primary_node),
        "relationships": [
            {"type": seen.type, "direction": seen.direction, "target": node_to_dict(seen.target)}
            for seen in context.relationships
        ],
        "neighbor_subsystems": list(context.neighbor_subsystems),
        "related_artifacts": [{"id": item.id, "relationship": item.relationship} for item in context.related_artifacts],
    }


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
