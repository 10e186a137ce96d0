"""The type hints of one file, indexed by what they are about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from contextive.knowledge.symbol import TypeHint

_Key = TypeVar("_Key")

ALL_MEMBERS = "*"
"""The name of an import that makes all members of a module visible."""


@dataclass(frozen=True, slots=True)
class FileHints:
    """The expressions that a file gives for its names, the first ones first."""

    values: Mapping[tuple[str, str], tuple[str, ...]]
    """By the class (empty for the file) and the name of the field or variable."""
    bases: Mapping[str, tuple[str, ...]]
    """By class."""
    results: Mapping[str, tuple[str, ...]]
    """By function."""
    imports: Mapping[str, tuple[str, ...]]
    """The origins of imported names."""

    @classmethod
    def of(cls, hints: Iterable[TypeHint]) -> FileHints:
        values: dict[tuple[str, str], list[str]] = {}
        bases: dict[str, list[str]] = {}
        results: dict[str, list[str]] = {}
        imports: dict[str, list[str]] = {}
        for hint in hints:
            match hint.kind:
                case "value":
                    values.setdefault((hint.owner, hint.name), []).append(hint.value)
                case "base":
                    bases.setdefault(hint.owner, []).append(hint.value)
                case "result":
                    results.setdefault(hint.owner, []).append(hint.value)
                case "import":
                    imports.setdefault(hint.name, []).append(hint.value)
                case "package":
                    pass
        return cls(_frozen(values), _frozen(bases), _frozen(results), _frozen(imports))


NO_HINTS = FileHints({}, {}, {}, {})


def changed_names(path: str, before: Iterable[TypeHint], after: Iterable[TypeHint]) -> set[str]:
    """The names whose hints differ: those that other files look up when they depend on such a hint."""
    names: set[str] = set()
    for hint in set(before) ^ set(after):
        if hint.kind == "import" and hint.name == ALL_MEMBERS:
            names.add(all_members_key(path))
        else:
            names.add(hint.name or hint.owner.rpartition(".")[2])
    return names


def all_members_key(path: str) -> str:
    """The name under which a file records that it depends on the imports of all members in another file."""
    return f"{path}:{ALL_MEMBERS}"


def _frozen(lists: Mapping[_Key, list[str]]) -> dict[_Key, tuple[str, ...]]:
    return {key: tuple(values) for key, values in lists.items()}
