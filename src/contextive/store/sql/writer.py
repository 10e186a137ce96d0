"""Writes to the index in one transaction."""

# ruff: noqa: S608
# Only names of our own tables and columns are put into statements; values are always bound.

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from contextive.errors import InternalError
from contextive.knowledge.artifact import Artifact, LastCommit, ParsedArtifact
from contextive.knowledge.chunk import Chunk
from contextive.knowledge.graph import Layer
from contextive.knowledge.symbol import Symbol, last_part
from contextive.store.sql import records, rows
from contextive.store.sql.database import SqlConnection
from contextive.store.sql.graph_writer import FILE_OWNER, LAYER_OWNER, GraphWriter
from contextive.store.sql.quantisation import encode_vector
from contextive.store.values import (
    AuditEntry,
    LedgerEntry,
    Report,
    Run,
    SearchEvent,
    VectorModel,
    Vote,
)

if TYPE_CHECKING:
    from contextive.store.protocol import Vector

CHUNK_CHANGE, VECTOR_CHANGE = 0, 1
LINKS = "links:"
_CHANGES_KEPT = 200_000
"""How many changes are kept for sidecars to catch up with. A sidecar that is further behind is rebuilt."""
_PUT_BODY = "INSERT INTO {} VALUES (?, ?) ON CONFLICT (artifact) DO UPDATE SET body = excluded.body"
_DERIVED_TABLES = (
    "loose_edge", "edge", "statement", "node", "owner", "vector", "vector_model", "link_name", "type_hint", "reference_name",
    "reference", "chunk_symbol", "chunk_tag", "symbol", "chunk", "ledger", "artifact", "state", "change",
)  # fmt: skip


class SqlWriter:
    """Writes the rows of one transaction. `finish` assigns its generation just before the commit."""

    def __init__(
        self,
        connection: SqlConnection,
        pruned_events_up_to: int = 0,
        lock_table: Callable[[str], None] = lambda _name: None,
    ) -> None:
        self._connection = connection
        self._lock_table = lock_table
        self.pruned_events_up_to = pruned_events_up_to
        """The number up to which the search events contain only events with votes."""
        self._graph = GraphWriter(connection)
        self._seq = 0
        self._next_chunk = 0
        self._next_symbol: int | None = None
        self.needs_sync = False
        """Whether the transaction has rows that must survive a power cut."""
        self._changed = False
        self._artifacts_changed = False
        self._cleared = False
        self._changed_chunks: set[int] = set()
        self._changed_vectors: set[int] = set()

    def _begin(self) -> None:
        """Before the first write of derived rows: only one transaction at a time may assign their numbers."""
        if not self._seq:
            self._lock_table("progress")
            progress = self._connection.execute("SELECT generation, next_chunk FROM progress").fetchone()
            self._seq, self._next_chunk = progress[0] + 1, progress[1]

    # Files

    def put_artifact(self, parsed: ParsedArtifact, entry: LedgerEntry, layer: Layer) -> None:
        self._begin()
        artifact = parsed.artifact
        number, before = self._put_artifact_row(artifact)
        self._put_ledger(number, entry)
        symbols_before = {} if before is None else self._symbols_of_chunks(number)
        symbols, renamed = self._put_symbols(number, parsed.symbols, is_new=before is None)
        facets_changed = renamed or before is None or _facets(before) != _facets(artifact)
        stored = {} if before is None else self._chunks_of(number)
        self._put_chunks(
            number, artifact, parsed.chunks, symbols, stored, symbols_before, facets_changed=facets_changed
        )
        self._put_references(number, parsed, is_new=before is None)
        self._put_hints(number, parsed, is_new=before is None)
        self._graph.replace(FILE_OWNER, artifact.path, layer)
        self._changed = True

    def touch_artifact(self, entry: LedgerEntry, git: LastCommit | None) -> None:
        self._begin()
        found = self._connection.execute(
            "SELECT number, git_commit, git_timestamp FROM artifact WHERE path = ?", (entry.path,)
        ).fetchone()
        if found is None:
            return
        number, commit, timestamp = found
        self._put_ledger(number, entry)
        self._changed = True
        facts = (git.commit, git.timestamp) if git else (None, None)
        if facts == (commit, timestamp):
            return
        self._connection.execute(
            "UPDATE artifact SET git_commit = ?, git_timestamp = ? WHERE number = ?", (*facts, number)
        )
        self._graph.update_properties(entry.path, {"git_commit": facts[0], "git_timestamp": facts[1]})
        self._artifacts_changed = True
        if facts[1] != timestamp:
            self._mark_chunks_changed(
                self._connection.execute("SELECT number FROM chunk WHERE artifact = ?", (number,))
            )

    def remove_artifact(self, path: str) -> None:
        self._begin()
        self._changed |= self._graph.replace(FILE_OWNER, path, Layer())
        self._changed |= self._graph.replace(LAYER_OWNER, LINKS + path, Layer())
        found = self._connection.execute("SELECT number FROM artifact WHERE path = ?", (path,)).fetchone()
        if found is None:
            return
        self._mark_chunks_changed(self._connection.execute("SELECT number FROM chunk WHERE artifact = ?", found))
        self._connection.execute("DELETE FROM artifact WHERE number = ?", found)
        self._changed = self._artifacts_changed = True

    def _put_artifact_row(self, artifact: Artifact) -> tuple[int, Artifact | None]:
        """Write the row; returns the number of the artifact and its previous values."""
        values = rows.encode_artifact(artifact)
        found = self._connection.execute(
            f"SELECT number, {rows.ARTIFACT_COLUMNS} FROM artifact WHERE path = ?", (artifact.path,)
        ).fetchone()
        if found is None:
            marks = ", ".join("?" * len(values))
            (created,) = self._connection.execute(
                f"INSERT INTO artifact ({rows.ARTIFACT_COLUMNS}) VALUES ({marks}) RETURNING number", values
            ).fetchone()
            self._artifacts_changed = True
            return int(created), None
        number: int = found[0]
        if found[1:] != values:
            columns = ", ".join(f"{column} = ?" for column in rows.ARTIFACT_COLUMNS.split(", "))
            self._connection.execute(f"UPDATE artifact SET {columns} WHERE number = ?", (*values, number))
            self._artifacts_changed = True
        return number, rows.decode_artifact(found[1:])

    def _put_ledger(self, artifact: int, entry: LedgerEntry) -> None:
        self._connection.execute(
            "INSERT INTO ledger VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (artifact) DO UPDATE SET"
            " digest = excluded.digest, size = excluded.size, modified_ns = excluded.modified_ns,"
            " changed_ns = excluded.changed_ns, inode = excluded.inode, parser = excluded.parser,"
            " seen_at = excluded.seen_at",
            rows.encode_entry(artifact, entry, time.time()),
        )

    def _put_references(self, artifact: int, parsed: ParsedArtifact, *, is_new: bool) -> None:
        body = rows.encode_references(parsed.references)
        if not is_new:
            found = self._connection.execute("SELECT body FROM reference WHERE artifact = ?", (artifact,)).fetchone()
            if found == (body,):
                return
            self._connection.execute("DELETE FROM reference_name WHERE artifact = ?", (artifact,))
        if parsed.references or not is_new:
            self._connection.execute(_PUT_BODY.format("reference"), (artifact, body))
        names = sorted({last_part(reference.name) for reference in parsed.references})
        self._connection.executemany("INSERT INTO reference_name VALUES (?, ?)", [(name, artifact) for name in names])

    def _put_hints(self, artifact: int, parsed: ParsedArtifact, *, is_new: bool) -> None:
        if parsed.hints:
            body = rows.encode_hints(parsed.hints)
            self._connection.execute(_PUT_BODY.format("type_hint"), (artifact, body))
        elif not is_new:
            self._connection.execute("DELETE FROM type_hint WHERE artifact = ?", (artifact,))

    # Symbols and chunks

    def _put_symbols(self, artifact: int, symbols: Sequence[Symbol], *, is_new: bool) -> tuple[dict[str, int], bool]:
        """Write the symbols of a file; returns their numbers by id, and whether an existing one changed name or
        kind."""
        before: dict[str, tuple[int, tuple[Any, ...]]] = {}
        if not is_new:
            select = f"SELECT number, {rows.SYMBOL_COLUMNS} FROM symbol WHERE artifact = ?"
            before = {row[1]: (row[0], row[1:]) for row in self._connection.execute(select, (artifact,))}
        numbers, fresh, facets_changed = {}, [], False
        for symbol in symbols:
            values = (
                symbol.id, symbol.name, symbol.qualified_name, symbol.kind, symbol.language, symbol.line_start, symbol.line_end,
            )  # fmt: skip
            hashes = (rows.name_hash(symbol.name), rows.name_hash(symbol.qualified_name))
            number, known = before.pop(symbol.id, (0, None))
            if known is None:
                number = self._symbol_number()
                fresh.append((number, artifact, *hashes, *values))
            elif known != values:
                self._connection.execute(
                    "UPDATE symbol SET name_hash = ?, qualified_hash = ?, name = ?, qualified_name = ?, kind = ?,"
                    " language = ?, line_start = ?, line_end = ? WHERE number = ?",
                    (*hashes, *values[1:], number),
                )
                facets_changed |= known[:5] != values[:5]
            numbers[symbol.id] = number
        self._connection.executemany(
            "DELETE FROM symbol WHERE number = ?", [(number,) for number, _ in before.values()]
        )
        self._connection.executemany(
            f"INSERT INTO symbol (number, artifact, name_hash, qualified_hash, {rows.SYMBOL_COLUMNS})"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            fresh,
        )
        return numbers, facets_changed

    def _symbol_number(self) -> int:
        if self._next_symbol is None:
            (self._next_symbol,) = self._connection.execute("SELECT coalesce(max(number), 0) FROM symbol").fetchone()
        self._next_symbol += 1
        return self._next_symbol

    def _put_chunks(
        self,
        artifact: int,
        facts: Artifact,
        chunks: Sequence[Chunk],
        symbols: Mapping[str, int],
        before: dict[str, tuple[Any, ...]],
        symbols_before: Mapping[int, list[int]],
        *,
        facets_changed: bool,
    ) -> None:
        kept: list[tuple[int, Chunk]] = []
        fresh: list[tuple[int, Chunk]] = []
        for chunk in chunks:
            known = before.get(chunk.chunk_id)
            if known is None or known[0] != rows.encode_digest(chunk.digest):
                fresh.append((self._next_chunk, chunk))
                self._next_chunk += 1
                continue
            del before[chunk.chunk_id]
            number = known[1]
            tags = rows.encode_names(chunk.tags)
            values = (chunk.sequence, chunk.kind, chunk.line_start, chunk.line_end, tags)
            if known[2:] != values:
                self._connection.execute(
                    "UPDATE chunk SET sequence = ?, kind = ?, line_start = ?, line_end = ?, tags = ? WHERE number = ?",
                    (*values, number),
                )
            declared = [symbols[symbol] for symbol in chunk.symbols if symbol in symbols]
            if facets_changed or known[6] != tags or symbols_before.get(number, []) != declared:
                kept.append((number, chunk))
        self._drop_chunks([known[1] for known in before.values()])
        self._connection.executemany(
            "INSERT INTO chunk (number, artifact, size, sequence, line_start, line_end, kind, id, digest, tags, title, text)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [_chunk_values(number, artifact, chunk) for number, chunk in fresh],
        )
        # The tags and symbols of kept chunks are written again only if they may have changed.
        for number, _ in kept:
            self._connection.execute("DELETE FROM chunk_tag WHERE chunk = ?", (number,))
            self._connection.execute("DELETE FROM chunk_symbol WHERE chunk = ?", (number,))
        self._put_facets(facts, fresh + kept, symbols)
        self._changed_chunks.update(number for number, _ in fresh + kept)

    def _chunks_of(self, artifact: int) -> dict[str, tuple[Any, ...]]:
        """The stored columns of a file's chunks, by id."""
        found = self._connection.execute(
            "SELECT id, digest, number, sequence, kind, line_start, line_end, tags FROM chunk WHERE artifact = ?",
            (artifact,),
        )
        return {row[0]: row[1:] for row in found}

    def _symbols_of_chunks(self, artifact: int) -> dict[int, list[int]]:
        symbols: dict[int, list[int]] = {}
        for chunk, symbol in self._connection.execute(
            "SELECT s.chunk, s.symbol FROM chunk c JOIN chunk_symbol s ON s.chunk = c.number WHERE c.artifact = ?"
            " ORDER BY s.chunk, s.ordinal",
            (artifact,),
        ):
            symbols.setdefault(chunk, []).append(symbol)
        return symbols

    def _put_facets(self, facts: Artifact, chunks: Sequence[tuple[int, Chunk]], symbols: Mapping[str, int]) -> None:
        common = {tag.casefold() for tag in facts.tags}
        self._connection.executemany(
            "INSERT INTO chunk_tag VALUES (?, ?)",
            [
                (tag, number)
                for number, chunk in chunks
                for tag in sorted(common.union(tag.casefold() for tag in chunk.tags))
            ],
        )
        self._connection.executemany(
            "INSERT INTO chunk_symbol VALUES (?, ?, ?)",
            [
                (number, ordinal, symbols[symbol])
                for number, chunk in chunks
                for ordinal, symbol in enumerate(chunk.symbols)
                if symbol in symbols
            ],
        )

    def _drop_chunks(self, numbers: Sequence[int]) -> None:
        self._connection.executemany("DELETE FROM chunk WHERE number = ?", [(number,) for number in numbers])
        self._changed_chunks.update(numbers)

    def _mark_chunks_changed(self, found: Iterable[tuple[int]]) -> None:
        self._changed_chunks.update(number for (number,) in found)

    # Layers, vectors and state

    ##= docs/spec/knowledge.md#nodes-and-edges
    ##% A node MUST be kept as long as at least one source defines it, and no longer.
    def put_layer(self, name: str, layer: Layer) -> bool:
        self._begin()
        changed = self._graph.replace(LAYER_OWNER, name, layer)
        self._changed |= changed
        return changed

    def put_links(self, path: str, layer: Layer, names: Iterable[str]) -> None:
        self.put_layer(LINKS + path, layer)
        found = self._connection.execute("SELECT number FROM artifact WHERE path = ?", (path,)).fetchone()
        if found is None:
            return
        select = "SELECT name FROM link_name WHERE artifact = ?"
        before, wanted = {name for (name,) in self._connection.execute(select, found)}, set(names)
        self._connection.executemany(
            "DELETE FROM link_name WHERE name = ? AND artifact = ?", [(name, *found) for name in before - wanted]
        )
        self._connection.executemany(
            "INSERT INTO link_name VALUES (?, ?)", [(name, *found) for name in sorted(wanted - before)]
        )
        self._changed |= before != wanted

    def put_vectors(self, model: VectorModel, vectors: Sequence[tuple[int, str, Vector]]) -> None:
        if not vectors:
            return
        self._begin()
        self._connection.execute(
            "INSERT INTO vector_model (name, dimensions) VALUES (?, ?) ON CONFLICT DO NOTHING",
            (model.name, model.dimensions),
        )
        (number_of_model,) = self._connection.execute(
            "SELECT number FROM vector_model WHERE name = ? AND dimensions = ?", (model.name, model.dimensions)
        ).fetchone()
        for number, digest, vector in vectors:
            if len(vector) != model.dimensions:
                raise InternalError(
                    f"A vector of {model.name} has {len(vector)} dimensions instead of {model.dimensions}."
                )
            found = self._connection.execute("SELECT digest FROM chunk WHERE number = ?", (number,)).fetchone()
            if found is None or rows.decode_digest(found[0]) != digest:
                continue
            self._connection.execute(
                "INSERT INTO vector VALUES (?, ?, ?)"
                " ON CONFLICT (chunk) DO UPDATE SET model = excluded.model, data = excluded.data",
                (number, number_of_model, encode_vector(vector)),
            )
            self._changed_vectors.add(number)

    def put_state(self, key: str, value: str | None) -> None:
        self._begin()
        if value is None:
            cursor = self._connection.execute("DELETE FROM state WHERE key = ?", (key,))
        else:
            cursor = self._connection.execute(
                "INSERT INTO state VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
                " WHERE state.value <> excluded.value",
                (key, value),
            )
        self._changed |= cursor.rowcount > 0

    def clear_derived(self) -> None:
        self._begin()
        for table in _DERIVED_TABLES:
            self._connection.execute(f"DELETE FROM {table}")
        self._changed_chunks.clear()
        self._changed_vectors.clear()
        self._cleared = self._changed = self._artifacts_changed = True

    # Kept rows

    def put_run(self, run: Run) -> None:
        records.put_run(self._connection, run)

    def put_report(self, report: Report, keep: int) -> None:
        records.put_report(self._connection, report, keep)

    def put_events(self, events: Sequence[SearchEvent], keep: int) -> int:
        self._lock_table("event")
        dropped, self.pruned_events_up_to = records.put_events(self._connection, events, keep, self.pruned_events_up_to)
        return dropped

    def put_vote(self, vote: Vote) -> None:
        records.put_vote(self._connection, vote)
        self.needs_sync = True

    def put_audit(self, entry: AuditEntry) -> None:
        records.put_audit(self._connection, entry)
        self.needs_sync = True

    # Commit

    def finish(self) -> None:
        """Write the generation, and which chunks have changed in it for the sidecars."""
        if not (self._changed or self._changed_chunks or self._changed_vectors):
            return
        seq, stamp = self._seq, secrets.randbits(62)
        self._connection.executemany(
            "INSERT INTO change VALUES (?, ?, ?)",
            [(seq, CHUNK_CHANGE, number) for number in sorted(self._changed_chunks)]
            + [(seq, VECTOR_CHANGE, number) for number in sorted(self._changed_vectors)],
        )
        updates: dict[str, Any] = {"generation": seq, "committed_at": time.time(), "next_chunk": self._next_chunk}
        if self._changed_chunks or self._cleared:
            updates["chunk_seq"], updates["chunk_stamp"] = seq, stamp
        if self._changed_chunks or self._changed_vectors or self._cleared:
            updates["vector_seq"] = seq
        if self._artifacts_changed:
            updates["artifact_seq"], updates["artifact_stamp"] = seq, stamp
        if self._cleared:
            updates["change_floor"] = seq
        columns = ", ".join(f"{column} = ?" for column in updates)
        self._connection.execute(f"UPDATE progress SET {columns}", tuple(updates.values()))
        self._connection.execute("INSERT INTO generation VALUES (?, ?)", (seq, stamp))
        if seq % 64 == 0:
            self._delete_old_changes()

    def _delete_old_changes(self) -> None:
        found = self._connection.execute(
            "SELECT seq FROM change ORDER BY seq DESC LIMIT 1 OFFSET ?", (_CHANGES_KEPT,)
        ).fetchone()
        if found is not None:
            self._connection.execute("DELETE FROM change WHERE seq <= ?", found)
            self._connection.execute("UPDATE progress SET change_floor = ?1 WHERE change_floor < ?1", found)
        self._connection.execute("DELETE FROM generation WHERE seq < (SELECT change_floor FROM progress)")


def _facets(artifact: Artifact) -> tuple[Any, ...]:
    """The values of an artifact that filters and the lexical index use for each of its chunks."""
    return (
        artifact.artifact_type,
        artifact.namespace,
        artifact.subsystem,
        artifact.tags,
        artifact.git.timestamp if artifact.git else None,
    )


def _chunk_values(number: int, artifact: int, chunk: Chunk) -> tuple[Any, ...]:
    return (
        number, artifact, rows.chunk_size(chunk), chunk.sequence, chunk.line_start, chunk.line_end, chunk.kind, chunk.chunk_id,
        rows.encode_digest(chunk.digest), rows.encode_names(chunk.tags), chunk.title, chunk.text,
    )  # fmt: skip
