"""The knowledge pack: search, graph and reports over one index of the project."""

from contextive.packs.knowledge.pack import load_declarations as _fill
from contextive.packs.knowledge.pack import pack

_fill()

__all__ = ["pack"]
