"""The values that the readers of spec-driven formats return."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from contextive.trace.formats.keys import KeyIndex
from contextive.trace.level import Level
from contextive.trace.matching import Span
from contextive.trace.specification import Specification


class SpecFormat(StrEnum):
    """A spec-driven format. The value is the first part of every handle."""

    KIRO = "kiro"
    SPECKIT = "speckit"
    OPENSPEC = "openspec"


class SpecState(StrEnum):
    """Whether the text of a specification holds now."""

    CURRENT = "current"
    PROPOSED = "proposed"
    FINISHED = "finished"
    ARCHIVED = "archived"


class TaskState(StrEnum):
    """The state of a task, as its box says. `OPTIONAL` is an open task that may be left out."""

    OPEN = "open"
    DONE = "done"
    DOING = "doing"
    OPTIONAL = "optional"


class RequirementKind(StrEnum):
    """What kind of sentence a requirement is. Only criteria are expected to have a modal word."""

    CRITERION = "criterion"
    SCENARIO = "scenario"
    OUTCOME = "outcome"


@dataclass(frozen=True, slots=True)
class Place:
    """Lines of a file, 1-based, both included."""

    path: str
    line: int
    end_line: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"


@dataclass(frozen=True, slots=True)
class DeclaredRequirement:
    """One requirement, as its specification declares it."""

    key: str
    """Its number or name in the specification, such as `3.2`, `FR-012` or `User Authentication`."""
    text: str
    level: Level
    place: Place
    spans: tuple[Span, ...]
    """One for each line of its text, as offsets in the file."""
    section_id: str
    group: str = ""
    """The key of its group, if it is in one."""
    kind: RequirementKind = RequirementKind.CRITERION
    has_modal_word: bool = True
    outer_ids: tuple[str, ...] = ()
    """The ids in another system that it names, such as `REQ-027`."""
    scenarios: tuple[str, ...] = ()
    needs_clarification: bool = False


@dataclass(frozen=True, slots=True)
class RequirementGroup:
    """A numbered heading with several requirements: a Kiro requirement or a user story of spec-kit."""

    key: str
    title: str
    story: str
    place: Place


@dataclass(frozen=True, slots=True)
class WrittenReference:
    """A key, a range of keys or other words that a task or a property gives as its requirements."""

    text: str
    line: int


class ReferenceState(StrEnum):
    """`OTHER` references are words that are not a key, such as "All tests pass"."""

    RESOLVED = "resolved"
    DANGLING = "dangling"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class KeyReference:
    """A written reference and the requirements that it means."""

    text: str
    line: int
    state: ReferenceState
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Task:
    """One task of a plan."""

    key: str
    title: str
    state: TaskState
    place: Place
    """From the line of its box to the last line of its details."""
    box: int
    """The offset of the character in its box."""
    references: tuple[KeyReference, ...] = ()
    group: str = ""
    """The story that it belongs to, such as `US1`."""
    files: tuple[str, ...] = ()
    parent: str = ""
    """The key of the task that it is a part of."""

    @property
    def requirement_keys(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(key for reference in self.references for key in reference.keys))


@dataclass(frozen=True, slots=True)
class Property:
    """A correctness property of a Kiro design, and the requirements that it validates."""

    key: str
    title: str
    text: str
    place: Place
    references: tuple[KeyReference, ...] = ()

    @property
    def requirement_keys(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(key for reference in self.references for key in reference.keys))


@dataclass(frozen=True, slots=True)
class GlossaryEntry:
    term: str
    meaning: str
    line: int


@dataclass(frozen=True, slots=True)
class HistoryStep:
    """What an archived change of OpenSpec did with a requirement."""

    change: str
    operation: str
    """`added`, `modified`, `removed` or `renamed`."""
    key: str
    """Its key then; after a rename, the new one."""
    old_key: str = ""
    """Its key before a rename."""


@dataclass(frozen=True, slots=True)
class UnreadLine:
    """A line that a reader did not understand, and why."""

    path: str
    line: int
    reason: str


@dataclass(frozen=True, slots=True)
class SpecFiles:
    """The files of one specification, before they are read."""

    format: SpecFormat
    key: str
    state: SpecState
    paths: tuple[str, ...]
    """The file with the requirements, if there is one, is first."""


@dataclass(frozen=True, eq=False, slots=True)
class FormatSpecification:
    """One specification in a spec-driven format. Compared by identity."""

    files: SpecFiles
    title: str
    documents: dict[str, Specification] = field(default_factory=dict, repr=False)
    """The sections of each file with requirements, by path."""
    requirements: tuple[DeclaredRequirement, ...] = ()
    groups: tuple[RequirementGroup, ...] = ()
    tasks: tuple[Task, ...] = ()
    properties: tuple[Property, ...] = ()
    glossary: tuple[GlossaryEntry, ...] = ()
    history: tuple[HistoryStep, ...] = ()
    """What a change does, or did, with requirements. The keys begin with the capability."""
    clarifications: tuple[int, ...] = ()
    """The lines of questions that are still open."""
    unread: tuple[UnreadLine, ...] = ()
    index: KeyIndex = field(default_factory=lambda: KeyIndex.of((), ()), repr=False)

    @property
    def format(self) -> SpecFormat:
        return self.files.format

    @property
    def key(self) -> str:
        return self.files.key

    @property
    def state(self) -> SpecState:
        return self.files.state

    @property
    def path(self) -> str:
        """The file with the requirements, or else the first file."""
        return self.files.paths[0]

    @property
    def id(self) -> str:
        """Its handle, such as `kiro:user-auth`."""
        return f"{self.format}:{self.key}"

    def handle(self, key: str) -> str:
        """The handle of a requirement or a group, such as `kiro:user-auth/3.2`."""
        return f"{self.id}/{key}"
