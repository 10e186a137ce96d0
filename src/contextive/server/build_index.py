"""Builds the index, documents and backups of a project from its configuration."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from contextive.config import LoadedConfig
from contextive.ingest.layer_sources import NotesLayer, RequirementsLayer
from contextive.ingest.notes_service import NotesService
from contextive.ingest.settings import IngestSettings, ReportSettings
from contextive.ingest.trace_service import TraceService
from contextive.registry import Services
from contextive.search.editor_links import EditorLinks
from contextive.search.events import Observer, ignore_event
from contextive.search.index import EmbeddingSettings, Index, IndexSettings
from contextive.search.service import SearchSettings
from contextive.search.weights import resolve_weights

if TYPE_CHECKING:
    from contextive.ingest.documents import Documents
    from contextive.packs.knowledge.pack import DocumentsAndBackups
    from contextive.store.backup import Backups
    from contextive.store.postgres.settings import PostgresSettings
    from contextive.store.protocol import Store
    from contextive.store.values import BackupEnded


def open_index(
    loaded: LoadedConfig, services: Services, *, is_served: bool, holder: str, observer: Observer = ignore_event
) -> Index:
    """The index for a configuration. The store is opened on first use."""
    knowledge, ranking, config = loaded.config.knowledge, loaded.config.search, loaded.config
    settings = IndexSettings(
        root=loaded.project,
        state_dir=loaded.project / config.store.state_path,
        ingest=IngestSettings(
            include=tuple(knowledge.include),
            exclude=tuple(knowledge.exclude),
            max_file_bytes=knowledge.max_file_bytes,
            window_characters=knowledge.window_characters,
            window_overlap=knowledge.window_overlap,
            symbols=knowledge.symbols,
        ),
        reports=ReportSettings(knowledge.coverage_history, knowledge.lifecycle_history, knowledge.stale_days),
        embedding=EmbeddingSettings(
            knowledge.embedding_model,
            str(knowledge.embedding_url) if knowledge.embedding_url else None,
            knowledge.embedding_key,
        ),
        default_profile=knowledge.default_profile,
        log_events=ranking.log_events,
        postgres=shared_index(loaded),
        parser_processes=min(4, os.cpu_count() or 1),
    )
    weights = resolve_weights(
        ranking.weight_profile,
        subsystem=ranking.weight_subsystem,
        relationship=ranking.weight_relationship,
        support=ranking.weight_support,
        coverage_penalty=ranking.weight_coverage_penalty,
        criticality=ranking.weight_criticality,
        vector=ranking.vector_weight,
        lexical=ranking.lexical_weight,
    )
    search = SearchSettings(
        weights=weights,
        sort_by_vector=ranking.sort_by_vector,
        graph_max_results=ranking.graph_max_results,
        graph_time_budget_ms=ranking.graph_time_budget_ms,
    )
    return Index(
        settings,
        search=search,
        links=EditorLinks(knowledge.editor_uri_template, loaded.project),
        layers=lambda: (
            RequirementsLayer(
                services.get(TraceService), loaded.project, (*config.trace.specifications, *config.trace.sources)
            ),
            NotesLayer(services.get(NotesService), services.get(TraceService), config.notes.paths),
        ),
        holder=holder,
        is_served=is_served and knowledge.auto_ingest,
        observer=observer,
    )


def shared_index(loaded: LoadedConfig) -> PostgresSettings | None:
    """The shared index of a configuration; None if it uses the one in the state directory."""
    store = loaded.config.store
    if store.dsn is None:
        return None
    from contextive.store.postgres.settings import PostgresSettings, resolve_dsn

    return PostgresSettings(
        resolve_dsn(store.dsn, os.environ),
        project=store.project,
        password_file=loaded.project / store.password_file if store.password_file else None,
        insecure=store.insecure,
        connections=store.connections,
        migrate=store.migrate,
    )


def documents_and_backups(
    loaded: LoadedConfig, services: Services, observer: Callable[[BackupEnded], None]
) -> DocumentsAndBackups:
    """Documents and backups for a configuration. Each is built, and the index opened, on first use."""
    from contextive.packs.knowledge.pack import DocumentsAndBackups

    return DocumentsAndBackups(
        lambda: open_documents(loaded, services), lambda: open_backups(loaded, services, observer)
    )


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
        include=tuple(knowledge.include),
        exclude=tuple(knowledge.exclude),
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
        is_shared=loaded.config.store.dsn is not None,
        retention=loaded.config.backup.retention,
    )

    def open_store() -> Store:
        index = services.get(Index)
        index.search_event_log.flush()  # recent search events are still in memory
        return index.store

    return Backups(settings, open_store, observer=observer)
