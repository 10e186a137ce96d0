"""Finds the specification of an ambiguous reference by git: the one that changed in the commit in which the line came in."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from contextive.trace.formats.values import FormatSpecification
from contextive.trace.natural_references import NaturalReference
from contextive.trace.reference_owners import OwnerResolver, Resolution, ResolvedReference
from contextive.trace.spec_evidence import resolve_references
from contextive.workspace.files import FileText, ProjectFiles
from contextive.workspace.first_commits import history_fingerprint
from contextive.workspace.line_commits import changes_with, commits_of_lines
from contextive.workspace.repository import repository_root

_WORKERS: Final = 4
_MOST_FILES: Final = 200
"""Files for which git is asked. It takes about 10 milliseconds for each."""
_Lines = tuple[int, ...]


class SpecCommits:
    """Resolves references, with the help of git where the files alone are not enough. What git said is cached until
    the history or a file changes."""

    def __init__(self, files: ProjectFiles) -> None:
        self._files = files
        self._changes: tuple[object, Mapping[str, frozenset[str]]] | None = None
        self._blamed: dict[str, tuple[object, FileText, _Lines, Mapping[int, str]]] = {}

    def resolve(
        self,
        references: Iterable[NaturalReference],
        resolver: OwnerResolver,
        specifications: Sequence[FormatSpecification],
    ) -> tuple[ResolvedReference, ...]:
        resolved = resolve_references(references, resolver)
        unclear: dict[str, set[int]] = {}
        for one in resolved:
            if one.resolution is Resolution.AMBIGUOUS:
                unclear.setdefault(one.reference.path, set()).add(one.reference.line)
        owners = self._owners(unclear, specifications) if unclear else {}
        if not owners:
            return resolved

        def specs_of_line(path: str, line: int) -> Collection[str]:
            return owners.get((path, line), ())

        again = (
            resolver.resolve(one.reference, specs_of_line) if one.resolution is Resolution.AMBIGUOUS else one
            for one in resolved
        )
        return tuple(one for one in again if one is not None)

    def _owners(
        self, unclear: Mapping[str, Collection[int]], specifications: Sequence[FormatSpecification]
    ) -> dict[tuple[str, int], frozenset[str]]:
        """The specifications that changed in the commit of each line."""
        root = self._files.root
        if repository_root(root) is None:
            return {}
        history = history_fingerprint(root)
        folders = {one.path.rpartition("/")[0]: one.id for one in specifications}
        key = (history, frozenset(folders))
        if self._changes is None or self._changes[0] != key:
            self._changes = key, changes_with(root, {folder for folder in folders if folder})
        changes = self._changes[1]
        changed = frozenset().union(*changes.values())
        asked = {path: tuple(sorted(lines)) for path, lines in unclear.items() if path in changed}
        specs = {commit: _specs_in(paths, folders) for commit, paths in changes.items()}
        return {
            (path, line): specs[commit]
            for path, commits in self._blame(history, asked).items()
            for line, commit in commits.items()
            if commit in specs
        }

    def _blame(self, history: object, asked: Mapping[str, _Lines]) -> dict[str, Mapping[int, str]]:
        contents = {path: self._files.read(path) for path in sorted(asked)[:_MOST_FILES]}
        known: dict[str, tuple[object, FileText, _Lines, Mapping[int, str]]] = {}
        new: list[tuple[str, FileText]] = []
        for path, content in contents.items():
            before = self._blamed.get(path)
            if before is not None and before[0] == history and before[1] is content and before[2] == asked[path]:
                known[path] = before
            elif isinstance(content, FileText):
                new.append((path, content))
        with ThreadPoolExecutor(_WORKERS) as pool:
            found = pool.map(lambda item: commits_of_lines(self._files.root, item[0], asked[item[0]]), new)
            for (path, content), commits in zip(new, found, strict=True):
                known[path] = history, content, asked[path], commits
        self._blamed = known
        return {path: entry[3] for path, entry in known.items()}


def _specs_in(paths: Collection[str], folders: Mapping[str, str]) -> frozenset[str]:
    """The specifications with a changed file, by the folders above each of them."""
    found = set()
    for path in paths:
        folder = path.rpartition("/")[0]
        while folder:
            if folder in folders:
                found.add(folders[folder])
            folder = folder.rpartition("/")[0]
    return frozenset(found)
