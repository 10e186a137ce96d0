"""Records runs and builds the coverage and lifecycle reports."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from contextive.ingest.indexer import IngestResult
from contextive.ingest.settings import ReportSettings
from contextive.knowledge.artifact_layers import TO_SUBSYSTEM
from contextive.knowledge.coverage import CoveredArtifact, RemovedArtifact, ReportRun, build_coverage
from contextive.knowledge.graph import Edge
from contextive.knowledge.lifecycle import ProjectState, build_lifecycle
from contextive.knowledge.node_ids import ARTIFACT_LABELS, artifact_node_id, node_id
from contextive.knowledge.subsystems import Subsystem, SubsystemCatalog
from contextive.store.protocol import Store
from contextive.store.values import ArtifactRow, Report, ReportKind, Run

_FRONTIER = 500
_NEIGHBOURS = 2_000
_PAGE = 1_000
_KEPT_ROWS = 500
_REPORT_SECONDS = 60.0


class Reporter:
    """Builds reports from the current contents of the store."""

    def __init__(self, store: Store, settings: ReportSettings) -> None:
        self._store = store
        self._settings = settings

    def record(self, outcome: IngestResult, include: Sequence[str], *, always: bool) -> None:
        """Record a run and its reports. Unless `always` is true, reports are stored at most once a minute."""
        run = outcome.run
        with self._store.transaction() as writer:
            writer.put_run(run)
        newest = self._store.records.reports("coverage", 1)
        if not always and newest and time.time() - newest[0].generated_at < _REPORT_SECONDS:
            return
        reports: tuple[tuple[ReportKind, dict[str, Any], int], ...] = (
            ("coverage", self.coverage(include, _KEPT_ROWS), self._settings.coverage_history),
            ("lifecycle", self.lifecycle(), self._settings.lifecycle_history),
        )
        with self._store.transaction() as writer:
            for kind, body, keep in reports:
                writer.put_report(Report(kind, body["generated_at"], run.run_id, _shortened(body)), keep)

    def coverage(self, include: Sequence[str], most: int) -> dict[str, Any]:
        """The coverage report: counts of all indexed files, and at most `most` of them by name."""
        run = self._last_run()
        listed = list(self._store.files.artifacts(limit=most))
        missing = list(self._store.files.artifacts(limit=most, without_chunks=True))
        tests = self._exercised([*listed, *missing])

        def covered(row: ArtifactRow) -> CoveredArtifact:
            path = row.artifact.path
            return CoveredArtifact(
                artifact=row.artifact,
                chunk_count=row.chunk_count,
                skipped=run is not None and row.last_seen < run.started_at,
                symbols=[symbol.id for _, symbol in self._store.files.symbols(path)] if row.symbol_count else (),
                exercises_symbols=tests.get(path, ()),
            )

        return build_coverage(
            _report_run(run),
            time.time(),
            self._store.files.totals(),
            map(covered, listed),
            map(covered, missing),
            _removed(run),
            include,
            self._catalog(),
        )

    def lifecycle(self) -> dict[str, Any]:
        """The lifecycle report: files without a subsystem, stale documents and untested code."""
        run = self._last_run()
        rows = list(self._store.files.artifacts())
        artifacts = [row.artifact for row in rows]
        messages = [node.key for node in self._labelled("IntegrationMessage")]
        edges = [
            Edge(
                artifact_node_id(a.path, a.artifact_type),
                TO_SUBSYSTEM[a.artifact_type],
                node_id("Subsystem", a.subsystem),
            )
            for a in artifacts
            if a.subsystem and a.artifact_type in TO_SUBSYSTEM
        ]
        edges += self._expand([node_id("IntegrationMessage", name) for name in messages], ("IMPLEMENTS",), "incoming")
        tests_of: dict[str, list[str]] = {}
        for path, exercised in self._exercised(rows).items():
            for symbol_id in exercised:
                tests_of.setdefault(symbol_id, []).append(path)
        state = ProjectState(artifacts, edges, messages, self._store.files.symbols(), tests_of)
        return build_lifecycle(_report_run(run), time.time(), self._settings.stale_days, state, _removed(run))

    def _last_run(self) -> Run | None:
        found = self._store.records.runs(1)
        return found[0] if found else None

    def _catalog(self) -> SubsystemCatalog:
        """The part of the subsystem catalog that reports need, read from its nodes."""
        nodes = list(self._labelled("Subsystem"))
        return SubsystemCatalog(
            tuple(Subsystem(name=node.key, criticality=node.properties.get("criticality")) for node in nodes)
        )

    def _exercised(self, rows: Iterable[ArtifactRow]) -> Mapping[str, Sequence[str]]:
        """The symbols that each test among these files exercises, by path of the test."""
        tests = [
            artifact_node_id(row.artifact.path, row.artifact.artifact_type)
            for row in rows
            if ARTIFACT_LABELS[row.artifact.artifact_type] == "TestCase"
        ]
        found: dict[str, list[str]] = {}
        for edge in self._expand(tests, ("EXERCISES",), "outgoing"):
            found.setdefault(edge.source.partition(":")[2], []).append(edge.target.partition(":")[2])
        return found

    def _expand(self, frontier: Sequence[str], types: Sequence[str], direction: Any) -> Iterator[Edge]:
        for start in range(0, len(frontier), _FRONTIER):
            yield from self._store.graph.expand(frontier[start : start + _FRONTIER], types, direction, _NEIGHBOURS)

    def _labelled(self, label: str) -> Iterator[Any]:
        after: str | None = None
        while page := self._store.graph.nodes_labelled(label, after, _PAGE):
            yield from page
            after = page[-1].key


def _report_run(run: Run | None) -> ReportRun:
    return ReportRun(run.run_id, run.profile, run.repo_head) if run else ReportRun("", "")


def _removed(run: Run | None) -> Iterable[RemovedArtifact]:
    return [RemovedArtifact(**item) for item in run.removed] if run else ()


def _shortened(body: Mapping[str, Any]) -> dict[str, Any]:
    """A report for the history with shortened lists; the summary still counts everything."""
    return {
        key: value[:_KEPT_ROWS] if isinstance(value, list) else value
        for key, value in body.items()
        if key != "artifacts"
    }
