"""Reads files, symbols, references and chunks."""

# ruff: noqa: S608
# Only names of our own tables and columns are put into statements; values are always bound.

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

from contextive.knowledge.artifact import Artifact, ArtifactType, Totals
from contextive.knowledge.chunk import Chunk
from contextive.knowledge.symbol import Reference, Symbol, TypeHint
from contextive.store.sql import rows
from contextive.store.sql.database import ALL_ROWS, SqlConnection, SqlDatabase, handles_errors
from contextive.store.values import ArtifactRow, ChunkHeader, ChunkRow, LedgerEntry, SymbolName

_ARTIFACT = ", ".join(f"a.{column}" for column in rows.ARTIFACT_COLUMNS.split(", "))
_SYMBOL = ", ".join(f"s.{column}" for column in rows.SYMBOL_COLUMNS.split(", "))
_CHUNK = "c.number, c.artifact, c.sequence, c.kind, c.title, c.text, c.line_start, c.line_end, c.digest, c.tags, c.id"
_WANTED = "json_each(?) g CROSS JOIN chunk c ON "
_BY_NUMBER = f"{_WANTED}c.number = CAST(g.value AS BIGINT)"
_MAX_CACHED = 10_000
_WITH_COUNTS = (
    f"SELECT {_ARTIFACT}, (SELECT count(*) FROM chunk WHERE artifact = a.number),"
    " (SELECT count(*) FROM symbol WHERE artifact = a.number), l.seen_at"
    " FROM artifact a JOIN ledger l ON l.artifact = a.number "
)


class _ArtifactCache(NamedTuple):
    """Artifacts that were read at a stamp."""

    stamp: int | None
    artifacts: dict[int, Artifact]


class SqlFiles:
    """Reads the rows that were parsed from files."""

    def __init__(self, database: SqlDatabase) -> None:
        self._database = database
        self._cache = _ArtifactCache(None, {})

    # Files

    @handles_errors
    def ledger(self) -> dict[str, LedgerEntry]:
        found = self._database.read(
            "SELECT a.path, l.digest, l.size, l.modified_ns, l.changed_ns, l.inode, l.parser"
            " FROM ledger l JOIN artifact a ON a.number = l.artifact ORDER BY l.artifact"
        )
        return {
            path: LedgerEntry(
                path, rows.decode_digest(digest), size, modified, changed, inode if inode >= 0 else rows.unsigned(inode), parser
            )
            for path, digest, size, modified, changed, inode, parser in found
        }  # fmt: skip

    def artifacts(self, *, limit: int | None = None, without_chunks: bool = False) -> Iterator[ArtifactRow]:
        where = "WHERE NOT EXISTS (SELECT 1 FROM chunk WHERE artifact = a.number) " if without_chunks else ""
        with self._database.handling_errors():
            found = self._database.read(
                f"{_WITH_COUNTS}{where}ORDER BY a.path LIMIT ?", (ALL_ROWS if limit is None else limit,)
            )
            for row in found:
                yield _artifact_row(row)

    @handles_errors
    def totals(self) -> dict[ArtifactType, Totals]:
        files: dict[ArtifactType, int] = dict(
            self._database.read("SELECT type, count(*) FROM artifact GROUP BY type ORDER BY type")
        )
        of_type = "SELECT a.type, count(*) FROM chunk c JOIN artifact a ON a.number = c.artifact GROUP BY a.type"
        chunks: dict[ArtifactType, int] = dict(self._database.read(of_type))
        return {kind: Totals(count, chunks.get(kind, 0)) for kind, count in files.items()}

    @handles_errors
    def artifact(self, path: str) -> ArtifactRow | None:
        row = self._database.read_one(_WITH_COUNTS + "WHERE a.path = ?", (path,))
        return None if row is None else _artifact_row(row)

    # Symbols and references

    def symbols(self, path: str | None = None) -> Iterator[tuple[str, Symbol]]:
        where, values = ("WHERE a.path = ?", [path]) if path is not None else ("", [])
        with self._database.handling_errors():
            found = self._database.read(
                f"SELECT a.path, {_SYMBOL} FROM artifact a JOIN symbol s ON s.artifact = a.number {where}"
                " ORDER BY a.path, s.line_start, s.line_end, s.id",
                values,
            )
            for row in found:
                yield row[0], rows.decode_symbol(row[1:])

    @handles_errors
    def symbol(self, symbol_id: str) -> Symbol | None:
        row = self._database.read_one(f"SELECT {_SYMBOL} FROM symbol s WHERE s.id = ?", (symbol_id,))
        return None if row is None else rows.decode_symbol(row)

    def symbols_named(self, names: Iterable[str]) -> Iterator[tuple[str, Symbol]]:
        wanted = set(names)
        with self._database.handling_errors():
            found = self._database.read(
                f"SELECT a.path, {_SYMBOL} FROM symbol s JOIN artifact a ON a.number = s.artifact"
                " WHERE s.name_hash IN (SELECT CAST(value AS BIGINT) FROM json_each(?))"
                " ORDER BY a.path, s.line_start, s.line_end, s.id",
                (json.dumps(sorted({rows.name_hash(name) for name in wanted})),),
            )
            for row in found:
                symbol = rows.decode_symbol(row[1:])
                if symbol.name in wanted:
                    yield row[0], symbol

    @handles_errors
    def references(self, path: str) -> tuple[Reference, ...]:
        row = self._database.read_one(
            "SELECT r.body FROM reference r JOIN artifact a ON a.number = r.artifact WHERE a.path = ?", (path,)
        )
        return () if row is None else rows.decode_references(row[0])

    @handles_errors
    def hints(self, path: str) -> tuple[TypeHint, ...]:
        row = self._database.read_one(
            "SELECT h.body FROM type_hint h JOIN artifact a ON a.number = h.artifact WHERE a.path = ?", (path,)
        )
        return () if row is None else rows.decode_hints(row[0])

    @handles_errors
    def paths_referring_to(self, names: Iterable[str]) -> set[str]:
        found = self._database.read(
            "SELECT a.path FROM json_each(?1) n CROSS JOIN reference_name r ON r.name = n.value"
            " JOIN artifact a ON a.number = r.artifact"
            " UNION SELECT a.path FROM json_each(?1) n CROSS JOIN link_name l ON l.name = n.value"
            " JOIN artifact a ON a.number = l.artifact",
            (json.dumps(sorted(set(names))),),
        )
        return {path for (path,) in found}

    # Chunks

    @handles_errors
    def chunks(self, numbers: Sequence[int]) -> dict[int, ChunkRow]:
        wanted = json.dumps([int(number) for number in dict.fromkeys(numbers)])
        return {row.number: row for row in self._chunk_rows(_BY_NUMBER, wanted)}

    @handles_errors
    def chunk_headers(self, numbers: Sequence[int], *, with_symbols: bool) -> dict[int, ChunkHeader]:
        wanted = json.dumps([int(number) for number in dict.fromkeys(numbers)])
        symbols: dict[int, list[SymbolName]] = {}
        with self._database.snapshot() as connection:
            found = connection.execute(
                f"SELECT c.number, c.sequence, c.artifact, c.title FROM {_BY_NUMBER}", (wanted,)
            ).fetchall()
            artifacts = self._artifacts_of(connection, {artifact for _, _, artifact, _ in found})
            if with_symbols:
                for number, name, qualified in connection.execute(
                    "SELECT h.chunk, s.name, s.qualified_name FROM json_each(?) g CROSS JOIN chunk_symbol h"
                    " ON h.chunk = CAST(g.value AS BIGINT) CROSS JOIN symbol s ON s.number = h.symbol",
                    (wanted,),
                ):
                    symbols.setdefault(number, []).append(SymbolName(name, qualified))
        return {
            number: ChunkHeader(number, sequence, artifacts[artifact], tuple(symbols.get(number, ())), title)
            for number, sequence, artifact, title in found
        }

    @handles_errors
    def chunks_by_id(self, chunk_ids: Sequence[str]) -> dict[str, ChunkRow]:
        wanted = json.dumps(list(dict.fromkeys(chunk_ids)))
        return {row.chunk.chunk_id: row for row in self._chunk_rows(_WANTED + "c.id = g.value", wanted)}

    @handles_errors
    def chunks_of(self, path: str) -> tuple[ChunkRow, ...]:
        source = "chunk c WHERE c.artifact = (SELECT number FROM artifact WHERE path = ?)"
        return tuple(sorted(self._chunk_rows(source, path), key=lambda row: (row.chunk.sequence, row.chunk.chunk_id)))

    def _chunk_rows(self, source: str, value: str) -> list[ChunkRow]:
        with self._database.snapshot() as connection:
            found = connection.execute(f"SELECT {_CHUNK} FROM {source}", (value,)).fetchall()
            if not found:
                return []
            artifacts = self._artifacts_of(connection, {row[1] for row in found})
            symbol_rows = connection.execute(
                f"SELECT h.chunk, {_SYMBOL} FROM json_each(?) n CROSS JOIN chunk_symbol h"
                " ON h.chunk = CAST(n.value AS BIGINT)"
                " CROSS JOIN symbol s ON s.number = h.symbol ORDER BY n.key, h.ordinal",
                (json.dumps([row[0] for row in found]),),
            ).fetchall()
        symbols: dict[int, list[Symbol]] = {}
        for number, *columns in symbol_rows:
            symbols.setdefault(number, []).append(Symbol(*columns))
        return [_chunk_row(row, artifacts[row[1]], tuple(symbols.get(row[0], ()))) for row in found]

    def _artifacts_of(self, connection: SqlConnection, numbers: AbstractSet[int]) -> dict[int, Artifact]:
        """Artifacts by number, cached until any artifact changes: most results come from the same few files."""
        (stamp,) = connection.execute("SELECT artifact_stamp FROM progress").fetchone()
        if self._cache.stamp != stamp:
            self._cache = _ArtifactCache(stamp, {})
        known = self._cache.artifacts
        if missing := numbers - known.keys():
            found = connection.execute(
                f"SELECT a.number, {_ARTIFACT} FROM json_each(?) g CROSS JOIN artifact a ON a.number = CAST(g.value AS BIGINT)",
                (json.dumps(list(missing)),),
            ).fetchall()
            if len(known) >= _MAX_CACHED:
                known = {number: known[number] for number in numbers - missing}
                self._cache = _ArtifactCache(stamp, known)
            # Entries are only added, never removed: other threads may be reading this dictionary.
            known |= {row[0]: rows.decode_artifact(row[1:]) for row in found}
        return known


def _artifact_row(row: tuple[Any, ...]) -> ArtifactRow:
    return ArtifactRow(rows.decode_artifact(row[:-3]), row[-3], row[-2], row[-1])


def _chunk_row(row: tuple[Any, ...], artifact: Artifact, symbols: tuple[Symbol, ...]) -> ChunkRow:
    number, _, sequence, kind, title, text, line_start, line_end, digest, tags, chunk_id = row
    chunk = Chunk(
        chunk_id,
        sequence,
        kind,
        title,
        text,
        line_start,
        line_end,
        rows.decode_digest(digest),
        rows.decode_names(tags) if tags else (),
        tuple([symbol.id for symbol in symbols]),
    )
    return ChunkRow(number, chunk, artifact, symbols)
