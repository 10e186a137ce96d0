"""Searching files that are not indexed yet."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from contextive.ingest.settings import IngestRequest, IngestSettings
from contextive.search import index as index_module
from contextive.search.answer import SearchRequest, SearchResponse
from contextive.search.direct_scan import ScanLimits, UnindexedFiles
from contextive.search.filters import parse_filters
from contextive.search.index import EmbeddingSettings, Index, IndexSettings
from contextive.search.service import SearchService
from contextive.store import open_store
from contextive.store.protocol import Store
from contextive.store.values import ChunkFilter
from contextive.workspace import secrets

from .project import FILES, fill


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return write(tmp_path / "shop", FILES)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(tmp_path / "state")
    yield opened
    opened.close()


def write(root: Path, files: Mapping[str, str]) -> Path:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    return root


def unindexed(project: Path, store: Store) -> UnindexedFiles:
    return UnindexedFiles(project, project / ".contextive", IngestSettings(), store)


def search(project: Path, store: Store, query: str, **filters: object) -> SearchResponse:
    service = SearchService(store, unindexed=unindexed(project, store))
    return service.search(SearchRequest(query, filters=parse_filters(filters, now=time.time())))


def paths(response: SearchResponse) -> list[str]:
    return [result.chunk.artifact_path for result in response.results]


##= docs/spec/knowledge.md#index-updates
##% A search MUST NOT return an empty list only because indexing is behind.
##= docs/spec/knowledge.md#index-updates
##% Until the first run has finished, a search MUST also scan the files that are not indexed yet, within limits of time
##% and size.
def test_a_project_without_an_index_is_searched_directly(project: Path, store: Store) -> None:
    response = search(project, store, "how is a refund paid for a receipt?")
    assert paths(response)[0] == "docs/payment.md"
    best = response.results[0].chunk
    assert best.title == "Payment > Refunds"
    assert "It is paid within a week." in best.text
    assert (best.line_start, best.chunk_id) == (9, "docs/payment.md::L9")
    assert response.metadata.direct_scan == {"files_scanned": len(FILES), "files_not_scanned": 0}
    assert response.metadata.warnings[0] == (
        f"The index is not complete yet: {len(FILES)} files were searched directly, by words."
    )
    assert response.as_of.pending_files == len(FILES)


def test_indexed_and_scanned_files_are_ranked_together(project: Path, store: Store) -> None:
    fill(store, {path: FILES[path] for path in ("docs/payment.md", "src/shop/stock/shelf.py")})
    response = search(project, store, "receipt of the bank")
    indexed, scanned = "docs/payment.md::1", "src/shop/payment/gateway.py::L1"
    assert {result.chunk.chunk_id for result in response.results} >= {indexed, scanned}
    places = [(result.chunk.artifact_path, result.chunk.line_start) for result in response.results]
    assert len(places) == len(set(places))
    scores = [result.chunk.score for result in response.results]
    assert scores == sorted(scores, reverse=True)
    assert response.metadata.direct_scan == {"files_scanned": len(FILES) - 2, "files_not_scanned": 0}


def test_left_out_files_are_not_scanned(project: Path, store: Store) -> None:
    token = "ghp_" + "a1B2" * 9
    assert secrets.contains_secret(token)
    write(
        project,
        {
            ".gitignore": "private/\n",
            ".git/HEAD": "ref: refs/heads/main\n",
            "private/plan.md": "The zeppelin leaves at noon.\n",
            "token.md": f"The zeppelin needs {token}.\n",
            "zeppelin.bin": "zeppelin",
        },
    )
    assert paths(search(project, store, "zeppelin")) == []


def test_filters_apply_to_scanned_files(project: Path, store: Store) -> None:
    assert set(paths(search(project, store, "card bank", artifact_types=["test"]))) == {"tests/payment/test_gateway.py"}
    assert set(paths(search(project, store, "card bank", namespaces=["Docs"]))) == {"docs/payment.md"}
    by_symbol = search(project, store, "card bank", symbols=["charge_card"])
    assert paths(by_symbol) == []
    assert "cannot be filtered by symbols" in by_symbol.metadata.warnings[0]


def test_a_scan_stops_at_its_limits_and_counts_what_is_left(project: Path, store: Store) -> None:
    scan = unindexed(project, store).scan(
        "receipt", ChunkFilter(), all_files=False, limits=ScanLimits(megabytes=0.0001)
    )
    assert scan is not None
    assert scan.files_left == len(FILES) - scan.files_scanned > 0
    assert f"{scan.files_left} more were not read within the limits." in scan.warning()
    out_of_time = unindexed(project, store).scan(
        "receipt", ChunkFilter(), all_files=False, limits=ScanLimits(seconds=0.0)
    )
    assert out_of_time is None or not out_of_time.scores


@pytest.fixture
def served(project: Path) -> Iterator[Index]:
    settings = IndexSettings(project, project / ".contextive", embedding=EmbeddingSettings("none"))
    index = Index(settings, is_served=True)
    yield index
    index.close()


##= docs/spec/knowledge.md#index-updates
##% Before the first run has finished, a search MUST wait for it for at most two seconds.
def test_a_search_does_not_wait_for_a_first_run_that_takes_long(
    served: Index, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert index_module._SEARCH_WAIT_SECONDS <= 2.0
    monkeypatch.setattr(index_module, "_SEARCH_WAIT_SECONDS", 0.1)
    # Another process has the right to index and does nothing, so the first run never starts.
    lease = served.store.acquire_lease("keeper", "elsewhere:42")
    assert lease is not None
    response = served.search.search(SearchRequest("refund receipt"))
    assert "docs/payment.md" in paths(response)
    assert response.metadata.direct_scan is not None
    lease.release()


def test_a_complete_index_is_not_scanned(project: Path) -> None:
    settings = IndexSettings(project, project / ".contextive", embedding=EmbeddingSettings("none"))
    index = Index(settings)
    index.ingest(IngestRequest())
    response = index.search.search(SearchRequest("refund receipt"))
    assert response.metadata.direct_scan is None
    assert response.metadata.warnings == ()
    index.close()
