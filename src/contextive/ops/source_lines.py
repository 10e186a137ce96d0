"""Single lines of files, as messages show them."""

from __future__ import annotations

from contextive.trace.citation import Place
from contextive.workspace.files import FileText, ProjectFiles


class Lines:
    """Single lines of files. Questions come file by file: the last one is kept in lines."""

    def __init__(self, files: ProjectFiles) -> None:
        self._files = files
        self._last: tuple[str, list[str]] = ("", [])

    def at(self, place: Place) -> str | None:
        """The line on which a place is, or None where there is no such line."""
        if place.path != self._last[0]:
            content = self._files.read(place.path)
            self._last = place.path, content.text.split("\n") if isinstance(content, FileText) else []
        lines = self._last[1]
        return lines[place.line - 1].rstrip("\r") if 0 < place.line <= len(lines) else None
