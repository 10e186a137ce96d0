"""The trace pack: what a project promised, and where its code keeps the promise."""

from contextive.packs.trace import prompts as prompts
from contextive.packs.trace import resources as resources
from contextive.packs.trace import tools as tools
from contextive.packs.trace.pack import pack

__all__ = ["pack"]
