"""What an index holds and how fresh it is, for people."""

from __future__ import annotations

from typing import Any

from contextive.search.index import Index


def status_of(index: Index) -> dict[str, Any]:
    """The facts of an index, the most asked for first."""
    as_of = index.as_of()
    run = index.last_run()
    counts: dict[str, int] = {}
    chunks = 0
    for row in index.store.artifacts():
        counts[row.artifact.artifact_type] = counts.get(row.artifact.artifact_type, 0) + 1
        chunks += row.chunk_count
    return {
        "files": sum(counts.values()),
        "by_type": dict(sorted(counts.items())),
        "chunks": chunks,
        "vectors": {f"{model.name}": count for model, count in index.store.vector_counts().items()},
        "vectors_to_make": as_of.pending_vectors,
        "left_out": index.skipped(),
        "generation": as_of.generation,
        "indexed_at": as_of.committed_at or None,
        "repo_head": as_of.repo_head,
        "last_run": {"profile": run.profile, "started_at": run.started_at, "success": run.success} if run else None,
        "now": index.status() or "idle",
        "store": dict(index.store.health()),
    }
