"""Chunks without an embedding are counted in the same way by every report, from the first chunk to the last."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from contextive.cli.call import call_tool
from contextive.ingest.settings import IngestRequest
from contextive.ops.doctor_index import diagnose_index
from contextive.ops.index_status import status_of
from contextive.search import embedding_worker
from contextive.search.index import Index
from contextive.server.call_counts import CallCounts
from contextive.server.host import Host

from .conftest import OpenHost
from .repository import write_repository


def reported(host: Host) -> dict[str, Any]:
    """The number of missing embeddings in each report; 0 if the report has no such number."""
    index = host.services.get(Index)
    answer = call_tool(host, "km-search", {"query": "tide gauge"})
    health = {check.name: check.detail for check in host.checks()}
    doctor = next(found.detail for found in diagnose_index(host.loaded) if found.subject == "vectors")
    return {
        "search warning": _first_number(" ".join(answer["metadata"]["warnings"])),
        "as_of of the search": answer["as_of"].get("pending_vectors", 0),
        "as_of of the health": call_tool(host, "km-health-summary", {})["as_of"].get("pending_vectors", 0),
        "health of the index": int(re.findall(r"(\d+) vectors pending", health["index"])[0]),
        "health of the embeddings": _first_number(health["embeddings"]),
        "doctor": _first_number(doctor) if "no embedding" in doctor else 0,
        "status": status_of(index, {}, CallCounts())["vectors_to_make"],
        "metrics": int(float(re.findall(rb"\ncontextive_missing_embeddings (\S+)", host.render_metrics())[0])),
    }


def _first_number(text: str) -> int:
    return int((re.findall(r"(\d+) of \d+ chunks", text) or ["0"])[0])


##= docs/spec/knowledge.md#index-updates
##% Every place that reports missing embeddings MUST report the same number.
##= docs/spec/knowledge.md#ranking
##% While embeddings are missing, every hybrid search MUST warn and give their number.
def test_every_report_has_the_same_number_from_the_first_chunk_to_the_last(
    tmp_path: Path, open_host: OpenHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding_worker, "BATCH_CHUNKS", 4)
    host = open_host(write_repository(tmp_path / "station"))
    index = host.services.get(Index)
    index.ingest(IngestRequest())
    chunks = index.as_of().chunk_count
    assert chunks > 8
    assert set(reported(host).values()) == {chunks}

    counts: list[dict[str, Any]] = []
    index.embed(progress=lambda _phase, _done, _total: counts.append(reported(host)))
    missing = [chunks - 4 * batch for batch in range(1, len(counts))] + [0]
    assert [set(count.values()) for count in counts] == [{number} for number in missing]


def test_a_change_of_the_model_counts_every_chunk_again(tmp_path: Path, open_host: OpenHost) -> None:
    root = write_repository(tmp_path / "station")
    index = open_host(root).services.get(Index)
    index.ingest(IngestRequest())
    index.embed()
    assert index.as_of().pending_vectors == 0
    other = open_host(root, CONTEXTIVE_KNOWLEDGE__EMBEDDING_MODEL="openai:other").services.get(Index)
    assert other.as_of().pending_vectors == other.as_of().chunk_count
    without = open_host(root, CONTEXTIVE_KNOWLEDGE__EMBEDDING_MODEL="none").services.get(Index)
    assert without.as_of().pending_vectors == 0
