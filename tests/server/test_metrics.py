"""Prometheus metrics: every series exists from the start and changes with what it counts."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from contextive.ingest.schedule import JobState, write_state
from contextive.store import open_store
from tests.raw_clients import HttpClient, WebServer, wait_until
from tests.server.conftest import ADMIN, READER
from tests.server.gateways import TOKENS, UNLIMITED, ExampleProject

SMALL = {"CONTEXTIVE_SEARCH__LOG_EVENTS": "5", "KM_BACKUP_RETENTION_LIMIT": "1"}

FROM_THE_START = [
    "km_backup_runs_total{result=success}",
    "km_backup_runs_total{result=failure}",
    "km_backup_last_status",
    "km_backup_last_success_timestamp",
    "km_backup_retention_deletes_total",
    "km_ingest_duration_seconds_count{profile=manual,status=success}",
    "km_ingest_chunks_total{profile=manual}",
    "km_ingest_artifacts_total{artifact_type=code,profile=manual}",
    "km_ingest_stale_resolved_total{profile=auto}",
    "km_ingest_last_run_status{profile=scheduled}",
    "km_ingest_last_run_timestamp{profile=auto}",
    "km_ingest_skips_total{reason=unchanged}",
    "km_ingest_skips_total{reason=lock}",
    "km_ingest_skips_total{reason=head}",
    "km_ingest_skips_total{reason=auth}",
    "km_scheduler_runs_total{job=ingest,result=skipped}",
    "km_scheduler_last_success_timestamp{job=backup}",
    "km_watch_runs_total{result=success}",
    "km_watch_runs_total{result=failure}",
    "km_search_requests_total{status=success}",
    "km_search_requests_total{status=error}",
    "km_search_graph_lookup_seconds_count",
    "km_search_graph_cache_events_total{status=hit}",
    "km_search_graph_cache_events_total{status=miss}",
    "km_search_graph_skipped_total{reason=limit}",
    "km_search_graph_skipped_total{reason=time}",
    "km_search_adjusted_minus_vector_count",
    "km_search_symbol_filters_total",
    "km_feedback_log_bytes",
    "km_feedback_rotations_total",
    "km_graph_cypher_denied_total",
    "km_coverage_last_run_status",
    "km_coverage_last_run_timestamp",
    "km_coverage_artifacts_total",
    "km_coverage_chunks_total",
    "km_coverage_missing_artifacts_total",
    "km_coverage_history_snapshots",
    "km_lifecycle_last_run_status",
    "km_lifecycle_last_run_timestamp",
    "km_lifecycle_history_snapshots",
    "km_lifecycle_stale_docs_total",
    "km_lifecycle_isolated_nodes_total",
    "km_lifecycle_missing_test_subsystems_total",
    "km_lifecycle_removed_artifacts_total",
    "km_mcp_requests_total{result=success,tool=km-search}",
    "km_mcp_requests_total{result=error,tool=km-backup-trigger}",
    "km_mcp_upload_total{result=success}",
    "km_mcp_storetext_total{result=error}",
]

Series = dict[str, float]


def scrape(web: HttpClient) -> Series:
    """Every sample by name and labels, read with the parser of Prometheus."""
    answer = web.as_bearer(READER).get("/metrics")
    assert answer.status == 200
    found: Series = {}
    for family in text_string_to_metric_families(answer.text):
        for sample in family.samples:
            labels = ",".join(f"{key}={value}" for key, value in sorted(sample.labels.items()))
            found[f"{sample.name}{{{labels}}}" if labels else sample.name] = sample.value
    return found


@pytest.fixture(scope="module")
def station(tmp_path_factory: pytest.TempPathFactory) -> ExampleProject:
    return ExampleProject.at(tmp_path_factory.mktemp("metrics"))


@pytest.fixture(scope="module")
def server(station: ExampleProject) -> Iterator[WebServer]:
    with station.serve(env={**TOKENS, **UNLIMITED, **SMALL}) as running:
        wait_until(lambda: scrape(running.web)["km_watch_runs_total{result=success}"] >= 1, "the first run", 40.0)
        yield running


@pytest.fixture(scope="module")
def admin(server: WebServer) -> HttpClient:
    return server.web.as_bearer(ADMIN)


def test_every_series_exists_before_anything_happens(tmp_path: Path) -> None:
    env = {**TOKENS, "CONTEXTIVE_KNOWLEDGE__AUTO_INGEST": "false"}
    with ExampleProject(tmp_path, tmp_path / "user").serve(env=env) as running:
        found = scrape(running.web)
    assert [name for name in FROM_THE_START if name not in found] == []
    assert {name: found[name] for name in FROM_THE_START if found[name]} == {}


def test_the_first_run_of_the_watcher_is_counted_with_what_it_indexed(server: WebServer) -> None:
    found = scrape(server.web)
    assert found["km_ingest_duration_seconds_count{profile=auto,status=success}"] >= 1
    assert found["km_ingest_artifacts_total{artifact_type=code,profile=auto}"] >= 3
    assert found["km_ingest_chunks_total{profile=auto}"] >= 10
    assert found["km_ingest_last_run_status{profile=auto}"] == 1
    assert 0 <= time.time() - found["km_ingest_last_run_timestamp{profile=auto}"] < 120
    assert found["km_coverage_artifacts_total"] >= 10
    assert found["km_coverage_chunks_total"] >= found["km_coverage_artifacts_total"]
    assert found["km_coverage_last_run_status"] == found["km_lifecycle_last_run_status"] == 1
    assert found["km_coverage_history_snapshots"] >= 1
    assert found["km_lifecycle_isolated_nodes_total"] >= 1


def test_a_deleted_file_is_counted_as_resolved(server: WebServer, station: ExampleProject) -> None:
    (station.root / "docs" / "passing.md").write_text("# Passing\n\nSoon gone.\n", encoding="utf-8")
    before = scrape(server.web)["km_ingest_stale_resolved_total{profile=auto}"]
    web = server.web.as_bearer(READER)
    query = {"query": "Soon gone", "filters": {"artifact_types": ["doc"]}}
    wait_until(lambda: "passing.md" in web.post("/api/v1/search", query).text, "the new file", 20.0)
    (station.root / "docs" / "passing.md").unlink()
    wait_until(
        lambda: scrape(server.web)["km_ingest_stale_resolved_total{profile=auto}"] == before + 1, "its removal", 20.0
    )


def test_a_triggered_run_is_counted_under_its_profile(admin: HttpClient) -> None:
    assert admin.post("/api/v1/tools/km-ingest-trigger", {"profile": "release"}).json["result"]["status"] == "success"
    found = scrape(admin)
    assert found["km_ingest_duration_seconds_count{profile=release,status=success}"] == 1
    assert found["km_ingest_last_run_status{profile=release}"] == 1
    assert found["km_ingest_skips_total{reason=unchanged}"] >= 1


def test_the_number_of_ingest_profile_series_is_limited(admin: HttpClient) -> None:
    for number in range(20):
        admin.post("/api/v1/tools/km-ingest-trigger", {"profile": f"invented-{number}"})
    found = scrape(admin)
    profiles = [name for name in found if name.startswith("km_ingest_chunks_total{")]
    assert len(profiles) <= 21
    assert found["km_ingest_duration_seconds_count{profile=other,status=success}"] >= 1


def test_searches_are_counted_with_their_graph_context_and_filters(server: WebServer) -> None:
    before = scrape(server.web)
    web = server.web.as_bearer(READER)
    for _ in range(2):
        assert web.post("/api/v1/search", {"query": "calibrate the sensor"}).json["results"]
    assert web.post("/api/v1/search", {"query": "reader", "symbol": "calibrate_sensor", "include_graph": False}).json
    assert web.post("/api/v1/search", {"query": "  "}).status == 422

    def gained(name: str) -> float:
        return scrape(server.web)[name] - before[name]

    assert gained("km_search_requests_total{status=success}") == 3
    assert gained("km_search_requests_total{status=error}") == 1
    assert gained("km_search_symbol_filters_total") == 1
    assert gained("km_search_graph_lookup_seconds_count") == 2
    assert gained("km_search_graph_cache_events_total{status=miss}") >= 1
    assert gained("km_search_graph_cache_events_total{status=hit}") >= 1
    assert gained("km_search_adjusted_minus_vector_count") >= 2
    wait_until(lambda: gained("km_feedback_rotations_total") >= 1, "old rows to be dropped from the log")
    assert scrape(server.web)["km_feedback_log_bytes"] > 0


def test_each_call_is_counted_by_its_result(server: WebServer) -> None:
    web = server.web.as_bearer(READER)
    before = scrape(web)
    assert web.get("/api/v1/graph/nodes/SourceFile:src/tidewatch/gauge/reader.py").status == 200
    assert web.get("/api/v1/graph/nodes/SourceFile:nowhere.py").status == 404
    assert web.get("/api/v1/graph/nodes/nothing").status == 400
    after = scrape(web)

    def gained(name: str) -> float:
        return after[name] - before.get(name, 0.0)

    assert gained("km_mcp_requests_total{result=success,tool=km-graph-node}") == 1
    assert gained("km_mcp_requests_total{result=error,tool=km-graph-node}") == 2
    assert gained("km_mcp_failures_total{error=not_found,tool=km-graph-node}") == 1
    assert gained("km_mcp_failures_total{error=invalid_identifier,tool=km-graph-node}") == 1
    assert gained("km_mcp_request_seconds_count{tool=km-graph-node}") == 3


def test_backups_and_pruned_archives_are_counted(admin: HttpClient) -> None:
    before = time.time()
    for _ in range(2):
        assert admin.post("/api/v1/tools/km-backup-trigger", {}).status == 200
    found = scrape(admin)
    assert found["km_backup_runs_total{result=success}"] == 2
    assert found["km_backup_retention_deletes_total"] == 1
    assert found["km_backup_last_status"] == 1
    assert found["km_backup_last_success_timestamp"] >= before
    assert admin.post("/api/v1/tools/km-backup-trigger", {"destination": "../out"}).status == 400
    found = scrape(admin)
    assert found["km_backup_runs_total{result=failure}"] == 1
    assert found["km_backup_last_status"] == 0
    assert found["km_backup_last_success_timestamp"] >= before


def test_the_gauges_include_the_work_of_other_processes(server: WebServer, station: ExampleProject) -> None:
    before = time.time()
    station.run("backup")
    station.run("ingest", "--name", "scheduled", "--no-vectors")
    store = open_store(station.root / ".contextive")
    write_state(store, "backup", JobState(before, "success"))
    store.close()
    found = scrape(server.web)
    assert found["km_backup_last_success_timestamp"] >= before
    assert found["km_backup_last_status"] == 1
    assert found["km_ingest_last_run_timestamp{profile=scheduled}"] >= before
    assert found["km_scheduler_last_success_timestamp{job=backup}"] == pytest.approx(before)


def test_a_cypher_query_is_counted_as_refused(admin: HttpClient) -> None:
    assert admin.post("/api/v1/graph/cypher", {"query": "MATCH (n) RETURN n LIMIT 1"}).status == 400
    assert scrape(admin)["km_graph_cypher_denied_total"] == 1


def test_a_failed_backup_is_reported_until_one_succeeds(admin: HttpClient, station: ExampleProject) -> None:
    store = open_store(station.root / ".contextive")
    lease = store.acquire_lease("backup", "somebody")
    assert lease is not None
    try:
        assert admin.post("/api/v1/tools/km-backup-trigger", {}).status == 503
        assert scrape(admin)["km_backup_last_status"] == 0
    finally:
        lease.release()
        store.close()
    assert admin.post("/api/v1/tools/km-backup-trigger", {}).status == 200
    assert scrape(admin)["km_backup_last_status"] == 1
