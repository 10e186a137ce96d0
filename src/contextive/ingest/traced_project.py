"""A project's traceability, alive: every call sees the files as they are, and only what changed is parsed and matched again."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cached_property, lru_cache
from operator import is_, itemgetter
from typing import NamedTuple

from contextive.errors import ConfigError
from contextive.trace.analysis import Analysis, Memory, analyse_files
from contextive.trace.citation import Citation, CommentStyle, ParsedFile, Place, Problem, parse_citations
from contextive.trace.duvet_config import SourcePattern, SpecificationSource, TraceSettings
from contextive.trace.extraction import ExtractedRequirement, citations_of_file, extract_requirements, requirement_file
from contextive.trace.specification import Format, Section, Specification, parse_specification
from contextive.trace.target import Target, cached_path, normalise_url, requirements_dir, stored_path
from contextive.trace.text import quoted
from contextive.workspace.files import FileText, ProjectFiles, Unreadable, ancestors
from contextive.workspace.folders import Folders
from contextive.workspace.globs import Glob, walk_by_ending

_LEADING_DOTS = r"\A(?:\.?/)+"


class GeneratedFile(NamedTuple):
    """A requirement file as extraction writes it, already parsed. Its text is made when it is asked for."""

    path: str
    target: Target
    section: Section
    requirements: list[ExtractedRequirement]
    parsed: ParsedFile

    @property
    def text(self) -> str:
        return requirement_file(self.target.path, self.section, self.requirements)


class SourceKey(NamedTuple):
    """A source file under one reading: the same file under two styles is read twice."""

    path: str
    reading: int


class TraceState:
    """A project at one moment."""

    def __init__(
        self,
        *,
        settings: TraceSettings,
        analysis: Analysis,
        file_problems: tuple[Problem, ...],
        generated: tuple[GeneratedFile, ...],
        source_count: int,
        specifications: dict[Target, Specification],
        specification_problems: dict[Target, str],
        usual_style: CommentStyle | None = None,
    ) -> None:
        self.settings = settings
        self.analysis = analysis
        self.file_problems = file_problems
        self.generated = generated
        self.source_count = source_count
        self.specifications = specifications
        self.specification_problems = specification_problems
        self.usual_style = usual_style
        """The comment style of most source files that hold citations or, where none does yet, of most source files."""

    @cached_property
    def problems(self) -> tuple[Problem, ...]:
        return (*self.file_problems, *self.analysis.problems)


class TracedProject:
    """Holds what was parsed by fingerprint. `read` gives the state of the files as they are at this moment."""

    def __init__(
        self, files: ProjectFiles, settings: TraceSettings, *, extracts: bool = True, unify_aliases: bool = False
    ) -> None:
        self.files = files
        self.settings = settings
        self.extracts = extracts
        """Whether requirements are extracted in memory; the command line writes them to disk first and reads them back."""
        self.unify_aliases = unify_aliases
        """Whether two spellings of one document count as one. duvet's reports keep them apart."""
        self._sources: dict[SourceKey, tuple[FileText | Unreadable, ParsedFile]] = {}
        self._specifications: dict[Target, tuple[FileText | Unreadable, Specification | str]] = {}
        self._generated: dict[Target, tuple[Specification, list[GeneratedFile]]] = {}
        self._readings: list[SourcePattern | None] = []
        """The different ways to read a file; None reads it as a requirement file."""
        self._allowed: dict[str, bool] = {}
        """Each pattern of files, and whether it stays inside the project, at this look."""
        self._probed: dict[str, bool] = {}
        """Each place where the last analysis looked for a file, and whether one was there."""
        self._spellings: dict[tuple[str, Format], Target] = {}
        self._targets: dict[tuple[str, Format, bool], Target] = {}
        self._interned: dict[Target, Target] = {}
        self._memory = Memory()
        self._folders = Folders()
        self._last: tuple[list[object], TraceState] | None = None

    ##= docs/spec/trace.md#fresh-answers
    ##% A file that did not change SHOULD NOT be parsed or matched again.
    def read(self, folders: Folders | None = None) -> TraceState:
        """The state of the files now: the very same object as long as nothing changed.

        `folders` are those of this moment, where the caller has looked at them already.
        """
        self._folders = folders or self._folders.look_again()
        self._allowed.clear()
        keys = self._source_keys()
        parsed = [self._parse(key) for key in keys]
        generated = self.extract() if self.extracts else []
        written = self._written_keys(keys, generated)
        keys += written
        parsed += [self._parse(key) for key in written]
        now: list[object] = [self.settings, *self._allowed.values(), *generated, *parsed, *self._specifications_now()]
        if self._last is not None and _same(self._last[0], now):
            return self._last[1]
        self._probed.clear()
        self._spellings.clear()
        self._targets.clear()
        state = self._analyse(generated, dict(zip(keys, parsed, strict=True)))
        self._forget(set(keys), state)
        # What the analysis saw, not what a second look would show: a file may have changed meanwhile.
        seen = [*(outcome for _, outcome in self._specifications.values()), *self._probed.values()]
        self._last = ([self.settings, *self._allowed.values(), *generated, *parsed, *seen], state)
        return state

    def _specifications_now(self) -> Iterator[object]:
        """What is found now at each place where the last analysis looked for a specification."""
        for target in list(self._specifications):
            yield self.specification(target)
        for path in self._probed:
            yield self.files.is_file(path, self._folders)

    def _analyse(self, generated: list[GeneratedFile], parsed: dict[SourceKey, ParsedFile]) -> TraceState:
        problems: list[Problem] = [] if self.settings.automatic else list(self._pattern_problems())
        files = [*(file.parsed for file in generated), *parsed.values()]
        for file in files:
            problems += file.problems
        loaded: dict[Target, Specification] = {}
        failed: dict[Target, str] = {}

        def load(target: Target) -> Specification | str:
            if target in loaded:
                return loaded[target]
            outcome = failed.get(target) or self.specification(target)
            if isinstance(outcome, str):
                failed[target] = outcome
            else:
                loaded[target] = outcome
            return outcome

        for source in self.settings.specifications:
            ##= docs/spec/trace.md#list-invalid-citations
            ##% The tool `list_invalid_citations` MUST also list a configured specification that is not stored or
            ##% cannot be read.
            outcome = load(self._one_spelling(self.configured_target(source)))
            if isinstance(outcome, str):
                problems.append(Problem("specification_not_found", outcome, self._place_of(source)))
        analysis = analyse_files(files, self._resolve, load, self._memory)
        return TraceState(
            settings=self.settings,
            analysis=analysis,
            file_problems=tuple(problems),
            generated=tuple(generated),
            source_count=len(files),
            specifications=loaded,
            specification_problems=failed,
            usual_style=self._usual_style(parsed),
        )

    def _place_of(self, source: SpecificationSource) -> Place:
        """Where the configuration names a specification."""
        path = self.settings.config_path
        content = self.files.read(path) if path is not None else None
        lines = content.text.split("\n") if isinstance(content, FileText) else []
        numbers = (number for number, line in enumerate(lines, 1) if source.source in line and line.strip()[:1] != "#")
        return Place(path or source.source, next(numbers, 1))

    def _usual_style(self, parsed: dict[SourceKey, ParsedFile]) -> CommentStyle | None:
        styles = {number: source.style for number, source in enumerate(self._readings) if source is not None}
        read = [styles[key.reading] for key in parsed if key.reading in styles]
        citing = [styles[key.reading] for key, file in parsed.items() if file.citations and key.reading in styles]
        return max(Counter(citing or read).items(), key=itemgetter(1))[0] if read else None

    def adopt(self, settings: TraceSettings) -> None:
        """Go on with other settings. A specification may have another format now, so each one is parsed again."""
        self.settings = settings
        self._specifications.clear()

    def extract(self) -> list[GeneratedFile]:
        """The requirement files of all configured specifications, made in memory."""
        files: list[GeneratedFile] = []
        for source in self.settings.specifications:
            target = self.configured_target(source)
            read_as = Target(target.path, source.format)
            specification = self.specification(read_as)
            if isinstance(specification, str):
                continue
            known = self._generated.get(read_as)
            if known is None or known[0] is not specification:
                known = self._generated[read_as] = (specification, list(self._generate(target, specification)))
            files += known[1]
        return files

    def missing(self) -> Iterator[tuple[Target, str]]:
        """The configured specifications that cannot be read, each with the reason."""
        for source in self.settings.specifications:
            target = self.configured_target(source)
            outcome = self.specification(Target(target.path, source.format))
            if isinstance(outcome, str):
                yield target, outcome

    ##= docs/spec/trace.md#formats
    ##% A format that the configuration names for extraction, or a citation for its match, MUST be used in place of
    ##% the guessed one.
    def specification(self, target: Target) -> Specification | str:
        """The specification behind a target, parsed anew only when its text changed; or why there is none."""
        path = self.stored(target)
        content = self.files.read(path)
        known = self._specifications.get(target)
        if known is not None and known[0] is content:
            return known[1]
        outcome: Specification | str
        if isinstance(content, Unreadable):
            missing = content.fingerprint is None
            where = f"{target.path} is not stored in this project" if target.is_url else f"{target.path} does not exist"
            outcome = where if missing else f"{target.path} cannot be read: {content.reason}"
        else:
            outcome = parse_specification(content.text, self._format_of(target), path)
        self._specifications[target] = (content, outcome)
        return outcome

    ##= docs/spec/trace.md#targets
    ##% The text of a URL MUST be taken from the copy that is stored in the project.
    def stored(self, target: Target) -> str:
        """Where the text of a target stands."""
        return cached_path(target.path, self.settings.download_dir) if target.is_url else target.path

    def _document(self, target: Target) -> str:
        """What all spellings of a document share."""
        return stored_path(target.path, self.settings.download_dir)

    def _format_of(self, target: Target) -> Format:
        """The format that a target names, or, where spellings are unified, the one that the configuration names for it."""
        if target.format is not Format.AUTO or not self.unify_aliases:
            return target.format
        document = self._document(target)
        wanted = (
            s.format for s in self.settings.specifications if self._document(self.configured_target(s)) == document
        )
        return next(wanted, Format.AUTO)

    def configured_target(self, source: SpecificationSource) -> Target:
        if "://" not in source.source:
            return Target(source.source)
        url = _url(source.source)
        if url is None:
            raise ConfigError(f"The specification {source.source!r} is not a URL.", hint="Correct it.")
        return Target(url)

    def _generate(self, target: Target, specification: Specification) -> Iterator[GeneratedFile]:
        folder = requirements_dir(target, self.settings.download_dir, self.settings.requirements_dir)
        for section, requirements in extract_requirements(specification):
            path = f"{folder}/{section.id}.toml"
            parsed = citations_of_file(path, target.path, section, requirements)
            yield GeneratedFile(path, target, section, requirements, parsed)

    def _source_keys(self) -> list[SourceKey]:
        """Every source file under each way to read it, once."""
        keys: dict[SourceKey, None] = {}
        readings = [(source.pattern, self._reading_of(source)) for source in self.settings.sources]
        if self.settings.automatic:
            by_ending: dict[str, list[int]] = {}
            for pattern, reading in readings:
                by_ending.setdefault(pattern.rpartition(".")[2], []).append(reading)
            for path, ending in walk_by_ending(str(self.files.root), by_ending.keys(), self._folders):
                keys |= dict.fromkeys(SourceKey(path, reading) for reading in by_ending[ending])
        else:
            for pattern, reading in readings:
                keys |= dict.fromkeys([SourceKey(path, reading) for path in self._matches(pattern)])
        return list(keys)

    def _written_keys(self, sources: list[SourceKey], generated: list[GeneratedFile]) -> list[SourceKey]:
        """Every requirement file that is not one of the sources, once. One that is extracted anyway is left out."""
        written = [path for pattern in self.settings.requirement_patterns for path in self._matches(pattern)]
        if not written:
            return []
        extracted, reading = {file.path for file in generated}, self._reading_of(None)
        keys = dict.fromkeys(SourceKey(path, reading) for path in written if path not in extracted)
        return (
            [key for key in keys if key not in sources] if reading in {key.reading for key in sources} else list(keys)
        )

    def _reading_of(self, source: SourcePattern | None) -> int:
        """The number of a way to read files. Two blocks with equal settings and different patterns are one way."""
        kept = SourcePattern("", source.style, source.type, source.blob_link) if source else None
        if kept not in self._readings:
            self._readings.append(kept)
        return self._readings.index(kept)

    def _matches(self, pattern: str) -> Iterator[str]:
        glob = _glob(pattern)
        self._allowed[pattern] = self.files.allows(glob.base)
        if not self._allowed[pattern]:
            return iter(())
        return glob.walk(str(self.files.root), self.files.allows, self._folders)

    def _pattern_problems(self) -> Iterator[Problem]:
        """The patterns that would leave the project: nothing is looked for there."""
        for pattern, is_allowed in self._allowed.items():
            if not is_allowed:
                message = f"The pattern {pattern!r} is skipped: it leads outside the project"
                yield Problem("outside_project", message, Place(self.settings.config_path or "", 1))

    ##= docs/spec/trace.md#bad-input
    ##% A source file that cannot be read, is not UTF-8, or is larger than 16 MiB MUST be reported, and costs the
    ##% server no other file.
    def _parse(self, key: SourceKey) -> ParsedFile:
        content = self.files.read(key.path)
        known = self._sources.get(key)
        if known is not None and known[0] is content:
            return known[1]
        if isinstance(content, Unreadable):
            problem = Problem("unreadable_file", f"{key.path} is skipped: {content.reason}", Place(key.path, 1))
            parsed = ParsedFile((), (problem,))
        elif (reading := self._readings[key.reading]) is None:
            from contextive.trace.requirement_file import parse_requirement_file

            parsed = parse_requirement_file(content.text, key.path)
        else:
            parsed = parse_citations(content.text, key.path, reading.style, reading.type, reading.blob_link)
        if known is not None and _all_of(known[1]) == _all_of(parsed):
            parsed = known[1]  # the change was elsewhere in the file
        self._sources[key] = (content, parsed)
        return parsed

    def _forget(self, keys: set[SourceKey], state: TraceState) -> None:
        """Let go of what files said that are no longer part of the project."""
        for key in self._sources.keys() - keys:
            del self._sources[key]
        configured = {Target(self.configured_target(s).path, s.format) for s in self.settings.specifications}
        for target in self._generated.keys() - configured:
            del self._generated[target]
        used = configured | state.specifications.keys() | state.specification_problems.keys()
        for target in self._specifications.keys() - used:
            del self._specifications[target]
        self.files.keep_only({key.path for key in keys} | {self.stored(target) for target in self._specifications})

    def _is_file(self, path: str) -> bool:
        if path not in self._probed:
            self._probed[path] = self.files.is_file(path, self._folders)
        return self._probed[path]

    def _resolve(self, citation: Citation) -> Target | Problem:
        key = (citation.target_path, citation.format, citation.base is None)
        target = self._targets.get(key)
        if target is None:
            outcome = self._find_target(citation)
            if isinstance(outcome, Problem):
                return outcome
            # One object for each target: the analysis tells them apart by identity first.
            target = self._interned.setdefault(outcome, outcome)
            if citation.base is None or "://" in target.path or target.path == citation.target_path:
                self._targets[key] = target  # found without regard to where the citation stands
        return target

    def _find_target(self, citation: Citation) -> Target | Problem:
        path = citation.target_path
        if path.startswith("/"):
            root = f"{self.files.root}/"
            inside = re.sub(_LEADING_DOTS, "", path.removeprefix(root)) if path.startswith(root) else None
            return self._one_spelling(Target(path, citation.format, inside))
        if "://" in path:
            url = _url(path)
            if url is None:
                message = f'"{path}" is not a URL'
                return Problem("specification_not_found", message, citation.target_place, "referenced here")
            return self._one_spelling(Target(url, citation.format))
        if self._is_file(path):
            return self._one_spelling(Target(path, citation.format))
        for folder in self._folders_to_search(citation):
            candidate = f"{folder}/{path}" if folder else path
            if self._is_file(candidate):
                return self._one_spelling(Target(candidate, citation.format))
        message = f"Could not resolve file {quoted(path)}"
        return Problem("specification_not_found", message, citation.target_place, "referenced here")

    def _folders_to_search(self, citation: Citation) -> Iterator[str]:
        """Where a relative target may stand besides the project directory: around its TOML file, or above the project."""
        if citation.base is not None:
            return ancestors(citation.base)
        if self.files.boundary is not None:
            # Clients are shown no directory above the project by its name.
            return ("/".join([".."] * height) for height in range(1, len(self.files.root.parents) + 1))
        return (str(folder).rstrip("/") for folder in self.files.root.parents)

    ##= docs/spec/trace.md#targets
    ##% The MCP tools MUST count two spellings of one document as one specification.
    def _one_spelling(self, target: Target) -> Target:
        """The first spelling under which a document was met, where aliases are unified."""
        if not self.unify_aliases:
            return target
        if target.format is not Format.AUTO:
            # A format that is spelled out and is the document's own anyway names no other document.
            plain = self._one_spelling(Target(target.path))
            known = self.specification(plain)
            if isinstance(known, Specification) and known.format is target.format:
                return plain
        return self._spellings.setdefault((self._document(target), target.format), target)


@lru_cache(maxsize=256)
def _glob(pattern: str) -> Glob:
    return Glob(pattern)


def _url(text: str) -> str | None:
    """A URL in its normal form; None for what no URL parser accepts."""
    try:
        url = normalise_url(text)
        cached_path(url, "")
    except ValueError:
        return None
    return url


def _all_of(parsed: ParsedFile) -> tuple[object, ...]:
    """Everything that a file says, the places too, by which citations are not told apart."""
    return parsed.problems, [[getattr(citation, name) for name in Citation.__slots__] for citation in parsed.citations]


def _same(before: list[object], now: list[object]) -> bool:
    return len(before) == len(now) and all(map(is_, before, now))
