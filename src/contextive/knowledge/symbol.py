"""Names that code declares, and names that it uses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

SymbolKind = Literal["class", "function", "method", "interface", "type", "module"]
SYMBOL_KINDS: tuple[SymbolKind, ...] = get_args(SymbolKind)
ReferenceKind = Literal["import", "call", "mention", "link"]


@dataclass(frozen=True, slots=True)
class Symbol:
    """A declared name. Its id is `<path>::<qualified name>`, with `#2`, `#3` behind a name that is declared again."""

    id: str
    name: str
    qualified_name: str
    kind: SymbolKind
    language: str
    line_start: int
    line_end: int


@dataclass(frozen=True, slots=True)
class Reference:
    """A name that a file uses and that may be declared in another one. `kind` says how it is used."""

    kind: ReferenceKind
    name: str
    """Dotted name or module of an import or call; token of a mention in a test; path or target of a link."""
    line: int
    source: str | None = None
    """Id of the symbol in whose lines the reference stands, where there is one."""
