"""The lexical sidecar: an index of tokens beside the database, which follows it from change to change.

Whoever asks first after a commit brings it up to date, under a lock that all processes share. A small backlog is worked off
before the question is answered; a large one in the background, and meanwhile answers come from what is there and say from
which generation. A sidecar that is missing, damaged or of another version is made anew.
"""

from __future__ import annotations

import contextlib
import logging
import secrets
import shutil
import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from contextive.errors import Unavailable
from contextive.store.sqlite import fts, tantivy_engine
from contextive.store.sqlite.connection import Database
from contextive.store.sqlite.directory import takes_writes
from contextive.store.sqlite.documents import read_documents
from contextive.store.sqlite.filters import Filters
from contextive.store.sqlite.fts import FtsEngine
from contextive.store.sqlite.locks import FileLock
from contextive.store.sqlite.progress import (
    Mark,
    Progress,
    can_catch_up,
    progress_in,
    read_mark,
    read_progress,
    write_mark,
)
from contextive.store.sqlite.tantivy_engine import TantivyEngine
from contextive.store.values import ChunkFilter, Discrepancy, Found, Hit, LexicalQuery

VERSION = 1
"""Of the fields and of what is put into them. Another one means that the sidecar is made anew."""
SMALL_BACKLOG = 2_000
"""Chunks that a question waits for."""
_BATCH = 500
_COMMIT_EVERY = 10_000
_LOCK_SECONDS = 2.0
_BACKGROUND_SECONDS = 0.25
_RETRY_SECONDS = 60.0
_FAULTS = (*tantivy_engine.FAULTS, *fts.FAULTS)
_log = logging.getLogger("contextive.store")


class LexicalSidecar:
    """BM25 over the chunks of a database."""

    def __init__(self, database: Database, filters: Filters) -> None:
        self._database = database
        self._filters = filters
        self._writable = database.directory.is_writable
        self._directory = database.directory.lexical
        self._kind: type[TantivyEngine | FtsEngine] = TantivyEngine
        self._trouble: str | None = None
        self._engine: TantivyEngine | FtsEngine | None = None
        self._mark: Mark | None = None
        self._mark_stat: tuple[object, ...] | None = None
        self._tried: tuple[object, ...] | None = None
        """Which mark was read last, be it to no avail."""
        self._fell_at: float | None = None
        self._own_memory = False
        self._state = threading.RLock()
        self._applying = threading.Lock()
        self._background: threading.Thread | None = None
        self._closing = threading.Event()
        try:
            import tantivy  # noqa: F401
        except ImportError:
            self._fall_back("tantivy is not installed")

    @property
    def _mark_path(self) -> Path:
        return self._directory / f"{self._kind.name}.json"

    def _fall_back(self, reason: str) -> None:
        with self._state:
            _log.warning("lexical search falls back to FTS5: %s", reason)
            self._kind, self._trouble = FtsEngine, f"Lexical search is served by FTS5 and slower: {reason}."
            self._engine = self._mark = self._mark_stat = None
            self._own_memory = False

    # Asking

    def _get_up(self) -> None:
        """Try again what could not be used a while ago: other processes may have answered by it all the time."""
        if self._fell_at is not None and time.monotonic() - self._fell_at > _RETRY_SECONDS:
            with self._state:
                self._kind, self._trouble, self._fell_at = TantivyEngine, None, None
                self._engine = self._mark = self._mark_stat = None

    def search(self, query: LexicalQuery, k: int, where: ChunkFilter) -> Found:
        self._get_up()
        try:
            return self._search(query, k, where)
        except _FAULTS as error:
            self._refuse_where_nothing_can_be_written(error)
            _log.warning("the lexical sidecar is damaged and is made anew: %s", type(error).__name__)
            self._discard()
        try:
            return self._search(query, k, where)
        except _FAULTS as error:
            self._refuse_where_nothing_can_be_written(error)
            if self._kind is not FtsEngine:
                self._fall_back("its index cannot be used here")
                self._fell_at = time.monotonic()
        try:
            return self._search(query, k, where)
        except _FAULTS as error:
            raise Unavailable("Lexical search is not available.", hint="Check the disk of the index.") from error

    def _refuse_where_nothing_can_be_written(self, error: Exception) -> None:
        """A full disk is no damage: what is there stays, and is followed once there is room."""
        if self._writable and not takes_writes(self._directory):
            raise Unavailable(
                "The index of words cannot be written just now.",
                hint="Make room on its disk, or check its permissions.",
            ) from error

    def _search(self, query: LexicalQuery, k: int, where: ChunkFilter) -> Found:
        progress, mark = self._look()
        if not self._is_current(mark, progress):
            try:
                self._follow(progress, mark)
            except _FAULTS as error:
                # Answered from what is there, which says from when it is; unless there is nothing, or it is damaged.
                if mark is None or takes_writes(self._directory):
                    raise
                _log.warning("the lexical sidecar cannot follow just now: %s", type(error).__name__)
            progress, mark = self._look()
        current = self._is_current(mark, progress)
        generation = progress.generation if current else (mark.seq or 0) if mark else 0
        return Found(tuple(self._hits(query, k, where, progress)), generation, is_behind=not current)

    def _hits(self, query: LexicalQuery, k: int, where: ChunkFilter, progress: Progress) -> list[Hit]:
        engine = self._engine
        match engine:
            case TantivyEngine():
                return engine.search(query, k, where)
            case FtsEngine():
                return engine.search(query, k, self._filters.passing(where, progress))
            case None:
                return []

    def _look(self) -> tuple[Progress, Mark | None]:
        """How far the sidecar and the database are. The mark is read first, so it cannot seem to be ahead."""
        mark = self._load()
        return read_progress(self._database), mark

    @staticmethod
    def _is_current(mark: Mark | None, progress: Progress) -> bool:
        return mark is not None and mark.seq is not None and progress.chunk_seq <= mark.seq <= progress.generation

    ##= docs/spec/knowledge.md#keeping-in-step
    ##% Servers of one project MUST give the same results to the same question once nothing changes any more.
    def _load(self) -> Mark | None:
        """The mark as it is now, with its index opened."""
        with self._state:
            if self._own_memory:
                return self._mark
            try:
                found = self._mark_path.stat()
            except FileNotFoundError:
                self._engine = self._mark = self._mark_stat = None
                return None
            self._database.reader()  # notices when the database is another file
            seen = (found.st_mtime_ns, found.st_ino, self._database.identity)
            self._tried = seen[:2]
            if seen != self._mark_stat:
                mark = read_mark(self._mark_path, VERSION)
                with self._database.snapshot() as connection:
                    sound = mark is not None and (
                        mark.seq is None or can_catch_up(connection, mark, progress_in(connection))
                    )
                if mark is None or not sound:
                    self._engine = self._mark = self._mark_stat = None
                    return None
                if self._engine is None or self._mark is None or self._mark.place != mark.place:
                    self._engine = self._kind(self._directory / mark.place, create=False)
                else:
                    self._engine.reload()
                self._mark, self._mark_stat = mark, seen
            elif self._mark is not None and self._mark.seq is None and self._engine is not None:
                self._engine.reload()
            return self._mark

    # Following

    def _follow(self, progress: Progress, mark: Mark | None) -> None:
        """Work off a small backlog now, a large one behind the scenes."""
        if not self._writable and mark is not None and not self._own_memory:
            return
        if self._backlog(progress, mark) <= SMALL_BACKLOG:
            self.catch_up(_LOCK_SECONDS)
            return
        with self._state:
            if self._background is None or not self._background.is_alive():
                self._background = threading.Thread(target=self._work, name="contextive-lexical", daemon=True)
                self._background.start()
            worker = self._background
        worker.join(_BACKGROUND_SECONDS)

    def _work(self) -> None:
        try:
            self.catch_up(_LOCK_SECONDS)
        except (*_FAULTS, Unavailable) as error:
            _log.warning("the lexical sidecar could not follow: %s", type(error).__name__)

    def settle(self, timeout_seconds: float) -> None:
        """Catch up, where it can be done. Where it cannot, the next question finds out why."""
        for _ in range(2):
            try:
                self.catch_up(timeout_seconds)
                return
            except _FAULTS as error:
                _log.warning("the lexical sidecar could not follow: %s", type(error).__name__)
                if not takes_writes(self._directory):
                    return
                self._discard()

    def _backlog(self, progress: Progress, mark: Mark | None) -> int:
        if mark is None or mark.seq is None or mark.seq < progress.floor:
            sql, values = "SELECT count(*) FROM (SELECT 1 FROM chunk LIMIT ?)", (SMALL_BACKLOG + 1,)
        else:
            sql = "SELECT count(*) FROM (SELECT 1 FROM change WHERE seq > ? AND kind = 0 LIMIT ?)"
            values = (mark.seq, SMALL_BACKLOG + 1)  # type: ignore[assignment]
        return int(self._database.read(sql, values)[0][0])

    def catch_up(self, timeout_seconds: float) -> bool:
        """Bring the sidecar to the present generation; False when another process is at it."""
        if not self._applying.acquire(timeout=timeout_seconds):
            return False
        try:
            with contextlib.ExitStack() as held:
                if self._writable:
                    self._database.directory.make_private(self._directory)
                    lock = FileLock(self._directory / "writing.lock")
                    if not lock.acquire(timeout_seconds):
                        return False
                    held.callback(lock.release)
                return self._apply()
        finally:
            self._applying.release()

    def _apply(self) -> bool:
        mark = self._load()
        with self._database.snapshot() as connection:
            progress = progress_in(connection)
            if mark is not None and mark.seq is not None and can_catch_up(connection, mark, progress):
                if mark.seq >= progress.chunk_seq:
                    return True
                numbers = [
                    number
                    for (number,) in connection.execute(
                        "SELECT DISTINCT chunk FROM change WHERE seq > ? AND kind = 0", (mark.seq,)
                    )
                ]
            else:
                mark = None
                numbers = [number for (number,) in connection.execute("SELECT number FROM chunk")]
        if mark is None:
            return self._make_anew(numbers, progress)
        assert self._engine is not None
        return self._write(
            self._engine, numbers, Mark(VERSION, mark.place, progress.generation, progress.stamp), fresh=False
        )

    ##= docs/spec/knowledge.md#the-store
    ##% A damaged index of words or of vectors MUST be made again from the database.
    ##= docs/spec/knowledge.md#the-store
    ##% An index on a disk that can only be read MUST still be searched.
    def _make_anew(self, numbers: list[int], progress: Progress) -> bool:
        place = f"{self._kind.name}-{secrets.token_hex(6)}"
        if not self._writable:
            engine: TantivyEngine | FtsEngine = self._kind(None, create=True)
            with self._state:
                self._own_memory, self._engine, self._mark = True, engine, Mark(VERSION, place)
        else:
            (self._directory / place).mkdir(mode=0o700)
            engine = self._kind(self._directory / place, create=True)
            # From here on the old one is no longer asked, and the new one for what it holds already.
            self._set_mark(Mark(VERSION, place))
            self._load()
        done = self._write(
            engine, sorted(numbers), Mark(VERSION, place, progress.generation, progress.stamp), fresh=True
        )
        if self._writable:
            self._sweep(place)
        return done

    def _write(self, engine: TantivyEngine | FtsEngine, numbers: list[int], mark: Mark, *, fresh: bool) -> bool:
        with engine.writing() as writer:
            for start in range(0, len(numbers), _BATCH):
                if self._closing.is_set():
                    return False
                batch = numbers[start : start + _BATCH]
                if not fresh:
                    for number in batch:
                        writer.drop(number)
                # Read as of now: what changed since the mark's generation is in the changes that follow it.
                for document in self._documents(batch):
                    writer.put(document)
                if fresh and start and start % _COMMIT_EVERY == 0:
                    writer.commit()
            writer.commit()
        engine.reload()
        self._set_mark(mark)
        return True

    def _documents(self, numbers: list[int]) -> Iterator[Any]:
        with self._database.snapshot() as connection:
            yield from read_documents(connection, numbers)

    def _set_mark(self, mark: Mark) -> None:
        if self._own_memory:
            self._mark = mark
        else:
            write_mark(self._mark_path, mark)

    def _sweep(self, place: str) -> None:
        """Remove what earlier sidecars left. Others may still read it; the system keeps it for them."""
        for path in self._directory.glob(f"{self._kind.name}-*"):
            if path.name != place:
                shutil.rmtree(path, ignore_errors=True)

    def _discard(self) -> None:
        """Have the sidecar made anew; but not one that another process has put in the place of the damaged one meanwhile."""
        with self._state:
            self._engine = self._mark = self._mark_stat = None
            self._own_memory = not self._writable
            if self._writable:
                with contextlib.suppress(OSError):
                    found = self._mark_path.stat()
                    if (found.st_mtime_ns, found.st_ino) == self._tried:
                        self._mark_path.unlink()

    # Telling

    def health(self, progress: Progress) -> dict[str, Any]:
        try:
            mark = self._load()
        except _FAULTS:
            mark = None
        return {
            "engine": self._kind.name,
            "generation": mark.seq if mark else None,
            "is_current": self._is_current(mark, progress),
            "in_memory": self._own_memory,
        }

    def warnings(self) -> list[str]:
        return [self._trouble] if self._trouble else []

    def verify(self) -> Iterator[Discrepancy]:
        """Whether the sidecar holds exactly the chunks of the database once it has caught up."""
        try:
            if self._writable:
                self.catch_up(_LOCK_SECONDS)
            progress, mark = self._look()
            if not self._is_current(mark, progress) or self._engine is None:
                yield Discrepancy("lexical sidecar", "It is behind the database.")
                return
            held = self._engine.numbers()
        except (*_FAULTS, sqlite3.Error):
            self._discard()
            yield Discrepancy("lexical sidecar", "It is damaged and will be made anew.")
            return
        chunks = {number for (number,) in self._database.read("SELECT number FROM chunk")}
        if held != chunks and read_progress(self._database).chunk_seq == progress.chunk_seq:
            self._discard()
            missing, extra = len(chunks - held), len(held - chunks)
            yield Discrepancy(
                "lexical sidecar", f"{missing} chunks are missing and {extra} are too many; it will be made anew."
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
