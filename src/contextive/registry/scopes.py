"""Who calls, and how much that caller may do."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Scope(StrEnum):
    """What a credential allows. A maintainer may do all that a reader may."""

    READER = "reader"
    MAINTAINER = "maintainer"

    ##= docs/spec/gateway.md#tool-scopes
    ##% A maintainer MUST be able to do what a reader can.
    def covers(self, needed: Scope) -> bool:
        return self is needed or self is Scope.MAINTAINER


@dataclass(frozen=True, slots=True)
class Caller:
    """One authenticated party. `name` is safe to log: it never holds a credential."""

    name: str
    scope: Scope
    tools: frozenset[str] | None = None
    """The only tools that this party may call; None means all that its scope allows."""


OWNER_AS_READER = Caller("owner", Scope.READER)
OWNER_AS_MAINTAINER = Caller("owner", Scope.MAINTAINER)
