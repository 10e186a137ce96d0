"""Single lines of files, as messages show them."""

from __future__ import annotations

from contextive.trace.citation import Location
from contextive.workspace.files import FileText, ProjectFiles


class SourceLines:
    """Single lines of files. Questions come file by file: the last one is kept in lines."""

    def __init__(self, files: ProjectFiles) -> None:
        self._files = files
        self._last: tuple[str, list[str]] = ("", [])

    def at(self, location: Location) -> str | None:
        """The line on which a location is, or None where there is no such line."""
        if location.path != self._last[0]:
            content = self._files.read(location.path)
            self._last = location.path, content.text.split("\n") if isinstance(content, FileText) else []
        lines = self._last[1]
        return lines[location.line - 1].rstrip("\r") if 0 < location.line <= len(lines) else None
