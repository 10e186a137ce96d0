"""Documents and backups, loaded when they are first needed: every server offers them, and few ever use them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from contextive.ingest.documents import Documents
    from contextive.store.backup import Backups


class Safekeeping:
    """What takes documents in, and what makes backups. Neither holds anything open."""

    def __init__(self, documents: Callable[[], Documents], backups: Callable[[], Backups]) -> None:
        self._documents = documents
        self._backups = backups

    def documents(self) -> Documents:
        return self._documents()

    def backups(self) -> Backups:
        return self._backups()
