"""The search group: queries on indexes of up to 100,000 chunks, compared with a NumPy scan and ripgrep on the same text."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.clients import environment
from benchmarks.figures import Figure, Plan, alternate, percentile
from benchmarks.index_project import RandomEmbedder, build_store, queries, random_vectors
from contextive.search.answer import Mode, SearchRequest
from contextive.search.filters import ParsedFilters
from contextive.search.graph import GraphService
from contextive.search.service import SearchService
from contextive.store import open_store
from contextive.store.values import ChunkFilter

HYBRID_LIMIT_MS = 15.0
COLD_LIMIT_MS = 400.0
MEMORY_LIMIT_MB = 400.0
GROWTH_BUDGET = 10.0
"""Ten times as many chunks may cost at most ten times as much."""
_COLD = """
import json, sys, time
start = time.perf_counter()
from pathlib import Path
from benchmarks.index_project import RandomEmbedder
from contextive.search.answer import SearchRequest
from contextive.search.service import SearchService
from contextive.store import open_store
imported = time.perf_counter()
store = open_store(Path(sys.argv[1]))
service = SearchService(store, RandomEmbedder)
service.search(SearchRequest(sys.argv[2]))
opened = time.perf_counter()
from contextive.search.embedding.minilm import MiniLmEmbedder
model = MiniLmEmbedder()
for query in json.loads(sys.argv[3]):
    model.embed_query(query)
    service.search(SearchRequest(query))
status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
memory = int(status["VmHWM"].split()[0]) / 1024  # getrusage would include the process that started this one
print(json.dumps([(imported - start) * 1000, (opened - imported) * 1000, memory]))
"""


def measure(plan: Plan) -> Iterator[Figure]:
    """All figures of the group; the large index only in a full run."""
    yield _query_embedding()
    sizes = (1_000, 10_000) if plan.starts < 5 else (1_000, 10_000, 100_000)
    measured: dict[str, list[Figure]] = {}
    for chunks in sizes:
        with tempfile.TemporaryDirectory(prefix="contextive-bench-") as folder:
            state = Path(folder) / "state"
            build_store(state, chunks)
            for figure in _questions(state, Path(folder), chunks, max(40, plan.calls // 2)):
                kind, _, rest = figure.name.partition(f", {chunks // 1000} k")
                if rest == ", p50":
                    measured.setdefault(kind, []).append(figure)
                yield figure
    yield from _growth(sizes, measured)


def _growth(sizes: Sequence[int], measured: Mapping[str, Sequence[Figure]]) -> Iterator[Figure]:
    """The cost of ten times as many chunks. A ratio of 10 means linear growth."""
    for kind, figures in measured.items():
        for size, (small, large) in zip(sizes[1:], pairwise(figures), strict=True):
            name = f"{kind}, from {size // 10_000} k to {size // 1000} k"
            yield Figure(name, "ms", large.ours, small.ours, "a tenth of the chunks", GROWTH_BUDGET)


def _questions(state: Path, folder: Path, chunks: int, count: int) -> Iterator[Figure]:
    size = f"{chunks // 1000} k"
    store = open_store(state)
    service = SearchService(store, RandomEmbedder)
    asked = queries(count)
    matrix = random_vectors(1, chunks)
    scan = [_timed(lambda: _scan(matrix)) for _ in range(20)]
    for query in asked[:10]:
        service.search(SearchRequest(query))
    modes: tuple[Mode, ...] = ("lexical", "dense", "hybrid")
    for mode in modes:
        times = [_timed(partial(_ask, service, query, mode)) for query in asked]
        limit = HYBRID_LIMIT_MS if mode == "hybrid" else None
        yield Figure(f"{mode}, {size}, p50", "ms", times, scan, "NumPy scan of float32", limit=limit)
        yield Figure(f"{mode}, {size}, p99", "ms", [percentile(times, 99)], scan, "NumPy scan of float32")
    where = ParsedFilters(ChunkFilter(subsystems=("Part3",), artifact_types=("code", "test")))
    filtered, plain = alternate(
        count,
        lambda: _timed(lambda: _ask(service, asked[0], "hybrid", where)),
        lambda: _timed(lambda: _ask(service, asked[0], "hybrid")),
    )
    yield Figure(f"hybrid with a filter, {size}, p50", "ms", filtered, plain, "without the filter", 2.0)
    graph = GraphService(store)
    hops = [_timed(partial(_surroundings, graph, f"Part{n}")) for n in range(20)]
    yield Figure(f"graph, two hops, {size}, p50", "ms", hops, scan, "NumPy scan of float32")
    if ripgrep := shutil.which("rg"):
        text = folder / "text"
        _write_texts(store, text)
        words = [query.split()[-1] for query in asked[:20]]
        found = [_timed(partial(_grep, ripgrep, w, text)) for w in words]
        ours = [_timed(partial(_ask, service, w, "lexical")) for w in words]
        yield Figure(f"one word, {size}, p50", "ms", ours, found, "ripgrep over the same text")
    store.close()
    cold = [_cold(state, asked) for _ in range(3)]
    opened, imports, memory = ([one[column] for one in cold] for column in (1, 0, 2))
    yield Figure(f"first query after opening, {size}", "ms", opened, imports, "the imports", limit=COLD_LIMIT_MS)
    yield Figure(f"memory with the model, {size}", "MB", memory, [MEMORY_LIMIT_MB], "the limit", limit=MEMORY_LIMIT_MB)


def _query_embedding() -> Figure:
    from contextive.search.embedding.minilm import MiniLmEmbedder

    model = MiniLmEmbedder()
    texts = queries(40)
    model.embed_query(texts[0])
    ours = [_timed(partial(model.embed_query, text)) for text in texts]
    matrix = random_vectors(1, 10_000)
    return Figure(
        "embedding of a query", "ms", ours, [_timed(lambda: _scan(matrix)) for _ in range(20)], "NumPy scan of 10 k"
    )


def _ask(service: SearchService, query: str, mode: Mode, where: ParsedFilters | None = None) -> object:
    return service.search(SearchRequest(query, mode=mode, filters=where or ParsedFilters()))


def _surroundings(graph: GraphService, name: str) -> object:
    """The first page, as km-graph-subsystem requests it. With ten times as many chunks, two hops reach ten times as many nodes;
    all are counted, but the page has the same length."""
    return graph.subsystem(name, depth=2, limit=25, include_artifacts=True)


def _scan(matrix: Any) -> object:
    scores = matrix @ matrix[0]
    return np.argpartition(scores, -100)[-100:]


def _timed(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return (time.perf_counter() - start) * 1000


def _write_texts(store: Any, folder: Path) -> None:
    folder.mkdir()
    for number, row in enumerate(store.files.artifacts()):
        text = "\n".join(chunk.chunk.text for chunk in store.files.chunks_of(row.artifact.path))
        (folder / f"{number}.txt").write_text(text, encoding="utf-8")


def _grep(ripgrep: str, word: str, folder: Path) -> object:
    return subprocess.run([ripgrep, "-l", "-w", word, str(folder)], capture_output=True, check=False)


def _cold(state: Path, asked: Sequence[str]) -> tuple[float, float, float]:
    done = subprocess.run(
        [sys.executable, "-c", _COLD, str(state), asked[0], json.dumps(list(asked[:200]))],
        env=environment(), check=True, capture_output=True, text=True, cwd=Path(__file__).parents[1],
    )  # fmt: skip
    imported, opened, memory = json.loads(done.stdout)
    return imported, opened, memory
