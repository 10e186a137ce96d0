"""The headers of one request, indexed for repeated lookups."""

from __future__ import annotations

from starlette.types import Scope


class RequestHeaders:
    """Request headers by lower-case name. `get` returns the first value of a repeated header."""

    def __init__(self, scope: Scope) -> None:
        self._raw: list[tuple[bytes, bytes]] = scope["headers"]
        self._first = dict(reversed(self._raw))

    def get(self, name: bytes) -> str | None:
        value = self._first.get(name)
        return None if value is None else value.decode("latin-1")

    def get_all(self, name: bytes) -> list[str]:
        """All values of one header, in order."""
        if name not in self._first:
            return []
        return [value.decode("latin-1") for known, value in self._raw if known == name]

    def __contains__(self, name: bytes) -> bool:
        return name in self._first
