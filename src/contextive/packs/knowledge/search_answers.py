"""The two forms of a search answer: concise, which fits into a budget, and full, which has everything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from contextive.packs.knowledge.pack import as_of_to_dict, node_to_dict
from contextive.registry.budget import concise, cut_at_line, estimated_tokens, first_that_fit

if TYPE_CHECKING:
    from contextive.search.answer import FoundSymbol, SearchMetadata, SearchResponse, SearchResult
    from contextive.search.graph_context import GraphContext

_NULLABLE_FIELDS: Final = ("subsystem", "subsystem_criticality", "git_timestamp")
"""Fields of a chunk that the full form includes even if they are null."""
_LONG_TEXTS: Final = 3
"""The first results, which get a longer text than the others."""
_USUAL_SHARE: Final = 0.88
"""The share of the budget that usual answers take."""
_SIZES: Final = (
    (600, 250, 3, _USUAL_SHARE), (500, 200, 3, _USUAL_SHARE), (400, 150, 2, _USUAL_SHARE), (400, 150, 2, 1.0),
    (300, 120, 2, 1.0), (200, 80, 1, 1.0), (100, 50, 0, 1.0),
)  # fmt: skip
"""Characters of the text of the first results and of the others, facts of each result, and the share of the budget that
they may take together. The first row that fits is used."""
_WHOLE_TEXTS: Final = "detail=full returns whole texts"
_HINT_TOKENS: Final = 20
_MAX_SYMBOLS: Final = 2
_MAX_TITLE: Final = 160


##= docs/spec/knowledge.md#km-search-answers
##% With `detail=full`, an answer MUST contain whole chunks, all symbols, the graph context and all scores.
def full_answer(response: SearchResponse, as_of: Any, feedback_prompt: str | None) -> dict[str, Any]:
    """Everything about each result."""
    from contextive.knowledge.tokeniser import query_terms

    metadata = asdict(response.metadata)
    for optional in ("filters_applied", "embedding_model", "direct_scan", "message", "nearest", "corrected"):
        if not metadata[optional]:
            del metadata[optional]
    metadata["warnings"] = list(response.metadata.warnings)
    if feedback_prompt:
        metadata["feedback_prompt"] = feedback_prompt
    terms = query_terms(response.query)
    return {
        "status": "success",
        "query": response.query,
        "results": [_full_result(result, terms) for result in response.results],
        "metadata": metadata,
        "as_of": as_of_to_dict(as_of),
    }


##= docs/spec/knowledge.md#km-search-answers
##% Each result MUST have `chunk`, `graph_context` and `scoring`.
def _full_result(result: SearchResult, terms: Sequence[str]) -> dict[str, Any]:
    from contextive.search.snippets import best_lines

    found = result.chunk
    chunk = asdict(found)
    chunk["snippet"] = asdict(best_lines(found.text, (found.line_start, found.line_end), terms))
    chunk["symbols"] = [_full_symbol(symbol) for symbol in found.symbols]
    chunk["symbol_count"] = len(found.symbols)
    chunk["tags"] = list(found.tags)
    scoring = asdict(result.scoring)
    scoring["signals"] = result.scoring.signals.as_dict()
    data: dict[str, Any] = {
        "chunk": {key: value for key, value in chunk.items() if value is not None or key in _NULLABLE_FIELDS},
        "graph_context": _full_graph_context(result.graph_context),
        "scoring": scoring,
    }
    if result.more_in_file:
        data["more_in_file"] = result.more_in_file
    if result.explain is not None:
        data["explain"] = dict(result.explain)
    return data


##= docs/spec/knowledge.md#km-search-answers
##% A symbol MUST have an `editor_uri` if `knowledge.editorUriTemplate` is set.
def _full_symbol(found: FoundSymbol) -> dict[str, Any]:
    symbol = asdict(found.symbol)
    if found.editor_uri:
        symbol["editor_uri"] = found.editor_uri
    return symbol


def _full_graph_context(context: GraphContext | None) -> dict[str, Any] | None:
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


##= docs/spec/knowledge.md#km-search-answers
##% A concise answer with ten results MUST fit into 2,500 tokens.
def concise_answer(
    response: SearchResponse,
    as_of: Any,
    facts: Sequence[Sequence[str]] | None,
    feedback_prompt: str | None,
    tokens: int,
) -> dict[str, Any]:
    """What a model needs to choose a result, with texts as long as the budget allows.

    `facts` are short sentences from the graph about each result; None if the graph was not asked for.
    """
    from contextive.knowledge.tokeniser import query_terms

    terms = query_terms(response.query)
    answer: dict[str, Any] = {
        "status": "success",
        "query": response.query,
        "results": [],
        "metadata": _concise_metadata(response, feedback_prompt),
        "as_of": as_of_to_dict(as_of),
    }
    frame = estimated_tokens(answer) + _HINT_TOKENS
    for first, others, most_facts, share in _SIZES:
        answer["results"] = [
            _concise_result(
                result,
                None if facts is None else facts[rank][:most_facts],
                terms,
                first if rank < _LONG_TEXTS else others,
            )
            for rank, result in enumerate(response.results)
        ]
        if any("text_omitted" in result["chunk"] for result in answer["results"]):
            answer["metadata"]["hint"] = _WHOLE_TEXTS
        if frame + estimated_tokens(answer["results"]) <= tokens * share:
            return answer
    answer["results"] = first_that_fit(answer["results"], tokens - frame)
    answer["metadata"]["omitted_results"] = len(response.results) - len(answer["results"])
    return answer


##= docs/spec/knowledge.md#km-search-answers
##% The `metadata` of an answer MUST contain a `request_id` that a later vote can refer to.
def _concise_metadata(response: SearchResponse, feedback_prompt: str | None) -> dict[str, Any]:
    given = response.metadata
    metadata: dict[str, Any] = {
        "request_id": given.request_id,
        "result_count": given.result_count,
        "warnings": list(given.warnings),
    }
    if given.filters_applied:
        metadata["filters_applied"] = dict(given.filters_applied)
    if given.direct_scan:
        metadata["direct_scan"] = dict(given.direct_scan)
    metadata |= _relevance(given)
    if feedback_prompt:
        metadata["feedback_prompt"] = feedback_prompt
    return metadata


##= docs/spec/knowledge.md#relevance
##% The `metadata` of an answer MUST say in `relevance` whether anything relevant was found: `good`, `weak` or `none`.
def _relevance(given: SearchMetadata) -> dict[str, Any]:
    metadata: dict[str, Any] = {"relevance": given.relevance}
    if given.message:
        metadata["message"] = given.message
    if given.nearest is not None:
        metadata["nearest"] = concise(
            asdict(given.nearest) | {"title": cut_at_line(given.nearest.title, _MAX_TITLE)[0]}
        )
    if given.corrected:
        metadata["corrected"] = dict(given.corrected)
    return metadata


##= docs/spec/knowledge.md#km-search-answers
##% Graph context MUST be omitted if `include_graph` is false.
##= docs/spec/knowledge.md#km-search-answers
##% A shortened chunk MUST say how much is missing, and its answer how to get the rest.
def _concise_result(
    result: SearchResult, facts: Sequence[str] | None, terms: Sequence[str], characters: int
) -> dict[str, Any]:
    from contextive.search.snippets import passage

    found = result.chunk
    best = passage(found.text, (found.line_start, found.line_end), terms, characters)
    chunk: dict[str, Any] = {
        "chunk_id": found.chunk_id,
        "artifact_path": found.artifact_path,
        "line_start": found.line_start,
        "line_end": found.line_end,
        "title": cut_at_line(found.title, _MAX_TITLE)[0],
        "text": best.text,
    }
    if best.line_start != found.line_start:
        chunk["text_line_start"] = best.line_start
    if omitted := len(found.text) - len(best.text):
        chunk["text_omitted"] = omitted
    chunk["symbols"] = [_concise_symbol(symbol) for symbol in _best_symbols(found.symbols, terms)]
    chunk["symbol_count"] = len(found.symbols)
    if found.editor_uri:
        chunk["editor_uri"] = found.editor_uri
    data: dict[str, Any] = {"chunk": chunk}
    if facts is not None:
        data["graph_context"] = {"facts": list(facts)}
    if result.more_in_file:
        data["more_in_file"] = result.more_in_file
    data["scoring"] = {"adjusted_score": result.scoring.adjusted_score}
    shown: dict[str, Any] = concise(data)
    if result.explain is not None:  # not rounded, so that the parts add up
        shown["scoring"] = {"adjusted_score": result.scoring.adjusted_score}
        shown["explain"] = dict(result.explain)
    return shown


##= docs/spec/knowledge.md#km-search-answers
##% A chunk MUST list its symbols with id, qualified name and lines if `knowledge.symbols` is true.
def _concise_symbol(found: FoundSymbol) -> dict[str, Any]:
    symbol = found.symbol
    data: dict[str, Any] = {
        "id": symbol.id,
        "qualified_name": symbol.qualified_name,
        "line_start": symbol.line_start,
        "line_end": symbol.line_end,
    }
    return data | ({"editor_uri": found.editor_uri} if found.editor_uri else {})


def _best_symbols(symbols: Sequence[FoundSymbol], terms: Sequence[str]) -> Sequence[FoundSymbol]:
    """The symbols whose names share the most words with the query, else the first ones."""
    from contextive.knowledge.tokeniser import tokenise

    wanted = frozenset(terms)

    def shared(found: FoundSymbol) -> int:
        return -len(wanted.intersection(tokenise(found.symbol.qualified_name)))

    return sorted(symbols, key=shared)[:_MAX_SYMBOLS]
