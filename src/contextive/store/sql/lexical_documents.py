"""Chunks as documents for the lexical index: the tokens of title and text, and the values for filters."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from contextive.knowledge.tokeniser import tokenise_joined
from contextive.store.sql.database import SqlConnection
from contextive.store.sql.rows import decode_names

_DOCUMENTS = (
    "SELECT c.number, c.title, c.text, a.git_timestamp, c.tags, a.path, a.type, a.namespace, a.subsystem, a.tags"
    " FROM json_each(?) g CROSS JOIN chunk c ON c.number = CAST(g.value AS BIGINT) JOIN artifact a ON a.number = c.artifact"
)
_SYMBOLS = (
    "SELECT h.chunk, s.name, s.qualified_name, s.kind, s.language"
    " FROM json_each(?) g CROSS JOIN chunk_symbol h ON h.chunk = CAST(g.value AS BIGINT) JOIN symbol s ON s.number = h.symbol"
)


@dataclass(frozen=True, slots=True)
class LexicalDocument:
    """A chunk for the lexical index. The values of facets are case-folded."""

    number: int
    title: str
    """Tokens of the chunk's title and of the path, separated by spaces: the fields that name the chunk."""
    body: str
    facets: list[tuple[str, str]]
    """Pairs of field and value, without duplicates."""
    updated: float | None


def read_documents(connection: SqlConnection, numbers: Sequence[int]) -> Iterator[LexicalDocument]:
    """The documents of those chunks that exist."""
    wanted = json.dumps(list(numbers))
    symbols: dict[int, list[tuple[str, ...]]] = defaultdict(list)
    for number, *names in connection.execute(_SYMBOLS, (wanted,)).fetchall():
        symbols[number].append(tuple(names))
    files: dict[tuple[str | None, ...], tuple[str, list[tuple[str, str]]]] = {}
    for number, title, text, updated, own_tags, *file in connection.execute(_DOCUMENTS, (wanted,)).fetchall():
        known = files.get(key := tuple(file))
        if known is None:
            known = files[key] = (tokenise_joined(file[0]), _file_facets(*file))
        path_tokens, common = known
        facets = {("tag", tag.casefold()): None for tag in decode_names(own_tags)} if own_tags else {}
        for name, qualified, kind, language in symbols.get(number, ()):
            facets[("symbol", name.casefold())] = None
            facets[("symbol", qualified.casefold())] = None
            facets[("kind", kind.casefold())] = None
            facets[("language", language.casefold())] = None
        own = [pair for pair in facets if pair not in common] if own_tags else list(facets)
        titles = f"{tokenise_joined(title)} {path_tokens}"
        yield LexicalDocument(number, titles, tokenise_joined(text), common + own, updated)


def _file_facets(path: str, kind: str, namespace: str, subsystem: str | None, tags: str) -> list[tuple[str, str]]:
    """The facets that all chunks of a file share."""
    facets = [("type", kind.casefold()), ("namespace", namespace.casefold())]
    if subsystem is not None:
        facets.append(("subsystem", subsystem.casefold()))
    facets += [("tag", tag) for tag in sorted({tag.casefold() for tag in decode_names(tags)})]
    return facets + [("path", prefix) for prefix in sorted(path_prefixes(path.casefold()))]


def path_prefixes(path: str) -> set[str]:
    """The path and every directory above it with a trailing slash: most path filters are one of these."""
    parts = path.split("/")
    return {path, *("/".join(parts[:end]) + "/" for end in range(1, len(parts)))}
