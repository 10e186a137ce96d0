"""BM25 with FTS5: slower than tantivy, but part of SQLite. It is the fallback when tantivy cannot be used.

It is built when it is first needed: maintaining two indexes would slow down every ingest for a rare case. Tokens are
stored as hexadecimal, because FTS5 would split them again.
"""

# ruff: noqa: S608
# Only names of our own tables and columns are put into statements; values are always bound.

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections import defaultdict
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from contextive.knowledge.query_words import TermCounts
from contextive.store.sql.filters import Numbers
from contextive.store.sql.lexical_documents import LexicalDocument
from contextive.store.sql.tantivy_engine import TITLE_WEIGHT
from contextive.store.values import Hit, LexicalQuery

_FIELDS = (("body", 1.0), ("title", TITLE_WEIGHT))
FAULTS = (sqlite3.Error, OSError)


class FtsEngine:
    """Two FTS5 tables whose scores are summed. Columns of one table would share their BM25 statistics."""

    name = "fts5"

    def __init__(self, directory: Path | None, *, create: bool) -> None:
        self._file = ":memory:" if directory is None else str(directory / "fts.db")
        if directory is not None and create:
            directory.mkdir(mode=0o700, exist_ok=True)
        elif directory is not None and not (directory / "fts.db").is_file():
            raise FileNotFoundError("fts.db")
        self._connection = self._connect()
        if create:
            for field, _ in _FIELDS:
                self._connection.execute(
                    f"CREATE VIRTUAL TABLE IF NOT EXISTS {field} USING fts5 (tokens, detail = none, tokenize = 'ascii')"
                )

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._file, timeout=5, isolation_level=None, check_same_thread=False)
        connection.execute("PRAGMA journal_mode = WAL").fetchone()
        connection.execute("PRAGMA synchronous = OFF")
        return connection

    def reload(self) -> None:
        """Does nothing: a connection always sees the newest commit."""

    @contextmanager
    def writing(self) -> Iterator[FtsWriter]:
        connection = self._connection if self._file == ":memory:" else self._connect()
        try:
            connection.execute("BEGIN IMMEDIATE")
            yield FtsWriter(connection)
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            if connection is not self._connection:
                connection.close()

    def numbers(self) -> set[int]:
        return {number for (number,) in self._connection.execute("SELECT rowid FROM body")}

    def search(self, query: LexicalQuery, k: int, allowed: Numbers | None) -> list[Hit]:
        terms = list(dict.fromkeys((*query.terms, *query.whole)))
        if not terms or k <= 0:
            return []
        match = " OR ".join(f'"{_encode(term)}"' for term in terms)
        scores: dict[int, float] = defaultdict(float)
        for field, weight in _FIELDS:
            found = self._connection.execute(
                f"SELECT rowid, bm25({field}) FROM {field} WHERE {field} MATCH ?", (match,)
            )
            for number, score in found.fetchall():
                scores[number] -= weight * score
        passing = None if allowed is None else set(allowed)
        hits = [Hit(number, score) for number, score in scores.items() if passing is None or number in passing]
        return sorted(hits, key=lambda hit: (-hit.score, hit.number))[:k]

    def chunk_counts(self, terms: Collection[str]) -> TermCounts:
        """In how many texts or titles each term is, whichever is more."""
        by_code = {_encode(term): term for term in terms}
        counts: dict[str, int] = {}
        for field, _ in _FIELDS:
            self._connection.execute(
                f"CREATE VIRTUAL TABLE IF NOT EXISTS temp.{field}_terms USING fts5vocab (main, {field}, row)"
            )
            found = self._connection.execute(
                f"SELECT term, doc FROM json_each(?) CROSS JOIN temp.{field}_terms ON term = value",
                (json.dumps(list(by_code)),),
            )
            for code, count in found.fetchall():
                counts[by_code[code]] = max(count, counts.get(by_code[code], 0))
        ((total,),) = self._connection.execute("SELECT count(*) FROM body").fetchall()
        return TermCounts(total, counts)

    def close(self) -> None:
        with contextlib.suppress(sqlite3.Error):
            self._connection.close()


class FtsWriter:
    """Changes until the next commit."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def drop(self, number: int) -> None:
        for field, _ in _FIELDS:
            self._connection.execute(f"DELETE FROM {field} WHERE rowid = ?", (number,))

    def put(self, document: LexicalDocument) -> None:
        for field, tokens in (("body", document.body), ("title", document.title)):
            text = " ".join(map(_encode, tokens.split()))
            self._connection.execute(f"INSERT INTO {field} (rowid, tokens) VALUES (?, ?)", (document.number, text))

    def commit(self) -> None:
        self._connection.execute("COMMIT")
        self._connection.execute("BEGIN IMMEDIATE")


def _encode(token: str) -> str:
    return token.encode("utf-8", "surrogatepass").hex()
