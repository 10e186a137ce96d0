"""Collects the references in comments and the citations of a project by the specification that they refer to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from contextive.trace.natural_references import NaturalReference
from contextive.trace.reference_owners import OwnerResolver, Resolution, ResolvedReference, SpecsOfLine
from contextive.trace.spec_status import Evidence, SpecEvidence, Strength, UnknownReference

Quotes = Iterable[tuple[str, str, Evidence]]
"""The id of a specification, the key of a requirement, and the citation that quotes it."""


@dataclass(frozen=True, slots=True)
class ProjectReferences:
    """The references of a project, and for each specification what refers to it."""

    resolved: tuple[ResolvedReference, ...] = ()
    ambiguous: tuple[ResolvedReference, ...] = ()
    dangling: tuple[ResolvedReference, ...] = ()
    by_spec: Mapping[str, SpecEvidence] = field(default_factory=dict)

    def of(self, spec_id: str) -> SpecEvidence:
        return self.by_spec.get(spec_id) or SpecEvidence()


def resolve_references(
    references: Iterable[NaturalReference], resolver: OwnerResolver, specs_of_line: SpecsOfLine | None = None
) -> tuple[ResolvedReference, ...]:
    """The references that are about a specification of the project, in their order."""
    found = (
        resolver.resolve(reference, specs_of_line) if specs_of_line is not None else resolver.resolve(reference)
        for reference in references
    )
    return tuple(one for one in found if one is not None)


##= docs/spec/trace.md#spec-driven-formats
##% A reference that can mean several specifications MUST be shown with all of them and count for none.
def collect_references(
    resolved: Iterable[ResolvedReference], quotes: Quotes, is_test: Callable[[str], bool]
) -> ProjectReferences:
    """What refers to each specification. An ambiguous reference counts for nobody."""
    groups: dict[Resolution, list[ResolvedReference]] = {resolution: [] for resolution in Resolution}
    for one in resolved:
        groups[one.resolution].append(one)
    collector = _Collector(is_test)
    for spec_id, key, evidence in quotes:
        collector.add_key(spec_id, key, evidence)
    for one in groups[Resolution.RESOLVED]:
        collector.add(one)
    for one in groups[Resolution.DANGLING]:
        reference = one.reference
        unknown = UnknownReference(reference.path, reference.line, reference.key)
        collector.dangling.setdefault(one.owner, []).append(unknown)
    for one in groups[Resolution.AMBIGUOUS]:
        collector.ambiguous.update({candidate.partition("/")[0] for candidate in one.candidates})
    return ProjectReferences(
        tuple(groups[Resolution.RESOLVED]),
        tuple(groups[Resolution.AMBIGUOUS]),
        tuple(groups[Resolution.DANGLING]),
        collector.finish(),
    )


class _Collector:
    """Builds the evidence of every specification. Each line counts once for each requirement."""

    def __init__(self, is_test: Callable[[str], bool]) -> None:
        self._is_test = is_test
        self._keys: dict[str, dict[str, dict[tuple[str, int, bool], Evidence]]] = {}
        self._tasks: dict[str, dict[str, dict[tuple[str, int, bool], Evidence]]] = {}
        self.dangling: dict[str, list[UnknownReference]] = {}
        self.ambiguous: Counter[str] = Counter()

    def add(self, one: ResolvedReference) -> None:
        reference = one.reference
        evidence = Evidence(reference.path, reference.line, self._is_test(reference.path), Strength.NAMED)
        for key in one.keys:
            self.add_key(one.owner, key, evidence)
        if one.task:
            places = self._tasks.setdefault(one.owner, {}).setdefault(one.task, {})
            places.setdefault((evidence.path, evidence.line, evidence.is_test), evidence)

    def add_key(self, spec_id: str, key: str, evidence: Evidence) -> None:
        places = self._keys.setdefault(spec_id, {}).setdefault(key, {})
        places.setdefault((evidence.path, evidence.line, evidence.is_test), evidence)

    def finish(self) -> dict[str, SpecEvidence]:
        ids = dict.fromkeys([*self._keys, *self._tasks, *self.dangling, *self.ambiguous])
        return {
            spec_id: SpecEvidence(
                {key: tuple(places.values()) for key, places in self._keys.get(spec_id, {}).items()},
                {key: tuple(places.values()) for key, places in self._tasks.get(spec_id, {}).items()},
                tuple(self.dangling.get(spec_id, ())),
                self.ambiguous[spec_id],
            )
            for spec_id in ids
        }
