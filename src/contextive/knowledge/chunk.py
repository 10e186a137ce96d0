"""A piece of an artifact that search returns as one result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

ChunkKind = Literal["prose", "code", "window", "requirement"]


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of text with its lines. Its id is `<path>::<number>`, or `<path>::r<identifier>` for a requirement."""

    chunk_id: str
    sequence: int
    kind: ChunkKind
    title: str
    """The trail of headings or the qualified name of the symbol. Search has a separate field for it."""
    text: str
    line_start: int
    line_end: int
    digest: str
    """SHA-256 of path, number, title and text. It shows whether a stored embedding still belongs to this chunk."""
    tags: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()
    """Ids of the symbols declared in these lines, by line."""


class ChunkDraft(NamedTuple):
    """A chunk without a number: a range of lines with its text. A window may contain only a part of its line."""

    kind: ChunkKind
    title: str
    first: int
    stop: int
    text: str
