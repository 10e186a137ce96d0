"""Note catalogs for tests."""

from __future__ import annotations

from dataclasses import replace

from contextive.notes.catalog import NoteCatalog
from contextive.notes.note import parse_note


def catalog_of(texts: dict[str, str]) -> NoteCatalog:
    """A catalog of notes by path, created in the given order."""
    return NoteCatalog(
        replace(note, created=note.created if note.created is not None else float(number))
        for number, note in enumerate((parse_note(path, text) for path, text in texts.items()), 1)
    )


def slugs(catalog: NoteCatalog) -> list[str]:
    return [note.slug for note in catalog.notes]
