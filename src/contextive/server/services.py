"""The services that handlers use. Each one is imported and built on first use, which keeps startup fast.

Services are looked up by type. Here a type is given as `"module:Class"`, so that unused services are never imported.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from contextive.ingest.evidence_service import EvidenceService
    from contextive.ingest.notes_service import NotesService
    from contextive.ingest.review_service import ReviewService
    from contextive.ingest.schedule import SchedulePlan
    from contextive.ingest.trace_service import TraceService
    from contextive.models.ask import AskService
    from contextive.models.router import ModelRouter
    from contextive.packs.introspect import ServerFacts
    from contextive.packs.knowledge.pack import DocumentsAndBackups
    from contextive.packs.notes.search_and_ask import AskRules
    from contextive.recipes.recipe import RecipePaths
    from contextive.search.index import Index
    from contextive.search.requirement_search import RequirementSearch
    from contextive.server.host import Host
    from contextive.store.protocol import Store

logger = logging.getLogger(__name__)

FACTS = "contextive.packs.introspect:ServerFacts"
TRACE = "contextive.ingest.trace_service:TraceService"
REVIEW = "contextive.ingest.review_service:ReviewService"
EVIDENCE = "contextive.ingest.evidence_service:EvidenceService"
REQUIREMENT_SEARCH = "contextive.search.requirement_search:RequirementSearch"
NOTES = "contextive.ingest.notes_service:NotesService"
ASK_RULES = "contextive.packs.notes.search_and_ask:AskRules"
ROUTER = "contextive.models.router:ModelRouter"
ANSWERER = "contextive.packs.notes.search_and_ask:Answerer"
RECIPES = "contextive.recipes.recipe:RecipePaths"
SCHEDULE = "contextive.ingest.schedule:SchedulePlan"
DOCUMENTS_AND_BACKUPS = "contextive.packs.knowledge.pack:DocumentsAndBackups"
INDEX = "contextive.search.index:Index"


def provide_services(host: Host, *names: str) -> None:
    """Have these services, or all if none are named, built from the host's configuration on their next use."""
    for name in names or SERVICE_FACTORIES:
        host.services.provide(name, partial(SERVICE_FACTORIES[name], host))


def _facts(host: Host) -> ServerFacts:
    from contextive.packs.introspect import Identity, ServerFacts
    from contextive.registry import Context
    from contextive.server.profiles import PROFILES

    def identity_of(ctx: Context) -> Identity:
        profile = PROFILES[ctx.profile]
        return Identity(profile.server_name, profile.version, host.pack_names(profile))

    return ServerFacts(
        mode=host.mode,
        identity_of=identity_of,
        provider_count=sum(1 for provider in host.config.providers.values() if provider.enabled),
        checks=host.checks,
        surface_of=lambda ctx: host.surface_for(PROFILES[ctx.profile], ctx.caller),
    )


def _trace(host: Host) -> TraceService:
    from contextive.ingest.trace_service import TraceService
    from contextive.server.profiles import PROFILES
    from contextive.trace.formats.values import SpecFormat

    trace = host.config.trace
    return TraceService(
        host.loaded.project,
        specifications=tuple(trace.specifications),
        sources=tuple(trace.sources),
        fetch=trace.fetch,
        formats=tuple(map(SpecFormat, trace.formats)) if trace.formats is not None else tuple(SpecFormat),
        hidden_in=[p.name for p in PROFILES.values() if not p.shows_formats] if trace.formats is None else (),
    )


def _review(host: Host) -> ReviewService:
    from contextive.ingest.evidence_service import EvidenceService
    from contextive.ingest.review_service import ReviewService
    from contextive.ingest.trace_service import TraceService

    return ReviewService(host.services.get(TraceService), lambda: host.services.get(EvidenceService).records())


def _evidence(host: Host) -> EvidenceService:
    from contextive.ingest.evidence_service import EvidenceService
    from contextive.ingest.trace_service import TraceService

    return EvidenceService(host.services.get(TraceService), host.state_dir, tuple(host.config.evidence.paths))


def _requirement_search(host: Host) -> RequirementSearch:
    from contextive.search.requirement_meaning import RequirementMeaning
    from contextive.search.requirement_search import RequirementSearch

    return RequirementSearch(RequirementMeaning(lambda: _existing_store(host), lambda: host.index().embedder))


def _existing_store(host: Host) -> Store | None:
    """The store of the index, to read only; None if there is none that can be used."""
    from contextive.server.build_index import shared_index
    from contextive.store import open_store, store_condition

    shared = shared_index(host.loaded)
    condition = store_condition(host.state_dir, shared)
    is_there = not host.is_remote and condition.is_searchable and condition.reason_code != "absent"
    return open_store(host.state_dir, read_only=True, postgres=shared) if is_there else None


def _notes(host: Host) -> NotesService:
    from contextive.ingest.notes_service import NotesService

    return NotesService(host.loaded.project, paths=tuple(host.config.notes.paths))


def _ask_rules(host: Host) -> AskRules:
    from contextive.packs.notes.search_and_ask import AskRules

    return AskRules(host.config.notes.ask_client_model)


def _router(host: Host) -> ModelRouter:
    from contextive.server.build_router import build_router
    from contextive.server.telemetry import log_model_use

    router = build_router(host.loaded)
    router.observers += [log_model_use, host.count_model_use]
    for problem in router.problems:
        logger.warning(problem)
    return router


##= docs/spec/models-and-recipes.md#model-router
##% Every tool that invokes a model MUST do so through the router, or through the connected client.
def _answerer(host: Host) -> AskService:
    from contextive.ingest.notes_service import NotesService
    from contextive.models.ask import AskService
    from contextive.models.router import ModelRouter
    from contextive.packs.notes.note_index import NoteIndex
    from contextive.packs.notes.retrieval import IndexRetriever

    retriever = IndexRetriever(NoteIndex(host.index, host.services.get(NotesService)))
    return AskService(host.services.get(ModelRouter), retriever)


def _recipes(host: Host) -> RecipePaths:
    from contextive.recipes.recipe import RecipePaths

    return RecipePaths(host.loaded.project, host.state_dir)


def _schedule(host: Host) -> SchedulePlan:
    from contextive.server.scheduler import plan_of

    return plan_of(host.config)


def _documents_and_backups(host: Host) -> DocumentsAndBackups:
    from contextive.server.build_index import documents_and_backups

    return documents_and_backups(host.loaded, host.services, host.count_event)


def _index(host: Host) -> Index:
    return host.open_index()


SERVICE_FACTORIES: Mapping[str, Callable[[Host], object]] = {
    FACTS: _facts,
    TRACE: _trace,
    REVIEW: _review,
    EVIDENCE: _evidence,
    REQUIREMENT_SEARCH: _requirement_search,
    NOTES: _notes,
    ASK_RULES: _ask_rules,
    ROUTER: _router,
    ANSWERER: _answerer,
    RECIPES: _recipes,
    SCHEDULE: _schedule,
    DOCUMENTS_AND_BACKUPS: _documents_and_backups,
    INDEX: _index,
}
