"""The knowledge pack: search, graph and reports over one index of the project."""

from contextive.packs.knowledge.pack import load_declarations as _load_declarations
from contextive.packs.knowledge.pack import pack

_load_declarations()

__all__ = ["pack"]
