"""The notes pack: pages, the links between them, and answers from them."""

from importlib import import_module as _import_module

from contextive.registry import Pack as _Pack

pack = _Pack(
    "notes",
    title="Notes",
    description="A base of linked Markdown notes: list, read, search, ask, follow connections, and write.",
)

for _part in ("tools", "write_tools"):  # each declares what it offers, in the order in which it is listed
    _import_module(f"contextive.packs.notes.{_part}")

__all__ = ["pack"]
