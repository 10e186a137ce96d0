"""Chunks as the lexical index takes them: tokens of title and text, and what filters ask for."""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from contextive.knowledge.tokeniser import tokenise_joined
from contextive.store.sqlite.rows import decode_names

_DOCUMENTS = (
    "SELECT c.number, c.title, c.text, a.git_timestamp, c.tags, a.path, a.type, a.namespace, a.subsystem, a.tags"
    " FROM json_each(?) g CROSS JOIN chunk c ON c.number = g.value JOIN artifact a ON a.number = c.artifact"
)
_SYMBOLS = (
    "SELECT h.chunk, s.name, s.qualified_name, s.kind, s.language"
    " FROM json_each(?) g CROSS JOIN chunk_symbol h ON h.chunk = g.value JOIN symbol s ON s.number = h.symbol"
)


@dataclass(frozen=True, slots=True)
class LexicalDocument:
    """A chunk for the lexical index. Facets are folded."""

    number: int
    title: str
    """Tokens of the chunk's title and of the path, a space between each two: where words count as a name and not as a mention."""
    body: str
    facets: list[tuple[str, str]]
    """Field and value, each pair once."""
    updated: float | None


def read_documents(connection: sqlite3.Connection, numbers: Sequence[int]) -> Iterator[LexicalDocument]:
    """The documents of those chunks that are there."""
    given = json.dumps(list(numbers))
    held: dict[int, list[tuple[str, ...]]] = defaultdict(list)
    for number, *names in connection.execute(_SYMBOLS, (given,)).fetchall():
        held[number].append(tuple(names))
    files: dict[tuple[str | None, ...], tuple[str, list[tuple[str, str]]]] = {}
    for number, title, text, updated, own_tags, *file in connection.execute(_DOCUMENTS, (given,)).fetchall():
        known = files.get(key := tuple(file))
        if known is None:
            known = files[key] = (tokenise_joined(file[0]), _file_facets(*file))
        words, common = known
        facets = {("tag", tag.casefold()): None for tag in decode_names(own_tags)} if own_tags else {}
        for name, qualified, kind, language in held.get(number, ()):
            facets[("symbol", name.casefold())] = None
            facets[("symbol", qualified.casefold())] = None
            facets[("kind", kind.casefold())] = None
            facets[("language", language.casefold())] = None
        own = [pair for pair in facets if pair not in common] if own_tags else list(facets)
        yield LexicalDocument(number, f"{tokenise_joined(title)} {words}", tokenise_joined(text), common + own, updated)


def _file_facets(path: str, kind: str, namespace: str, subsystem: str | None, tags: str) -> list[tuple[str, str]]:
    """What all chunks of a file share."""
    facets = [("type", kind.casefold()), ("namespace", namespace.casefold())]
    if subsystem is not None:
        facets.append(("subsystem", subsystem.casefold()))
    facets += [("tag", tag) for tag in sorted({tag.casefold() for tag in decode_names(tags)})]
    return facets + [("path", prefix) for prefix in sorted(path_prefixes(path.casefold()))]


def path_prefixes(path: str) -> set[str]:
    """The path and every directory above it, with a slash behind: most prefixes that are asked for are one of these."""
    parts = path.split("/")
    return {path, *("/".join(parts[:end]) + "/" for end in range(1, len(parts)))}
