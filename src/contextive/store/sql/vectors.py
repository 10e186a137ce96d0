"""The vector sidecar: one memory-mapped file for each model, which a search scans from start to end.

The file is a log of rows. A row contains the number of a chunk, the number of its artifact, the vector in eight bits,
and the error of that rounding. A row with a negative number removes the chunk; of several rows of a chunk the last
one counts. Rows are only appended, so processes that have mapped the file see no change. The manifest says how many
rows are valid; rows after them are left over from a crash and are overwritten. When too many rows are dead, a new
file is written and the manifest points to it.

The scan finds candidates: all rows whose eight-bit score could be among the best. They are then scored with the
vectors in the database. The bound on the rounding error of a score is six standard deviations, so the result differs
from that of an exact search with a probability of one in hundreds of millions.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import re
import secrets
import threading
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from contextive.store.sql.database import SqlConnection, SqlDatabase
from contextive.store.sql.filters import Filters
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
from contextive.store.sql.quantisation import decode_vectors, error_bound, normalised, quantise
from contextive.store.sql.vector_scan import ROUNDING, dot_products, kth_best, membership, possible_top_k, top_scored
from contextive.store.values import ChunkFilter, Discrepancy, Hit, SearchHits, VectorModel

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

VERSION = 2
_LOCK_SECONDS = 2.0
_BATCH = 4_000
_DEAD_SHARE = 0.25
_GATHER_SHARE = 0.2
"""Below this share of passing rows, copying them first is cheaper than scanning all."""
_MIN_CANDIDATES = 512
"""At least this many are scored exactly. One of the best can be missed only if more vectors than this, and more than
four times k, are too close together for eight bits to tell apart."""
_log = logging.getLogger("contextive.store")


@dataclass(frozen=True, slots=True)
class Matrix:
    """The rows of a sidecar at the time of its manifest."""

    manifest: SidecarManifest
    rows: NDArray[Any]
    """All rows of the file, dead ones included."""
    numbers: NDArray[np.int64]
    artifacts: NDArray[np.int32]
    scales: NDArray[np.float32]
    errors: NDArray[np.float32]
    largest_error: float
    alive: NDArray[np.bool_]

    @property
    def dead(self) -> int:
        return len(self.alive) - int(self.alive.sum())


class VectorSidecar:
    """The vectors of one model."""

    def __init__(self, database: SqlDatabase, filters: Filters, model: VectorModel) -> None:
        self._database = database
        self._filters = filters
        self._model = model
        self._writable = database.directory.is_writable
        self._directory = database.directory.vectors
        self._name = _file_name(model)
        self._manifest_path = self._directory / f"{self._name}.json"
        self._matrix: Matrix | None = None
        self._manifest_stat: tuple[object, ...] | None = None
        self._in_memory = False
        self._lock = threading.Lock()

    # Searching

    def search(self, vector: Any, k: int, where: ChunkFilter) -> SearchHits:
        with self._lock:
            matrix = self._load()
            progress = read_progress(self._database)
            if matrix is None or not _is_current(matrix.manifest, progress):
                matrix = self._catch_up() or matrix
                progress = read_progress(self._database)
        if matrix is None:
            return SearchHits((), 0, is_behind=True)
        current = _is_current(matrix.manifest, progress)
        generation = progress.generation if current else matrix.manifest.seq or 0
        query = normalised(vector)
        if k <= 0 or len(query) != self._model.dimensions:
            return SearchHits((), generation, is_behind=not current)
        candidates = self._candidates(matrix, query, k, where, progress)
        return SearchHits(tuple(self._scored(candidates, query, k)), generation, is_behind=not current)

    def _candidates(
        self, matrix: Matrix, query: NDArray[np.float32], k: int, where: ChunkFilter, progress: ProgressRow
    ) -> NDArray[np.int64]:
        import numpy as np

        passing = self._passing(matrix, where, progress)
        steps, scales, error = quantise(query[None, :])
        rows: NDArray[Any] | None = None
        if passing is not None and np.count_nonzero(passing) < _GATHER_SHARE * len(passing):
            rows = np.flatnonzero(passing)
            scores = dot_products(steps, np.ascontiguousarray(matrix.rows["vector"][rows]))
            scores *= matrix.scales[rows] * scales[0]
        else:
            scores = dot_products(steps, matrix.rows["vector"])
            scores *= matrix.scales
            scores *= scales[0]
            if passing is not None:
                scores[~passing] = -np.inf
        if len(scores) <= k:
            chosen = np.flatnonzero(scores > -np.inf)
            return matrix.numbers[chosen if rows is None else rows[chosen]]
        # A score may be off by the rounding errors of both vectors.
        more = 2 * float(error_bound(scales, error)[0])
        # Most rows score so low that even the largest error could not make up for it.
        likely = np.flatnonzero(scores >= max(kth_best(scores, k) - more - 2 * (matrix.largest_error + ROUNDING), -3.0))
        near = likely
        if len(likely) > k:
            errors = matrix.errors[likely if rows is None else rows[likely]]
            near = likely[possible_top_k(scores[likely], errors, k, more)]
        near = top_scored(near, scores, max(16 * k, 4 * _MIN_CANDIDATES))
        chosen = near if rows is None else rows[near]
        if len(chosen) > k:
            # The query without rounding separates the remaining rows better.
            scores = (matrix.rows["vector"][chosen].astype(np.float32) @ query) * matrix.scales[chosen]
            near = possible_top_k(scores, matrix.errors[chosen], k, 0.0)
            chosen = chosen[top_scored(near, scores, max(4 * k, _MIN_CANDIDATES))]
        return matrix.numbers[chosen]

    def _passing(self, matrix: Matrix, where: ChunkFilter, progress: ProgressRow) -> NDArray[np.bool_] | None:
        """Which rows count; None when all do."""
        passing = None if matrix.alive.all() else matrix.alive
        if where.is_empty:
            return passing
        for allowed, values in (
            (self._filters.artifacts(where, progress), matrix.artifacts),
            (self._filters.chunks(where, progress), matrix.numbers),
        ):
            if allowed is not None:
                mask = membership(values, allowed)
                passing = mask if passing is None else passing & mask
        return passing

    def _scored(self, numbers: NDArray[np.int64], query: NDArray[np.float32], k: int) -> list[Hit]:
        found, scores = score_exactly(read_vectors(self._database, self._model, numbers.tolist()), query)
        return [
            Hit(found[at], scores[at]) for at in sorted(range(len(found)), key=lambda at: (-scores[at], found[at]))[:k]
        ]

    # Loading

    def _load(self) -> Matrix | None:
        if self._in_memory:
            return self._matrix
        try:
            status = self._manifest_path.stat()
        except OSError:
            self._matrix = self._manifest_stat = None
            return None
        self._database.reopen_if_replaced()
        manifest_stat = (status.st_mtime_ns, status.st_ino, self._database.identity)
        if manifest_stat == self._manifest_stat:
            return self._matrix
        manifest = read_sidecar_manifest(self._manifest_path, VERSION)
        with self._database.snapshot() as connection:
            is_valid = manifest is not None and can_catch_up(connection, manifest, progress_in(connection))
        self._matrix = self._map(manifest) if manifest is not None and is_valid else None
        self._manifest_stat = manifest_stat if self._matrix is not None else None
        return self._matrix

    def _map(self, manifest: SidecarManifest) -> Matrix | None:
        """The rows of the manifest, mapped into memory; None when the file does not match the manifest."""
        import numpy as np

        kind = _row_type(self._model.dimensions)
        path = self._directory / manifest.place
        if (manifest.model, manifest.dimensions) != (self._model.name, self._model.dimensions):
            return None
        try:
            if path.stat().st_size < manifest.rows * kind.itemsize:
                return None
            rows = (
                np.memmap(path, dtype=kind, mode="r", shape=(manifest.rows,))
                if manifest.rows
                else np.empty(0, dtype=kind)
            )
        except (OSError, ValueError):
            return None
        before = self._matrix
        known = before is not None and before.manifest.place == manifest.place and before.manifest.rows <= manifest.rows
        start, checksum = (before.manifest.rows, before.manifest.checksum) if known and before is not None else (0, 0)
        if zlib.crc32(rows[start:].view(np.uint8).data if len(rows) > start else b"", checksum) != manifest.checksum:
            _log.warning("the vector sidecar is damaged and will be rebuilt")
            return None
        return _matrix(manifest, rows)

    # Catching up

    def catch_up(self) -> None:
        """Update the sidecar to the current generation."""
        with self._lock:
            self._load()
            self._catch_up()

    def _catch_up(self) -> Matrix | None:
        if not self._writable:
            if self._matrix is None or self._in_memory:
                self._load_into_memory()
            return self._matrix
        if self._in_memory:  # the last write failed; perhaps it works now
            self._in_memory, self._matrix, self._manifest_stat = False, None, None
        try:
            self._database.directory.make_sidecar_folder(self._directory)
            lock = FileLock(self._directory / f"{self._name}.lock")
            if not lock.acquire(_LOCK_SECONDS):
                return self._matrix
            try:
                self._apply(self._load())
            finally:
                lock.release()
        except OSError as error:
            _log.warning("the vector sidecar could not be written: %s", type(error).__name__)
            self._load_into_memory()
        return self._matrix if self._in_memory else self._load()

    def _apply(self, matrix: Matrix | None) -> None:
        """Append the changes since the manifest, or rewrite everything. The caller holds the lock."""
        import numpy as np

        with self._database.snapshot() as connection:
            progress = progress_in(connection)
            if matrix is None or not can_catch_up(connection, matrix.manifest, progress):
                self._rewrite(connection, progress)
                return
            if _is_current(matrix.manifest, progress):
                return
            changed = [
                number
                for (number,) in connection.execute(
                    "SELECT DISTINCT chunk FROM change WHERE seq > ? ORDER BY chunk", (matrix.manifest.seq,)
                )
            ]
            fresh = self._rows(connection, changed)
        without_vector = np.setdiff1d(np.array(changed, dtype=np.int64), fresh["number"])
        removed = without_vector[membership(without_vector, matrix.numbers[matrix.alive])]
        removals = np.zeros(len(removed), dtype=fresh.dtype)
        removals["number"] = -removed
        replaced = int(membership(fresh["number"], matrix.numbers[matrix.alive]).sum())
        dead = matrix.dead + 2 * len(removed) + replaced
        if dead > _DEAD_SHARE * (len(matrix.rows) + len(fresh) + len(removed)) + 64:
            with self._database.snapshot() as connection:
                self._rewrite(connection, progress_in(connection))
            return
        added = np.concatenate([fresh, removals])
        manifest = replace(
            matrix.manifest,
            seq=progress.generation,
            stamp=progress.stamp,
            rows=len(matrix.rows) + len(added),
            checksum=zlib.crc32(added.tobytes(), matrix.manifest.checksum),
        )
        descriptor = os.open(self._directory / manifest.place, os.O_WRONLY)
        with os.fdopen(descriptor, "wb") as stream:
            stream.seek(matrix.manifest.rows * added.dtype.itemsize)
            stream.write(added.tobytes())
        write_sidecar_manifest(self._manifest_path, manifest)

    def _rewrite(self, connection: SqlConnection, progress: ProgressRow) -> None:
        place = f"{self._name}-{secrets.token_hex(6)}.i8"
        path = self._directory / place
        checksum, count = 0, 0
        try:
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
                for rows in self._all_rows(connection):
                    content = rows.tobytes()
                    stream.write(content)
                    checksum, count = zlib.crc32(content, checksum), count + len(rows)
            manifest = SidecarManifest(
                VERSION, place, progress.generation, progress.stamp, count, checksum,
                self._model.name, self._model.dimensions,
            )  # fmt: skip
            write_sidecar_manifest(self._manifest_path, manifest)
        except OSError:
            path.unlink(missing_ok=True)
            raise
        for old in self._directory.glob(f"{self._name}-*.i8"):
            if old.name != place:
                with contextlib.suppress(OSError):
                    old.unlink()

    def _load_into_memory(self) -> None:
        """Load the vectors into memory when the sidecar cannot be written."""
        import numpy as np

        with self._database.snapshot() as connection:
            progress = progress_in(connection)
            if self._matrix is not None and _is_current(self._matrix.manifest, progress):
                return
            parts = list(self._all_rows(connection))
        rows = np.concatenate(parts or [np.empty(0, dtype=_row_type(self._model.dimensions))])
        manifest = SidecarManifest(VERSION, "memory", progress.generation, progress.stamp, len(rows))
        self._in_memory, self._matrix = True, _matrix(manifest, rows)

    def _all_rows(self, connection: SqlConnection) -> Iterator[NDArray[Any]]:
        last = 0
        while found := connection.execute(
            "SELECT v.chunk, c.artifact, v.data FROM vector v JOIN chunk c ON c.number = v.chunk WHERE v.chunk > ?"
            " AND v.model = (SELECT number FROM vector_model WHERE name = ? AND dimensions = ?)"
            " ORDER BY v.chunk LIMIT ?",
            (last, self._model.name, self._model.dimensions, _BATCH),
        ).fetchall():
            yield _encode_rows(found, self._model.dimensions)
            last = found[-1][0]

    def _rows(self, connection: SqlConnection, numbers: list[int]) -> NDArray[Any]:
        found = connection.execute(
            "SELECT v.chunk, c.artifact, v.data FROM json_each(?) g CROSS JOIN vector v ON v.chunk = CAST(g.value AS BIGINT)"
            " JOIN chunk c ON c.number = v.chunk WHERE v.model ="
            " (SELECT number FROM vector_model WHERE name = ? AND dimensions = ?) ORDER BY v.chunk",
            (json.dumps(numbers), self._model.name, self._model.dimensions),
        ).fetchall()
        return _encode_rows(found, self._model.dimensions)

    # Status

    def health(self) -> dict[str, Any]:
        with self._lock:
            matrix = self._load()
        if matrix is None:
            return {"generation": None, "rows": 0, "dead": 0}
        return {"generation": matrix.manifest.seq, "rows": len(matrix.rows), "dead": matrix.dead}

    def verify(self) -> Iterator[Discrepancy]:
        import numpy as np

        self.catch_up()
        with self._lock:
            matrix = self._load()
        stored = {
            number
            for (number,) in self._database.read(
                "SELECT v.chunk FROM vector v JOIN vector_model m ON m.number = v.model WHERE m.name = ? AND m.dimensions = ?",
                (self._model.name, self._model.dimensions),
            )
        }
        if matrix is None or not _is_current(matrix.manifest, read_progress(self._database)):
            yield Discrepancy("vector sidecar", "It is behind the database.")
        elif set(np.asarray(matrix.numbers[matrix.alive]).tolist()) != stored:
            self._manifest_path.unlink(missing_ok=True)
            yield Discrepancy("vector sidecar", "Its rows differ from those of the database; it will be rebuilt.")

    def close(self) -> None:
        with self._lock:
            self._matrix = self._manifest_stat = None


def read_vectors(database: SqlDatabase, model: VectorModel, numbers: Sequence[int]) -> list[tuple[Any, ...]]:
    """Number and stored vector of each of these chunks that has one."""
    return database.read(
        "SELECT v.chunk, v.data FROM json_each(?) g CROSS JOIN vector v ON v.chunk = CAST(g.value AS BIGINT)"
        " WHERE v.model = (SELECT number FROM vector_model WHERE name = ? AND dimensions = ?)",
        (json.dumps(numbers), model.name, model.dimensions),
    )


##= docs/spec/knowledge.md#ranking
##% The vector scan MUST be exact.
def score_exactly(found: list[tuple[Any, ...]], query: NDArray[np.float32]) -> tuple[list[int], list[float]]:
    """Chunk numbers and their cosine similarities, from stored vectors and a query of length one."""
    if not found:
        return [], []
    scores: list[float] = (decode_vectors([data for _, data in found], len(query)) @ query).tolist()
    return [number for number, _ in found], scores


def _is_current(manifest: SidecarManifest, progress: ProgressRow) -> bool:
    return manifest.seq is not None and progress.vector_seq <= manifest.seq <= progress.generation


def _file_name(model: VectorModel) -> str:
    """A valid file name that is different for each model."""
    readable = re.sub(r"[^A-Za-z0-9]+", "-", model.name).strip("-")[:40]
    digest = hashlib.sha256(f"{model.name}\0{model.dimensions}".encode()).hexdigest()[:10]
    return f"{readable}-{digest}"


def _row_type(dimensions: int) -> Any:
    import numpy as np

    return np.dtype(
        [("number", "<i8"), ("artifact", "<i4"), ("scale", "<f4"), ("error", "<f4"), ("vector", "i1", (dimensions,))]
    )


def _encode_rows(found: list[tuple[Any, ...]], dimensions: int) -> NDArray[Any]:
    import numpy as np

    rows = np.zeros(len(found), dtype=_row_type(dimensions))
    if found:
        steps, scales, errors = quantise(decode_vectors([row[2] for row in found], dimensions))
        rows["number"] = [row[0] for row in found]
        rows["artifact"] = [row[1] for row in found]
        rows["scale"], rows["error"], rows["vector"] = scales, errors, steps
    return rows


def _matrix(manifest: SidecarManifest, rows: NDArray[Any]) -> Matrix:
    """The rows, with copies of the columns that every search needs."""
    import numpy as np

    numbers = np.array(rows["number"])
    alive = np.zeros(len(numbers), dtype=bool)
    # The first of the reversed numbers is the last row of a chunk.
    _, last = np.unique(np.abs(numbers[::-1]), return_index=True)
    alive[len(numbers) - 1 - last] = True
    alive &= numbers > 0
    artifacts, scales, errors = (np.array(rows[name]) for name in ("artifact", "scale", "error"))
    bounds = error_bound(scales, errors)
    return Matrix(manifest, rows, numbers, artifacts, scales, bounds, float(bounds.max(initial=0.0)), alive)
