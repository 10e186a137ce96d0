"""Keeps an index up to date in the background of a server process.

Many processes may serve one project. The one with the lease `keeper` does the work; when it ends or dies, another
takes over. Indexing and embedding run in separate threads, so a saved file never waits for embeddings.
"""

from __future__ import annotations

import contextlib
import json
import logging
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from contextive.errors import ContextiveError, Unavailable
from contextive.ingest.settings import IngestRequest
from contextive.search.events import Observer, WatcherRan, ignore_event
from contextive.workspace.directory_handles import identity_of

if TYPE_CHECKING:
    from contextive.search.index import Index
    from contextive.store.protocol import Lease, Store

logger = logging.getLogger(__name__)

LEASE = "keeper"
_PROBLEM_KEY = "watcher_problem"
_START_SECONDS = 0.5
_LEASE_SECONDS = 1.0
_SWEEP_SECONDS = 300.0
_POLL_SECONDS = 5.0
_RETRY_SECONDS = 5.0
_DEBOUNCE_MILLISECONDS = 150
_TICK_MILLISECONDS = 1_000
_POLLING = f"The system does not report file changes; files are checked every {_POLL_SECONDS:.0f} seconds instead."


class IndexWatcher:
    """The two background threads and their state."""

    def __init__(self, index: Index, holder: str, observer: Observer = ignore_event) -> None:
        self._index = index
        self._observer = observer
        self._holder = holder
        self._stop = threading.Event()
        self._embed = threading.Event()
        self.started_at = time.monotonic()
        self.pending_files = 0
        self.state = "waiting"
        self.problem = ""
        """Why changed files may not be indexed; empty while they are."""
        self.embedding_problem = ""
        """Why embeddings are not computed; empty while they are."""
        self._identity: object = None
        """The identity of the index at the end of the last run."""
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        for target, name in ((self._index_loop, "index-watcher"), (self._embedding_loop, "embedding-worker")):
            thread = threading.Thread(target=target, name=name, daemon=True)
            self._threads.append(thread)
            thread.start()

    def stop(self) -> None:
        """Stop both threads. Their unfinished work is resumed next time."""
        self._stop.set()
        self._embed.set()
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(timeout=5.0)

    ##= docs/spec/knowledge.md#index-updates
    ##% A server MUST index automatically after it starts and after each file change, unless `knowledge.autoIngest` is
    ##% false.
    ##= docs/spec/knowledge.md#index-updates
    ##% When several servers run for a project, one of them MUST maintain the index, and another takes over when it
    ##% ends or dies.
    def _index_loop(self) -> None:
        """Wait for the lease, then index at once and after every change."""
        self._stop.wait(_START_SECONDS)  # let the first answer go first
        while not self._stop.is_set():
            try:
                lease = self._index.store.acquire_lease(LEASE, self._holder)
            except ContextiveError as error:
                self._failed(error)
                continue
            if lease is None:
                self.state, self.problem = "another process updates the index", ""
                self._stop.wait(_LEASE_SECONDS)
                continue
            try:
                self._run()
                self._watch(lease)
            except Exception as error:  # a thread that ended here would leave the index behind the files unnoticed
                logger.exception("the watcher failed and starts again")
                self._failed(Unavailable(f"The watcher failed ({type(error).__name__})."))
            finally:
                lease.release()

    def _run(self, known_problem: str = "") -> bool:
        """Index once; returns whether it succeeded. `known_problem` is reported even after a successful run."""
        from contextive.ingest.plan import IndexReplaced

        self.state = "indexing"
        try:
            self._index.ingest(IngestRequest(profile="auto"), stop=self._stop, always_record=False)
            self._identity = self._index.store.identity()
        except IndexReplaced as error:
            logger.warning("the run ended early: %s", error.full_message())
            return False
        except (ContextiveError, OSError) as error:
            if self._stop.is_set():
                return False  # the server is ending; the next run continues
            self._observer(WatcherRan(False))
            self._failed(error)
            return False
        self._observer(WatcherRan(True))
        self.pending_files = 0
        self.state = "watching"
        self._report_problem(known_problem)
        self._embed.set()
        return True

    ##= docs/spec/knowledge.md#index-updates
    ##% A state directory that is removed while a server uses it MUST be rebuilt without a restart.
    def _watch(self, lease: Lease) -> None:
        """Run again whenever files change, or the index was removed.

        Returns when the lease is lost with the state directory, or when the project directory is replaced by another
        one, which the watch does not see. If the system does not report changes, the files are checked every few
        seconds, and the watch is tried again after a while.
        """
        from watchfiles import watch

        root, state_dir = self._index.settings.root, self._index.settings.state_dir
        watched = identity_of(root)
        last_run = float("-inf")
        is_behind = False
        try:
            # No watch_filter: with one, the watch would not tick during changes it filters out, and every search
            # writes.
            for events in watch(
                root,
                watch_filter=None,
                debounce=_DEBOUNCE_MILLISECONDS,
                step=50,
                stop_event=self._stop,
                rust_timeout=_TICK_MILLISECONDS,
                yield_on_timeout=True,
                raise_interrupt=False,
            ):
                if not lease.is_held or identity_of(root) != watched:
                    return
                changes = [path for _change, path in events if is_indexed_path(root, path, state_dir)]
                # The first tick always runs: a file may have been saved between the first run and the start of the
                # watch.
                if changes or is_behind or self._is_replaced() or time.monotonic() - last_run > _SWEEP_SECONDS:
                    self.pending_files = len(changes) or self.pending_files
                    is_behind = not self._run()
                    last_run = time.monotonic()
        except (OSError, RuntimeError) as error:
            logger.warning("file changes are not reported by the system, so files are polled: %s", type(error).__name__)
            until = time.monotonic() + _SWEEP_SECONDS
            while time.monotonic() < until and lease.is_held and not self._stop.is_set():
                self._run(_POLLING)
                self._stop.wait(_POLL_SECONDS)

    def _is_replaced(self) -> bool:
        """Whether the index was removed or rebuilt since the last run, or cannot be used, which the next run reports."""
        try:
            return self._index.store.identity() != self._identity
        except ContextiveError:
            return True

    def _embedding_loop(self) -> None:
        while True:
            self._embed.wait()
            self._embed.clear()
            if self._stop.is_set():
                return
            try:
                self._index.embed(stop=self._stop)
                self.embedding_problem = ""
            except (ContextiveError, OSError) as error:
                self.embedding_problem = error.message if isinstance(error, ContextiveError) else _error_text(error)
                logger.warning("embeddings are not computed: %s", _error_text(error))
                self._stop.wait(_RETRY_SECONDS)

    def _failed(self, error: ContextiveError | OSError) -> None:
        message = error.message if isinstance(error, ContextiveError) else _error_text(error)
        self.state = f"failed: {message}"
        self._report_problem(f"Changed files are not indexed: {message}")
        logger.warning("the index is not kept up to date: %s", _error_text(error))
        self._stop.wait(_RETRY_SECONDS)

    def _report_problem(self, problem: str) -> None:
        """Record why files are not watched, also in the store, so other processes can report it."""
        if problem != self.problem:
            self.problem = problem
            with contextlib.suppress(ContextiveError), self._index.store.transaction() as writer:
                writer.put_state(_PROBLEM_KEY, json.dumps({"holder": self._holder, "problem": problem}))


def _error_text(error: ContextiveError | OSError) -> str:
    return error.full_message() if isinstance(error, ContextiveError) else f"{error.strerror or 'System error'}."


def recorded_problem(store: Store) -> str:
    """Why the process that watches the files cannot index them; empty if it can, or if there is no such process."""
    holder = store.lease_holder(LEASE)
    recorded = json.loads(store.state(_PROBLEM_KEY) or "{}")
    return str(recorded.get("problem", "")) if holder is not None and recorded.get("holder") == holder else ""


def is_indexed_path(root: Path, path: str, state_dir: Path) -> bool:
    """Whether a change at a path can affect the index."""
    if path.startswith(f"{state_dir}/") or path == str(state_dir):
        return False
    parts = Path(path).relative_to(root).parts if path.startswith(f"{root}/") else ()
    if parts[:1] == (".git",):
        return parts[1:] in {("HEAD",), ("ORIG_HEAD",)} or parts[1:3] == ("refs", "heads")
    if parts[:1] == (".duvet",):
        return True
    return not any(part.startswith(".") or part in ("node_modules", "__pycache__") for part in parts[:-1])
