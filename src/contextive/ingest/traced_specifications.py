"""The specifications of a project: where their texts are, their requirements, and which one a citation means."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from operator import eq

from contextive.errors import ConfigError
from contextive.ingest.parse_cache import ParseCache
from contextive.trace.catalog import rfc_number
from contextive.trace.citation import ParsedFile
from contextive.trace.declared_requirements import DeclaredDocuments, NamedHandle, is_handle
from contextive.trace.duvet_config import SpecificationSource, TraceSettings
from contextive.trace.extraction import (
    ExtractedRequirement,
    extract_requirements,
    format_requirement_file,
    requirement_file_citations,
)
from contextive.trace.specification import Format, Section, Specification, parse_specification
from contextive.trace.target import (
    Target,
    TargetQuery,
    UnavailableSpec,
    cached_path,
    normalise_url,
    requirements_dir,
    stored_path,
)
from contextive.trace.text import quoted
from contextive.workspace.directory_listings import DirectoryListings
from contextive.workspace.files import ProjectFiles, Unreadable, ancestors

_LEADING_DOTS = r"\A(?:\.?/)+"


@dataclass(frozen=True, eq=False, slots=True)
class GeneratedFile:
    """A requirement file as extraction writes it, already parsed. Its text is computed on access."""

    path: str
    target: Target
    section: Section
    requirements: list[ExtractedRequirement]
    parsed: ParsedFile

    @property
    def text(self) -> str:
        return format_requirement_file(self.target.path, self.section, self.requirements)


class TracedSpecifications:
    """The specifications of a project with given settings."""

    def __init__(
        self,
        files: ProjectFiles,
        settings: TraceSettings,
        cache: ParseCache,
        *,
        unify_aliases: bool,
        declared: DeclaredDocuments | None = None,
    ) -> None:
        """`declared` are the documents in spec-driven formats. Their requirements are not extracted from sentences."""
        self._files = files
        self._settings = settings
        self._cache = cache
        self._unify_aliases = unify_aliases
        self.declared = declared or DeclaredDocuments()

    def configured(self) -> Iterator[tuple[SpecificationSource, Target]]:
        """The specifications named in the settings, each with its target."""
        for source in self._settings.specifications:
            if not self._is_declared(source.source):
                yield source, _configured_target(source)

    def _is_declared(self, path: str) -> bool:
        """Whether a file is part of a specification in a spec-driven format: it was named by a pattern, or it has
        requirements of its own."""
        if self._settings.config_path is None and path.rpartition("/")[0]:
            return any(folder in self.declared.folders for folder in ancestors(path.rpartition("/")[0]) if folder)
        return path in self.declared.by_path

    ##= docs/spec/trace.md#formats
    ##% A format set in the configuration (for extraction) or in a citation (for matching it) MUST override the
    ##% guessed one.
    def read(self, target: Target) -> Specification | UnavailableSpec:
        """The specification of a target; cached until its text changes."""
        path = self.path_of(target)
        if (document := self.declared.by_path.get(path)) is not None:
            return document.specification
        content = self._files.read(path)

        def parse() -> Specification | UnavailableSpec:
            if not isinstance(content, Unreadable):
                return parse_specification(content.text, self._format_of(target), path)
            if content.fingerprint is not None:
                return UnavailableSpec(f"{target.path} cannot be read: {content.reason}")
            return UnavailableSpec(
                f"{target.path} is not stored in this project" if target.is_url else f"{target.path} does not exist"
            )

        return self._cache.get(target, content, parse, is_same=eq)

    def extract(self) -> list[GeneratedFile]:
        """The requirement files of all configured specifications that can be read."""
        generated: list[GeneratedFile] = []
        for source, target in self.configured():
            generated += self._extract_one(target, Target(target.path, source.format))
        return generated

    def _extract_one(self, target: Target, read_as: Target) -> list[GeneratedFile]:
        specification = self.read(read_as)
        if isinstance(specification, UnavailableSpec):
            return []
        cache, key = specification._cache, ("generated", target.path)
        generated = cache.get(key)
        if not isinstance(generated, list):
            generated = cache[key] = list(self._generate(target, specification))
        return generated

    def _generate(self, target: Target, specification: Specification) -> Iterator[GeneratedFile]:
        folder = requirements_dir(target, self._settings.download_dir, self._settings.requirements_dir)
        for section, requirements in extract_requirements(specification):
            path = f"{folder}/{section.id}.toml"
            parsed = requirement_file_citations(path, target.path, section, requirements)
            yield GeneratedFile(path, target, section, requirements, parsed)

    ##= docs/spec/trace.md#targets
    ##% The text of a URL MUST be read from the copy stored in the project.
    def path_of(self, target: Target) -> str:
        """The file with the text of a target. An unusual address of an RFC means the copy of its usual one."""
        if not target.is_url:
            return target.path
        own = cached_path(target.path, self._settings.download_dir)
        number = rfc_number(target.path)
        if number is None:
            return own
        usual = cached_path(f"https://www.rfc-editor.org/rfc/rfc{number}", self._settings.download_dir)
        return own if own == usual or self._files.is_file(own) or not self._files.is_file(usual) else usual

    def document_of(self, target: Target) -> str:
        """The file that identifies a document: the same for all its spellings."""
        return self.path_of(target) if target.is_url else stored_path(target.path, self._settings.download_dir)

    def _format_of(self, target: Target) -> Format:
        """The format named in a target or, if aliases are unified, in the configuration of the same document."""
        if target.format is not Format.AUTO or not self._unify_aliases:
            return target.format
        document = self.document_of(target)
        formats = (source.format for source, other in self.configured() if self.document_of(other) == document)
        return next(formats, Format.AUTO)


class TargetResolver:
    """Finds the specification that a citation names, among the files at one moment.

    If aliases are unified, the first spelling of a document is used for all, so the order of calls matters.
    """

    def __init__(
        self,
        files: ProjectFiles,
        folders: DirectoryListings,
        specifications: TracedSpecifications,
        *,
        unify_aliases: bool,
    ) -> None:
        self._files = files
        self._folders = folders
        self._specifications = specifications
        self._unify_aliases = unify_aliases
        self._is_file: dict[str, bool] = {}
        self._canonical: dict[Target, Target] = {}
        self._spellings: dict[tuple[str, Format], Target] = {}

    def resolve(self, query: TargetQuery) -> Target | NamedHandle | UnavailableSpec:
        path = query.path
        if is_handle(path) and self._specifications.declared.documents:
            return self._specifications.declared.find(path) or UnavailableSpec(
                f"There is no requirement {quoted(path)}"
            )
        if path.startswith("/"):
            root = f"{self._files.root}/"
            inside = re.sub(_LEADING_DOTS, "", path.removeprefix(root)) if path.startswith(root) else None
            return self.canonical_target(Target(path, query.format, inside))
        if "://" in path:
            url = _url(path)
            return (
                UnavailableSpec(f'"{path}" is not a URL')
                if url is None
                else self.canonical_target(Target(url, query.format))
            )
        if self._exists(path):
            return self.canonical_target(Target(path, query.format))
        for folder in self._folders_to_search(query):
            candidate = f"{folder}/{path}" if folder else path
            if self._exists(candidate):
                return self.canonical_target(Target(candidate, query.format))
        return UnavailableSpec(f"Could not resolve file {quoted(path)}")

    ##= docs/spec/trace.md#targets
    ##% The MCP tools MUST treat two spellings of the same document as one specification.
    def canonical_target(self, target: Target) -> Target:
        """The first spelling of the same document if aliases are unified, else the target itself."""
        if not self._unify_aliases:
            return target
        if target not in self._canonical:
            self._canonical[target] = self._find_canonical(target)
        return self._canonical[target]

    def _find_canonical(self, target: Target) -> Target:
        if target.format is not Format.AUTO:
            # An explicit format that the document has anyway does not make it another document.
            plain = self.canonical_target(Target(target.path))
            known = self._specifications.read(plain)
            if isinstance(known, Specification) and known.format is target.format:
                return plain
        return self._spellings.setdefault((self._specifications.document_of(target), target.format), target)

    def _exists(self, path: str) -> bool:
        if path not in self._is_file:
            self._is_file[path] = self._files.is_file(path, self._folders)
        return self._is_file[path]

    def _folders_to_search(self, query: TargetQuery) -> Iterator[str]:
        """Further directories for a relative path: those of its TOML file upwards, or those above the project."""
        if query.base is not None:
            return ancestors(query.base)
        if self._files.boundary is not None:
            # Relative, because clients must not see the names of directories above the project.
            return ("/".join([".."] * height) for height in range(1, len(self._files.root.parents) + 1))
        return (str(folder).rstrip("/") for folder in self._files.root.parents)


def _configured_target(source: SpecificationSource) -> Target:
    if "://" not in source.source:
        return Target(source.source)
    url = _url(source.source)
    if url is None:
        raise ConfigError(f"The specification {source.source!r} is not a URL.", hint="Correct it.")
    return Target(url)


def _url(text: str) -> str | None:
    """A normalised URL; None if the text is not a URL."""
    try:
        url = normalise_url(text)
        cached_path(url, "")
    except ValueError:
        return None
    return url
