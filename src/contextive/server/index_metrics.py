"""Prometheus metrics of an index: events in this process, and the current state of the store.

Counters count events of this process. Gauges about the last run, reports and backups are read from the store at each
scrape, because another process may have done the work.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, assert_never, get_args

from contextive.ingest.schedule import JobName, JobSkipReason, read_state
from contextive.knowledge.artifact import ArtifactType
from contextive.search.events import EventsDropped, IndexEvent, RunEnded, SearchCompleted, SearchFailed, WatcherRan
from contextive.store.values import BackupEnded

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

    from contextive.store.protocol import Store
    from contextive.store.values import AsOf, ReportKind

INGEST_PROFILES = ("auto", "manual", "scheduled")
"""Ingest profiles whose series exist from the start."""
_MAX_PROFILES = 20
_OTHER = "other"
_MAX_RUNS = 20
_MAX_AUDIT_ENTRIES = 200
_MAX_REPORTS = 100
_LIFTS = (-1.0, -0.5, -0.25, -0.1, 0.0, 0.1, 0.25, 0.5, 1.0, 2.0)
_LOOKUPS = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
_RUN_SECONDS = (0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0)
_LIFECYCLE = {
    "stale_docs": "km_lifecycle_stale_docs_total",
    "isolated_nodes": "km_lifecycle_isolated_nodes_total",
    "subsystems_missing_tests": "km_lifecycle_missing_test_subsystems_total",
    "removed_artifacts": "km_lifecycle_removed_artifacts_total",
    "symbol_test_gaps": "km_lifecycle_symbol_test_gaps_total",
}


class IndexMetrics:
    """The metrics of one server's index. All series exist from the start."""

    def __init__(self, registry: CollectorRegistry) -> None:
        from prometheus_client import Counter, Gauge, Histogram

        def counter(name: str, text: str, labels: Sequence[str] = ()) -> Counter:
            return Counter(name, text, labels, registry=registry)

        def gauge(name: str, text: str, labels: Sequence[str] = ()) -> Gauge:
            return Gauge(name, text, labels, registry=registry)

        self._run_seconds = Histogram(
            "km_ingest_duration_seconds",
            "Duration of an ingest run in seconds",
            ["profile", "status"],
            registry=registry,
            buckets=_RUN_SECONDS,
        )
        self._artifacts = counter("km_ingest_artifacts_total", "Files indexed by runs", ["profile", "artifact_type"])
        self._chunks = counter("km_ingest_chunks_total", "Chunks written by runs", ["profile"])
        self._removed = counter("km_ingest_stale_resolved_total", "Deleted files removed by runs", ["profile"])
        self._run_status = gauge("km_ingest_last_run_status", "Whether the last run succeeded", ["profile"])
        self._run_time = gauge("km_ingest_last_run_timestamp", "When the last run ended", ["profile"])
        self._skips = counter("km_ingest_skips_total", "Ingests that were skipped or found nothing new", ["reason"])
        self._job_runs = counter("km_scheduler_runs_total", "Runs of scheduled jobs by result", ["job", "result"])
        self._job_success_time = gauge("km_scheduler_last_success_timestamp", "When a job last succeeded", ["job"])
        self._watched = counter("km_watch_runs_total", "Runs after files changed", ["result"])
        self._searches = counter("km_search_requests_total", "Searches by result", ["status"])
        self._by_symbol = counter("km_search_symbol_filters_total", "Searches with symbol filters")
        self._lookups = Histogram(
            "km_search_graph_lookup_seconds",
            "Time to read the graph context of a search",
            registry=registry,
            buckets=_LOOKUPS,
        )
        self._cache = counter("km_search_graph_cache_events_total", "Graph contexts by cache hit or miss", ["status"])
        self._skipped_contexts = counter("km_search_graph_skipped_total", "Results without graph context", ["reason"])
        self._lifts = Histogram(
            "km_search_adjusted_minus_vector",
            "Adjusted score minus vector similarity of a result",
            registry=registry,
            buckets=_LIFTS,
        )
        self._log_bytes = gauge("km_feedback_log_bytes", "Size of the log of search results")
        self._rotations = counter("km_feedback_rotations_total", "Times that old rows were dropped from that log")
        self._backups = counter("km_backup_runs_total", "Backups by result", ["result"])
        self._backup_status = gauge("km_backup_last_status", "Whether the last backup succeeded")
        self._backup_time = gauge("km_backup_last_success_timestamp", "When the last backup was made")
        self._pruned = counter("km_backup_retention_deletes_total", "Old archives deleted by retention")
        self._cypher = counter("km_graph_cypher_denied_total", "Cypher queries that were refused")
        self._report_gauges = {
            name: gauge(name, text)
            for name, text in (
                ("km_coverage_last_run_status", "Whether there is a coverage report"),
                ("km_coverage_last_run_timestamp", "When the last coverage report was made"),
                ("km_coverage_artifacts_total", "Files in the last coverage report"),
                ("km_coverage_chunks_total", "Chunks in the last coverage report"),
                ("km_coverage_missing_artifacts_total", "Files without chunks in the last coverage report"),
                ("km_coverage_history_snapshots", "Stored coverage reports"),
                ("km_lifecycle_last_run_status", "Whether there is a lifecycle report"),
                ("km_lifecycle_last_run_timestamp", "When the last lifecycle report was made"),
                ("km_lifecycle_history_snapshots", "Stored lifecycle reports"),
                *((name, f"{key.replace('_', ' ')} in the last lifecycle report") for key, name in _LIFECYCLE.items()),
            )
        }
        self._healthy = gauge(
            "contextive_check_ok", "Whether a part of the server works, as /healthz reports it", ["check"]
        )
        self._pending_files = gauge("contextive_pending_files", "Files that still have to be indexed")
        self._missing_embeddings = gauge("contextive_missing_embeddings", "Chunks without an embedding")
        self._profiles: set[str] = set()
        self._seen_runs: dict[str, float] = {}
        self._seen_reports: dict[ReportKind, float] = {}
        self._seen_backup = 0.0
        self._create_series()

    def _create_series(self) -> None:
        for profile in INGEST_PROFILES:
            self._profile(profile)
        for reason in ("unchanged", *get_args(JobSkipReason)):
            self._skips.labels(reason)
        for job in get_args(JobName):
            self._job_success_time.labels(job)
            for result in ("success", "failure", "skipped"):
                self._job_runs.labels(job, result)
        for result in ("success", "failure"):
            self._watched.labels(result)
            self._backups.labels(result)
        for status in ("success", "error"):
            self._searches.labels(status)
        for status in ("hit", "miss"):
            self._cache.labels(status)
        for reason in ("limit", "time"):
            self._skipped_contexts.labels(reason)

    def _profile(self, name: str) -> str:
        """The label of a profile. Callers choose these names, so the number of series is limited."""
        if name not in self._profiles:
            if len(self._profiles) >= _MAX_PROFILES:
                name = _OTHER
            self._profiles.add(name)
            for status in ("success", "failure"):
                self._run_seconds.labels(name, status)
            for kind in get_args(ArtifactType):
                self._artifacts.labels(name, kind)
            for series in (self._chunks, self._removed, self._run_status, self._run_time):
                series.labels(name)
        return name

    def count(self, event: IndexEvent) -> None:
        """Count an event of this process."""
        match event:
            case RunEnded():
                self._count_run(event)
            case SearchCompleted():
                self._count_search(event)
            case SearchFailed():
                self._searches.labels("error").inc()
            case WatcherRan():
                self._watched.labels("success" if event.success else "failure").inc()
            case EventsDropped():
                self._rotations.inc()
            case BackupEnded():
                self._backups.labels("success" if event.success else "failure").inc()
                self._pruned.inc(event.pruned)
                self._set_last_backup(event.at, success=event.success)
            case _:
                assert_never(event)

    def count_job_run(self, job: str, result: str, reason: str | None, at: float) -> None:
        """Count one run of a scheduled job."""
        self._job_runs.labels(job, result).inc()
        if result == "success":
            self._job_success_time.labels(job).set(at)
        if job == "ingest" and reason is not None:
            self._skips.labels(reason).inc()

    def count_refused_cypher(self) -> None:
        self._cypher.inc()

    def set_health(self, checks: Mapping[str, bool]) -> None:
        """Set one series per health check: 1 if it passed, else 0."""
        for name, ok in checks.items():
            self._healthy.labels(name).set(ok)

    def set_progress(self, as_of: AsOf) -> None:
        """Set how much work on the index remains."""
        self._pending_files.set(as_of.pending_files)
        self._missing_embeddings.set(as_of.pending_vectors)

    def refresh(self, store: Store) -> None:
        """Update the gauges from the store, which any process may have changed."""
        from contextive.store.backup import TOOL as BACKUP_TOOL

        for run in reversed(store.records.runs(_MAX_RUNS)):
            self._set_last_run(self._profile(run.profile), run.created_at, success=run.success)
        for entry in reversed(store.records.audit(_MAX_AUDIT_ENTRIES)):
            if entry.tool == BACKUP_TOOL and "archive" in entry.body:
                self._set_last_backup(entry.timestamp, success=True)
        for job in get_args(JobName):
            state = read_state(store, job)
            if state.result == "success" and state.last_at is not None:
                self._job_success_time.labels(job).set(state.last_at)
        self._log_bytes.set(store.records.event_bytes())
        self._refresh_report(store, "coverage")
        self._refresh_report(store, "lifecycle")

    def _count_run(self, ended: RunEnded) -> None:
        profile = self._profile(ended.profile)
        run = ended.run
        self._run_seconds.labels(profile, "failure" if run is None else "success").observe(ended.duration_seconds)
        if run is None:
            self._run_status.labels(profile).set(0)
            return
        for kind, count in run.changed_counts.items():
            self._artifacts.labels(profile, kind).inc(count)
        self._chunks.labels(profile).inc(run.changed_chunk_count)
        self._removed.labels(profile).inc(ended.removed)
        if not ended.did_something:
            self._skips.labels("unchanged").inc()
        self._set_last_run(profile, run.created_at, success=run.success)

    def _count_search(self, searched: SearchCompleted) -> None:
        self._searches.labels("success").inc()
        if searched.by_symbol:
            self._by_symbol.inc()
        if searched.graph_seconds is not None:
            self._lookups.observe(searched.graph_seconds)
        self._cache.labels("hit").inc(searched.contexts_cached)
        self._cache.labels("miss").inc(searched.contexts_read)
        self._skipped_contexts.labels("limit").inc(searched.skipped_by_limit)
        self._skipped_contexts.labels("time").inc(searched.skipped_by_time)
        for lift in searched.score_changes:
            self._lifts.observe(lift)

    def _set_last_run(self, profile: str, at: float, *, success: bool) -> None:
        """Set the gauges unless a newer run was seen.

        Failed runs are not in the store, so the status of one stays until a newer run.
        """
        if at > self._seen_runs.get(profile, 0.0):
            self._seen_runs[profile] = at
            self._run_status.labels(profile).set(success)
            self._run_time.labels(profile).set(at)

    def _set_last_backup(self, at: float, *, success: bool) -> None:
        if at > self._seen_backup:
            self._seen_backup = at
            self._backup_status.set(success)
            if success:
                self._backup_time.set(at)

    def _refresh_report(self, store: Store, kind: ReportKind) -> None:
        newest = store.records.reports(kind, 1)
        if not newest or self._seen_reports.get(kind) == newest[0].generated_at:
            return
        body: Mapping[str, Any] = newest[0].body
        summary = body.get("summary", {})
        gauge_values = {
            "last_run_status": 1,
            "last_run_timestamp": newest[0].generated_at,
            "history_snapshots": len(store.records.reports(kind, _MAX_REPORTS)),
        }
        if kind == "coverage":
            gauge_values |= {
                "artifacts_total": summary.get("artifact_total", 0),
                "chunks_total": summary.get("chunk_count", 0),
                "missing_artifacts_total": len(body.get("missing_artifacts", ())),
            }
        else:
            gauge_values |= {
                name.removeprefix("km_lifecycle_"): summary.get(key, 0) for key, name in _LIFECYCLE.items()
            }
        for name, value in gauge_values.items():
            self._report_gauges[f"km_{kind}_{name}"].set(value)
        self._seen_reports[kind] = newest[0].generated_at
