"""How often search says that nothing relevant was found, rightly and wrongly.

    python -m benchmarks.relevance DIR=FILE …     measure indexed projects, each with its questions

A question file has one JSON object per line: `query`, and `relevant`, the files that answer it. The questions of --off-topic are
asked of every project except those that they name in `except`; by default they are those of benchmarks/judgements/relevance,
where the questions about some open-source projects are, too. A project needs an index:
`contextive-mcp ingest --project DIR`, with `--no-vectors` for the first row alone.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from contextive.search.answer import SearchRequest
from contextive.search.embedding.factory import open_embedder
from contextive.search.embedding.protocol import Embedder
from contextive.search.service import SearchService
from contextive.store import open_store
from contextive.store.protocol import Store
from contextive.store.values import ChunkFilter, SearchHits, VectorModel

OFF_TOPIC: Final = Path(__file__).parent / "judgements" / "relevance" / "off-topic.jsonl"
EMBEDDED_IN_TEN: Final = 3
"""Chunks with an embedding, out of ten, in the row of a partly embedded index."""
HEADER: Final = (
    '| project | search | real questions | "nothing relevant" | right file in the first ten | off-topic questions'
    ' | "nothing relevant" |\n|---|---|---|---|---|---|---|'
)


@dataclass(frozen=True, slots=True)
class Question:
    """A query, and the files that answer it; none if it is off topic."""

    query: str
    relevant: tuple[str, ...]
    excepted: tuple[str, ...] = ()
    """Projects in which the question is not off topic."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one kind of search answered to the questions about a project."""

    real: int
    missed: tuple[str, ...]
    """Real questions without results."""
    found: int
    """Real questions with a right file among the first ten results."""
    off_topic: int
    answered: tuple[str, ...]
    """Off-topic questions with results."""

    def row(self, project: str, search: str) -> str:
        refused = self.off_topic - len(self.answered)
        return (
            f"| {project} | {search} | {self.real} | {_percent(len(self.missed), self.real)} | {_percent(self.found, self.real)}"
            f" | {self.off_topic} | {_percent(refused, self.off_topic)} |"
        )


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"


def read_questions(path: Path) -> tuple[Question, ...]:
    """The questions of a file."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    return tuple(Question(row["query"], tuple(row["relevant"]), tuple(row.get("except", ()))) for row in rows)


def measure(service: SearchService, real: Sequence[Question], off_topic: Sequence[Question]) -> Outcome:
    """Ask all questions."""
    missed, found, answered = [], 0, []
    for question in real:
        paths = _found_paths(service, question.query)
        found += not paths.isdisjoint(question.relevant)
        if not paths:
            missed.append(question.query)
    for question in off_topic:
        if _found_paths(service, question.query):
            answered.append(question.query)
    return Outcome(len(real), tuple(missed), found, len(off_topic), tuple(answered))


def _found_paths(service: SearchService, query: str) -> set[str]:
    response = service.search(SearchRequest(query, include_graph=False))
    return {result.chunk.artifact_path for result in response.results}


class _PartlyEmbedded:
    """The search of a store as if only some chunks had an embedding."""

    def __init__(self, search: Any) -> None:
        self._search = search

    def __getattr__(self, name: str) -> Any:
        return getattr(self._search, name)

    def dense(self, model: VectorModel, vector: Any, k: int, where: ChunkFilter) -> SearchHits:
        hits = self._search.dense(model, vector, 10 * k, where)
        kept = [hit for hit in hits.hits if _has_embedding(hit.number)][:k]
        return SearchHits(tuple(kept), hits.generation, hits.is_behind)

    def cosines(self, model: VectorModel, vector: Any, numbers: Collection[int]) -> Mapping[int, float]:
        kept = [number for number in numbers if _has_embedding(number)]
        found: Mapping[int, float] = self._search.cosines(model, vector, kept)
        return found


def _has_embedding(number: int) -> bool:
    # A multiplicative hash: neighbouring chunks must not all be on the same side.
    return (number * 2654435761 % 2**32) * 10 >> 32 < EMBEDDED_IN_TEN


class _PartlyEmbeddedStore:
    """A store whose search is partly embedded."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.search = _PartlyEmbedded(store.search)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


def services(store: Store, embedder: Embedder) -> Iterator[tuple[str, SearchService]]:
    """The kinds of search that the index allows."""
    yield "words", SearchService(store)
    if store.search.vector_counts().get(embedder.model):
        partly: Any = _PartlyEmbeddedStore(store)
        yield f"{10 * EMBEDDED_IN_TEN} % embedded", SearchService(partly, lambda: embedder)
        yield "hybrid", SearchService(store, lambda: embedder)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("projects", nargs="+", metavar="DIR=FILE", help="an indexed project and its questions")
    parser.add_argument(
        "--off-topic", type=Path, default=OFF_TOPIC, metavar="FILE", help="questions about other things"
    )
    parser.add_argument("--list", action="store_true", help="also list the questions that were answered wrongly")
    arguments = parser.parse_args()
    embedder = open_embedder("minilm")
    print(HEADER)
    for project in arguments.projects:
        folder, _, file = project.partition("=")
        root = Path(folder)
        off_topic = [question for question in read_questions(arguments.off_topic) if root.name not in question.excepted]
        store = open_store(root / ".contextive", project=root)
        for name, service in services(store, embedder):
            outcome = measure(service, read_questions(Path(file)) if file else (), off_topic)
            print(outcome.row(root.name, name), flush=True)
            if arguments.list:
                print("\n".join(f"    missed: {query}" for query in outcome.missed))
                print("\n".join(f"    answered: {query}" for query in outcome.answered))
        store.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
