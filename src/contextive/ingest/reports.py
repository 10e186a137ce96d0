"""Records runs and builds the coverage and lifecycle reports."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from contextive.ingest.gc_tuning import less_frequent_gc
from contextive.ingest.indexer import IngestResult
from contextive.ingest.lifecycle_facts import (
    ChangesOfCode,
    CodeUse,
    expand_all,
    links_of_documents,
    unconnected_nodes,
    unlisted_symbols,
)
from contextive.ingest.settings import ReportSettings
from contextive.knowledge.coverage import CoveredArtifact, RemovedArtifact, ReportRun, build_coverage
from contextive.knowledge.lifecycle import ProjectState, build_lifecycle
from contextive.knowledge.node_ids import ARTIFACT_LABELS, artifact_node_id
from contextive.knowledge.stale_documents import stale_documents
from contextive.knowledge.subsystems import Subsystem, SubsystemCatalog
from contextive.knowledge.symbol import Symbol
from contextive.store.protocol import Store
from contextive.store.values import STATE_REPO_HEAD, ArtifactRow, Report, ReportKind, Run

_PAGE = 1_000
_KEPT_ROWS = 500
_REPORT_SECONDS = 60.0


class Reporter:
    """Builds reports from the current contents of the store."""

    def __init__(self, store: Store, settings: ReportSettings, root: Path) -> None:
        self._store = store
        self._settings = settings
        self._root = root

    def record(self, outcome: IngestResult, include: Sequence[str], *, always: bool) -> None:
        """Record a run and its reports. Unless `always` is true, reports are stored at most once a minute."""
        run = outcome.run
        with self._store.transaction() as writer:
            writer.put_run(run)
        newest = self._store.records.reports("coverage", 1)
        if not always and newest and time.time() - newest[0].generated_at < _REPORT_SECONDS:
            return
        with less_frequent_gc():
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
        """The lifecycle report: unconnected nodes, documents behind their code, and untested code."""
        run = self._last_run()
        artifacts = [row.artifact for row in self._store.files.artifacts()]
        symbols: dict[str, list[Symbol]] = {}
        for path, symbol in self._store.files.symbols():
            symbols.setdefault(path, []).append(symbol)
        use = CodeUse.read(self._store, artifacts, symbols)
        now = time.time()
        state = ProjectState(
            artifacts=artifacts,
            unconnected=unconnected_nodes(self._store, artifacts, symbols),
            messages=[node.key for node in self._labelled("IntegrationMessage")],
            symbols=symbols,
            tests_of=use.tests_of,
            imported_by_tests=use.imported_by_tests,
            callers=use.callers,
            unlisted=unlisted_symbols(self._store, symbols, use),
            stale=stale_documents(
                artifacts,
                links_of_documents(self._store, artifacts),
                symbols,
                now,
                self._settings.stale_days,
                ChangesOfCode(self._root, self._store.state(STATE_REPO_HEAD)).since,
            ),
        )
        return build_lifecycle(_report_run(run), now, self._settings.stale_days, state, _removed(run))

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
        for edge in expand_all(self._store, tests, ("EXERCISES",), "outgoing"):
            found.setdefault(edge.source.partition(":")[2], []).append(edge.target.partition(":")[2])
        return found

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
