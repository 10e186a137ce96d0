"""The notes pack: pages, the links between them, and answers from them."""

from contextive.packs.notes.pack import fill as _fill
from contextive.packs.notes.pack import pack

_fill()

__all__ = ["pack"]
