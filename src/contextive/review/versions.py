"""One version of a project as a review sees it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from contextive.review.code_units import CodeUnit, SourceCode
from contextive.trace.analysis import Analysis
from contextive.trace.citation import Citation
from contextive.trace.level import CitationType
from contextive.trace.requirement import Requirement


@dataclass(frozen=True)
class ProjectVersion:
    """The matched citations of one version, and the texts of the files in which the other version differs."""

    analysis: Analysis
    texts: Mapping[str, str]
    _sources: dict[str, SourceCode] = field(default_factory=dict)

    def source(self, path: str) -> SourceCode | None:
        """A file with other content in the other version; None if this version does not have it."""
        if path not in self._sources and path in self.texts:
            self._sources[path] = SourceCode(path, self.texts[path])
        return self._sources.get(path)

    def unit(self, citation: Citation) -> CodeUnit | None:
        """The code under a citation; None for one in a requirement file."""
        source = self.source(citation.source) if citation.base is None else None
        return source.unit_below(citation.line, max(citation.end_line, citation.line)) if source is not None else None

    def citations_in(self, paths: Collection[str]) -> list[Citation]:
        """The citations in some files, and the comments that name a requirement, without the requirements themselves."""
        cited = [
            citation
            for file in self.analysis.files.values()
            if file.citations and file.citations[0].source in paths
            for citation in file.citations
            if citation.type is not CitationType.SPEC
        ]
        return cited + [naming for naming in self.analysis.declarations.citations if naming.source in paths]

    @cached_property
    def requirements_of(self) -> dict[int, list[Requirement]]:
        """The requirements that a citation quotes, by the identity of the citation."""
        found: dict[int, list[Requirement]] = {}
        for report in self.analysis.reports.values():
            for requirement in report.requirements:
                for citation in requirement.related:
                    found.setdefault(id(citation), []).append(requirement)
        return found

    def requirements(self, citation: Citation) -> list[Requirement]:
        return self.requirements_of.get(id(citation), [])

    @cached_property
    def by_text(self) -> dict[tuple[str, str], Requirement]:
        """The requirements by their document and identifier."""
        return {
            (requirement.target.canonical, requirement.identifier): requirement
            for report in self.analysis.reports.values()
            for requirement in report.requirements
        }

    def has(self, requirement: Requirement) -> bool:
        return (requirement.target.canonical, requirement.identifier) in self.by_text


def requirement_name(requirement: Requirement) -> str:
    """The handle or the beginning of the identifier, by which tools find the requirement, and its section."""
    name = requirement.handle or requirement.identifier[:12]
    return f"{name} {requirement.target.display_name}#{requirement.section.id}"


def citation_name(citation: Citation, requirements: list[Requirement]) -> str:
    return requirement_name(requirements[0]) if requirements else citation.target
