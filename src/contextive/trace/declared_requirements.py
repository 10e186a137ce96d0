"""Requirements that a spec-driven format declares, with the same values as those extracted from sentences.

They are matched like any other: a citation can quote their text. In addition, a comment can name them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from contextive.trace.citation import Citation, Location
from contextive.trace.formats.keys import capability_of, slugged
from contextive.trace.formats.values import DeclaredRequirement, FormatSpecification, SpecFormat, SpecState
from contextive.trace.level import CitationType
from contextive.trace.matching import CitedText, Haystack
from contextive.trace.requirement import Requirement, coverage_of, identify, index_by_line
from contextive.trace.specification import Section, Specification, SpecLine
from contextive.trace.target import Target

if TYPE_CHECKING:  # the reading of comments is imported only for projects with such specifications
    from contextive.trace.natural_references import NaturalReference
    from contextive.trace.reference_owners import ResolvedReference

_HANDLE_PREFIXES = tuple(f"{format_}:" for format_ in SpecFormat)


def is_handle(name: str) -> bool:
    """Whether a name has the form of a handle, such as `kiro:user-auth/3.2`."""
    return name.startswith(_HANDLE_PREFIXES)


@dataclass(frozen=True, eq=False, slots=True)
class DeclaredDocument:
    """One file with requirements of a specification in a spec-driven format. Compared by identity."""

    target: Target
    id: str
    """The id of its specification; with the capability if the specification has several files."""
    owner: FormatSpecification
    specification: Specification
    requirements: tuple[DeclaredRequirement, ...]


@dataclass(frozen=True, slots=True)
class NamedHandle:
    """The requirement that a handle names, and its document."""

    document: DeclaredDocument
    requirement: DeclaredRequirement

    @property
    def handle(self) -> str:
        return self.document.owner.handle(self.requirement.key)

    @property
    def haystack(self) -> Haystack:
        """The text of the requirement alone, in which a quote of it must be."""
        text, spans = self.document.specification.source.text, self.requirement.spans
        lines = tuple([SpecLine(start, text[start:end]) for start, end in spans])
        return Haystack.of(Section("", "", 0, "", lines))


@dataclass(frozen=True)
class DeclaredDocuments:
    """The documents of all specifications in spec-driven formats, without archived ones."""

    documents: tuple[DeclaredDocument, ...] = ()
    folders: frozenset[str] = frozenset()
    """The folders of all specifications. What else is in them is part of the specification."""

    @staticmethod
    def of(specifications: Iterable[FormatSpecification]) -> DeclaredDocuments:
        specifications = list(specifications)
        documents = tuple(
            document
            for specification in specifications
            if specification.state is not SpecState.ARCHIVED
            for document in _documents_of(specification)
        )
        return DeclaredDocuments(documents, frozenset(one.path.rpartition("/")[0] for one in specifications))

    @cached_property
    def by_path(self) -> Mapping[str, DeclaredDocument]:
        return {document.target.path: document for document in self.documents}

    @cached_property
    def by_target(self) -> Mapping[Target, DeclaredDocument]:
        return {document.target: document for document in self.documents}

    ##= docs/spec/trace.md#spec-driven-formats
    ##% A requirement in such a format MUST have a handle, such as `kiro:user-auth/3.2`, which every tool accepts in place
    ##% of the identifier.
    def find(self, handle: str) -> NamedHandle | None:
        """The requirement with this handle, in any accepted spelling; None if there is none or more than one."""
        handle = handle.strip()
        for spelling in (handle, unquote(handle)):
            if (found := self._by_handle.get(spelling)) is not None:
                return found
        return self._by_slug.get(slugged_handle(unquote(handle)))

    @cached_property
    def _by_handle(self) -> dict[str, NamedHandle]:
        found: dict[str, NamedHandle] = {}
        for document in self.documents:
            for requirement in document.requirements:
                named = NamedHandle(document, requirement)
                found.setdefault(named.handle, named)
        return found

    @cached_property
    def _by_slug(self) -> dict[str, NamedHandle | None]:
        found: dict[str, NamedHandle | None] = {}
        for handle, named in self._by_handle.items():
            name = slugged_handle(handle)
            found[name] = None if name in found else named
        return found


def slugged_handle(handle: str) -> str:
    """A handle in lower case and, for OpenSpec, with slugs in place of names."""
    format_, colon, key = handle.partition(":")
    return f"{format_}:{slugged(key)}" if colon and format_ == SpecFormat.OPENSPEC else handle.lower()


def _documents_of(specification: FormatSpecification) -> Iterable[DeclaredDocument]:
    for path, sections in specification.documents.items():
        several = len(specification.documents) > 1
        yield DeclaredDocument(
            Target(path),
            f"{specification.id}/{capability_of(path) or path}" if several else specification.id,
            specification,
            sections,
            tuple(requirement for requirement in specification.requirements if requirement.place.path == path),
        )


Naming = tuple[str, Citation]
"""The key of a requirement, and a comment that names it, as a citation without a quote."""


@dataclass(frozen=True)
class Declarations:
    """The requirements that spec-driven formats declare, and the comments that name them."""

    documents: DeclaredDocuments = field(default_factory=DeclaredDocuments)
    names: Mapping[str, tuple[Naming, ...]] = field(default_factory=dict, repr=False)
    """By the path of the document."""

    def names_in(self, document: DeclaredDocument) -> tuple[Naming, ...]:
        return self.names.get(document.target.path, ())

    @cached_property
    def citations(self) -> tuple[Citation, ...]:
        """Every comment that names a requirement, once."""
        return tuple({citation.id: citation for names in self.names.values() for _, citation in names}.values())


def naming_citations(
    resolved: Iterable[ResolvedReference], documents: DeclaredDocuments, types: Mapping[str, CitationType]
) -> dict[str, tuple[Naming, ...]]:
    """The references that name a requirement, by the path of its document. `types` has the type of each source file."""
    paths = {
        (document.owner.id, requirement.key): document.target.path
        for document in documents.documents
        for requirement in document.requirements
    }
    found: dict[str, dict[tuple[str, str, int], Citation]] = {}
    for one in resolved:
        reference = one.reference
        for key in one.keys:
            path = paths.get((one.owner, key))
            if path is not None:
                place = (key, reference.path, reference.line)
                if place not in found.setdefault(path, {}):
                    found[path][place] = _naming(one, key, types.get(reference.path, CitationType.CITATION))
    return {
        path: tuple((key, citation) for (key, _, _), citation in citations.items()) for path, citations in found.items()
    }


def _naming(one: ResolvedReference, key: str, kind: CitationType) -> Citation:
    reference = one.reference
    return Citation(
        source=reference.path,
        line=reference.line,
        type=kind,
        target=f"{one.owner}/{key}",
        quote="",
        target_location=Location(reference.path, reference.line),
        text=reference.text,
        end_line=reference.line,
    )


def declared_requirements(
    document: DeclaredDocument, cited: Sequence[CitedText], named: Sequence[Naming]
) -> tuple[Requirement, ...]:
    """The requirements of a document in text order, each with the citations that quote or name it."""
    naming: dict[str, list[CitedText]] = {}
    spans = {requirement.key: requirement.spans for requirement in document.requirements}
    for key, citation in named:
        naming.setdefault(key, []).append(CitedText(0, citation, spans[key]))
    quoting = [item for item in cited if item.citation.type is not CitationType.SPEC]
    quoted = index_by_line(document.specification, quoting)
    found = []
    for declared in document.requirements:
        near = quoted
        if declared.key in naming:
            own = index_by_line(document.specification, naming[declared.key], len(quoting))
            near = {line: [*quoted.get(line, ()), *items] for line, items in own.items()}
        coverage = coverage_of(declared.spans, near, document.specification.source)
        found.append(
            Requirement(
                identifier=identify(declared.text),
                target=document.target,
                section=document.specification.by_id[declared.section_id],
                text=declared.text,
                level=declared.level,
                status=coverage.status,
                spans=declared.spans,
                citation=_declaration(document, declared),
                related=coverage.related,
                covered=coverage.covered,
                source=document.specification.source,
                handle=document.owner.handle(declared.key),
            )
        )
    return tuple(found)


def _declaration(document: DeclaredDocument, declared: DeclaredRequirement) -> Citation:
    location = Location(declared.place.path, declared.place.line)
    return Citation(
        source=declared.place.path,
        line=declared.place.line,
        type=CitationType.SPEC,
        target=f"{document.target.path}#{declared.section_id}",
        quote=declared.text,
        level=declared.level,
        target_location=location,
        quote_location=location,
        end_line=declared.place.end_line,
    )


@dataclass(frozen=True, slots=True)
class ReadSpecifications:
    """The specifications of a project and the references in its comments, before they are resolved.

    Equal values have equal results. Specifications are compared by identity: unchanged files have the same object.
    """

    specifications: tuple[FormatSpecification, ...] = ()
    references: tuple[tuple[NaturalReference, ...], ...] = field(default=(), repr=False)
    """One tuple for each file that has some."""

    @property
    def all_references(self) -> Iterator[NaturalReference]:
        return (reference for found in self.references for reference in found)


NOTHING_READ: Final = ReadSpecifications()
