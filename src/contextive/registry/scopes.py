"""Callers and their scopes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Scope(StrEnum):
    """What a caller may do. A maintainer may also do everything that a reader may."""

    READER = "reader"
    MAINTAINER = "maintainer"

    ##= docs/spec/gateway.md#tool-scopes
    ##% A maintainer MUST be able to do what a reader can.
    def covers(self, needed: Scope) -> bool:
        return self is needed or self is Scope.MAINTAINER


@dataclass(frozen=True, slots=True)
class Caller:
    """An authenticated caller. `name` never contains a credential, so it can be logged."""

    name: str
    scope: Scope
    tools: frozenset[str] | None = None
    """The only tools that this caller may call; None means all that the scope allows."""


OWNER_AS_READER = Caller("owner", Scope.READER)
OWNER_AS_MAINTAINER = Caller("owner", Scope.MAINTAINER)
