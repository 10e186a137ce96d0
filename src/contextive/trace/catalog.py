"""The specifications, requirements and citations of a project, found by id, path or section."""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import chain
from urllib.parse import quote, unquote, urlsplit

from contextive.trace.analysis import Analysis, MatchedCitation
from contextive.trace.citation import Citation, Problem
from contextive.trace.declared_requirements import is_handle, slugged_handle
from contextive.trace.front_page import description_of, name_of, title_of
from contextive.trace.level import CitationType
from contextive.trace.requirement import Requirement
from contextive.trace.specification import Format, Section, Specification, parse_specification, slug
from contextive.trace.target import Target, stored_path

_RFC_NUMBER = re.compile(r"/rfc(\d+)(?:\.\w+)?/?\Z")
_RFC_NAME = re.compile(
    r"(?:https?://(?:[a-z]+\.)?(?:rfc-editor|ietf)\.org/(?:[a-z]+/)*)?rfc[ -]?(\d{1,5})(?:\.[a-z]+)?/?\Z", re.IGNORECASE
)
_RESOURCE = re.compile(r"(?:duvet://)?/specifications/([^/]+)")
_REGISTRY = re.compile(r"\bIANA\b")
_PARENT_FOLDERS = re.compile(r"\A(?:\.\./)+")
MIN_PREFIX = 8
EMPTY_SECTION_ID = "-"
"""Stands for an empty section id in a path, which cannot have empty parts."""


def rfc_number(path: str) -> str | None:
    """The number of the RFC at a URL."""
    found = _RFC_NAME.match(path) if "://" in path else None
    return found[1] if found else None


@dataclass(frozen=True)
class SpecificationEntry:
    """A specification and its id."""

    id: str
    target: Target
    specification: Specification
    is_declared: bool = False
    """Whether it is in a spec-driven format. Then its id is its name: the titles of such documents say little."""

    @cached_property
    def name(self) -> str:
        return self.id if self.is_declared else name_of(self.target, self.specification)

    @cached_property
    def title(self) -> str:
        """The name with the title of the document."""
        return title_of(self.specification, self.name)

    @property
    def url(self) -> str:
        return self.target.path

    @cached_property
    def description(self) -> str:
        """The beginning of the document's abstract or introduction, or its title."""
        return description_of(self.specification, self.title)

    @property
    def path(self) -> str:
        return f"/specifications/{quote_segment(self.id)}"

    def section_path(self, section: Section) -> str:
        return f"{self.path}/sections/{quote_segment(section.id) or EMPTY_SECTION_ID}"

    def section(self, name: str) -> Section | None:
        """The section with this id, or with this part of a path."""
        return self.specification.section(name) or (
            self.specification.section("") if name == EMPTY_SECTION_ID else None
        )


@dataclass(frozen=True, slots=True)
class CitationEntry:
    """A citation and the requirement that it quotes. Without a requirement, its path is below its section."""

    citation: Citation
    requirement: Requirement | None
    path: str


class TraceCatalog:
    """Lookups in the requirements and citations of one analysis."""

    def __init__(
        self,
        analysis: Analysis,
        specifications: Mapping[Target, Specification],
        *,
        root: str = "",
        download_dir: str = "",
    ) -> None:
        """`root` is the project directory and `download_dir` the directory for the texts of URLs; they are used to
        recognise names."""
        self.analysis = analysis
        self._root = root
        self._download_dir = download_dir
        wanted = sorted({*specifications, *analysis.reports}, key=Target.sort_key)
        declared = analysis.declarations.documents.by_target
        own_ids = {target: declared[target].id for target in wanted if target in declared}
        ids = {**_cached_ids(tuple(target for target in wanted if target not in declared)), **own_ids}
        self.specifications: dict[str, SpecificationEntry] = {
            ids[target]: SpecificationEntry(
                ids[target],
                target,
                specifications[target] if target in specifications else analysis.reports[target].specification,
                target in declared,
            )
            for target in wanted
        }
        self._by_target = {entry.target: entry for entry in self.specifications.values()}

    def file_of(self, entry: SpecificationEntry) -> str | None:
        """The path of a specification's text in the project; None if it is outside."""
        target = entry.target
        if target.is_url and not self._download_dir:
            return None
        path = posixpath.normpath(stored_path(target.path_in_project or target.path, self._download_dir))
        return None if path.startswith(("/", "../")) or path == ".." else path

    def _stored_at(self, path: str) -> list[SpecificationEntry]:
        """The specifications that a path or URL names, in any spelling."""
        wanted = stored_path(path, self._download_dir)
        entries = self.specifications.values()
        return [e for e in entries if path == e.target.path or wanted == stored_path(e.target.path, self._download_dir)]

    @cached_property
    def requirements(self) -> tuple[Requirement, ...]:
        """All requirements, specification by specification, in text order."""
        return tuple(chain.from_iterable(report.requirements for report in self.analysis.reports.values()))

    @cached_property
    def uncited(self) -> tuple[Requirement, ...]:
        """The requirements without any citation, in the same order."""
        return tuple(requirement for requirement in self.requirements if not requirement.is_cited)

    @cached_property
    def not_implemented(self) -> tuple[Requirement, ...]:
        """The uncited requirements, and those that only tests and todos cite."""
        return tuple(requirement for requirement in self.requirements if requirement.implementation == "none")

    ##= docs/spec/trace.md#get-prioritized-requirements
    ##% A requirement about an IANA registry MUST be marked, and come after the others of the same level, status and
    ##% number of todos.
    def is_about_registry(self, requirement: Requirement) -> bool:
        """Whether a requirement is for those who assign numbers, so that no code can implement it."""
        if _REGISTRY.search(requirement.text):
            return True
        sections = self.entry_of(requirement.target).specification.sections_around(requirement.section)
        return any(_REGISTRY.search(section.title) for section in sections)

    @cached_property
    def by_identifier(self) -> dict[str, list[Requirement]]:
        found: dict[str, list[Requirement]] = {}
        for requirement in self.requirements:
            found.setdefault(requirement.identifier, []).append(requirement)
        return found

    def requirements_of(self, entry: SpecificationEntry) -> tuple[Requirement, ...]:
        """The requirements of one specification in text order."""
        report = self.analysis.reports.get(entry.target)
        return report.requirements if report is not None else ()

    @cached_property
    def by_section(self) -> dict[tuple[str, str], list[Requirement]]:
        found: dict[tuple[str, str], list[Requirement]] = {}
        for requirement in self.requirements:
            key = (self.entry_of(requirement.target).id, requirement.section.id)
            found.setdefault(key, []).append(requirement)
        return found

    @cached_property
    def citations(self) -> tuple[CitationEntry, ...]:
        """Every citation: one entry for each requirement that it quotes, or one without a requirement."""
        of_requirements = [
            CitationEntry(citation, requirement, self.citation_path(requirement, citation))
            for requirement in self.requirements
            for citation in requirement.related
        ]
        included = {id(entry.citation) for entry in of_requirements}
        others = [
            CitationEntry(item.citation, None, self.section_citation_path(item))
            for item in self.analysis.matched
            if id(item.citation) not in included and item.citation.type is not CitationType.SPEC
        ]
        return (*of_requirements, *others)

    @cached_property
    def citations_by_id(self) -> dict[str, Citation]:
        """The citations in code and in requirement files, without the requirements themselves."""
        found = {c.id: c for c in self.analysis.declarations.citations}
        return found | {c.id: c for c in self.analysis.citations if c.type is not CitationType.SPEC}

    def citation(self, name: str) -> Citation | None:
        """The citation with this id, as it is or as clients see it."""
        spellings = (name, posixpath.normpath(name), unquote(name))
        found = (
            self.citations_by_id.get(spelling) or self._citations_by_displayed_id.get(spelling)
            for spelling in spellings
        )
        return next((citation for citation in found if citation is not None), None)

    @cached_property
    def _citations_by_displayed_id(self) -> dict[str, Citation]:
        return {replace_surrogates(name): citation for name, citation in self.citations_by_id.items()}

    @cached_property
    def matched_by_id(self) -> dict[str, MatchedCitation]:
        return {item.citation.id: item for item in self.analysis.matched}

    @property
    def invalid(self) -> list[tuple[Citation, Problem]]:
        return [(self.analysis.citations[number], problem) for number, problem in self.analysis.invalid.items()]

    def entry_of(self, target: Target) -> SpecificationEntry:
        return self._by_target[target]

    ##= docs/spec/trace.md#identifiers
    ##% An identifier MUST be accepted when shortened to eight or more digits, as long as only one requirement text
    ##% matches.
    ##= docs/spec/trace.md#identifiers
    ##% A `full_path` MUST be accepted in place of an identifier and refer only to the requirement of that section.
    def find(self, identifier: str) -> list[Requirement]:
        """The requirements with this identifier, which may be shortened to eight or more digits if it is unique.

        A handle is accepted, too.
        """
        if is_handle(identifier.strip()):
            return self._find_handle(identifier)
        path, slash, identifier = identifier.strip().removeprefix("duvet://").rpartition("/")
        if slash:
            return [r for r in self.find(identifier) if self.full_path(r).rpartition("/")[0] == path]
        identifier = identifier.lower()
        if identifier in self.by_identifier:
            return self.by_identifier[identifier]
        if len(identifier) < MIN_PREFIX:
            return []
        matching = [key for key in self.by_identifier if key.startswith(identifier)]
        return self.by_identifier[matching[0]] if len(matching) == 1 else []

    def _find_handle(self, handle: str) -> list[Requirement]:
        named = self.analysis.declarations.documents.find(handle)
        return self.by_handle.get(named.handle, []) if named is not None else []

    @cached_property
    def by_handle(self) -> dict[str, list[Requirement]]:
        found: dict[str, list[Requirement]] = {}
        for requirement in self.requirements:
            if requirement.handle:
                found.setdefault(requirement.handle, []).append(requirement)
        return found

    def ambiguous(self, identifier: str) -> list[str]:
        """The identifiers that a shortened one could mean."""
        identifier = identifier.strip().lower()
        if not identifier or identifier in self.by_identifier:
            return []
        matching = [key for key in self.by_identifier if key.startswith(identifier)]
        return matching if len(matching) > 1 or (matching and len(identifier) < MIN_PREFIX) else []

    ##= docs/spec/trace.md#project-resources
    ##% Every `full_path` MUST be readable as a resource.
    def full_path(self, requirement: Requirement) -> str:
        section = self.entry_of(requirement.target).section_path(requirement.section)
        return f"{section}/requirements/{requirement.identifier}"

    def citation_path(self, requirement: Requirement, citation: Citation) -> str:
        return f"{self.full_path(requirement)}/citations/{quote_path(citation.id)}"

    def section_citation_path(self, item: MatchedCitation) -> str:
        section = self.entry_of(item.target).section_path(item.section)
        return f"{section}/citations/{quote_path(item.citation.id)}"

    def find_cited(self, path: str, format_: Format = Format.AUTO) -> SpecificationEntry | None:
        """The specification that a citation of this path or URL means, parsed in the format of the citation."""
        entries = self._stored_at(path)
        if not entries and rfc_number(path) is not None and (known := self.resolve(path)) is not None:
            entries = [known]
        if not entries and "://" not in path:
            # A relative path is also searched for in the directories above the project.
            wanted = stored_path(path, self._download_dir)
            entries = [e for e in self.specifications.values() if _PARENT_FOLDERS.sub("", e.target.path) == wanted]
        entries.sort(key=lambda entry: entry.target.format is not format_)
        if not entries or format_ in (Format.AUTO, entries[0].specification.format):
            return entries[0] if entries else None
        other = parse_specification(entries[0].specification.source.text, format_, path)
        return replace(entries[0], specification=other)

    ##= docs/spec/trace.md#resolve-spec-id
    ##% A path prefixed with `./` or `file://`, and every common URL of an RFC, MUST resolve to the same id as the
    ##% plain form.
    ##= docs/spec/trace.md#resolve-spec-id
    ##% An absolute path into the project, the path of a resource and the bare name of an RFC MUST also resolve.
    def resolve(self, name: str) -> SpecificationEntry | None:
        """The specification that a URL, a path or an id names, in any spelling."""
        if name in self.specifications:
            return self.specifications[name]
        name = name.strip()
        if (declared := self._resolve_declared(name)) is not None:
            return declared
        resource = _RESOURCE.match(name)
        if resource is not None and unquote(resource[1]) in self.specifications:
            return self.specifications[unquote(resource[1])]
        path = name.partition("#")[0]
        spellings = [path, unquote(path.removeprefix("file://"))] if path.startswith("file://") else [path]
        number = _RFC_NAME.match(path)
        if number is not None:
            spellings.append(f"https://www.rfc-editor.org/rfc/rfc{number[1]}")
        for spelling in spellings:
            inside = spelling.removeprefix(f"{self._root}/") if self._root else spelling
            for entry in self._stored_at(inside):
                return entry
        return None

    def _resolve_declared(self, name: str) -> SpecificationEntry | None:
        """The specification in a spec-driven format with this id, or with this key if only one has it."""
        for spelling in (name, slugged_handle(unquote(name))):
            if (entries := self._declared_by_name.get(spelling)) and len({entry.id for entry in entries}) == 1:
                return entries[0]
        return None

    @cached_property
    def _declared_by_name(self) -> dict[str, list[SpecificationEntry]]:
        found: dict[str, list[SpecificationEntry]] = {}
        for target, document in self.analysis.declarations.documents.by_target.items():
            for name in {document.id, slugged_handle(document.id), document.owner.key}:
                found.setdefault(name, []).append(self._by_target[target])
        return found


def quote_segment(text: str) -> str:
    """The text percent-encoded as one segment of a path."""
    return quote(text, safe="-._~!$&'()*+,;=:@", errors="surrogateescape")


def quote_path(text: str) -> str:
    """The text percent-encoded as the rest of a path; slashes are kept."""
    return quote(text, safe="-._~!$&'()*+,;=:@/", errors="surrogateescape")


def replace_surrogates(text: str) -> str:
    """The text as sent to clients: bytes of a file name that are not UTF-8 become replacement characters."""
    return "".join("\N{REPLACEMENT CHARACTER}" if "\ud800" <= c <= "\udfff" else c for c in text)


##= docs/spec/trace.md#identifiers
##% Two specifications of a project MUST NOT have the same id.
def assign_ids(targets: Sequence[Target]) -> dict[Target, str]:
    """A short, readable, unique id for each specification. If two short ids are the same, both get a long one."""
    ids: dict[Target, str] = {}
    for candidates in (_short_id, _long_id):
        names: dict[str, list[Target]] = {}
        for target in targets:
            if target not in ids:
                names.setdefault(candidates(target), []).append(target)
        taken = {"", *ids.values()}
        ids |= {owners[0]: name for name, owners in names.items() if len(owners) == 1 and name not in taken}
    taken = set(ids.values())
    for target in targets:
        if target not in ids:
            ids[target] = _hashed_id(target, taken)
            taken.add(ids[target])
    return ids


@lru_cache(maxsize=16)
def _cached_ids(targets: tuple[Target, ...]) -> Mapping[Target, str]:
    return assign_ids(targets)


def _hashed_id(target: Target, taken: set[str]) -> str:
    """An id that does not change when other specifications are added or removed."""
    name = _long_id(target) or "specification"
    key = f"{target.path}\0{target.format.value}".encode("utf-8", "surrogatepass")
    digest = hashlib.blake2b(key, digest_size=16).hexdigest()
    return next(f"{name}-{digest[:size]}" for size in range(8, 33) if f"{name}-{digest[:size]}" not in taken)


def _short_id(target: Target) -> str:
    if not target.is_url:
        return _without_extension(posixpath.normpath(target.path))
    number = _RFC_NUMBER.search(target.path)
    if number:
        return f"rfc{number.group(1)}"
    parts = urlsplit(target.path)
    last = parts.path.rstrip("/").rpartition("/")[2]
    return _without_extension(last) or slug(parts.netloc) or "specification"


def _long_id(target: Target) -> str:
    parts = urlsplit(target.path)
    name = f"{parts.netloc}{parts.path}" if target.is_url else target.path
    suffix = "" if target.format.value == "auto" else f"-{target.format.value}"
    return slug(name) + suffix


def _without_extension(path: str) -> str:
    folder, slash, name = path.rpartition("/")
    stem = name.rpartition(".")[0] or name
    return slug(folder + slash + stem)
