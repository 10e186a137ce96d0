"""Turns filters into the sets of numbers of the artifacts and chunks that pass.

The sets are cached until the rows behind them change, so using a filter again costs one lookup.
"""

# ruff: noqa: S608
# Only names of our own tables and columns are put into statements; values are always bound.

from __future__ import annotations

import json
import threading
from array import array
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, TypeAlias

from contextive.store.sql.database import Row, SqlDatabase
from contextive.store.sql.progress import ProgressRow
from contextive.store.sql.rows import name_hash
from contextive.store.values import ChunkFilter

Numbers: TypeAlias = "array[int]"
"""Sorted numbers of rows, eight bytes each. numpy reads them without a copy; lexical search works without numpy."""
_MAX_CACHED = 64


class Filters:
    """Evaluates filters, with a cache."""

    def __init__(self, database: SqlDatabase) -> None:
        self._database = database
        self._cache: OrderedDict[tuple[Any, ...], Numbers] = OrderedDict()
        self._lock = threading.Lock()

    def artifacts(self, where: ChunkFilter, progress: ProgressRow) -> Numbers | None:
        """Numbers of the artifacts that pass the conditions on artifacts; None when all do."""
        sets = []
        for column, values in (("type", where.artifact_types), ("namespace", where.namespaces)):
            if values:
                key = (column, *folded(values), progress.artifact_stamp)
                sets.append(self._cached(key, partial(self._artifacts_with, column, values)))
        if where.paths:
            prefixes = tuple(folded(where.paths))
            sets.append(self._cached((*prefixes, progress.artifact_stamp), lambda: self._artifacts_below(prefixes)))
        if where.subsystems:
            paths = tuple(sorted(where.extra_paths))
            key = ("subsystem", *folded(where.subsystems), paths, progress.artifact_stamp)
            sets.append(self._cached(key, partial(self._artifacts_with, "subsystem", where.subsystems, paths)))
        if where.updated_after is not None:
            after, sql = where.updated_after, "SELECT number FROM artifact WHERE git_timestamp >= ?"
            sets.append(self._cached((sql, after, progress.artifact_stamp), lambda: self._database.read(sql, (after,))))
        return _intersect(sets)

    def _artifacts_with(self, column: str, values: Iterable[str], paths: Sequence[str] = ()) -> list[Row]:
        """Artifacts whose column has one of these values, and those with these paths."""
        return self._database.read(
            f"SELECT number FROM artifact WHERE {column} IN (SELECT value FROM json_each(?))"
            " OR path IN (SELECT value FROM json_each(?))",
            (json.dumps(self._spellings("artifact", column, values)), json.dumps(paths)),
        )

    def _artifacts_below(self, prefixes: tuple[str, ...]) -> list[Row]:
        found = self._database.read("SELECT number, path FROM artifact")
        return [row for row in found if row[1].casefold().startswith(prefixes)]

    def _spellings(self, table: str, column: str, values: Iterable[str]) -> list[str]:
        """The values of a column that equal one of `values` when case is ignored.

        Only Python folds case as Unicode says: no two databases agree on it.
        """
        wanted = set(folded(values))
        found = self._database.read(f"SELECT DISTINCT {column} FROM {table} WHERE {column} IS NOT NULL")
        return sorted(text for (text,) in found if text.casefold() in wanted)

    def chunks(self, where: ChunkFilter, progress: ProgressRow) -> Numbers | None:
        """Numbers of the chunks that pass the conditions on chunks; None when all do."""
        sets = []
        if where.tags:
            sets.append(
                self._chunks_where(
                    "SELECT chunk FROM chunk_tag WHERE tag IN (SELECT value FROM json_each(?))",
                    json.dumps(folded(where.tags)),
                    progress,
                )
            )
        if where.symbols:
            names = tuple(folded(where.symbols))
            key = ("symbol", *names, progress.chunk_stamp)
            sets.append(self._cached(key, lambda: self._chunks_declaring(names)))
        for column, values in (("kind", where.symbol_kinds), ("language", where.symbol_languages)):
            if values:
                key = (column, *folded(values), progress.chunk_stamp)
                sets.append(self._cached(key, partial(self._chunks_with_symbol, column, values)))
        return _intersect(sets)

    def _chunks_declaring(self, names: tuple[str, ...]) -> list[Row]:
        """Chunks with a symbol that has one of these names, bare or qualified."""
        hashes = json.dumps([name_hash(name) for name in names])
        found = self._database.read(_WITH_SYMBOLS, (hashes,))
        return [row for row in found if row[1].casefold() in names]

    def _chunks_with_symbol(self, column: str, values: Iterable[str]) -> list[Row]:
        return self._database.read(
            "SELECT h.chunk FROM symbol s JOIN chunk_symbol h ON h.symbol = s.number"
            f" WHERE s.{column} IN (SELECT value FROM json_each(?))",
            (json.dumps(self._spellings("symbol", column, values)),),
        )

    ##= docs/spec/knowledge.md#km-search-requests
    ##% A result MUST match every filter, and at least one value of each filter.
    def passing(self, where: ChunkFilter, progress: ProgressRow) -> Numbers | None:
        """Numbers of the chunks that pass the whole filter; None when all do."""
        artifacts = self.artifacts(where, progress)
        chunks = self.chunks(where, progress)
        sets = [] if chunks is None else [chunks]
        if artifacts is not None:
            sql = "SELECT number FROM chunk WHERE artifact IN (SELECT CAST(value AS BIGINT) FROM json_each(?))"
            sets.append(self._chunks_where(sql, json.dumps(artifacts.tolist()), progress))
        return _intersect(sets)

    def _chunks_where(self, sql: str, value: str, progress: ProgressRow) -> Numbers:
        return self._cached((sql, value, progress.chunk_stamp), lambda: self._database.read(sql, (value,)))

    def _cached(self, key: tuple[Any, ...], read: Callable[[], list[Row]]) -> Numbers:
        with self._lock:
            known = self._cache.get(key)
            if known is not None:
                self._cache.move_to_end(key)
                return known
        numbers = array("q", sorted({row[0] for row in read()}))
        with self._lock:
            self._cache[key] = numbers
            while len(self._cache) > _MAX_CACHED:
                self._cache.popitem(last=False)
        return numbers


_HASHES = "(SELECT CAST(value AS BIGINT) FROM json_each(?1))"
_WITH_SYMBOLS = (
    "SELECT h.chunk, s.name FROM symbol s JOIN chunk_symbol h ON h.symbol = s.number"
    f" WHERE s.name_hash IN {_HASHES} UNION"
    " SELECT h.chunk, s.qualified_name FROM symbol s JOIN chunk_symbol h ON h.symbol = s.number"
    f" WHERE s.qualified_hash IN {_HASHES}"
)


##= docs/spec/knowledge.md#km-search-requests
##% Filter values MUST be compared case-insensitively.
def folded(values: Iterable[str]) -> list[str]:
    return sorted({value.casefold() for value in values})


def _intersect(sets: list[Numbers]) -> Numbers | None:
    if len(sets) < 2:
        return sets[0] if sets else None
    return array("q", sorted(set.intersection(*map(set, sets))))
