"""The traceability of a project at the moment of a call: extract, find, parse, resolve, match.

Each step depends only on the values of the steps before. `TracedProject.read` calls them in order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING

from contextive.ingest.parse_cache import ParseCache
from contextive.ingest.trace_sources import FoundSources, SourceFile, find_sources
from contextive.ingest.traced_specifications import GeneratedFile, TargetResolver, TracedSpecifications
from contextive.trace.analysis import Analysis, ResolvedSpec, match_files, path_parts
from contextive.trace.citation import CommentStyle, Location, ParsedFile, Problem, parse_citations
from contextive.trace.declared_requirements import (
    NOTHING_READ,
    Declarations,
    DeclaredDocuments,
    NamedHandle,
    ReadSpecifications,
)
from contextive.trace.duvet_config import SpecificationSource, TraceSettings
from contextive.trace.formats.values import SpecFormat
from contextive.trace.requirement_file import parse_requirement_file
from contextive.trace.specification import Specification
from contextive.trace.target import Target, TargetQuery, UnavailableSpec
from contextive.workspace.directory_listings import DirectoryListings
from contextive.workspace.files import FileText, ProjectFiles, ReadOnce, Unreadable

if TYPE_CHECKING:
    from contextive.ingest.spec_reading import SpecReader
    from contextive.trace.reference_owners import ResolvedReference
    from contextive.trace.spec_trace import SpecTrace


@dataclass(frozen=True, eq=False)
class TraceState:
    """The traceability of a project at one moment."""

    settings: TraceSettings
    analysis: Analysis
    file_problems: tuple[Problem, ...]
    generated: tuple[GeneratedFile, ...]
    source_count: int
    specifications: dict[Target, Specification]
    specification_problems: dict[Target, str]
    usual_style: CommentStyle | None = None
    """The comment style of most source files with citations or, if there are none yet, of most source files."""
    styles: tuple[CommentStyle, ...] = ()
    """The comment styles in which source files are read, most frequent first."""
    extracted: frozenset[Target] = frozenset()
    """The specifications whose requirements are known. Others are only cited."""
    read: ReadSpecifications = NOTHING_READ
    """The specifications in spec-driven formats."""
    resolved: tuple[ResolvedReference, ...] = field(default=(), repr=False)

    @cached_property
    def formats(self) -> SpecTrace:
        """The specifications in spec-driven formats with everything that refers to them."""
        from contextive.trace.spec_trace import SpecTrace

        return SpecTrace.of(self.read.specifications, self.resolved, self.analysis)

    @cached_property
    def problems(self) -> tuple[Problem, ...]:
        return (*self.file_problems, *self.analysis.problems)


@dataclass(frozen=True, slots=True)
class _Inputs:
    """Everything that a state is computed from. Equal inputs have the same state."""

    settings: TraceSettings
    outside: tuple[str, ...]
    parsed: tuple[ParsedFile, ...]
    generated: tuple[GeneratedFile, ...]
    configured: tuple[tuple[SpecificationSource, Target], ...]
    specifications: tuple[tuple[Target, Specification | UnavailableSpec], ...]
    """Those named in the settings, then those named in citations."""
    targets: tuple[Target | NamedHandle | UnavailableSpec, ...]
    """The results of `queries`."""
    read: ReadSpecifications
    queries: tuple[TargetQuery, ...] = field(compare=False, repr=False)
    sources: tuple[SourceFile, ...] = field(compare=False, repr=False)
    """The parsed files, one for each of `parsed`. Not compared: equal parsed files have the same sources."""

    @property
    def files(self) -> list[ParsedFile]:
        return [*(file.parsed for file in self.generated), *self.parsed]

    def resolved(self) -> dict[TargetQuery, ResolvedSpec | UnavailableSpec]:
        """The specification for each query."""
        specifications = dict(self.specifications)
        specs = {
            target: ResolvedSpec(target, found) if isinstance(found, Specification) else found
            for target, found in specifications.items()
        }
        found: dict[TargetQuery, ResolvedSpec | UnavailableSpec] = {}
        for query, target in zip(self.queries, self.targets, strict=True):
            match target:
                case UnavailableSpec():
                    found[query] = target
                case NamedHandle(document=document):
                    found[query] = ResolvedSpec(document.target, document.specification, target)
                case Target():
                    found[query] = specs[target]
        return found


class TracedProject:
    """Reads the state of a project at each call. Parsed values are cached until their file changes."""

    def __init__(
        self,
        files: ProjectFiles,
        settings: TraceSettings,
        *,
        unify_aliases: bool = False,
        formats: Sequence[SpecFormat] = (),
    ) -> None:
        """With `unify_aliases`, two spellings of the same document count as one. duvet's reports keep them apart.

        `formats` are the spec-driven formats to read, besides the specifications that the settings name.
        """
        self.files = files
        self.settings = settings
        self._unify_aliases = unify_aliases
        self._cache = ParseCache()
        self._folders = DirectoryListings()
        self._once = ReadOnce(files)
        self._reader = _spec_reader(files, formats)
        self._known_documents: DeclaredDocuments | None = None
        self._last: tuple[_Inputs, TraceState] | None = None

    def at(self, files: ProjectFiles, settings: TraceSettings) -> TracedProject:
        """The same project with other files, such as those of a commit. What is equal is neither parsed nor matched again."""
        other = TracedProject(files, settings, unify_aliases=self._unify_aliases)
        other._cache = ParseCache(self._cache)
        other._reader = self._reader.at(files) if self._reader is not None else None
        other._last = self._last
        return other

    def change_settings(self, settings: TraceSettings) -> None:
        """Use other settings. Parsed sources stay cached; specifications do not, because their format may change."""
        self.settings = settings
        self._cache.keep_only(self._last[0].sources if self._last else ())

    ##= docs/spec/trace.md#freshness
    ##% An unchanged file SHOULD NOT be parsed or matched again.
    def read(self, folders: DirectoryListings | None = None) -> TraceState:
        """The current state of the files: the same object as long as nothing changed.

        `folders` are current directory listings, if the caller already has them.
        """
        self._folders = folders or self._folders.refreshed()
        self._once = ReadOnce(self.files)
        read = self._read_formats()
        generated = self.extract()
        found = self._find_sources(generated)
        parsed = tuple(self._parse(file) for file in found.files)
        inputs = self._resolve(found, parsed, tuple(generated), read)
        if self._last is not None and self._last[0] == inputs:
            return self._last[1]
        resolved = self._reader.resolve(read) if self._reader is not None else ()
        declarations = self._declarations(inputs, resolved)
        previous = self._last[1].analysis if self._last else None
        analysis = match_files(inputs.files, inputs.resolved(), previous, declarations)
        state = self._state(inputs, analysis, resolved)
        self._last = inputs, state
        self._drop_unused(inputs)
        return state

    def _read_formats(self) -> ReadSpecifications:
        """The specifications in spec-driven formats, and what may refer to them."""
        if self._reader is None:
            return NOTHING_READ
        specifications = self._reader.specifications(self._folders, self._once)
        self._known_documents = self._reader.documents(specifications)
        return ReadSpecifications(specifications, self._reader.references(specifications, self._folders, self._once))

    @property
    def _declared(self) -> DeclaredDocuments:
        """The documents in spec-driven formats, read if they were not yet."""
        if self._known_documents is None:
            self._known_documents = (
                self._reader.documents(self._reader.specifications(self._folders, self._once))
                if self._reader is not None
                else DeclaredDocuments()
            )
        return self._known_documents

    def _declarations(self, inputs: _Inputs, resolved: tuple[ResolvedReference, ...]) -> Declarations | None:
        if self._reader is None:
            return None
        cited = frozenset((c.source, c.line) for file in inputs.files for c in file.citations)
        return self._reader.declare(self._declared, resolved, cited)

    @property
    def _specifications(self) -> TracedSpecifications:
        return TracedSpecifications(
            self.files, self.settings, self._cache, unify_aliases=self._unify_aliases, declared=self._declared
        )

    def specification(self, target: Target) -> Specification | UnavailableSpec:
        return self._specifications.read(target)

    def extract(self) -> list[GeneratedFile]:
        """The requirement files of all configured specifications, in memory."""
        return self._specifications.extract()

    def missing(self) -> Iterator[tuple[Target, str]]:
        """The configured specifications that cannot be read, with the reasons."""
        specifications = self._specifications
        for source, target in specifications.configured():
            match specifications.read(Target(target.path, source.format)):
                case UnavailableSpec(reason=reason):
                    yield target, reason

    def _find_sources(self, generated: Sequence[GeneratedFile]) -> FoundSources:
        """The files to parse, without requirement files that `extract` already returned."""
        found = find_sources(self.files, self.settings, self._folders)
        extracted = {file.path for file in generated}
        files = tuple(file for file in found.files if file.reading is not None or file.path not in extracted)
        return FoundSources(files, found.outside)

    ##= docs/spec/trace.md#bad-input
    ##% A source file that cannot be read, is not UTF-8, or is larger than 16 MiB MUST be reported, and the server
    ##% still reads all other files.
    def _parse(self, file: SourceFile) -> ParsedFile:
        content = self._once.read(file.path)

        def parse() -> ParsedFile:
            match content, file.reading:
                case Unreadable(reason=reason), _:
                    message = f"{file.path} is skipped: {reason}"
                    return ParsedFile((), (Problem("unreadable_file", message, Location(file.path, 1)),))
                case FileText(text=text), None:
                    return parse_requirement_file(text, file.path)
                case FileText(text=text), reading:
                    return parse_citations(text, file.path, reading.style, reading.type, reading.blob_link)

        return self._cache.get(file, content, parse, is_same=ParsedFile.is_same_content)

    def _resolve(
        self,
        found: FoundSources,
        parsed: tuple[ParsedFile, ...],
        generated: tuple[GeneratedFile, ...],
        read: ReadSpecifications,
    ) -> _Inputs:
        """Find the specifications named in the settings, then those named in citations, file by file."""
        specifications = self._specifications
        resolver = TargetResolver(self.files, self._folders, specifications, unify_aliases=self._unify_aliases)
        declared = [resolver.canonical_target(target) for target in self._declared.by_target]
        configured = tuple(
            (source, resolver.canonical_target(target)) for source, target in specifications.configured()
        )
        files = [file for file in (*(file.parsed for file in generated), *parsed) if file.citations]
        files.sort(key=lambda file: path_parts(file.citations[0].source))
        queries = dict.fromkeys(chain.from_iterable(file.queries for file in files))
        targets = tuple(resolver.resolve(query) for query in queries)
        named = dict.fromkeys(
            [*declared, *(target for _, target in configured), *(t for t in targets if isinstance(t, Target))]
        )
        return _Inputs(
            settings=self.settings,
            outside=found.outside,
            parsed=parsed,
            generated=generated,
            configured=configured,
            specifications=tuple((target, specifications.read(target)) for target in named),
            targets=targets,
            read=read,
            queries=tuple(queries),
            sources=found.files,
        )

    def _state(self, inputs: _Inputs, analysis: Analysis, resolved: tuple[ResolvedReference, ...]) -> TraceState:
        failed = {target: found.reason for target, found in inputs.specifications if isinstance(found, UnavailableSpec)}
        return TraceState(
            settings=self.settings,
            analysis=analysis,
            file_problems=tuple(self._file_problems(inputs, failed)),
            generated=inputs.generated,
            source_count=len(inputs.files),
            specifications={t: found for t, found in inputs.specifications if isinstance(found, Specification)},
            specification_problems=failed,
            usual_style=_usual_style(inputs.sources, inputs.parsed),
            styles=tuple(
                style for style, _ in Counter(f.reading.style for f in inputs.sources if f.reading).most_common()
            ),
            extracted=frozenset(_extracted(inputs, analysis)),
            read=inputs.read,
            resolved=resolved,
        )

    def _file_problems(self, inputs: _Inputs, failed: Mapping[Target, str]) -> Iterator[Problem]:
        """Problems besides citations: of patterns, files and configured specifications."""
        for pattern in () if self.settings.automatic else inputs.outside:
            message = f"The pattern {pattern!r} is skipped: it leads outside the project"
            yield Problem("outside_project", message, Location(self.settings.config_path or "", 1))
        for file in inputs.files:
            yield from file.problems
        ##= docs/spec/trace.md#list-invalid-citations
        ##% The tool `list_invalid_citations` MUST also list a configured specification that is not stored or cannot be
        ##% read.
        for source, target in inputs.configured:
            if target in failed:
                yield Problem("specification_not_found", failed[target], self._config_location(source))

    def _config_location(self, source: SpecificationSource) -> Location:
        """The line of the configuration that names a specification."""
        path = self.settings.config_path
        content = self.files.read(path) if path is not None else None
        lines = content.text.split("\n") if isinstance(content, FileText) else []
        numbers = (number for number, line in enumerate(lines, 1) if source.source in line and line.strip()[:1] != "#")
        return Location(path or source.source, next(numbers, 1))

    def _drop_unused(self, inputs: _Inputs) -> None:
        """Drop the parsed values of files that are no longer part of the project."""
        specifications = self._specifications
        extracted = {Target(target.path, source.format) for source, target in specifications.configured()}
        used = extracted | {target for target, _ in inputs.specifications}
        self._cache.keep_only({*inputs.sources, *used})
        sources = (file.path for file in inputs.sources)
        read = self._reader.used_paths() if self._reader is not None else ()
        self.files.keep_only({*sources, *map(specifications.path_of, used), *read})


def _extracted(inputs: _Inputs, analysis: Analysis) -> Iterator[Target]:
    """The configured specifications, and those whose requirements are in requirement files or comments."""
    yield from (target for _, target in inputs.configured)
    yield from analysis.declarations.documents.by_target
    yield from (target for target, report in analysis.reports.items() if report.requirements)


def _usual_style(sources: Sequence[SourceFile], parsed: Sequence[ParsedFile]) -> CommentStyle | None:
    pairs = [(file.reading.style, found) for file, found in zip(sources, parsed, strict=True) if file.reading]
    citing = [style for style, found in pairs if found.citations]
    counts = Counter(citing or [style for style, _ in pairs])
    return max(counts.items(), key=itemgetter(1))[0] if counts else None


def _spec_reader(files: ProjectFiles, formats: Sequence[SpecFormat]) -> SpecReader | None:
    """The reader of these formats. Without formats, it is not even imported, because that takes a while."""
    if not formats:
        return None
    from contextive.ingest.spec_reading import SpecReader

    return SpecReader(files, formats)
