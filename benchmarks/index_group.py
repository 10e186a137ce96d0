"""The index group: ingesting files, compared with reading and hashing the same files."""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.figures import Figure, Plan, alternate
from benchmarks.index_project import write_repository
from contextive.ingest.settings import IngestRequest
from contextive.search.index import EmbeddingSettings, Index, IndexSettings

FIRST_LIMIT_MS = 1000 / 300
AGAIN_LIMIT_MS = 1000 / 5_000
GROWTH_BUDGET = 1.5


def measure(plan: Plan) -> Iterator[Figure]:
    """All figures of the group. Times are per file unless the name says otherwise."""
    files = 600 if plan.starts < 5 else 3_000
    rounds = max(3, plan.starts // 5)
    with tempfile.TemporaryDirectory(prefix="contextive-bench-") as folder:
        root = Path(folder) / "project"
        write_repository(root, files)
        states = iter(Path(folder) / f"state{number}" for number in range(1000))
        first, read = alternate(rounds, lambda: _first_ms(root, next(states), files), lambda: _read_ms(root, files))
        yield Figure(f"ingest, a file of {files}", "ms", first, read, "reading and hashing it", limit=FIRST_LIMIT_MS)
        index = _index(root, next(states))
        index.ingest(IngestRequest())
        again, read = alternate(rounds * 3, lambda: _again_ms(index, files), lambda: _read_ms(root, files))
        yield Figure(
            "ingest again, nothing changed, a file", "ms", again, read, "reading and hashing it", limit=AGAIN_LIMIT_MS
        )
        page = root / "src/app/part4/page4.md"
        edited, read = alternate(rounds * 3, lambda: _edit_ms(index, page), lambda: _read_ms(root, files) * files)
        yield Figure("ingest again, one file changed, all files", "ms", edited, read, "reading and hashing all files")
        index.close()
    yield _growth(files)


def _growth(files: int) -> Figure:
    """The cost per file with ten times as many files. A ratio of 1 means that the total cost grows linearly."""
    with tempfile.TemporaryDirectory(prefix="contextive-bench-") as folder:
        costs = []
        for count in (files // 3, files * 10 // 3):
            root = Path(folder) / f"project{count}"
            write_repository(root, count)
            costs.append(_first_ms(root, Path(folder) / f"state{count}", count))
    few, many = costs
    name = f"ingest, a file, from {files // 3:,} to {files * 10 // 3:,}"
    return Figure(name, "ms", [many], [few], "a file among a tenth as many", GROWTH_BUDGET)


def _index(root: Path, state: Path) -> Index:
    """An index as a server opens it, without embeddings."""
    processes = min(4, os.cpu_count() or 1)
    return Index(IndexSettings(root, state, embedding=EmbeddingSettings("none"), parser_processes=processes))


def _first_ms(root: Path, state: Path, files: int) -> float:
    index = _index(root, state)
    start = time.perf_counter()
    index.ingest(IngestRequest())
    spent = (time.perf_counter() - start) * 1000 / files
    index.close()
    return spent


def _again_ms(index: Index, files: int) -> float:
    start = time.perf_counter()
    index.ingest(IngestRequest(), always_record=False)
    return (time.perf_counter() - start) * 1000 / files


def _edit_ms(index: Index, page: Path) -> float:
    page.write_text(page.read_text(encoding="utf-8") + "One more sentence.\n", encoding="utf-8")
    start = time.perf_counter()
    index.ingest(IngestRequest(), always_record=False)
    return (time.perf_counter() - start) * 1000


def _read_ms(root: Path, files: int) -> float:
    start = time.perf_counter()
    for path in root.rglob("*"):
        if path.is_file():
            hashlib.sha256(path.read_bytes()).digest()
    return (time.perf_counter() - start) * 1000 / files
