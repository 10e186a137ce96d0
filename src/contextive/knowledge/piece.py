"""A chunk before it has a number."""

from __future__ import annotations

from typing import NamedTuple

from contextive.knowledge.chunk import ChunkKind


class Piece(NamedTuple):
    """A range of lines with its text. A window may hold a part of its line alone."""

    kind: ChunkKind
    title: str
    first: int
    behind: int
    text: str
