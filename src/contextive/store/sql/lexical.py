"""The lexical sidecar: a token index next to the database, updated from the database's list of changes.

The first search after a commit updates it, under a lock that all processes share. A small backlog is processed before
the search; a large one in the background, and until then results come from the old state and report its generation. A
sidecar that is missing, damaged or of another version is rebuilt.
"""

from __future__ import annotations

import contextlib
import logging
import secrets
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Collection, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

from contextive.errors import Unavailable
from contextive.knowledge.query_words import TermCounts
from contextive.store.disk_probe import can_write
from contextive.store.sql import fts, tantivy_engine
from contextive.store.sql.database import SqlDatabase
from contextive.store.sql.filters import Filters
from contextive.store.sql.fts import FtsEngine
from contextive.store.sql.lexical_documents import read_documents
from contextive.store.sql.locks import FileLock
from contextive.store.sql.progress import (
    ProgressRow,
    SidecarManifest,
    can_catch_up,
    progress_in,
    read_progress,
    read_sidecar_manifest,
    write_sidecar_manifest,
)
from contextive.store.sql.tantivy_engine import TantivyEngine
from contextive.store.values import ChunkFilter, Discrepancy, Hit, LexicalQuery, SearchHits

VERSION = 1
"""Version of the fields and their content. A sidecar with another version is rebuilt."""
SMALL_BACKLOG = 2_000
"""A search waits for at most this many changed chunks."""
_BATCH = 500
_COMMIT_EVERY = 10_000
_LOCK_SECONDS = 2.0
_BACKGROUND_SECONDS = 0.25
_RETRY_SECONDS = 60.0
_FAULTS = (*tantivy_engine.FAULTS, *fts.FAULTS)
_log = logging.getLogger("contextive.store")
_T = TypeVar("_T")


class LexicalSidecar:
    """BM25 over the chunks of a database."""

    def __init__(self, database: SqlDatabase, filters: Filters) -> None:
        self._database = database
        self._filters = filters
        self._writable = database.directory.is_writable
        self._directory = database.directory.lexical
        self._engine_type: type[TantivyEngine | FtsEngine] = TantivyEngine
        self._warning: str | None = None
        self._engine: TantivyEngine | FtsEngine | None = None
        self._manifest: SidecarManifest | None = None
        self._manifest_stat: tuple[object, ...] | None = None
        self._last_read: tuple[object, ...] | None = None
        """Which manifest was read last, even if it was unusable."""
        self._fell_back_at: float | None = None
        self._in_memory = False
        self._state = threading.RLock()
        self._applying = threading.Lock()
        self._background: threading.Thread | None = None
        self._closing = threading.Event()
        if find_spec("tantivy") is None:  # it comes with the extra `vectors`; FTS5 is slower and finds the same
            self._engine_type = FtsEngine

    @property
    def _manifest_path(self) -> Path:
        return self._directory / f"{self._engine_type.name}.json"

    def _fall_back(self, reason: str) -> None:
        with self._state:
            _log.warning("lexical search falls back to FTS5: %s", reason)
            self._engine_type, self._warning = FtsEngine, f"Lexical search uses FTS5 and is slower: {reason}."
            self._engine = self._manifest = self._manifest_stat = None
            self._in_memory = False

    # Searching

    def _retry_tantivy(self) -> None:
        """Switch back to tantivy a while after it failed: other processes may have used it all the time."""
        if self._fell_back_at is not None and time.monotonic() - self._fell_back_at > _RETRY_SECONDS:
            with self._state:
                self._engine_type, self._warning, self._fell_back_at = TantivyEngine, None, None
                self._engine = self._manifest = self._manifest_stat = None

    def search(self, query: LexicalQuery, k: int, where: ChunkFilter) -> SearchHits:
        self._retry_tantivy()
        return self._repair_and_retry(lambda: self._search(query, k, where))

    def chunks_with(self, terms: Collection[str]) -> TermCounts:
        """In how many chunks each term is."""

        def count() -> TermCounts:
            self._search(LexicalQuery(()), 0, ChunkFilter())  # brings the index up to date
            return self._engine.chunk_counts(terms) if self._engine is not None else TermCounts(0, {})

        return self._repair_and_retry(count)

    def _repair_and_retry(self, operation: Callable[[], _T]) -> _T:
        """Run an operation. If the index is damaged, it is rebuilt; if it cannot be used at all, FTS5 takes over."""
        try:
            return operation()
        except _FAULTS as error:
            self._raise_if_unwritable(error)
            _log.warning("the lexical sidecar is damaged and will be rebuilt: %s", type(error).__name__)
            self._discard()
        try:
            return operation()
        except _FAULTS as error:
            self._raise_if_unwritable(error)
            if self._engine_type is not FtsEngine:
                self._fall_back("the tantivy index cannot be used here")
                self._fell_back_at = time.monotonic()
        try:
            return operation()
        except _FAULTS as error:
            raise Unavailable("Lexical search is not available.", hint="Check the disk of the index.") from error

    def _raise_if_unwritable(self, error: Exception) -> None:
        """A full disk is not damage: the sidecar is kept, and updated once there is space."""
        if self._writable and not can_write(self._directory):
            raise Unavailable(
                "The lexical index cannot be written at the moment.",
                hint="Free space on its disk, or check its permissions.",
            ) from error

    def _search(self, query: LexicalQuery, k: int, where: ChunkFilter) -> SearchHits:
        progress, manifest = self._read_positions()
        if not self._is_current(manifest, progress):
            try:
                self._catch_up_or_defer(progress, manifest)
            except _FAULTS as error:
                # Search the old state, unless there is none or it is damaged; the result reports its generation.
                if manifest is None or can_write(self._directory):
                    raise
                _log.warning("the lexical sidecar cannot be updated at the moment: %s", type(error).__name__)
            progress, manifest = self._read_positions()
        current = self._is_current(manifest, progress)
        generation = progress.generation if current else (manifest.seq or 0) if manifest else 0
        return SearchHits(tuple(self._hits(query, k, where, progress)), generation, is_behind=not current)

    def _hits(self, query: LexicalQuery, k: int, where: ChunkFilter, progress: ProgressRow) -> list[Hit]:
        engine = self._engine
        match engine:
            case TantivyEngine():
                return engine.search(query, k, where)
            case FtsEngine():
                return engine.search(query, k, self._filters.passing(where, progress))
            case None:
                return []

    def _read_positions(self) -> tuple[ProgressRow, SidecarManifest | None]:
        """The progress of the database and of the sidecar. The manifest is read first, so it cannot seem to be
        ahead."""
        manifest = self._load()
        return read_progress(self._database), manifest

    @staticmethod
    def _is_current(manifest: SidecarManifest | None, progress: ProgressRow) -> bool:
        return (
            manifest is not None
            and manifest.seq is not None
            and progress.chunk_seq <= manifest.seq <= progress.generation
        )

    ##= docs/spec/knowledge.md#index-updates
    ##% Once nothing changes any more, all servers of a project MUST return the same results for the same query.
    def _load(self) -> SidecarManifest | None:
        """Read the current manifest and open its index."""
        with self._state:
            if self._in_memory:
                return self._manifest
            try:
                status = self._manifest_path.stat()
            except FileNotFoundError:
                self._engine = self._manifest = self._manifest_stat = None
                return None
            self._database.reopen_if_replaced()
            manifest_stat = (status.st_mtime_ns, status.st_ino, self._database.identity)
            self._last_read = manifest_stat[:2]
            if manifest_stat != self._manifest_stat:
                manifest = read_sidecar_manifest(self._manifest_path, VERSION)
                with self._database.snapshot() as connection:
                    is_valid = manifest is not None and (
                        manifest.seq is None or can_catch_up(connection, manifest, progress_in(connection))
                    )
                if manifest is None or not is_valid:
                    self._engine = self._manifest = self._manifest_stat = None
                    return None
                if self._engine is None or self._manifest is None or self._manifest.place != manifest.place:
                    self._engine = self._engine_type(self._directory / manifest.place, create=False)
                else:
                    self._engine.reload()
                self._manifest, self._manifest_stat = manifest, manifest_stat
            elif self._manifest is not None and self._manifest.seq is None and self._engine is not None:
                self._engine.reload()
            return self._manifest

    # Catching up

    def _catch_up_or_defer(self, progress: ProgressRow, manifest: SidecarManifest | None) -> None:
        """Process a small backlog now, a large one in the background."""
        if not self._writable and manifest is not None and not self._in_memory:
            return
        if self._backlog(progress, manifest) <= SMALL_BACKLOG:
            self.catch_up(_LOCK_SECONDS)
            return
        with self._state:
            if self._background is None or not self._background.is_alive():
                self._background = threading.Thread(target=self._run_background, name="contextive-lexical", daemon=True)
                self._background.start()
            worker = self._background
        worker.join(_BACKGROUND_SECONDS)

    def _run_background(self) -> None:
        try:
            self.catch_up(_LOCK_SECONDS)
        except (*_FAULTS, Unavailable) as error:
            _log.warning("the lexical sidecar could not be updated: %s", type(error).__name__)

    def try_catch_up(self, timeout_seconds: float) -> None:
        """Catch up if possible. If not, the next search reports why."""
        for _ in range(2):
            try:
                self.catch_up(timeout_seconds)
                return
            except _FAULTS as error:
                _log.warning("the lexical sidecar could not be updated: %s", type(error).__name__)
                if not can_write(self._directory):
                    return
                self._discard()

    def _backlog(self, progress: ProgressRow, manifest: SidecarManifest | None) -> int:
        if manifest is None or manifest.seq is None or manifest.seq < progress.floor:
            sql, values = "SELECT count(*) FROM (SELECT 1 FROM chunk LIMIT ?) c", (SMALL_BACKLOG + 1,)
        else:
            sql = "SELECT count(*) FROM (SELECT 1 FROM change WHERE seq > ? AND kind = 0 LIMIT ?) c"
            values = (manifest.seq, SMALL_BACKLOG + 1)  # type: ignore[assignment]
        return int(self._database.read(sql, values)[0][0])

    def catch_up(self, timeout_seconds: float) -> bool:
        """Update the sidecar to the current generation; False when another process is doing so."""
        if not self._applying.acquire(timeout=timeout_seconds):
            return False
        try:
            with contextlib.ExitStack() as stack:
                if self._writable:
                    self._database.directory.make_sidecar_folder(self._directory)
                    lock = FileLock(self._directory / "writing.lock")
                    if not lock.acquire(timeout_seconds):
                        return False
                    stack.callback(lock.release)
                return self._apply()
        finally:
            self._applying.release()

    def _apply(self) -> bool:
        manifest = self._load()
        with self._database.snapshot() as connection:
            progress = progress_in(connection)
            if manifest is not None and manifest.seq is not None and can_catch_up(connection, manifest, progress):
                if manifest.seq >= progress.chunk_seq:
                    return True
                numbers = [
                    number
                    for (number,) in connection.execute(
                        "SELECT DISTINCT chunk FROM change WHERE seq > ? AND kind = 0 ORDER BY chunk", (manifest.seq,)
                    )
                ]
            else:
                manifest = None
                numbers = [number for (number,) in connection.execute("SELECT number FROM chunk")]
        if manifest is None:
            return self._rebuild(numbers, progress)
        assert self._engine is not None
        return self._write(
            self._engine,
            numbers,
            SidecarManifest(VERSION, manifest.place, progress.generation, progress.stamp),
            fresh=False,
        )

    ##= docs/spec/knowledge.md#store
    ##% A damaged lexical or vector index MUST be rebuilt from the database.
    ##= docs/spec/knowledge.md#store
    ##% An index on a read-only disk MUST still be searchable.
    def _rebuild(self, numbers: list[int], progress: ProgressRow) -> bool:
        place = f"{self._engine_type.name}-{secrets.token_hex(6)}"
        if not self._writable:
            engine: TantivyEngine | FtsEngine = self._engine_type(None, create=True)
            with self._state:
                self._in_memory, self._engine, self._manifest = True, engine, SidecarManifest(VERSION, place)
        else:
            (self._directory / place).mkdir(mode=0o700)
            engine = self._engine_type(self._directory / place, create=True)
            # From here on, searches use what the new index contains so far, and no longer the old one.
            self._set_manifest(SidecarManifest(VERSION, place))
            self._load()
        done = self._write(
            engine, sorted(numbers), SidecarManifest(VERSION, place, progress.generation, progress.stamp), fresh=True
        )
        if self._writable:
            self._remove_old(place)
        return done

    def _write(
        self, engine: TantivyEngine | FtsEngine, numbers: list[int], manifest: SidecarManifest, *, fresh: bool
    ) -> bool:
        with engine.writing() as writer:
            for start in range(0, len(numbers), _BATCH):
                if self._closing.is_set():
                    return False
                batch = numbers[start : start + _BATCH]
                if not fresh:
                    for number in batch:
                        writer.drop(number)
                # Reads the current state. Changes after the manifest's generation are applied again later.
                for document in self._documents(batch):
                    writer.put(document)
                if fresh and start and start % _COMMIT_EVERY == 0:
                    writer.commit()
            writer.commit()
        engine.reload()
        self._set_manifest(manifest)
        return True

    def _documents(self, numbers: list[int]) -> Iterator[Any]:
        with self._database.snapshot() as connection:
            yield from read_documents(connection, numbers)

    def _set_manifest(self, manifest: SidecarManifest) -> None:
        if self._in_memory:
            self._manifest = manifest
        else:
            write_sidecar_manifest(self._manifest_path, manifest)

    def _remove_old(self, place: str) -> None:
        """Remove earlier indexes. Processes that still read them keep access to the deleted files."""
        for path in self._directory.glob(f"{self._engine_type.name}-*"):
            if path.name != place:
                shutil.rmtree(path, ignore_errors=True)

    def _discard(self) -> None:
        """Delete the manifest, so that the sidecar is rebuilt, unless another process has already replaced it."""
        with self._state:
            self._engine = self._manifest = self._manifest_stat = None
            self._in_memory = not self._writable
            if self._writable:
                with contextlib.suppress(OSError):
                    status = self._manifest_path.stat()
                    if (status.st_mtime_ns, status.st_ino) == self._last_read:
                        self._manifest_path.unlink()

    # Status

    def health(self, progress: ProgressRow) -> dict[str, Any]:
        try:
            manifest = self._load()
        except _FAULTS:
            manifest = None
        return {
            "engine": self._engine_type.name,
            "generation": manifest.seq if manifest else None,
            "is_current": self._is_current(manifest, progress),
            "in_memory": self._in_memory,
        }

    def warnings(self) -> list[str]:
        return [self._warning] if self._warning else []

    def verify(self) -> Iterator[Discrepancy]:
        """Catch up, and check that the sidecar contains exactly the chunks of the database."""
        try:
            if self._writable:
                self.catch_up(_LOCK_SECONDS)
            progress, manifest = self._read_positions()
            if not self._is_current(manifest, progress) or self._engine is None:
                yield Discrepancy("lexical sidecar", "It is behind the database.")
                return
            indexed = self._engine.numbers()
        except (*_FAULTS, sqlite3.Error):
            self._discard()
            yield Discrepancy("lexical sidecar", "It is damaged and will be rebuilt.")
            return
        chunks = {number for (number,) in self._database.read("SELECT number FROM chunk")}
        if indexed != chunks and read_progress(self._database).chunk_seq == progress.chunk_seq:
            self._discard()
            missing, extra = len(chunks - indexed), len(indexed - chunks)
            yield Discrepancy(
                "lexical sidecar", f"{missing} chunks are missing and {extra} do not exist; it will be rebuilt."
            )

    def close(self) -> None:
        self._closing.set()
        worker = self._background
        if worker is not None:
            worker.join(_LOCK_SECONDS)
        with self._state:
            if isinstance(self._engine, FtsEngine):
                self._engine.close()
            self._engine = None
