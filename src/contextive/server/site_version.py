"""A value that changes when anything changes that the site shows."""

from __future__ import annotations

from contextive.errors import ContextiveError
from contextive.ingest.notes_service import NotesService
from contextive.ingest.trace_service import TraceService
from contextive.server.host import Host


def site_version(host: Host) -> tuple[object, ...]:
    """Reads fingerprints of files only, unless something changed. Blocks."""
    version: list[object] = [host.generation]
    kinds: tuple[type[TraceService | NotesService], ...] = (TraceService, NotesService)
    for kind in kinds:
        try:
            version.append(host.services.get(kind).view().generation)
        except ContextiveError as error:
            version.append(error.code)
    if not host.is_remote and "knowledge" in host.assembly.registry.packs:
        try:
            index = host.index()
            version += [index.as_of(), index.running]
        except ContextiveError as error:
            version.append(error.code)
    return tuple(version)
