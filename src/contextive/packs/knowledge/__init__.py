"""The knowledge pack: search, graph and reports over one index of the project."""

from contextive.packs.knowledge.pack import fill as _fill
from contextive.packs.knowledge.pack import pack

_fill()

__all__ = ["pack"]
