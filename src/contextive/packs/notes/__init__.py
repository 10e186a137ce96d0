"""The notes pack: pages, links between them, and answers from them."""

from importlib import import_module as _import_module

from contextive.registry import Pack as _Pack

pack = _Pack(
    "notes",
    title="Notes",
    description="Linked Markdown notes: list, read, search, ask, follow links, and write.",
    default_tools=("list_pages", "get_page", "ask", "create_page", "update_page", "rename_page", "delete_page"),
    needs="notes",
)

for _part in ("tools", "write_tools"):  # in listing order; each module adds its declarations
    _import_module(f"contextive.packs.notes.{_part}")

__all__ = ["pack"]
