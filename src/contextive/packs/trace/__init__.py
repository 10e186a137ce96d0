"""The trace pack: requirements, and the code and tests that cite them."""

from contextive.packs.trace.pack import load_declarations as _load_declarations
from contextive.packs.trace.pack import pack

_load_declarations()

__all__ = ["pack"]
