"""Names that code declares and names that it uses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

SymbolKind = Literal["class", "function", "method", "interface", "type", "module"]
SYMBOL_KINDS: tuple[SymbolKind, ...] = get_args(SymbolKind)
ReferenceKind = Literal["import", "call", "mention", "link"]


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
    """The dotted name or module of an import or call, the token of a mention in a test, or the target of a link."""
    line: int
    source: str | None = None
    """The id of the symbol that contains the reference, if any."""
