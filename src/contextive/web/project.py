"""The project that the site shows, with the services that the tools use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from contextive.ingest.notes_service import NotesService
from contextive.ingest.trace_service import TraceService, TraceView
from contextive.registry import Services

if TYPE_CHECKING:
    from contextive.packs.introspect import HealthCheck
    from contextive.search.editor_links import EditorLinks
    from contextive.search.index import Index

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SiteProject:
    """Everything that views need. The server creates one for each request."""

    name: str
    services: Services
    checks: Callable[[], Sequence[HealthCheck]]
    links: EditorLinks
    profile: str
    """The profile of the server, which decides which formats of specifications are shown."""
    address: str
    """Where this server is reachable, such as `http://127.0.0.1:8765`."""
    caller: str = "anonymous"
    may_write: bool = False
    token_names: tuple[str, ...] = ()

    def service(self, kind: type[T]) -> T:
        return self.services.get(kind)

    @property
    def trace(self) -> TraceService:
        return self.services.get(TraceService).for_profile(self.profile)

    @property
    def notes(self) -> NotesService:
        return self.services.get(NotesService)

    def view(self) -> TraceView:
        """The requirements and citations, read from the current files."""
        return self.trace.view()

    def index(self) -> Index:
        """The index; raises `Unavailable` if this server has none."""
        from contextive.search.index import Index

        return self.services.get(Index)
