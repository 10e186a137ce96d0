"""A project's traceability, alive: every call sees the files as they are, and only what changed is parsed and matched again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from contextive.trace.analysis import Analysis, analyse
from contextive.trace.citation import Citation, ParsedFile, Place, Problem, parse_citations
from contextive.trace.duvet_config import SourcePattern, SpecificationSource, TraceSettings
from contextive.trace.extraction import ExtractedRequirement, extract_requirements, requirement_file
from contextive.trace.level import CitationType
from contextive.trace.requirement_file import parse_requirement_file
from contextive.trace.specification import Format, Section, Specification, parse_specification
from contextive.trace.target import Target, cached_path, normalise_url, requirements_dir
from contextive.workspace.files import FileText, ProjectFiles, Unreadable, ancestors
from contextive.workspace.globs import Glob


@dataclass(frozen=True, slots=True)
class GeneratedFile:
    """A requirement file as extraction writes it, already parsed."""

    path: str
    text: str
    parsed: ParsedFile


@dataclass(frozen=True, slots=True)
class SourceKey:
    """A source file under one reading: the same file under two styles is read twice."""

    path: str
    pattern: SourcePattern | None
    """None for requirement files."""


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
    _sources: dict[SourceKey, tuple[FileText | Unreadable, ParsedFile]] = field(default_factory=dict)
    _specifications: dict[Target, tuple[FileText | Unreadable, Specification | str]] = field(default_factory=dict)
    _generated: dict[tuple[Target, int], list[GeneratedFile]] = field(default_factory=dict)

    def read(self) -> TraceState:
        generated = self.extract() if self.extracts else []
        generated_by_path = {file.path: file for file in generated}
        keys = list(self._source_keys(set(generated_by_path)))
        citations: list[Citation] = []
        problems: list[Problem] = []
        for parsed in [*(file.parsed for file in generated), *(self._parse(key) for key in keys)]:
            citations += parsed.citations
            problems += parsed.problems
        self._forget(set(keys))
        loaded: dict[Target, Specification] = {}
        failed: dict[Target, str] = {}

        def load(target: Target) -> Specification | str:
            if target not in loaded and target not in failed:
                outcome = self.specification(target)
                if isinstance(outcome, str):
                    failed[target] = outcome
                else:
                    loaded[target] = outcome
            return loaded[target] if target in loaded else failed[target]

        for source in self.settings.specifications:
            load(self._configured_target(source))
        analysis = analyse(citations, self._resolve, load)
        return TraceState(
            settings=self.settings,
            analysis=analysis,
            file_problems=tuple(problems),
            generated=tuple(generated),
            source_count=len(keys) + len(generated),
            specifications=loaded,
            specification_problems=failed,
        )

    def extract(self) -> list[GeneratedFile]:
        """The requirement files of all configured specifications, made in memory."""
        files: list[GeneratedFile] = []
        for source in self.settings.specifications:
            target = self._configured_target(source)
            specification = self.specification(Target(target.path, source.format))
            if isinstance(specification, str):
                continue
            key = (target, id(specification))
            if key not in self._generated:
                self._generated[key] = list(self._generate(target, specification))
            files += self._generated[key]
        return files

    def specification(self, target: Target) -> Specification | str:
        """The specification behind a target, parsed anew only when its text changed; or why there is none."""
        path = cached_path(target.path, self.settings.download_dir) if target.is_url else target.path
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
            outcome = parse_specification(content.text, target.format, path)
        self._specifications[target] = (content, outcome)
        return outcome

    def _configured_target(self, source: SpecificationSource) -> Target:
        return Target(normalise_url(source.source) if "://" in source.source else source.source)

    def _generate(self, target: Target, specification: Specification) -> Iterator[GeneratedFile]:
        folder = requirements_dir(target, self.settings.download_dir, self.settings.requirements_dir)
        for section, requirements in extract_requirements(specification):
            path = f"{folder}/{section.id}.toml"
            text = requirement_file(target.path, section, requirements)
            yield GeneratedFile(path, text, _parsed(path, text, target, section, requirements))

    def _source_keys(self, generated: set[str]) -> Iterator[SourceKey]:
        seen: set[SourceKey] = set()
        patterns: list[tuple[str, SourcePattern | None]] = [
            *((source.pattern, source) for source in self.settings.sources),
            *((pattern, None) for pattern in self.settings.requirement_patterns),
        ]
        for pattern, source in patterns:
            for path in Glob(pattern).walk(str(self.files.root)):
                # Two blocks with equal settings and different patterns read a file once.
                kept = SourcePattern("", source.style, source.type, source.blob_link) if source else None
                key = SourceKey(path, kept)
                if key not in seen and not (source is None and path in generated):
                    seen.add(key)
                    yield key

    def _parse(self, key: SourceKey) -> ParsedFile:
        content = self.files.read(key.path)
        known = self._sources.get(key)
        if known is not None and known[0] is content:
            return known[1]
        if isinstance(content, Unreadable):
            problem = Problem("unreadable_file", f"{key.path} is skipped: {content.reason}", Place(key.path, 1))
            parsed = ParsedFile((), (problem,))
        elif key.pattern is None:
            parsed = parse_requirement_file(content.text, key.path)
        else:
            parsed = parse_citations(content.text, key.path, key.pattern.style, key.pattern.type, key.pattern.blob_link)
        self._sources[key] = (content, parsed)
        return parsed

    def _forget(self, keys: set[SourceKey]) -> None:
        for key in self._sources.keys() - keys:
            del self._sources[key]

    def _resolve(self, citation: Citation) -> Target | Problem:
        path = citation.target_path
        if path.startswith("/"):
            return Target(path, citation.format)
        if "://" in path:
            return Target(normalise_url(path), citation.format)
        if self.files.is_file(path):
            return Target(path, citation.format)
        for folder in ancestors(citation.base or ""):
            candidate = f"{folder}/{path}" if folder else path
            if self.files.is_file(candidate):
                return Target(candidate, citation.format)
        message = f'Could not resolve file "{path}"'
        return Problem("specification_not_found", message, citation.target_place, "referenced here")


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
