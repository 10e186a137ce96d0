"""What the project has for the packs to work on. The default profile lists a pack only when it has some work.

The answer depends on whether there are specifications, notes and a model, never on their text. What was found once stays
found until the server ends, so that a list never gets shorter while a client uses it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from contextive.errors import ContextiveError

if TYPE_CHECKING:
    from contextive.server.host import Host

_PAUSE_SECONDS = 2.0


class Presence:
    """Finds out what the project has, at most every two seconds, until everything was found."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._checked_at = float("-inf")
        self.found: frozenset[str] = frozenset()

    @property
    def is_complete(self) -> bool:
        return len(self.found) == len(_CHECKS)

    ##= docs/spec/host.md#listing
    ##% A pack that has been listed MUST stay listed until the server ends.
    def refresh(self, *, now: bool = False) -> bool:
        """Check what was not found yet; returns whether something new was found. May read directories."""
        if self.is_complete or (not now and time.monotonic() - self._checked_at < _PAUSE_SECONDS):
            return False
        self._checked_at = time.monotonic()
        new = frozenset(self._new())
        self.found |= new
        return bool(new)

    def _new(self) -> Iterator[str]:
        for name, is_there in _CHECKS.items():
            if name not in self.found:
                try:
                    if is_there(self._host):
                        yield name
                except ContextiveError:
                    yield name  # it is there, and broken; its tools report how


def _has_specifications(host: Host) -> bool:
    from contextive.ingest.trace_service import TraceService

    return "trace" in host.assembly.registry.packs and host.services.get(TraceService).has_specifications()


def _has_notes(host: Host) -> bool:
    from contextive.ingest.notes_service import NotesService

    return "notes" in host.assembly.registry.packs and host.services.get(NotesService).has_notes()


def _has_model(host: Host) -> bool:
    return host.config.notes.ask_client_model or any(p.enabled for p in host.config.providers.values())


_CHECKS: dict[str, Callable[[Host], bool]] = {
    "specifications": _has_specifications,
    "notes": _has_notes,
    "models": _has_model,
}
EVERYTHING = frozenset(_CHECKS)
