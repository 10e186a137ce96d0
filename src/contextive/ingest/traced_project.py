"""A project's traceability, alive: every call sees the files as they are, and only what changed is parsed and matched again."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from contextive.errors import ConfigError
from contextive.trace.analysis import Analysis, analyse
from contextive.trace.citation import Citation, ParsedFile, Place, Problem, parse_citations
from contextive.trace.duvet_config import SourcePattern, SpecificationSource, TraceSettings
from contextive.trace.extraction import ExtractedRequirement, extract_requirements, requirement_file
from contextive.trace.level import CitationType
from contextive.trace.requirement_file import parse_requirement_file
from contextive.trace.specification import Format, Section, Specification, parse_specification
from contextive.trace.target import Target, cached_path, normalise_url, requirements_dir
from contextive.trace.text import quoted
from contextive.workspace.files import FileText, ProjectFiles, Unreadable, ancestors
from contextive.workspace.globs import Glob, walk_by_ending

_LEADING_DOTS = re.compile(r"\A(?:\.?/)+")


@dataclass(frozen=True, slots=True)
class GeneratedFile:
    """A requirement file as extraction writes it, already parsed."""

    path: str
    text: str
    parsed: ParsedFile


class SourceKey(NamedTuple):
    """A source file under one reading: the same file under two styles is read twice."""

    path: str
    reading: int


@dataclass(frozen=True)
class TraceState:
    """A project at one moment."""

    settings: TraceSettings
    analysis: Analysis
    file_problems: tuple[Problem, ...]
    generated: tuple[GeneratedFile, ...]
    source_count: int
    specifications: dict[Target, Specification]
    specification_problems: dict[Target, str]

    @cached_property
    def problems(self) -> tuple[Problem, ...]:
        return (*self.file_problems, *self.analysis.problems)


@dataclass
class TracedProject:
    """Holds what was parsed by fingerprint. `read` gives the state of the files as they are at this moment."""

    files: ProjectFiles
    settings: TraceSettings
    extracts: bool = True
    """Whether requirements are extracted in memory; the command line writes them to disk first and reads them back."""
    unify_aliases: bool = False
    """Whether two spellings of one document count as one. duvet's reports keep them apart."""
    _sources: dict[SourceKey, tuple[FileText | Unreadable, ParsedFile]] = field(default_factory=dict)
    _specifications: dict[Target, tuple[FileText | Unreadable, Specification | str]] = field(default_factory=dict)
    _generated: dict[Target, tuple[Specification, list[GeneratedFile]]] = field(default_factory=dict)
    _readings: list[SourcePattern | None] = field(default_factory=list)
    """The different ways to read a file; None reads it as a requirement file."""
    _reading_numbers: dict[int, int] = field(default_factory=dict)
    _probed: dict[str, bool] = field(default_factory=dict)
    """Each place where the last analysis looked for a file, and whether one was there."""
    _spellings: dict[tuple[str, Format], Target] = field(default_factory=dict)
    _targets: dict[tuple[str, Format, bool], Target] = field(default_factory=dict)
    _interned: dict[Target, Target] = field(default_factory=dict)
    _last: tuple[list[object], TraceState] | None = None

    ##= docs/spec/trace.md#fresh-answers
    ##% A file that did not change SHOULD NOT be parsed or matched again.
    def read(self) -> TraceState:
        """The state of the files now: the very same object as long as nothing changed."""
        if self._last is None or self._last[0][0] is not self.settings:
            self._reading_numbers.clear()  # they are those of objects that may be gone
        generated = self.extract() if self.extracts else []
        keys = list(self._source_keys({file.path for file in generated}))
        parsed = [self._parse(key) for key in keys]
        now: list[object] = [self.settings, *generated, *parsed, *self._specifications_now()]
        if self._last is not None and _same(self._last[0], now):
            return self._last[1]
        self._probed.clear()
        self._spellings.clear()
        self._targets.clear()
        state = self._analyse(generated, parsed, len(keys) + len(generated))
        self._forget(set(keys), state)
        # What the analysis saw, not what a second look would show: a file may have changed meanwhile.
        seen = [*(outcome for _, outcome in self._specifications.values()), *self._probed.values()]
        self._last = ([self.settings, *generated, *parsed, *seen], state)
        return state

    def _specifications_now(self) -> Iterator[object]:
        """What is found now at each place where the last analysis looked for a specification."""
        for target in list(self._specifications):
            yield self.specification(target)
        for path in self._probed:
            yield self.files.is_file(path)

    def _analyse(self, generated: list[GeneratedFile], parsed: list[ParsedFile], source_count: int) -> TraceState:
        citations: list[Citation] = []
        problems: list[Problem] = [] if self.settings.automatic else list(self._pattern_problems())
        for file in [*(file.parsed for file in generated), *parsed]:
            citations += file.citations
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
                place = Place(self.settings.config_path or source.source, 1)
                problems.append(Problem("specification_not_found", outcome, place))
        analysis = analyse(citations, self._resolve, load)
        return TraceState(
            settings=self.settings,
            analysis=analysis,
            file_problems=tuple(problems),
            generated=tuple(generated),
            source_count=source_count,
            specifications=loaded,
            specification_problems=failed,
        )

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

    ##= docs/spec/trace.md#formats
    ##% A format that the configuration names for extraction, or a citation for its match, MUST be used in place of
    ##% the guessed one.
    def specification(self, target: Target) -> Specification | str:
        """The specification behind a target, parsed anew only when its text changed; or why there is none."""
        path = self._path(target)
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
            try:
                outcome = parse_specification(content.text, self._format_of(target), path)
            except ValueError:  # Python refuses to read integers of thousands of digits
                outcome = f"{target.path} cannot be read: it holds a number that is too long"
        self._specifications[target] = (content, outcome)
        return outcome

    ##= docs/spec/trace.md#targets
    ##% The text of a URL MUST be taken from the copy that is stored in the project.
    def _path(self, target: Target) -> str:
        return cached_path(target.path, self.settings.download_dir) if target.is_url else target.path

    def _format_of(self, target: Target) -> Format:
        """The format that a target names, or, where spellings are unified, the one that the configuration names for it."""
        if target.format is not Format.AUTO or not self.unify_aliases:
            return target.format
        wanted = (
            s.format for s in self.settings.specifications if self.configured_target(s).canonical == target.canonical
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
            text = requirement_file(target.path, section, requirements)
            yield GeneratedFile(path, text, _parsed(path, text, target, section, requirements))

    def _source_keys(self, generated: set[str]) -> Iterator[SourceKey]:
        seen: set[SourceKey] = set()
        for path, source in self._matching_files():
            key = SourceKey(path, self._reading_of(source))
            if key not in seen and not (source is None and path in generated):
                seen.add(key)
                yield key

    def _reading_of(self, source: SourcePattern | None) -> int:
        """The number of a way to read files. Two blocks with equal settings and different patterns are one way."""
        number = self._reading_numbers.get(id(source))
        if number is None:
            kept = SourcePattern("", source.style, source.type, source.blob_link) if source else None
            if kept not in self._readings:
                self._readings.append(kept)
            number = self._reading_numbers[id(source)] = self._readings.index(kept)
        return number

    def _matching_files(self) -> Iterator[tuple[str, SourcePattern | None]]:
        root = str(self.files.root)
        if self.settings.automatic:
            by_ending: dict[str, list[SourcePattern]] = {}
            for source in self.settings.sources:
                by_ending.setdefault(source.pattern.rpartition(".")[2], []).append(source)
            for path, ending in walk_by_ending(root, by_ending.keys()):
                for source in by_ending[ending]:
                    yield path, source
        else:
            for source in self.settings.sources:
                for path in self._matches(source.pattern):
                    yield path, source
        for pattern in self.settings.requirement_patterns:
            for path in self._matches(pattern):
                yield path, None

    def _matches(self, pattern: str) -> Iterator[str]:
        glob = Glob(pattern)
        return glob.walk(str(self.files.root), self.files.allows) if self.files.allows(glob.base) else iter(())

    def _pattern_problems(self) -> Iterator[Problem]:
        """The patterns that would leave the project: nothing is looked for there."""
        for pattern in (*(source.pattern for source in self.settings.sources), *self.settings.requirement_patterns):
            if not self.files.allows(Glob(pattern).base):
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
            parsed = _parsed_toml(content.text, key.path)
        else:
            parsed = parse_citations(content.text, key.path, reading.style, reading.type, reading.blob_link)
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
        self.files.keep_only({key.path for key in keys} | {self._path(target) for target in self._specifications})

    def _is_file(self, path: str) -> bool:
        if path not in self._probed:
            self._probed[path] = self.files.is_file(path)
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
            inside = _LEADING_DOTS.sub("", path.removeprefix(root)) if path.startswith(root) else None
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
        return self._spellings.setdefault((target.canonical, target.format), target)


def _url(text: str) -> str | None:
    """A URL in its normal form; None for what no URL parser accepts."""
    try:
        url = normalise_url(text)
        cached_path(url, "")
    except ValueError:
        return None
    return url


def _parsed_toml(text: str, path: str) -> ParsedFile:
    try:
        return parse_requirement_file(text, path)
    except ValueError:  # Python refuses to read integers of thousands of digits
        message = "not a TOML file: it holds a number that is too long"
        return ParsedFile((), (Problem("invalid_toml", message, Place(path, 1)),))


def _same(before: list[object], now: list[object]) -> bool:
    return len(before) == len(now) and all(a is b for a, b in zip(before, now, strict=True))


def _parsed(
    path: str, text: str, target: Target, section: Section, requirements: list[ExtractedRequirement]
) -> ParsedFile:
    """What reading a generated file back would give, without the detour where nothing in it needs escaping."""
    plain = '"' not in target.path and "\\" not in target.path
    if not plain or any("'''" in line or not _is_toml_literal(line) for r in requirements for line in r.quote):
        return parse_requirement_file(text, path)
    line = 5 + len(section.text_lines) + 1
    citations = []
    for requirement in requirements:
        citations.append(
            Citation(
                source=path,
                line=line,
                type=CitationType.SPEC,
                target=f"{target.path}#{section.id}",
                quote=requirement.text,
                level=requirement.level,
                format=Format.AUTO,
                comment="\n".join(requirement.quote) + "\n",
                base=path,
                target_place=Place(path, 1, 10),
                quote_place=Place(path, line + 2, 9),
                text="[[spec]]",
                end_line=line,
            )
        )
        line += 5 + len(requirement.quote)
    return ParsedFile(tuple(citations))


def _is_toml_literal(line: str) -> bool:
    return line.isprintable() or all(c == "\t" or (c >= " " and c != "\x7f") for c in line)
