"""A piece of an artifact that is found, ranked and shown as one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

ChunkKind = Literal["prose", "code", "window", "requirement"]


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of text with its place. Its id is `<path>::<number>`; a requirement's is `<path>::r<identifier>`."""

    chunk_id: str
    sequence: int
    kind: ChunkKind
    title: str
    """The trail of headings, or the qualified name of the symbol: a field of its own for search."""
    text: str
    line_start: int
    line_end: int
    digest: str
    """SHA-256 of path, number, title and text: what tells whether an embedding is still that of this chunk."""
    tags: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()
    """Ids of the symbols that are declared in these lines, in the order of their lines."""


class ChunkDraft(NamedTuple):
    """A chunk before it has a number: a range of lines with its text. A window may hold a part of its line alone."""

    kind: ChunkKind
    title: str
    first: int
    stop: int
    text: str
