"""Places to read before a change, each with its reason."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from contextive.knowledge.exercised_symbols import is_test_symbol

if TYPE_CHECKING:
    from contextive.knowledge.graph import Node

MOST: Final[Mapping[str, int]] = {"requirements": 5, "code": 10, "tests": 7, "documents": 3, "notes": 3}
"""The sections of an answer, in their order, and the most places of each."""
MAX_TEXT: Final = 160
_LABELS: Final[Mapping[str, str]] = {
    "SourceFile": "code",
    "Symbol": "code",
    "TestCase": "tests",
    "DesignDoc": "documents",
    "Note": "notes",
    "Requirement": "requirements",
}


@dataclass(frozen=True, slots=True)
class Place:
    """Something to read, where it is, and why."""

    path: str
    reason: str
    lines: str | None = None
    title: str | None = None


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What matters for a task, a path or a symbol, by section."""

    sections: Mapping[str, tuple[Place, ...]] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


class PlaceCollector:
    """Collects places by section: each path once, within the number of each section."""

    def __init__(self, inside: frozenset[str] = frozenset()) -> None:
        self._sections: dict[str, dict[str, Place]] = {name: {} for name in MOST}
        self._inside = inside
        """Paths that the caller named, which need not be shown."""

    def add(self, section: str, place: Place) -> bool:
        """Whether the place is new and there was room for it."""
        found = self._sections[section]
        key = place.title or "" if section == "requirements" else place.path
        if place.path in self._inside or key in found or len(found) >= MOST[section]:
            return False
        found[key] = place
        return True

    def paths(self, section: str) -> list[str]:
        return [place.path for place in self._sections[section].values()]

    def add_all(self, section: str, places: Iterable[Place]) -> None:
        for place in places:
            self.add(section, place)

    def add_node(self, node: Node, reason: str, line: int = 0) -> bool:
        """Whether a node of the graph was added. `line` is where it uses what the caller asked about."""
        section = _LABELS.get(node.label)
        if section is None:
            return False
        properties = node.properties
        if section == "requirements":
            text = str(properties.get("text", ""))[:MAX_TEXT]
            where = f"{properties.get('specification', '')}#{properties.get('section', '')}"
            return self.add(section, Place(where, reason, title=f"{node.key[:8]} {text}".strip()))
        path = str(properties.get("path") or node.key.partition("::")[0])
        title = node.key.partition("::")[2] or str(properties.get("title") or "") or None
        lines = str(line) if line else None
        if lines is None and "line_start" in properties:
            lines = f"{properties['line_start']}-{properties['line_end']}"
        is_test = reason == "tests it" or (node.label == "Symbol" and is_test_symbol(node.key))
        return self.add("tests" if is_test else section, Place(path, reason, lines, title))

    def result(self, warnings: Sequence[str]) -> Surroundings:
        sections = {name: tuple(found.values()) for name, found in self._sections.items() if found}
        return Surroundings(sections, tuple(warnings))
