"""The headers of one request, made ready for many questions about them."""

from __future__ import annotations

from starlette.types import Scope


class RequestHeaders:
    """Looked up by their names in lower case, as the web server gives them. Where one stands twice, `get` knows the first."""

    def __init__(self, scope: Scope) -> None:
        self._raw: list[tuple[bytes, bytes]] = scope["headers"]
        self._first = dict(reversed(self._raw))

    def get(self, name: bytes) -> str | None:
        value = self._first.get(name)
        return None if value is None else value.decode("latin-1")

    def get_all(self, name: bytes) -> list[str]:
        """All values of one header, in their order."""
        if name not in self._first:
            return []
        return [value.decode("latin-1") for known, value in self._raw if known == name]

    def __contains__(self, name: bytes) -> bool:
        return name in self._first
