"""Simple searches to compare with: what grep finds, and plain BM25. They search the same chunks."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from typing import Final

from contextive.knowledge.tokeniser import STOP_WORDS
from contextive.store.protocol import Store
from contextive.store.values import ChunkRow

Baseline = Callable[[str], list[ChunkRow]]
"""Returns the best chunks for a query, best first."""
_FIRST: Final = 100
_WORD: Final = re.compile(r"\w+")


def open_baselines(store: Store) -> Mapping[str, Baseline]:
    """The searches by name, over all chunks of a store. They keep the texts in memory."""
    rows = [row for found in store.files.artifacts() for row in store.files.chunks_of(found.artifact.path)]
    return {"grep": grep(rows), "bm25": bm25(rows)}


def grep(rows: Sequence[ChunkRow]) -> Baseline:
    """Chunks by how many different words of the query they contain, as `grep -i` finds them, then by how often."""
    texts = [f"{row.artifact.path}\n{row.chunk.title}\n{row.chunk.text}".lower() for row in rows]

    def search(query: str) -> list[ChunkRow]:
        words = {word for word in _WORD.findall(query.lower()) if word not in STOP_WORDS}
        counts = [[text.count(word) for word in words] for text in texts]
        ranked = sorted(
            (-sum(1 for count in found if count), -sum(found), at) for at, found in enumerate(counts) if any(found)
        )
        return [rows[at] for *_, at in ranked[:_FIRST]]

    return search


def bm25(rows: Sequence[ChunkRow]) -> Baseline:
    """Chunks by BM25 over one field with path, title and text, with the stemmer and the tokeniser of SQLite."""
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    connection.execute("CREATE VIRTUAL TABLE chunk USING fts5(text, content='', tokenize='porter unicode61')")
    connection.executemany("INSERT INTO chunk (rowid, text) VALUES (?, ?)", _numbered_texts(rows))

    def search(query: str) -> list[ChunkRow]:
        words = dict.fromkeys(_WORD.findall(query.lower()))
        if not words:
            return []
        match = " OR ".join(f'"{word}"' for word in words)
        statement = "SELECT rowid FROM chunk WHERE chunk MATCH ? ORDER BY bm25(chunk), rowid LIMIT ?"
        with closing(connection.execute(statement, (match, _FIRST))) as found:
            return [rows[number - 1] for (number,) in found]

    return search


def _numbered_texts(rows: Sequence[ChunkRow]) -> Iterable[tuple[int, str]]:
    for number, row in enumerate(rows, 1):
        yield number, f"{row.artifact.path}\n{row.chunk.title}\n{row.chunk.text}"
