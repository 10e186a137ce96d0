"""The specifications in spec-driven formats with everything that refers to them, and one table of all specifications."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from contextive.trace.analysis import Analysis
from contextive.trace.catalog import SpecificationEntry, TraceCatalog
from contextive.trace.citation import Citation
from contextive.trace.formats.values import FormatSpecification, SpecState
from contextive.trace.level import CitationType
from contextive.trace.reference_owners import ResolvedReference
from contextive.trace.requirement import Requirement
from contextive.trace.spec_evidence import ProjectReferences, collect_references
from contextive.trace.spec_status import Evidence, SpecRow, Strength, spec_row

_IN_TESTS = frozenset((CitationType.TEST, CitationType.IMPLICATION))


@dataclass(frozen=True)
class SpecTrace:
    """The specifications in spec-driven formats of a project, and the references to them."""

    specifications: tuple[FormatSpecification, ...]
    references: ProjectReferences

    @staticmethod
    def of(
        specifications: tuple[FormatSpecification, ...], resolved: Sequence[ResolvedReference], analysis: Analysis
    ) -> SpecTrace:
        cited = frozenset((citation.source, citation.line) for citation in analysis.citations)
        tests = {citation.source for citation in analysis.declarations.citations if citation.type is CitationType.TEST}
        uncited = [one for one in resolved if (one.reference.path, one.reference.line) not in cited]
        return SpecTrace(specifications, collect_references(uncited, _quotes(analysis), tests.__contains__))

    @cached_property
    def by_id(self) -> dict[str, FormatSpecification]:
        return {specification.id: specification for specification in self.specifications}

    @cached_property
    def current(self) -> tuple[FormatSpecification, ...]:
        """Those that hold, or may hold soon; archived ones are history."""
        return tuple(one for one in self.specifications if one.state is not SpecState.ARCHIVED)

    @cached_property
    def rows(self) -> tuple[SpecRow, ...]:
        return tuple(spec_row(one, self.references.of(one.id)) for one in self.current)

    @cached_property
    def resolution_of(self) -> dict[tuple[str, str, int], ResolvedReference]:
        """How a reference was resolved, by the handle of its requirement and its place."""
        return {
            (f"{one.owner}/{key}", one.reference.path, one.reference.line): one
            for one in self.references.resolved
            for key in one.keys
        }


def _quotes(analysis: Analysis) -> Iterator[tuple[str, str, Evidence]]:
    """The citations of declared requirements that quote them, or have their handle as the target."""
    for document in analysis.declarations.documents.documents:
        named = {citation for _, citation in analysis.declarations.names_in(document)}
        for requirement in analysis.reports[document.target].requirements:
            key = requirement.handle.removeprefix(f"{document.owner.id}/")
            for citation in requirement.related:
                if citation not in named:
                    yield from ((document.owner.id, key, evidence) for evidence in _evidence(citation))


def _evidence(citation: Citation) -> Iterator[Evidence]:
    strength = Strength.QUOTED if citation.quote else Strength.NAMED
    if citation.type is not CitationType.TEST and citation.type is not CitationType.TODO:
        yield Evidence(citation.source, citation.line, False, strength)
    if citation.type in _IN_TESTS:
        yield Evidence(citation.source, citation.line, True, strength)


def evidence_of(requirement: Requirement) -> list[Evidence]:
    """The places that cite a requirement; todos are left out."""
    return [evidence for citation in requirement.related for evidence in _evidence(citation)]


def table(catalog: TraceCatalog, formats: SpecTrace) -> list[SpecRow]:
    """One row for each specification of a project, in whatever format it is written."""
    declared = catalog.analysis.declarations.documents.by_target
    cited = [entry for entry in catalog.specifications.values() if entry.target not in declared]
    return [*(_cited_row(catalog, entry) for entry in cited), *formats.rows]


def _cited_row(catalog: TraceCatalog, entry: SpecificationEntry) -> SpecRow:
    """The row of a specification that only citations refer to. It has no tasks."""
    requirements = catalog.requirements_of(entry)
    quoting = [evidence_of(requirement) for requirement in requirements]
    return SpecRow(
        id=entry.id,
        title=entry.title,
        state=SpecState.CURRENT.value,
        path=catalog.file_of(entry) or entry.url,
        requirements=len(requirements),
        with_task=0,
        ticked=0,
        named=0,
        quoted=sum(any(not one.is_test for one in found) for found in quoting),
        tested=sum(any(one.is_test for one in found) for found in quoting),
        dangling=sum(1 for citation, _ in catalog.invalid if catalog.find_cited(citation.target_path) is entry),
        ambiguous=0,
        not_understood=0,
    )
