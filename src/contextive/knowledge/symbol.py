"""Names that code declares and names that it uses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

SymbolKind = Literal["class", "function", "method", "interface", "type", "module"]
SYMBOL_KINDS: tuple[SymbolKind, ...] = get_args(SymbolKind)
ReferenceKind = Literal["import", "call", "fixture", "mention", "link"]


@dataclass(frozen=True, slots=True)
class Symbol:
    """A declared name. Its id is `<path>::<qualified name>`, with `#2`, `#3` for repeated declarations."""

    id: str
    name: str
    qualified_name: str
    kind: SymbolKind
    language: str
    line_start: int
    line_end: int


@dataclass(frozen=True, slots=True)
class Reference:
    """A name that a file uses and that may be declared in another file. `kind` says how it is used."""

    kind: ReferenceKind
    name: str
    """The dotted name or module of an import or call, the pytest fixture that a parameter asks for, the token of a
    mention in a test, or the target of a link."""
    line: int
    source: str | None = None
    """The id of the symbol that contains the reference, if any."""
    receiver: str | None = None
    """The expression (see `expressions`) on which a call calls its last name; None if it is the rest of `name`."""


def last_part(name: str) -> str:
    """The part of a reference after its last dot or slash, which is its lookup key."""
    return name.rpartition("/")[2].rpartition(".")[2]


HintKind = Literal["value", "base", "result", "import", "package"]


@dataclass(frozen=True, slots=True)
class TypeHint:
    """What a file says about the type or the origin of one of its names."""

    kind: HintKind
    """A value (a field or a variable of the file), a base class, the result of a function, an imported name, or the
    name of the package that a manifest declares."""
    owner: str
    """The qualified name of the class that has the field or the base, or of the function. Empty for the file."""
    name: str
    """The name of the field, variable or import. Empty for bases and results."""
    value: str
    """An expression; for an import, the module and the member, separated by a colon."""
