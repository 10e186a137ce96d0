"""Turns ranked chunks into the results of an answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from contextive.knowledge.tokeniser import query_terms, tokenise
from contextive.search.answer import FoundChunk, FoundSymbol, NearestMatch, Scoring, SearchResult
from contextive.search.candidates import Candidates
from contextive.search.editor_links import EditorLinks
from contextive.search.fusion import FusedHit
from contextive.search.graph_context import GraphContext
from contextive.search.ranking import RuledScore
from contextive.search.relevance import Evidence, Judgement, comparable_cosine
from contextive.search.signals import Signals
from contextive.store.values import ChunkHeader, ChunkRow


@dataclass(frozen=True, slots=True)
class RankedChunk:
    """A chunk with all its scores."""

    header: ChunkHeader
    fused: FusedHit
    ruled: RuledScore
    context: GraphContext | None
    criticality: str | float | None
    signals: Signals
    gain: float

    @property
    def adjusted(self) -> float:
        return self.ruled.score + self.gain


##= docs/spec/knowledge.md#relevance
##% The scores of different queries MUST be comparable.
def to_result(
    ranked: RankedChunk,
    row: ChunkRow,
    evidence: Evidence,
    judgement: Judgement[int],
    links: EditorLinks,
    more_in_file: int,
) -> SearchResult:
    """The result for a chunk, with scores that are comparable between queries."""
    chunk, artifact = row.chunk, row.artifact
    scale = judgement.best
    found = FoundChunk(
        chunk_id=chunk.chunk_id,
        artifact_path=artifact.path,
        artifact_type=artifact.artifact_type,
        subsystem=artifact.subsystem,
        namespace=artifact.namespace,
        tags=chunk.tags or artifact.tags,
        title=chunk.title,
        text=chunk.text,
        line_start=chunk.line_start,
        line_end=chunk.line_end,
        score=ranked.adjusted * scale,
        relevance=judgement.by_key[ranked.header.number],
        coverage_missing=bool(ranked.signals.coverage_missing),
        coverage_ratio=ranked.signals.coverage_ratio,
        subsystem_criticality=ranked.criticality,
        git_timestamp=artifact.git.timestamp if artifact.git else None,
        language=artifact.language,
        symbols=tuple(
            FoundSymbol(symbol, links.link(artifact.path, symbol.line_start, symbol.line_end)) for symbol in row.symbols
        ),
        editor_uri=links.link(artifact.path, chunk.line_start, chunk.line_end),
    )
    scoring = Scoring(
        vector_score=ranked.fused.cosine,
        lexical_score=ranked.fused.lexical,
        weighted_vector_score=ranked.fused.vector_share * scale,
        weighted_lexical_score=ranked.fused.lexical_share * scale,
        adjusted_score=ranked.adjusted * scale,
        signals=ranked.signals,
    )
    return SearchResult(found, ranked.context, scoring, evidence, more_in_file)


def evidence_of(
    ranked: Sequence[RankedChunk], rows: Mapping[int, ChunkRow], found: Candidates
) -> Mapping[int, Evidence]:
    """What each chunk has in common with the query, by chunk number."""
    evidence = {}
    for chunk in ranked:
        row = rows[chunk.header.number]
        tokens = frozenset(tokenise(f"{row.chunk.title}\n{row.artifact.path}\n{row.chunk.text}"))
        cosine = comparable_cosine(chunk.fused.cosine, found.model)
        evidence[chunk.header.number] = found.asked.topic.evidence(tokens, cosine)
    return evidence


def nearest_match(
    ranked: Sequence[RankedChunk], rows: Mapping[int, ChunkRow], judgement: Judgement[int]
) -> NearestMatch | None:
    """The chunk that is most likely to be about the query."""
    best = max(ranked, key=lambda chunk: judgement.by_key[chunk.header.number], default=None)
    if best is None:
        return None
    chunk, score = rows[best.header.number].chunk, best.adjusted * judgement.best
    return NearestMatch(chunk.chunk_id, best.header.artifact.path, chunk.title, chunk.line_start, chunk.line_end, score)


##= docs/spec/knowledge.md#km-search-answers
##% With `explain`, the parts of a score MUST add up to the score.
def explanation(query: str, ranked: RankedChunk, evidence: Evidence, scale: float) -> dict[str, Any]:
    """The parts of a score; their sum is the adjusted score. All are multiplied by the relevance of the best result."""
    return {
        "terms": list(query_terms(query)),
        "lexical": ranked.fused.lexical_share * scale,
        "vector": ranked.fused.vector_share * scale,
        "rules": {name: gain * scale for name, gain in ranked.ruled.gains.items()},
        "graph": ranked.gain * scale,
        "adjusted_score": ranked.adjusted * scale,
        "relevance": asdict(evidence),
    }
