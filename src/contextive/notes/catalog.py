"""All notes at one point in time, found by name and connected by links."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import attrgetter

from contextive.notes.note import Note
from contextive.notes.slug import link_key, slugify
from contextive.notes.wikilink import NoteLink

MAX_LOCAL_NODES = 1000
_MIN_IDENTIFIER_DIGITS = 8
"""The minimum number of digits in a link to a requirement."""
_ENDINGS = (".md", ".markdown")
_PATH = attrgetter("path")
_SLUG = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")


@dataclass(frozen=True, slots=True)
class NoteProblem:
    """A problem in the file of a note, described for its author."""

    path: str
    message: str


@dataclass(frozen=True, slots=True)
class GraphNode:
    """A note in the graph, with the number of its connections in the whole graph."""

    note: Note
    connections: int


@dataclass(frozen=True, slots=True)
class LocalGraph:
    """A note, its neighbours, and all edges among them. `omitted` is the number of neighbours left out."""

    nodes: tuple[GraphNode, ...]
    edges: tuple[tuple[str, str], ...]
    omitted: int = 0


##= docs/spec/notes.md#get-connections
##% An edge MUST have `source` and `target`, and there is at most one edge between two notes.
@dataclass(frozen=True, slots=True)
class _Graph:
    """One edge for each pair of connected notes. If both link, it starts at the older note."""

    edges: list[tuple[int, int]]
    edges_of: list[list[int]]
    """For each note, the indexes of its edges."""


class NoteCatalog:
    """Notes in note order: oldest first, then by path. Slugs are unique; a conflict is reported as a problem."""

    def __init__(self, notes: Iterable[Note], previous: NoteCatalog | None = None) -> None:
        """`previous` is an earlier catalog of the same notes. Its results are reused where they are still valid."""
        self.problems: tuple[NoteProblem, ...] = ()
        self.notes: tuple[Note, ...] = tuple(
            sorted(self._with_unique_slugs(notes), key=lambda n: (n.created or 0.0, n.path))
        )
        self._numbers = {note.slug: number for number, note in enumerate(self.notes)}
        if previous is not None and self._has_same_names_as(previous):
            self._reuse_results_of(previous)

    ##= docs/spec/notes.md#list-pages
    ##% Pages MUST be listed by creation time, newest first.
    @cached_property
    def newest_first(self) -> list[Note]:
        """The notes by creation time, newest first, then by path."""
        return sorted(self.notes, key=lambda note: (-(note.created or 0.0), note.path))

    def get(self, slug: str) -> Note | None:
        """The note with exactly this slug."""
        number = self._numbers.get(slug)
        return None if number is None else self.notes[number]

    ##= docs/spec/notes.md#links
    ##% The text `[[target]]` outside code MUST be a link to the note whose slug, title, alias, file name or path is
    ##% the target.
    def find(self, name: str) -> Note | None:
        """The note with a name: its slug, or else its title, an alias, its file name or its path."""
        number = self._find(name)
        return None if number is None else self.notes[number]

    def find_link(self, link: NoteLink) -> Note | None:
        """The note that a link points to."""
        number = self._target(link)
        return None if number is None else self.notes[number]

    ##= docs/spec/notes.md#links
    ##% The outlinks of a note MUST be the targets of the links in its content, each once, in order of first
    ##% appearance.
    ##= docs/spec/notes.md#links
    ##% A target that matches no note MUST be listed among the outlinks as written.
    def outlinks(self, note: Note) -> list[str]:
        """The distinct targets of a note's links, in order: slugs of notes, or else the target as written."""
        found: dict[str, str] = {}
        for link in note.links:
            if link.kind == "note" and not link.target:
                continue  # a link to a heading of the same note
            target = self.find_link(link) if link.kind == "note" else None
            written = target.slug if target else link.target_text
            found.setdefault(link_key(written), written)
        return list(found.values())

    ##= docs/spec/notes.md#links
    ##% The backlinks of a note MUST be the slugs of the other notes that link to it.
    def backlinks(self, note: Note) -> list[str]:
        """The slugs of the other notes that link to a note, in note order."""
        return [self.notes[number].slug for number in self._sources[self._numbers[note.slug]]]

    def linking_notes(self, note: Note) -> list[Note]:
        """The other notes that link to a note, in note order."""
        return [self.notes[number] for number in self._sources[self._numbers[note.slug]]]

    def targets(self, note: Note) -> list[Note]:
        """The other notes that a note links to, in order of first appearance."""
        return [self.notes[number] for number in self._targets[self._numbers[note.slug]]]

    def about_requirement(self, identifier: str, handle: str = "") -> list[Note]:
        """The notes that link to a requirement by its handle, its identifier or a prefix of that, in note order."""
        handle = link_key(handle)
        links = [
            *self._by_requirement.get(identifier[:_MIN_IDENTIFIER_DIGITS].lower(), ()),
            *(self._by_requirement.get(handle[:_MIN_IDENTIFIER_DIGITS], ()) if handle else ()),
        ]
        found = {number for number, target in links if identifier.lower().startswith(target) or target == handle}
        return [self.notes[number] for number in sorted(found)]

    ##= docs/spec/notes.md#get-connections
    ##% The local graph MUST contain the page, the notes directly connected to it, and every edge among them.
    ##= docs/spec/notes.md#get-connections
    ##% A local graph that is too large MUST say how many neighbours are left out.
    def local_graph(self, note: Note, max_nodes: int = MAX_LOCAL_NODES) -> LocalGraph:
        """The note, its neighbours and all edges among them, in note order."""
        graph, center = self._graph, self._numbers[note.slug]
        neighbours = sorted({end for number in graph.edges_of[center] for end in graph.edges[number]} - {center})
        included = sorted({center, *neighbours[: max_nodes - 1]})
        members = frozenset(included)
        inside = {
            number
            for member in included
            for number in graph.edges_of[member]
            if graph.edges[number][0] in members and graph.edges[number][1] in members
        }
        return LocalGraph(
            tuple(GraphNode(self.notes[number], len(graph.edges_of[number])) for number in included),
            tuple((self.notes[graph.edges[e][0]].slug, self.notes[graph.edges[e][1]].slug) for e in sorted(inside)),
            len(neighbours) + 1 - len(included),
        )

    ##= docs/spec/notes.md#slugs
    ##% Every note MUST have a slug that is unique in the project.
    ##= docs/spec/notes.md#slugs
    ##% If two notes have the same slug, the first by path MUST keep it, and the other one is reported.
    def _with_unique_slugs(self, notes: Iterable[Note]) -> list[Note]:
        """The notes with unique slugs. The first by path keeps its slug; the others get one from their whole path."""
        notes = list(notes)
        with_problems = sorted((note for note in notes if note.problem), key=_PATH)
        problems = [NoteProblem(note.path, note.problem) for note in with_problems if note.problem]
        by_slug = {note.slug: note for note in notes}
        duplicates: list[Note] = []
        if len(by_slug) < len(notes):
            by_slug = {}
            duplicates = [note for note in sorted(notes, key=_PATH) if by_slug.setdefault(note.slug, note) is not note]
        for note in duplicates:
            owner = by_slug[note.slug].path
            slug = slugify(_without_ending(note.path).replace("/", " "))
            if not slug or slug in by_slug:
                problems.append(
                    NoteProblem(note.path, f"the slug {note.slug!r} is used by {owner}; the note is left out")
                )
                continue
            problems.append(
                NoteProblem(note.path, f"the slug {note.slug!r} is used by {owner}; the note is shown as {slug!r}")
            )
            by_slug[slug] = replace(note, slug=slug)
        self.problems = tuple(problems)
        return list(by_slug.values())

    def _has_same_names_as(self, previous: NoteCatalog) -> bool:
        """Whether an earlier catalog has the same notes under the same names. Most are the same objects."""
        return len(self.notes) == len(previous.notes) and all(
            note is old or _names_of(note) == _names_of(old)
            for note, old in zip(self.notes, previous.notes, strict=True)
        )

    def _reuse_results_of(self, previous: NoteCatalog) -> None:
        """Reuse the resolved links of an earlier catalog. Links that did not change still have the same targets."""
        cached = previous.__dict__
        reusable: list[str] = [name for name in ("_names", "_paths") if name in cached]
        if "_targets" in cached:
            pairs = list(zip(self.notes, previous.notes, strict=True))
            changed = [number for number, (note, old) in enumerate(pairs) if note.links != old.links]
            self.__dict__ |= {name: cached[name] for name in reusable}
            targets = list(cached["_targets"])
            for number in changed:
                targets[number] = self._targets_of(number, {})
            self.__dict__["_targets"] = targets
            reusable = [name for name in ("_sources", "_graph") if name in cached and not changed]
        self.__dict__ |= {name: cached[name] for name in reusable}

    @cached_property
    def _names(self) -> dict[str, int]:
        """Indexes of notes by name. Slugs take precedence, then titles, aliases and file names."""
        names = dict(self._numbers)
        ordered = sorted(range(len(self.notes)), key=lambda number: self.notes[number].path)
        for number in ordered:
            names.setdefault(link_key(self.notes[number].title), number)
        for number in ordered:
            for alias in self.notes[number].aliases:
                names.setdefault(link_key(alias), number)
        for number in ordered:
            names.setdefault(link_key(self.notes[number].stem), number)
        return names

    @cached_property
    def _by_path(self) -> dict[str, int]:
        """Indexes of notes by the whole path of their file."""
        return {note.path: number for number, note in enumerate(self.notes)}

    @cached_property
    def _paths(self) -> dict[str, int]:
        """Indexes of notes by path without suffix: the whole path, and its parts below each folder."""
        paths: dict[str, int] = {}
        ordered = sorted(
            range(len(self.notes)), key=lambda number: (self.notes[number].path.count("/"), self.notes[number].path)
        )
        for number in ordered:
            rest = link_key(_without_ending(self.notes[number].path))
            while "/" in rest:
                paths.setdefault(rest, number)
                rest = rest.partition("/")[2]
        return paths

    @cached_property
    def _by_requirement(self) -> dict[str, list[tuple[int, str]]]:
        """Indexes of notes with the requirement identifiers they link to, by the first digits of the identifier."""
        found: dict[str, list[tuple[int, str]]] = {}
        for number, note in enumerate(self.notes):
            for link in note.links:
                if link.kind == "requirement":
                    target = link.target.lower()
                    found.setdefault(target[:_MIN_IDENTIFIER_DIGITS], []).append((number, target))
        return found

    def _find(self, name: str) -> int | None:
        wanted = link_key(name)
        number = self._numbers.get(wanted)  # slugs take precedence over all other names
        if number is None:
            number = self._names.get(wanted)
        if number is None and wanted.endswith(_ENDINGS):
            wanted = _without_ending(wanted)
            number = self._names.get(wanted)
        if number is None and "/" in wanted:
            number = self._paths.get(wanted.removeprefix("./").removeprefix("/"))
        if number is None and not _SLUG.fullmatch(wanted) and (slug := slugify(name)):
            number = self._numbers.get(slug)
        return number

    def _target(self, link: NoteLink) -> int | None:
        if link.kind != "note" or not link.target:
            return None
        if link.path is not None and (number := self._by_path.get(link.path)) is not None:
            return number
        if link.heading and (number := self._names.get(link_key(f"{link.target}#{link.heading}"))) is not None:
            return number
        return self._find(link.target)

    @cached_property
    def _targets(self) -> list[list[int]]:
        """For each note, the indexes of the other notes that it links to, in order of first appearance."""
        seen: dict[tuple[str | None, ...], int | None] = {}
        return [self._targets_of(number, seen) for number in range(len(self.notes))]

    def _targets_of(self, number: int, seen: dict[tuple[str | None, ...], int | None]) -> list[int]:
        """The targets of one note. `seen` caches the targets of links."""
        targets: dict[int, None] = {}
        for link in self.notes[number].links:
            if link.kind != "note":
                continue
            key = (link.target, link.heading, link.path)
            if key not in seen:
                seen[key] = self._target(link)
            target = seen[key]
            if target is not None and target != number:
                targets[target] = None
        return list(targets)

    @cached_property
    def _sources(self) -> list[list[int]]:
        sources: list[list[int]] = [[] for _ in self.notes]
        for number, targets in enumerate(self._targets):
            for target in targets:
                sources[target].append(number)
        return sources

    @cached_property
    def _graph(self) -> _Graph:
        edges: list[tuple[int, int]] = []
        edges_of: list[list[int]] = [[] for _ in self.notes]
        seen: set[tuple[int, int]] = set()
        for number, targets in enumerate(self._targets):
            for target in targets:
                pair = (min(number, target), max(number, target))
                if pair not in seen:
                    seen.add(pair)
                    edges_of[number].append(len(edges))
                    edges_of[target].append(len(edges))
                    edges.append((number, target))
        return _Graph(edges, edges_of)


def _names_of(note: Note) -> tuple[object, ...]:
    return note.path, note.slug, note.title, note.aliases


def _without_ending(path: str) -> str:
    ending = next((ending for ending in _ENDINGS if path.lower().endswith(ending)), "")
    return path[: len(path) - len(ending)]


def problem_lines(problems: Sequence[NoteProblem]) -> list[str]:
    """The problems as lines of text."""
    return [f"{problem.path}: {problem.message}" for problem in problems]
