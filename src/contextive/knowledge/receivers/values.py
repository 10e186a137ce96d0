"""The values that an expression can have, as far as the code of a project says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from contextive.knowledge.symbol import Symbol

CLASS_KINDS: Final = frozenset({"class", "interface", "type"})
MAX_DEPTH: Final = 7
"""The limit of hints that lead from one to the next. It also ends circular ones."""
MAX_PACKAGE_FILES: Final = 60
"""The limit of files of a package in which a name is looked up."""


@dataclass(frozen=True, slots=True)
class Module:
    """A module or package: its files, and its name as the file at `importer` wrote it."""

    files: tuple[str, ...]
    name: str
    importer: str


@dataclass(frozen=True, slots=True)
class Class:
    path: str
    symbol: Symbol


@dataclass(frozen=True, slots=True)
class Instance:
    cls: Class


@dataclass(frozen=True, slots=True)
class Super:
    """An instance that is seen as one of its base classes."""

    cls: Class


@dataclass(frozen=True, slots=True)
class Function:
    path: str
    symbol: Symbol
    receiver: Class | None = None


@dataclass(frozen=True, slots=True)
class Collection:
    element: Value


@dataclass(frozen=True, slots=True)
class Wrapped:
    """A value in a generic type of the project."""

    outer: Class
    inner: Value


@dataclass(frozen=True, slots=True)
class Returning:
    """A method that does not belong to the project, but returns a value that does."""

    value: Value


@dataclass(frozen=True, slots=True)
class Opaque:
    """A value of which nothing is known, except perhaps that it does not come from the project."""

    is_external: bool


@dataclass(frozen=True, slots=True)
class Guessed:
    """A value that was found only because a parameter has the name of its class."""

    value: Value


Value = Module | Class | Instance | Super | Function | Collection | Wrapped | Returning | Opaque | Guessed
UNKNOWN: Final = Opaque(is_external=False)
EXTERNAL: Final = Opaque(is_external=True)


def guessed(value: Value) -> Value:
    """A value that depends on a guess. If nothing is known about it, the guess was wrong."""
    if isinstance(value, Opaque):
        return UNKNOWN
    return value if isinstance(value, Guessed) else Guessed(value)


def value_of(path: str, symbol: Symbol, receiver: Class | None = None) -> Class | Function:
    """The value of the name of a symbol. A method keeps the class through which it was reached."""
    if symbol.kind in CLASS_KINDS:
        return Class(path, symbol)
    return Function(path, symbol, receiver)
