"""The trace pack: what a project promised, and where its code keeps the promise."""

from contextive.packs.trace.pack import load_declarations as _fill
from contextive.packs.trace.pack import pack

_fill()

__all__ = ["pack"]
