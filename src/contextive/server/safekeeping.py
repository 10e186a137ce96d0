"""What takes documents in and what makes backups, made from the configuration."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from contextive.config import LoadedConfig
from contextive.packs.knowledge.safekeeping import Safekeeping
from contextive.registry import Services
from contextive.search.index import Index

if TYPE_CHECKING:
    from contextive.ingest.documents import Documents
    from contextive.store.backup import Backups
    from contextive.store.protocol import Store
    from contextive.store.values import BackupEnded


def safekeeping(loaded: LoadedConfig, services: Services, observer: Callable[[BackupEnded], None]) -> Safekeeping:
    """Documents and backups of the project that a configuration belongs to. The index is opened when one of them writes."""
    return Safekeeping(lambda: open_documents(loaded, services), lambda: open_backups(loaded, services, observer))


def open_documents(loaded: LoadedConfig, services: Services) -> Documents:
    from contextive.ingest.documents import Documents, DocumentSettings

    knowledge = loaded.config.knowledge
    settings = DocumentSettings(
        project=loaded.project,
        state_dir=loaded.project / loaded.config.store.state_path,
        content_root=knowledge.content_root,
        docs_subdir=knowledge.docs_subdir,
        upload_roots=tuple(knowledge.upload_roots),
        max_bytes=knowledge.max_file_bytes,
        overwrite=knowledge.upload_default_overwrite,
        ingest=knowledge.upload_default_ingest,
        protected_files=(loaded.path,) if loaded.path is not None else (),
    )
    return Documents(settings, lambda: services.get(Index).store)


def open_backups(loaded: LoadedConfig, services: Services, observer: Callable[[BackupEnded], None]) -> Backups:
    from contextive.store.backup import Backups, BackupSettings

    settings = BackupSettings(
        project=loaded.project,
        state_dir=loaded.project / loaded.config.store.state_path,
        destination=loaded.config.backup.destination,
        retention=loaded.config.backup.retention,
    )

    def open_store() -> Store:
        index = services.get(Index)
        index.events.flush()  # what searches showed is kept in memory for a moment
        return index.store

    return Backups(settings, open_store, observer=observer)
