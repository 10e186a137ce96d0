"""Reads the specifications in spec-driven formats, and the comments that name their requirements, from the files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from operator import eq
from typing import Final

from contextive.ingest.parse_cache import ParseCache
from contextive.ingest.spec_commits import SpecCommits
from contextive.ingest.trace_defaults import STYLES_BY_ENDING
from contextive.knowledge.classification import is_test_path
from contextive.knowledge.comment_spans import comment_spans
from contextive.knowledge.languages import language_of
from contextive.trace.comments import CommentBlock, blocks_of_lines, blocks_of_spans, titles_of_tests
from contextive.trace.declared_requirements import Declarations, DeclaredDocuments, ReadSpecifications, naming_citations
from contextive.trace.formats.layout import FOLDERS, find_specifications, read_specification
from contextive.trace.formats.values import FormatSpecification, SpecFiles, SpecFormat, SpecState, UnreadLine
from contextive.trace.level import CitationType
from contextive.trace.natural_references import NaturalReference, find_references
from contextive.trace.reference_owners import OwnerResolver, ResolvedReference
from contextive.workspace.directory_listings import DirectoryListings
from contextive.workspace.files import FileText, ProjectFiles, ReadOnce, Unreadable
from contextive.workspace.globs import walk_by_ending
from contextive.workspace.spec_folders import markdown_files_in

_FURTHER_ENDINGS: Final = (
    "astro", "bash", "bats", "bzl", "cjs", "clj", "cljs", "cmake", "cts", "erl", "feature", "fs", "gd", "gradle",
    "graphql", "groovy", "hcl", "hh", "hs", "jl", "kts", "ml", "mm", "mts", "nim", "prisma", "proto", "ps1", "sol",
    "svelte", "tcl", "tf", "vb", "vue", "zsh",
)  # fmt: skip
SOURCE_ENDINGS: Final = frozenset((*STYLES_BY_ENDING, *_FURTHER_ENDINGS))
"""The files whose comments can name requirements."""
_TITLED: Final = frozenset(("javascript", "typescript", "tsx"))


class SpecReader:
    """Reads specifications at each call. What did not change is not read again."""

    def __init__(self, files: ProjectFiles, formats: Sequence[SpecFormat]) -> None:
        self._files = files
        self._formats = tuple(formats)
        self._known: dict[SpecFiles, tuple[tuple[FileText | Unreadable, ...], FormatSpecification]] = {}
        self._derived_from: tuple[FormatSpecification, ...] = ()
        self._documents = DeclaredDocuments()
        self._resolver = OwnerResolver.of(())
        self._cache = ParseCache()
        self._commits = SpecCommits(files)
        self._sources: list[str] = []

    def at(self, files: ProjectFiles) -> SpecReader:
        """A reader of the same project with other files, such as those of a commit. What is equal is not read again."""
        other = SpecReader(files, self._formats)
        other._known = dict(self._known)
        other._cache = ParseCache(self._cache)
        other._derived_from, other._documents, other._resolver = self._derived_from, self._documents, self._resolver
        return other

    def find(self, folders: DirectoryListings) -> list[SpecFiles]:
        """The specifications among the files, which are not read."""
        if not self._formats:
            return []
        return find_specifications(markdown_files_in(str(self._files.root), FOLDERS, folders), self._formats)

    def specifications(self, folders: DirectoryListings, once: ReadOnce) -> tuple[FormatSpecification, ...]:
        found = {files: self._specification(files, once) for files in self.find(folders)}
        self._known = {files: self._known[files] for files in found}
        return tuple(found.values())

    def documents(self, specifications: tuple[FormatSpecification, ...]) -> DeclaredDocuments:
        self._derive(specifications)
        return self._documents

    def resolver(self, specifications: tuple[FormatSpecification, ...]) -> OwnerResolver:
        self._derive(specifications)
        return self._resolver

    ##= docs/spec/trace.md#spec-driven-formats
    ##% A comment or docstring that names a requirement by its key MUST count as a reference to it, weaker than a quote.
    def references(
        self, specifications: tuple[FormatSpecification, ...], folders: DirectoryListings, once: ReadOnce
    ) -> tuple[tuple[NaturalReference, ...], ...]:
        """What the comments of all source files may refer to, file by file."""
        if all(one.state is SpecState.ARCHIVED for one in specifications):
            self._sources = []
            return ()
        candidate = self.resolver(specifications).candidate
        self._sources = [path for path, _ in walk_by_ending(str(self._files.root), SOURCE_ENDINGS, folders)]
        found = tuple(filter(None, (self._references_in(path, candidate, once) for path in self._sources)))
        self._cache.keep_only({(path, candidate) for path in self._sources})
        return found

    def _references_in(self, path: str, candidate: re.Pattern[str], once: ReadOnce) -> tuple[NaturalReference, ...]:
        content = once.read(path)
        return self._cache.get((path, candidate), content, lambda: _references(path, content, candidate), eq)

    def resolve(self, read: ReadSpecifications) -> tuple[ResolvedReference, ...]:
        """The references that are about a specification of the project."""
        if not read.references:
            return ()
        return self._commits.resolve(read.all_references, self.resolver(read.specifications), read.specifications)

    def declare(
        self,
        documents: DeclaredDocuments,
        resolved: Sequence[ResolvedReference],
        cited: AbstractSet[tuple[str, int]],
    ) -> Declarations:
        """The requirements of the documents, and the comments that name them. A line of a citation is only that."""
        counted = [one for one in resolved if (one.reference.path, one.reference.line) not in cited]
        paths = {one.reference.path for one in counted}
        types = {path: CitationType.TEST if is_test_path(path) else CitationType.CITATION for path in paths}
        return Declarations(documents, naming_citations(counted, documents, types))

    def used_paths(self) -> Iterator[str]:
        """The files that were read in the last call."""
        for files in self._known:
            yield from files.paths
        yield from self._sources

    def _specification(self, files: SpecFiles, once: ReadOnce) -> FormatSpecification:
        contents = tuple([once.read(path) for path in files.paths])
        known = self._known.get(files)
        if known is None or any(new is not old for new, old in zip(contents, known[0], strict=True)):
            known = contents, _read(files, contents)
            self._known[files] = known
        return known[1]

    def _derive(self, specifications: tuple[FormatSpecification, ...]) -> None:
        """Compute what depends on the specifications alone, if they changed."""
        if self._derived_from != specifications:
            self._derived_from = specifications
            self._documents, self._resolver = DeclaredDocuments.of(specifications), OwnerResolver.of(specifications)


def _read(files: SpecFiles, contents: Sequence[FileText | Unreadable]) -> FormatSpecification:
    """A specification from the texts of its files. Files that cannot be read are listed as not understood."""
    pairs = list(zip(files.paths, contents, strict=True))
    texts = {path: content.text for path, content in pairs if isinstance(content, FileText)}
    unread = tuple(UnreadLine(path, 1, content.reason) for path, content in pairs if isinstance(content, Unreadable))
    if unread and unread[0].path == files.paths[0]:
        return FormatSpecification(files, files.key, unread=unread)
    specification = read_specification(files, texts)
    return replace(specification, unread=(*specification.unread, *unread)) if unread else specification


def _references(path: str, content: FileText | Unreadable, candidate: re.Pattern[str]) -> tuple[NaturalReference, ...]:
    if isinstance(content, Unreadable) or candidate.search(content.text) is None:
        return ()
    return tuple(find_references(path, comment_blocks(path, content.text), candidate))


def comment_blocks(path: str, text: str) -> Iterator[CommentBlock]:
    """The comments and docstrings of a source file, and the titles of its tests."""
    language = language_of(path)
    spans = comment_spans(text, language) if language is not None else None
    yield from blocks_of_spans(text, spans) if spans is not None else blocks_of_lines(text)
    if language in _TITLED:
        yield from titles_of_tests(text)
