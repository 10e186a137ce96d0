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
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from contextive.store.sqlite.connection import Database
from contextive.store.sqlite.progress import ProgressRow
from contextive.store.sqlite.rows import name_hash
from contextive.store.values import ChunkFilter

Numbers: TypeAlias = "array[int]"
"""Sorted numbers of rows, eight bytes each. numpy reads them without a copy; lexical search works without numpy."""
_MAX_CACHED = 64


class Filters:
    """Evaluates filters, with a cache."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._cache: OrderedDict[tuple[Any, ...], Numbers] = OrderedDict()
        self._lock = threading.Lock()

    def artifacts(self, where: ChunkFilter, progress: ProgressRow) -> Numbers | None:
        """Numbers of the artifacts that pass the conditions on artifacts; None when all do."""
        conditions: list[tuple[str, tuple[Any, ...]]] = [
            ("folded(type) IN (SELECT value FROM json_each(?))", where.artifact_types),
            ("folded(namespace) IN (SELECT value FROM json_each(?))", where.namespaces),
            (
                "EXISTS (SELECT 1 FROM json_each(?) WHERE substr(folded(artifact.path), 1, length(value)) = value)",
                where.paths,
            ),
        ]
        sets = [
            self._artifacts_where(condition, json.dumps(folded(values)), progress)
            for condition, values in conditions
            if values
        ]
        if where.subsystems:
            named = json.dumps([folded(where.subsystems), sorted(where.extra_paths)])
            sets.append(self._artifacts_where(_OF_SUBSYSTEM, named, progress))
        if where.updated_after is not None:
            sets.append(self._artifacts_where("git_timestamp >= ?", where.updated_after, progress))
        return _intersect(sets)

    def _artifacts_where(self, condition: str, value: Any, progress: ProgressRow) -> Numbers:
        sql = f"SELECT number FROM artifact WHERE {condition}"
        return self._cached((condition, value, progress.artifact_stamp), lambda: self._database.read(sql, (value,)))

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
            sets.append(self._chunks_where(_WITH_SYMBOLS, _symbol_keys(where.symbols), progress))
        for column, values in (("kind", where.symbol_kinds), ("language", where.symbol_languages)):
            if values:
                sql = (
                    "SELECT h.chunk FROM symbol s JOIN chunk_symbol h ON h.symbol = s.number"
                    f" WHERE s.{column} IN (SELECT {column} FROM (SELECT DISTINCT {column} FROM symbol)"
                    f" WHERE folded({column}) IN (SELECT value FROM json_each(?)))"
                )
                sets.append(self._chunks_where(sql, json.dumps(folded(values)), progress))
        return _intersect(sets)

    ##= docs/spec/knowledge.md#km-search-requests
    ##% A result MUST match every filter, and at least one value of each filter.
    def passing(self, where: ChunkFilter, progress: ProgressRow) -> Numbers | None:
        """Numbers of the chunks that pass the whole filter; None when all do."""
        artifacts = self.artifacts(where, progress)
        chunks = self.chunks(where, progress)
        sets = [] if chunks is None else [chunks]
        if artifacts is not None:
            sql = "SELECT number FROM chunk WHERE artifact IN (SELECT value FROM json_each(?))"
            sets.append(self._chunks_where(sql, json.dumps(artifacts.tolist()), progress))
        return _intersect(sets)

    def _chunks_where(self, sql: str, value: str, progress: ProgressRow) -> Numbers:
        return self._cached((sql, value, progress.chunk_stamp), lambda: self._database.read(sql, (value,)))

    def _cached(self, key: tuple[Any, ...], read: Callable[[], list[tuple[Any, ...]]]) -> Numbers:
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


_OF_SUBSYSTEM = (
    "folded(subsystem) IN (SELECT value FROM json_each(?1, '$[0]'))"
    " OR path IN (SELECT value FROM json_each(?1, '$[1]'))"
)
_WITH_SYMBOLS = (
    "SELECT h.chunk FROM json_each(?1) g CROSS JOIN symbol s ON s.name_hash = json_extract(g.value, '$[0]')"
    " AND folded(s.name) = json_extract(g.value, '$[1]') JOIN chunk_symbol h ON h.symbol = s.number"
    " UNION SELECT h.chunk FROM json_each(?1) g CROSS JOIN symbol s ON s.qualified_hash = json_extract(g.value, '$[0]')"
    " AND folded(s.qualified_name) = json_extract(g.value, '$[1]') JOIN chunk_symbol h ON h.symbol = s.number"
)


def _symbol_keys(names: Iterable[str]) -> str:
    return json.dumps([(name_hash(name), name.casefold()) for name in names])


##= docs/spec/knowledge.md#km-search-requests
##% Filter values MUST be compared case-insensitively.
def folded(values: Iterable[str]) -> list[str]:
    return sorted({value.casefold() for value in values})


def _intersect(sets: list[Numbers]) -> Numbers | None:
    if len(sets) < 2:
        return sets[0] if sets else None
    return array("q", sorted(set.intersection(*map(set, sets))))
