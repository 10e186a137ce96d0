"""Which requirements a natural reference means. Keys are local to a specification, so its owner has to be found first."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from contextive.trace.formats.keys import slugged
from contextive.trace.formats.values import FormatSpecification, SpecFormat, SpecState
from contextive.trace.natural_references import NaturalReference, ReferenceKind, candidate_pattern
from contextive.trace.specification import slug


class Resolution(StrEnum):
    """The result for one reference."""

    RESOLVED = "resolved"
    AMBIGUOUS = "ambiguous"
    DANGLING = "dangling"


class Reason(StrEnum):
    """How the owner of a reference was found, in the order in which it is looked for."""

    WRITTEN = "the reference names the specification"
    FEATURE = "the comment names the feature"
    PATH = "the comment names the path of the specification"
    WORD = "the comment names the specification"
    TASKS = "the tasks of the specification name this file"
    COMMIT = "the line and the specification came in one commit"
    ONLY = "no other specification of the project has this key"


@dataclass(frozen=True, slots=True)
class ResolvedReference:
    """A reference to something that the project specifies, or one that names nothing although it says so."""

    reference: NaturalReference
    resolution: Resolution
    owner: str = ""
    """The id of the specification."""
    keys: tuple[str, ...] = ()
    """The keys of the requirements; empty if it names a task."""
    task: str = ""
    """The key of the task that it names."""
    reason: Reason | None = None
    candidates: tuple[str, ...] = ()
    """The handles that it could mean, if it is ambiguous."""


SpecsOfLine = Callable[[str, int], Collection[str]]
"""The ids of the specifications that changed in the commit of a line."""
_MAX_CANDIDATES = 20
_JOINED_RANGE = re.compile(r"([A-Z]{2,6}-)(\d{1,6})-(\d{1,6})")
"""A range without a second prefix, such as `FR-020-022`."""
_LETTERS = re.compile(r"[A-Za-z]+")
_WORDS = re.compile(r"[A-Z]?[a-z]{3,40}|[A-Z]{4,40}|[^\W\d_a-zA-Z]{2,40}")
_COMMON_WORDS = frozenset(
    (
        "task", "tasks", "test", "tests", "phase", "create", "implement", "write", "update", "with", "from", "service",
        "services", "this", "that", "the", "and", "for", "src", "spec", "specs", "index", "app", "apps", "api", "lib",
        "complete", "file", "files", "code", "integration", "unit", "express", "middleware", "routes", "components",
    )
)  # fmt: skip
_PREFIX = re.compile(r"(?:requirement|req|r|ac)[-_ ]?(?=[1-9])")
_SPEC_NUMBER = re.compile(r"(?:specs?|features?)[/ -]?(\d{3})(?!\d)", re.IGNORECASE)


def _no_specs(_path: str, _line: int) -> Collection[str]:
    return ()


@dataclass(frozen=True, slots=True)
class _Candidate:
    """What a key means in one specification."""

    owner: str
    keys: tuple[str, ...]
    task: str = ""


@dataclass(frozen=True)
class OwnerResolver:
    """Finds the owners of references in the specifications of a project."""

    specifications: Mapping[str, FormatSpecification]
    """By id; archived ones have no keys and are left out."""

    @staticmethod
    def of(specifications: Iterable[FormatSpecification]) -> OwnerResolver:
        found = {one.id: one for one in specifications if one.state is not SpecState.ARCHIVED}
        return OwnerResolver(found)

    @cached_property
    def candidate(self) -> re.Pattern[str]:
        """What every line with a reference to these specifications contains."""
        return candidate_pattern(
            frozenset(prefix for prefix in self._owners_by_prefix if prefix),
            numbers="" in self._owners_by_prefix,
            tasks=bool(self._tasks),
            names=any(True for _ in self._openspec()),
        )

    def resolve(self, reference: NaturalReference, specs_of_line: SpecsOfLine = _no_specs) -> ResolvedReference | None:
        """The requirements that a reference means; None if it is not about a specification of this project."""
        candidates = self._candidates(reference)
        named, reason = self._named(reference)
        if named:
            inside = [candidate for candidate in candidates if candidate.owner in named]
            if not inside and reason in (Reason.WRITTEN, Reason.FEATURE):
                return self._dangling(reference, named)
            candidates = inside or candidates
        if not candidates:
            return self._dangling(reference, named)
        if named and len(candidates) == 1 and candidates[0].owner in named:
            if reason is Reason.WORD and self._is_in_folder_of_another(reference.path, candidates[0].owner):
                return _ambiguous(reference, candidates)
            return _resolved(reference, candidates[0], reason)
        return self._choose(reference, candidates, specs_of_line)

    def _is_in_folder_of_another(self, path: str, owner: str) -> bool:
        """Whether a folder of a file has the name of another specification. Then a word in a comment is not enough."""
        folders = path.lower().replace("_", "-").split("/")[:-1]
        found = {other for folder in folders for other in self._owners_by_name.get(folder, ())}
        return bool(found) and owner not in found

    def _choose(
        self, reference: NaturalReference, candidates: Sequence[_Candidate], specs_of_line: SpecsOfLine
    ) -> ResolvedReference:
        by_tasks = [c for c in candidates if c.owner in self._named_by_tasks(reference.path)]
        if len(by_tasks) == 1 and len(candidates) > 1:
            return _resolved(reference, by_tasks[0], Reason.TASKS)
        if len(candidates) == 1:
            if reference.kind is ReferenceKind.TASK and not self._is_about_task(reference, candidates[0]):
                return _ambiguous(reference, candidates)
            return _resolved(reference, candidates[0], Reason.ONLY)
        owners = specs_of_line(reference.path, reference.line)
        by_commit = [candidate for candidate in candidates if candidate.owner in owners]
        if len(by_commit) == 1:
            return _resolved(reference, by_commit[0], Reason.COMMIT)
        return _ambiguous(reference, candidates)

    def _is_about_task(self, reference: NaturalReference, candidate: _Candidate) -> bool:
        """Whether a comment shares a word with the task that it may name, if there are several plans. Numbers such as
        T108 are in the code for longer than in the plans, and are given again."""
        if len({owner for owners in self._tasks.values() for owner in owners}) < 2:
            return True
        words = self._words_of_tasks.get((candidate.owner, candidate.task), frozenset())
        return not words.isdisjoint(_words(f"{reference.path} {reference.text}"))

    @cached_property
    def _words_of_tasks(self) -> dict[tuple[str, str], frozenset[str]]:
        return {
            (owner, task.key): _words(" ".join((task.title, *task.files)))
            for owner, one in self.specifications.items()
            for task in one.tasks
        }

    def _dangling(self, reference: NaturalReference, named: Collection[str]) -> ResolvedReference | None:
        """A reference to a key that nothing has. It is a mistake only if it says that it names a requirement."""
        if not reference.has_keyword or reference.kind is not ReferenceKind.KEY:
            return None
        letters = _LETTERS.match(reference.key)
        owners = self._owners_by_prefix.get(letters[0].lower() if letters is not None else "", ())
        if not owners:
            return None
        possible = named or owners
        owner = next(iter(possible)) if len(possible) == 1 else ""
        return ResolvedReference(reference, Resolution.DANGLING, owner)

    @cached_property
    def _owners_by_prefix(self) -> dict[str, list[str]]:
        """The specifications that use keys with certain letters in front, or bare numbers."""
        found: dict[str, list[str]] = {}
        for owner, one in self.specifications.items():
            bare = [""] if one.format is SpecFormat.KIRO and one.requirements else []
            for prefix in (*one.index.prefixes, *bare):
                found.setdefault(prefix, []).append(owner)
        return found

    # -- what a key means in each specification ------------------------------------------------------------------------

    def _candidates(self, reference: NaturalReference) -> list[_Candidate]:
        match reference.kind:
            case ReferenceKind.TASK:
                owners = self._tasks.get(reference.key, ())
                return [_Candidate(owner, (), reference.key) for owner in owners]
            case ReferenceKind.PROPERTY:
                return [
                    _Candidate(owner, keys) for owner, keys in self._properties.get(reference.key, {}).items() if keys
                ]
            case ReferenceKind.NAME | ReferenceKind.SCENARIO:
                table = self._names if reference.kind is ReferenceKind.NAME else self._scenarios
                return _current_first(
                    [_Candidate(owner, (key,)) for owner, key in table.get(_folded(reference.key), ())],
                    self.specifications,
                )
        found = self._with_keys(reference.key, reference.last_key)
        if not found and (joined := _JOINED_RANGE.fullmatch(reference.key)) is not None:
            found = self._with_keys(joined[1] + joined[2], joined[1] + joined[3])
        return found

    def _with_keys(self, first: str, last: str) -> list[_Candidate]:
        """What a key or a range of keys means, in every specification that knows it."""
        found = []
        for owner, one in self._with_key(first):
            keys = one.index.between(first, last) if last else ()
            keys = keys or one.index.find(first)
            if keys:
                found.append(_Candidate(owner, keys))
        return found

    def _with_key(self, key: str) -> Iterator[tuple[str, FormatSpecification]]:
        """The specifications that may know a key. Prefixes such as `REQ-` are left out of the table."""
        owners: dict[str, None] = {}
        spelling = key.lower()
        for name in (spelling, _without_prefix(spelling)):
            owners.update(dict.fromkeys(self._owners_by_spelling.get(name, ())))
        return ((owner, self.specifications[owner]) for owner in owners)

    @cached_property
    def _owners_by_spelling(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for owner, one in self.specifications.items():
            for spelling in one.index.by_spelling:
                found.setdefault(spelling, []).append(owner)
        return found

    @cached_property
    def _tasks(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for owner, one in self.specifications.items():
            if one.format is SpecFormat.SPECKIT:
                for task in one.tasks:
                    found.setdefault(task.key, []).append(owner)
        return {key: list(dict.fromkeys(owners)) for key, owners in found.items()}

    @cached_property
    def _properties(self) -> dict[str, dict[str, tuple[str, ...]]]:
        found: dict[str, dict[str, tuple[str, ...]]] = {}
        for owner, one in self.specifications.items():
            for declared in one.properties:
                found.setdefault(declared.key, {}).setdefault(owner, declared.requirement_keys)
        return found

    @cached_property
    def _names(self) -> dict[str, list[tuple[str, str]]]:
        """The requirements of OpenSpec by name, without the capability."""
        found: dict[str, list[tuple[str, str]]] = {}
        for owner, one in self._openspec():
            for requirement in one.requirements:
                name = requirement.key.rpartition("/")[2] if one.state is SpecState.PROPOSED else requirement.key
                found.setdefault(_folded(name), []).append((owner, requirement.key))
        return found

    @cached_property
    def _scenarios(self) -> dict[str, list[tuple[str, str]]]:
        found: dict[str, list[tuple[str, str]]] = {}
        for owner, one in self._openspec():
            for requirement in one.requirements:
                for scenario in requirement.scenarios:
                    found.setdefault(_folded(scenario), []).append((owner, requirement.key))
        return found

    def _openspec(self) -> Iterator[tuple[str, FormatSpecification]]:
        return ((owner, one) for owner, one in self.specifications.items() if one.format is SpecFormat.OPENSPEC)

    # -- which specifications a comment or a file is about ------------------------------------------------------------

    def _named(self, reference: NaturalReference) -> tuple[Collection[str], Reason | None]:
        """The specifications that the reference or its comment names, and how."""
        if reference.owner:
            owners = self._owners_by_name.get(reference.owner.lower(), ())
            if owners:
                return owners, Reason.WRITTEN
        features = {owner for feature in reference.features for owner in self._owners_of_feature(feature)}
        if features:
            return features, Reason.FEATURE
        paths = {owner for name in reference.names if "/" in name for owner in self._owners_of_path(name)}
        numbers = {owner for found in _SPEC_NUMBER.finditer(reference.text) for owner in self._by_number(found[1])}
        if paths or numbers:
            return paths | numbers, Reason.PATH
        words = {owner for name in reference.names if "/" not in name for owner in self._owners_of_path(name)}
        return (words, Reason.WORD) if words else ((), None)

    def _owners_of_feature(self, feature: str) -> Collection[str]:
        names = self._owners_by_name
        first = feature.lower().split(" ")[0].strip("`'\".,")
        return names.get(feature.lower()) or names.get(slug(feature)) or names.get(first) or ()

    def _owners_of_path(self, name: str) -> Collection[str]:
        """The specifications that a word of a comment names: by a path to their folder, or by a key with a dash."""
        parts = [part for part in name.lower().split("/") if part]
        found: set[str] = set()
        for before, part in zip(["", *parts], parts, strict=False):
            if "-" in part or len(parts) > 1:
                found.update(self._owners_by_name.get(part, ()))
            if before in ("spec", "specs", "feature") and part.isdigit():
                found.update(self._by_number(part))
        return found

    def _by_number(self, number: str) -> Collection[str]:
        return self._owners_by_number.get(number, ())

    @cached_property
    def _owners_by_name(self) -> dict[str, list[str]]:
        """The ids of the specifications by id, key, last part of the key, and the slug of the title."""
        found: dict[str, dict[str, None]] = {}
        for owner, one in self.specifications.items():
            for name in (owner, one.key, one.key.rpartition("/")[2], slugged(one.key), slug(one.title)):
                if name:
                    found.setdefault(name.lower(), {})[owner] = None
        return {name: list(owners) for name, owners in found.items()}

    @cached_property
    def _owners_by_number(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for owner, one in self.specifications.items():
            number = one.key.rpartition("/")[2].partition("-")[0]
            if number.isdigit():
                found.setdefault(number, []).append(owner)
        return found

    def _named_by_tasks(self, path: str) -> Collection[str]:
        """The specifications whose tasks name a file, by its whole path or by the end of it."""
        found: set[str] = set()
        parts = path.split("/")
        for start in range(len(parts)):
            found.update(self._owners_by_file.get("/".join(parts[start:]), ()))
        return found

    @cached_property
    def _owners_by_file(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for owner, one in self.specifications.items():
            for task in one.tasks:
                for file in task.files:
                    found.setdefault(file, set()).add(owner)
        return found


def _resolved(reference: NaturalReference, candidate: _Candidate, reason: Reason | None) -> ResolvedReference:
    return ResolvedReference(
        reference, Resolution.RESOLVED, candidate.owner, candidate.keys, candidate.task, reason=reason
    )


def _ambiguous(reference: NaturalReference, candidates: Sequence[_Candidate]) -> ResolvedReference:
    handles = [f"{c.owner}/{c.task or _shown(reference, c)}" for c in candidates[:_MAX_CANDIDATES]]
    return ResolvedReference(reference, Resolution.AMBIGUOUS, candidates=tuple(handles))


def _words(text: str) -> frozenset[str]:
    """The words of a text in lower case that may say what it is about."""
    parts = _WORDS.findall(text.replace("_", " "))
    return frozenset(part.lower() for part in parts) - _COMMON_WORDS


def _current_first(candidates: list[_Candidate], specifications: Mapping[str, FormatSpecification]) -> list[_Candidate]:
    """The candidates of specifications that hold now, or else all of them."""
    current = [c for c in candidates if specifications[c.owner].state is not SpecState.PROPOSED]
    return current or candidates


def _shown(reference: NaturalReference, candidate: _Candidate) -> str:
    return candidate.keys[0] if len(candidate.keys) == 1 else reference.key


def _without_prefix(spelling: str) -> str:
    found = _PREFIX.match(spelling)
    return spelling[found.end() :] if found is not None else spelling


def _folded(name: str) -> str:
    return " ".join(name.lower().split())
