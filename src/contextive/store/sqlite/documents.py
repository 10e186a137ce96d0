"""Chunks as the lexical index takes them: tokens of title and text, and what filters ask for."""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from contextive.knowledge.tokens import tokenise
from contextive.store.sqlite.rows import decode_names

_DOCUMENTS = (
    "SELECT c.number, c.title, c.text, a.path, a.type, a.namespace, a.subsystem, a.git_timestamp, a.tags, c.tags"
    " FROM json_each(?) g CROSS JOIN chunk c ON c.number = g.value JOIN artifact a ON a.number = c.artifact"
)
_SYMBOLS = (
    "SELECT h.chunk, s.name, s.qualified_name, s.kind, s.language"
    " FROM json_each(?) g CROSS JOIN chunk_symbol h ON h.chunk = g.value JOIN symbol s ON s.number = h.symbol"
)


@dataclass(frozen=True, slots=True)
class Document:
    """A chunk for the lexical index. Facets are folded."""

    number: int
    title: list[str]
    """Tokens of the chunk's title and of the path: where words count as a name and not as a mention."""
    body: list[str]
    facets: dict[str, set[str]]
    updated: float | None


def read_documents(connection: sqlite3.Connection, numbers: Sequence[int]) -> Iterator[Document]:
    """The documents of those chunks that are there."""
    given = json.dumps(list(numbers))
    held: dict[int, list[tuple[str, ...]]] = defaultdict(list)
    for number, *names in connection.execute(_SYMBOLS, (given,)):
        held[number].append(tuple(names))
    places: dict[str, tuple[list[str], set[str]]] = {}
    for row in connection.execute(_DOCUMENTS, (given,)).fetchall():
        number, title, text, path, kind, namespace, subsystem, updated, tags, own_tags = row
        symbols = held.get(number, ())
        if path not in places:
            places[path] = (tokenise(path), path_prefixes(path.casefold()))
        words, prefixes = places[path]
        facets = {
            "type": {kind.casefold()},
            "namespace": {namespace.casefold()},
            "subsystem": {subsystem.casefold()} if subsystem is not None else set(),
            "tag": {tag.casefold() for tag in (*decode_names(tags), *decode_names(own_tags))},
            "symbol": {name.casefold() for symbol in symbols for name in symbol[:2]},
            "kind": {symbol[2].casefold() for symbol in symbols},
            "language": {symbol[3].casefold() for symbol in symbols},
            "path": prefixes,
        }
        yield Document(number, [*tokenise(title), *words], tokenise(text), facets, updated)


def path_prefixes(path: str) -> set[str]:
    """The path and every directory above it, with a slash behind: most prefixes that are asked for are one of these."""
    parts = path.split("/")
    return {path, *("/".join(parts[:end]) + "/" for end in range(1, len(parts)))}
