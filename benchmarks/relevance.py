"""How often search says that nothing relevant was found, rightly and wrongly.

    python -m benchmarks.relevance --ingest CHECKOUTS [NAME …]

Each file NAME.jsonl in benchmarks/judgements/relevance holds the questions about one open-source project: `query`, and
`relevant`, the files that answer it. A project is measured if CHECKOUTS/NAME exists. With --ingest its index is brought
up to date first, in CHECKOUTS/NAME/.contextive, with --words without embeddings. The questions of off-topic.jsonl and
off-topic-held-out.jsonl are asked of every project, except those that they name in `except`.

After a change of the tokeniser, the ranking or the embeddings, measure again. `python -m benchmarks.relevance_fit` finds new
constants for contextive.search.relevance.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Collection, Iterator, Mapping
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

QUESTIONS: Final = Path(__file__).parent / "judgements" / "relevance"
OFF_TOPIC: Final = ("off-topic", "off-topic-held-out")
EMBEDDED_IN_TEN: Final = 3
"""Chunks with an embedding, out of ten, in the row of a partly embedded index."""
MOST_MISSED, LEAST_REFUSED = 0.02, 0.90
"""The limits for all projects together: real questions without results, and off-topic questions without results."""
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
class Project:
    """A checkout with its questions."""

    root: Path
    real: tuple[Question, ...]
    off_topic: tuple[Question, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one kind of search answered to questions."""

    real: int
    missed: tuple[str, ...]
    """Real questions without results."""
    found: int
    """Real questions with a right file among the first ten results."""
    off_topic: int
    answered: tuple[str, ...]
    """Off-topic questions with results."""

    def __add__(self, other: Outcome) -> Outcome:
        return Outcome(
            self.real + other.real,
            self.missed + other.missed,
            self.found + other.found,
            self.off_topic + other.off_topic,
            self.answered + other.answered,
        )

    @property
    def is_good(self) -> bool:
        refused = self.off_topic - len(self.answered)
        return len(self.missed) <= MOST_MISSED * self.real and refused >= LEAST_REFUSED * self.off_topic

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


def find_projects(checkouts: Path, names: Collection[str]) -> Iterator[Project]:
    """The projects that are checked out and have questions; all of them if no name is given."""
    off_topic = [question for name in OFF_TOPIC for question in read_questions(QUESTIONS / f"{name}.jsonl")]
    for file in sorted(QUESTIONS.glob("*.jsonl")):
        root = checkouts / file.stem
        if root.is_dir() and (file.stem in names or not names):
            others = tuple(question for question in off_topic if file.stem not in question.excepted)
            yield Project(root, read_questions(file), others)


def ingest(project: Project, *, words: bool) -> None:
    """Bring the index of a project up to date, in a process of its own."""
    command = [sys.executable, "-m", "contextive", "ingest", "--project", str(project.root)]
    subprocess.run([*command, "--no-vectors" if words else "--wait"], check=True, stdout=subprocess.DEVNULL)


def measure(service: SearchService, project: Project) -> Outcome:
    """Ask all questions."""
    missed, found, answered = [], 0, []
    for question in project.real:
        paths = _found_paths(service, question.query)
        found += not paths.isdisjoint(question.relevant)
        if not paths:
            missed.append(question.query)
    for question in project.off_topic:
        if _found_paths(service, question.query):
            answered.append(question.query)
    return Outcome(len(project.real), tuple(missed), found, len(project.off_topic), tuple(answered))


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
    parser.add_argument("checkouts", type=Path, help="folder with the projects")
    parser.add_argument("names", nargs="*", metavar="NAME", help="some of the projects; all by default")
    parser.add_argument("--ingest", action="store_true", help="bring the indexes up to date first")
    parser.add_argument("--words", action="store_true", help="with --ingest: without embeddings")
    parser.add_argument("--list", action="store_true", help="also list the questions that were answered wrongly")
    arguments = parser.parse_args()
    embedder = open_embedder("minilm")
    totals: dict[str, Outcome] = {}
    print(HEADER)
    for project in find_projects(arguments.checkouts, arguments.names):
        if arguments.ingest:
            ingest(project, words=arguments.words)
        store = open_store(project.root / ".contextive", project=project.root)
        for name, service in services(store, embedder):
            outcome = measure(service, project)
            totals[name] = totals[name] + outcome if name in totals else outcome
            print(outcome.row(project.root.name, name), flush=True)
            if arguments.list:
                print("\n".join(f"    missed: {query}" for query in outcome.missed))
                print("\n".join(f"    answered: {query}" for query in outcome.answered))
        store.close()
    for name, outcome in totals.items():
        print(outcome.row("all", name))
    return 0 if all(outcome.is_good for outcome in totals.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
