"""The index of a project: its store, the runs that fill it, and the services that query it.

It is opened on first use. `start_watching` starts a background thread that indexes at the start and whenever files
change. Of all processes that serve a project, one at a time does this.
"""

from __future__ import annotations

import contextlib
import json
import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contextive.errors import ContextiveError, ProjectMissing, Unavailable
from contextive.ingest.settings import RUN_WAIT_SECONDS, IngestProgress, IngestRequest, IngestSettings, ReportSettings
from contextive.store.values import STATE_PARSE_CONTEXT
from contextive.workspace.directory_handles import require_project
from contextive.workspace.shared_refresh import SharedRefresh

if TYPE_CHECKING:
    from contextive.ingest.indexer import Indexer, IngestResult
    from contextive.ingest.layer_sources import LayerSource
    from contextive.ingest.parser_pool import ParserPool
    from contextive.ingest.reports import Reporter
    from contextive.search.direct_scan import UnindexedFiles
    from contextive.search.editor_links import EditorLinks
    from contextive.search.embedding.factory import BackgroundEmbedder
    from contextive.search.embedding.protocol import Embedder
    from contextive.search.events import Observer
    from contextive.search.graph import GraphService
    from contextive.search.search_event_log import SearchEventLog
    from contextive.search.service import SearchService, SearchSettings
    from contextive.search.usages import UsageFinder
    from contextive.search.watcher import IndexWatcher
    from contextive.store.postgres.settings import PostgresSettings
    from contextive.store.protocol import Store
    from contextive.store.values import AsOf, Repair, Run, StoreCondition

# Every server has an index, but many never use it, so its parts are imported on first use.

logger = logging.getLogger(__name__)

_FIRST_RUN_WAIT_SECONDS = 5.0
_SEARCH_WAIT_SECONDS = 2.0
"""A search waits less: it can scan files that are not indexed yet."""
_LOAD_WAIT_SECONDS = 20.0
_POLL_SECONDS = 0.05
_IDLE_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class EmbeddingSettings:
    """The embedding model and its endpoint."""

    model: str = "minilm"
    url: str | None = None
    key: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class IndexSettings:
    """All settings of an index."""

    root: Path
    state_dir: Path
    ingest: IngestSettings = field(default_factory=IngestSettings)
    reports: ReportSettings = field(default_factory=ReportSettings)
    embedding: EmbeddingSettings = field(default_factory=EmbeddingSettings)
    default_profile: str = "manual"
    log_events: int = 10_000
    postgres: PostgresSettings | None = None
    """The shared index to use in place of the one in the state directory."""
    parser_processes: int = 0
    """Processes that parse files. With 0, this process parses them without limits. A server has at least one."""


class Index:
    """The index of a project. Thread-safe."""

    def __init__(
        self,
        settings: IndexSettings,
        *,
        search: SearchSettings | None = None,
        links: EditorLinks | None = None,
        layers: Callable[[], Sequence[LayerSource]] = lambda: (),
        holder: str = "contextive",
        is_served: bool = False,
        observer: Observer = lambda _event: None,
    ) -> None:
        """With `is_served`, a watcher keeps the index up to date from its first use on."""
        self.settings = settings
        self._is_served = is_served
        self._observer = observer
        self._search_settings = search
        self._links = links
        self._layers = layers
        self._holder = holder
        self._lock = threading.RLock()
        """Held while parts are opened or closed, never while files are read."""
        self._refresh = SharedRefresh()
        self._store: Store | None = None
        self._graph: GraphService | None = None
        self._search: SearchService | None = None
        self._embedder: BackgroundEmbedder | None = None
        self._events: SearchEventLog | None = None
        self._pool: ParserPool | None = None
        self._idle: threading.Timer | None = None
        self._watcher: IndexWatcher | None = None
        self._was_complete = False
        """Whether the index was complete before: if it is not now, it was removed and is not new."""
        self.running: tuple[str, int, int] | None = None
        """Phase, done and total of the current run of this process."""

    @property
    def store(self) -> Store:
        with self._lock:
            if self._store is None:
                from contextive.store import open_store

                self._store = open_store(
                    self.settings.state_dir, project=self.settings.root, postgres=self.settings.postgres
                )
            return self._store

    @property
    def graph(self) -> GraphService:
        self.ensure_fresh()
        with self._lock:
            if self._graph is None:
                from contextive.search.graph import GraphService

                self._graph = GraphService(self.store)
            return self._graph

    @property
    def usages(self) -> UsageFinder:
        self.ensure_fresh()
        from contextive.search.usages import UsageFinder

        return UsageFinder(self.store)

    @property
    def search(self) -> SearchService:
        self.ensure_fresh(_SEARCH_WAIT_SECONDS)
        with self._lock:
            if self._search is None:
                from contextive.search.service import SearchService

                self._search = SearchService(
                    self.store,
                    self.embedder,
                    self.search_settings,
                    self._links,
                    observer=self._observer,
                    missing_embeddings=self._missing,
                    unindexed=self._unindexed_files(),
                )
            return self._search

    def files_before_first_run(self) -> UnindexedFiles | None:
        """The project's files while the watcher's first run is not finished; None if the index can answer."""
        files = self._unindexed_files() if self._watcher is not None else None
        return None if files is None or files.index_is_complete else files

    def _unindexed_files(self) -> UnindexedFiles:
        from contextive.search.direct_scan import UnindexedFiles

        return UnindexedFiles(self.settings.root, self.settings.state_dir, self.settings.ingest, self.store)

    @property
    def search_settings(self) -> SearchSettings:
        from contextive.search.service import SearchSettings

        return self._search_settings or SearchSettings()

    @property
    def embedder(self) -> Callable[[], Embedder] | None:
        """Returns the embedding model, which starts to load in the background; None if embeddings are turned off."""
        with self._lock:
            if self.settings.embedding.model == "none":
                return None
            if self._embedder is None:
                from contextive.search.embedding.factory import BackgroundEmbedder, open_embedder

                embedding = self.settings.embedding
                self._embedder = BackgroundEmbedder(
                    lambda: open_embedder(embedding.model, url=embedding.url, key=embedding.key)
                )
            # A server answers at once, if need be with lexical search alone. A single command can wait for the model.
            return self._embedder if self._watcher is not None else partial(self._embedder.wait, _LOAD_WAIT_SECONDS)

    def wait_for_model(self, seconds: float) -> None:
        """Wait for the embedding model to load. If it fails, the next search reports why."""
        if self.embedder is not None and self._embedder is not None:
            with contextlib.suppress(ContextiveError):
                self._embedder.wait(seconds)

    def condition(self) -> StoreCondition:
        """Whether the project exists and its index is usable, and if not, what to do. Cheap and read-only."""
        from contextive.store import store_condition
        from contextive.store.values import StoreCondition

        if not self.settings.root.is_dir():
            missing = ProjectMissing()
            return StoreCondition(False, "project_missing", missing.message, missing.hint or "")
        return store_condition(self.settings.state_dir, self.settings.postgres)

    def as_of(self) -> AsOf:
        """The state of the index that answers are based on now."""
        return self.with_pending(self.store.as_of())

    def with_pending(self, known: AsOf) -> AsOf:
        """A state with the number of files that still have to be indexed, and of chunks without an embedding."""
        files = self._watcher.pending_files if self._watcher is not None else 0
        return replace(known, pending_files=max(known.pending_files, files), pending_vectors=self._missing(known))

    def _missing(self, known: AsOf) -> int:
        from contextive.search.embedding_worker import missing_embeddings

        return missing_embeddings(known, self.settings.embedding.model)

    ##= docs/spec/knowledge.md#index-updates
    ##% When no server maintains the index, an answer MUST reflect every file saved before the call.
    def ensure_fresh(self, wait_seconds: float = _FIRST_RUN_WAIT_SECONDS) -> None:
        """Without a watcher, index changed files now. With one, wait until the first run of the project has finished,
        or until the watcher has been running for `wait_seconds`."""
        require_project(self.settings.root)
        if self._is_served:
            self.start_watching()
        if self._watcher is None:
            self._refresh.run(self._catch_up)
        elif self._is_complete():
            self._was_complete = True
        else:
            # An index that was removed is rebuilt soon, so it is waited for again.
            start = time.monotonic() if self._was_complete else self._watcher.started_at
            self._wait_for_first_run(self._watcher, start + wait_seconds)

    def _is_complete(self) -> bool:
        """Whether a run has ever finished on this index."""
        return self.store.state(STATE_PARSE_CONTEXT) is not None

    ##= docs/spec/knowledge.md#index-updates
    ##% Before the first run has finished, a search MUST wait for it for at most two seconds.
    def _wait_for_first_run(self, watcher: IndexWatcher, deadline: float) -> None:
        while not (self._is_complete() or watcher.problem) and time.monotonic() < deadline:
            time.sleep(_POLL_SECONDS)

    def ingest(
        self,
        request: IngestRequest,
        *,
        progress: IngestProgress = lambda _phase, _done, _total: None,
        stop: threading.Event | None = None,
        wait_seconds: float = RUN_WAIT_SECONDS,
        always_record: bool = True,
    ) -> IngestResult:
        """Run an ingest, record it with its reports, and return its result."""
        from contextive.search.events import RunEnded
        from contextive.store.sqlite.faults import Damaged

        started = time.monotonic()
        indexer = self.indexer()
        self.running = ("start", 0, 0)

        def report_progress(phase: str, done: int, total: int) -> None:
            self.running = (phase, done, total)
            progress(phase, done, total)

        try:
            try:
                outcome = indexer.run(request, progress=report_progress, stop=stop, wait_seconds=wait_seconds)
            except Damaged:
                # The next use of the store rebuilds it, so this run indexes all files again.
                outcome = indexer.run(request, progress=report_progress, stop=stop, wait_seconds=wait_seconds)
        except ContextiveError:
            if not (request.dry_run or (stop is not None and stop.is_set())):
                self._observer(RunEnded(request.profile, time.monotonic() - started, None))
            raise
        finally:
            self.running = None
            self._schedule_parser_shutdown()
        if not request.dry_run and (always_record or outcome.did_something):
            self._reporter().record(outcome, self.settings.ingest.include, always=always_record)
        if not request.dry_run:
            seconds, removed = time.monotonic() - started, len(outcome.removed)
            self._observer(RunEnded(request.profile, seconds, outcome.run, removed, outcome.did_something))
        return outcome

    def indexer(self) -> Indexer:
        from contextive.ingest.indexer import Indexer

        return Indexer(
            self.settings.root,
            self.store,
            self.settings.ingest,
            layers=self._layers(),
            holder=self._holder,
            state_dir=self.settings.state_dir,
            pool=self._parsers(),
        )

    def _parsers(self) -> ParserPool | None:
        with self._lock:
            if self._pool is None and self.settings.parser_processes:
                from contextive.ingest.parser_pool import ParserPool

                self._pool = ParserPool(self.settings.parser_processes)
            return self._pool

    def _schedule_parser_shutdown(self) -> None:
        """Stop the parser processes after they have been idle for a while."""
        with self._lock:
            if self._idle is not None:
                self._idle.cancel()
            if self._pool is not None:
                self._idle = threading.Timer(_IDLE_SECONDS, self._pool.end_idle_workers)
                self._idle.daemon = True
                self._idle.start()

    def embed(
        self,
        *,
        dummy: bool = False,
        progress: IngestProgress = lambda _phase, _done, _total: None,
        stop: threading.Event | None = None,
    ) -> int:
        """Compute missing embeddings and return their number. Raises Unavailable if the model cannot be loaded."""
        from contextive.search.embedding.factory import open_embedder
        from contextive.search.embedding_worker import embed_pending

        if self.settings.embedding.model == "none" and not dummy:
            return 0
        embedding = self.settings.embedding
        setting = "dummy" if dummy else embedding.model
        model = open_embedder(setting, url=embedding.url, key=embedding.key)
        return embed_pending(
            self.store,
            model,
            stop or threading.Event(),
            lambda done, total: progress("embed", done, total),
            setting=setting,
        )

    def start_watching(self) -> None:
        """Index in the background from now on, until `close`."""
        with self._lock:
            if self._watcher is None:
                from contextive.search.watcher import IndexWatcher

                self._watcher = IndexWatcher(self, self._holder, self._observer)
                self._watcher.start()

    @property
    def is_watched(self) -> bool:
        """Whether changes are indexed and embeddings computed in the background."""
        return self._watcher is not None

    def close(self) -> None:
        watcher, self._watcher = self._watcher, None
        if watcher is not None:
            watcher.stop()
        with self._lock:
            if self._idle is not None:
                self._idle.cancel()
            if self._pool is not None:
                self._pool.close()
            if self._events is not None:
                self._events.flush()
            if self._store is not None:
                self._store.close()
            self._store = self._search = self._graph = self._events = None

    def status(self) -> dict[str, Any]:
        """The current run and the state of the watcher, as JSON values."""
        status: dict[str, Any] = {}
        if self.running is not None:
            phase, done, total = self.running
            status["running"] = {"phase": phase, "done": done, "total": total}
        elif holder := self.store.lease_holder("ingest"):
            status["running"] = {"holder": holder}
        if self._watcher is not None:
            status["keeper"] = self._watcher.state
        return status

    def watcher_problem(self) -> str:
        """Why changed files are not indexed by this process or by the one that watches them; empty if they are."""
        from contextive.search.watcher import recorded_problem

        return (self._watcher.problem if self._watcher is not None else "") or recorded_problem(self.store)

    def embedding_problem(self) -> str:
        """Why some chunks have no embedding; empty if every chunk has one, or embeddings are turned off."""
        from contextive.search.embedding_worker import missing_embeddings_text

        as_of = self.as_of()
        if not as_of.pending_vectors:
            return ""
        reason = f" {self._watcher.embedding_problem}" if self._watcher is not None else ""
        return f"{missing_embeddings_text(as_of.pending_vectors, as_of.chunk_count)}{reason}".rstrip()

    def coverage(self, most: int) -> dict[str, Any]:
        """The contents of the index, with at most `most` files by name."""
        self.ensure_fresh()
        return self._reporter().coverage(self.settings.ingest.include, most)

    def lifecycle(self) -> dict[str, Any]:
        """The lifecycle report: orphans, stale documents and untested code."""
        self.ensure_fresh()
        return self._reporter().lifecycle()

    def skipped(self) -> dict[str, int]:
        """How many files the last run skipped, by reason."""
        found: dict[str, int] = json.loads(self.store.state("skipped") or "{}")
        return found

    @property
    def search_event_log(self) -> SearchEventLog:
        """The log of search results, which votes are joined with."""
        with self._lock:
            if self._events is None:
                from contextive.search.search_event_log import SearchEventLog

                self._events = SearchEventLog(self.store, self.settings.log_events, self._observer)
            return self._events

    def start_over(self) -> Repair | None:
        """Remove all derived rows. A store that cannot be used is renamed and replaced; the repair is returned."""
        from contextive.store import replace_unusable_store

        repair = None
        if self.settings.postgres is None:
            repair = replace_unusable_store(self.settings.state_dir, project=self.settings.root)
        with self.store.transaction() as writer:
            writer.clear_derived()
        return repair

    def last_run(self, profile: str | None = None) -> Run | None:
        found = self.store.records.runs(1, profile)
        return found[0] if found else None

    def _reporter(self) -> Reporter:
        from contextive.ingest.reports import Reporter

        return Reporter(self.store, self.settings.reports, self.settings.root)

    def _catch_up(self) -> None:
        from contextive.ingest.plan import RunInProgress

        try:
            self.ingest(IngestRequest(profile="auto"), wait_seconds=0.0, always_record=False)
        except RunInProgress:
            logger.debug("another process is indexing")
        except ProjectMissing:
            raise
        except Unavailable as error:
            logger.warning("the index could not be updated, answers may be stale: %s", error.full_message())
