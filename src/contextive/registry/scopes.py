"""Callers and their scopes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Scope(StrEnum):
    """What a caller may do. Each scope includes the ones before it."""

    READER = "reader"
    WRITER = "writer"
    """Also change pages and documents, vote and ingest. The owner of a stdio server can have it; tokens cannot."""
    MAINTAINER = "maintainer"

    ##= docs/spec/gateway.md#tool-scopes
    ##% A maintainer MUST be able to do what a reader can.
    def covers(self, needed: Scope) -> bool:
        return _ORDER.index(self) >= _ORDER.index(needed)


@dataclass(frozen=True, slots=True)
class Caller:
    """An authenticated caller. `name` never contains a credential, so it can be logged."""

    name: str
    scope: Scope
    tools: frozenset[str] | None = None
    """The only tools that this caller may call; None means all that the scope allows."""


_ORDER = (Scope.READER, Scope.WRITER, Scope.MAINTAINER)

OWNER_AS_READER = Caller("owner", Scope.READER)
OWNER_AS_WRITER = Caller("owner", Scope.WRITER)
OWNER_AS_MAINTAINER = Caller("owner", Scope.MAINTAINER)
