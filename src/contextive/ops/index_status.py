"""The data of `contextive-mcp status`: the content of the index and how current it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from contextive.packs.introspect import HealthCheck
from contextive.search.index import Index
from contextive.server.call_counts import CallCounts


def health_of(checks: Sequence[HealthCheck]) -> dict[str, Any]:
    """The same status as `/healthz`, with the reason for each failing check."""
    reasons = {check.name: check.reason for check in checks if not check.ok}
    return {"status": "degraded" if reasons else "ok", "reasons": reasons}


##= docs/spec/commands.md#status
##% The command `status` MUST show how often each tool was called.
def status_of(index: Index, health: Mapping[str, Any], calls: CallCounts) -> dict[str, Any]:
    """The state of the index, with the most important facts first."""
    as_of = index.as_of()
    run = index.last_run()
    totals = index.store.files.totals()
    return {
        "health": health,
        "files": sum(type_totals.files for type_totals in totals.values()),
        "by_type": {kind: type_totals.files for kind, type_totals in sorted(totals.items())},
        "chunks": sum(type_totals.chunks for type_totals in totals.values()),
        "vectors": {f"{model.name}": count for model, count in index.store.search.vector_counts().items()},
        "vectors_to_make": as_of.pending_vectors,
        "files_to_index": as_of.pending_files,
        "left_out": index.skipped(),
        "generation": as_of.generation,
        "indexed_at": as_of.committed_at or None,
        "repo_head": as_of.repo_head,
        "last_run": {"profile": run.profile, "started_at": run.started_at, "success": run.success} if run else None,
        "now": index.status() or "idle",
        "calls": {"since": calls.since or None, "by_tool": dict(calls.by_tool)},
        "store": dict(index.store.health()),
    }
