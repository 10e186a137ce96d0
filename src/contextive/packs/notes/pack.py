"""The pack itself."""

from __future__ import annotations

from importlib import import_module

from contextive.registry import Pack

pack = Pack(
    "notes",
    title="Notes",
    description="A base of linked Markdown notes: list, read, search, ask, follow connections, and write.",
)


def fill() -> None:
    """Have each part of the pack declare what it offers, in the order in which it is listed."""
    for part in ("tools", "writing"):
        import_module(f"contextive.packs.notes.{part}")
