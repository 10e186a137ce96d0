"""A value that changes when anything changes that the site shows."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from contextive.errors import ContextiveError
from contextive.ingest.notes_service import NotesService
from contextive.ingest.trace_service import TraceService
from contextive.server.host import Host


def site_version(host: Host) -> tuple[object, ...]:
    """Reads fingerprints of files only, unless something changed. Blocks."""
    return (host.generation, *map(_value_or_error, _readers(host)))


def _readers(host: Host) -> Iterator[Callable[[], object]]:
    yield lambda: host.services.get(TraceService).for_profile(host.profile.name).view().generation
    yield lambda: host.services.get(NotesService).view().generation
    if not host.is_remote and "knowledge" in host.assembly.registry.packs:
        yield lambda: (host.index().as_of(), host.index().running)


def _value_or_error(read: Callable[[], object]) -> object:
    try:
        return read()
    except ContextiveError as error:
        return error.code
