"""Where a symbol is defined, called and tested."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

from contextive.errors import NotFound
from contextive.knowledge.classification import artifact_type_of
from contextive.knowledge.exercised_symbols import is_test_symbol
from contextive.knowledge.graph import Edge
from contextive.knowledge.node_ids import node_id
from contextive.knowledge.resolved_links import is_name_of
from contextive.knowledge.support_code import is_product_code
from contextive.knowledge.symbol import Symbol
from contextive.store.protocol import Store

UsageKind = Literal["call", "test"]
MAX_USAGES: Final = 1_000
_MAX_SIMILAR = 5
_SEPARATOR = re.compile(r"::|->|#")


@dataclass(frozen=True, slots=True)
class Definition:
    """A symbol that a name may mean. Overloads and repeated declarations in one file are one definition."""

    path: str
    symbols: tuple[Symbol, ...]
    is_exact: bool
    """Whether the name is the id or the qualified name of the symbol, not only the end of it."""

    @property
    def symbol(self) -> Symbol:
        return self.symbols[0]


@dataclass(frozen=True, slots=True, order=True)
class Usage:
    """A place where a symbol is used."""

    kind: UsageKind
    by_name: bool
    """Whether it was found by the name of the symbol alone."""
    path: str
    line: int
    symbol: str | None
    """The qualified name of the function or class around it; None for the file itself."""


@dataclass(frozen=True, slots=True)
class FoundDefinitions:
    """What a name means: one definition, or several candidates."""

    chosen: Definition | None
    others: tuple[Definition, ...]


class UsageFinder:
    """Finds usages in the index of one store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    ##= docs/spec/knowledge.md#find-usages
    ##% A name that several symbols have MUST be answered with these candidates, unless only one of them is product code.
    def definitions(self, name: str, path: str | None = None) -> FoundDefinitions:
        """The definitions that an id, a qualified name or a bare name means, those in `path` if it is given."""
        found = self._grouped(name.strip(), path)
        if not found:
            raise NotFound(
                f"There is no symbol {_short(name)}{f' in {_short(path)}' if path else ''}.", hint=self._hint(name)
            )
        exact = [definition for definition in found if definition.is_exact]
        preferred = exact or found
        if len(preferred) > 1:
            product = [definition for definition in preferred if _is_product(definition.path)]
            preferred = product or preferred
        chosen = preferred[0] if len(preferred) == 1 else None
        return FoundDefinitions(chosen, tuple(definition for definition in found if definition is not chosen))

    def usages(self, definition: Definition) -> tuple[Usage, ...]:
        """The calls and tests of a symbol, at most MAX_USAGES: calls first, exact ones before those found by name."""
        ids = [node_id("Symbol", symbol.id) for symbol in definition.symbols]
        edges = self._store.graph.expand(ids, ("CALLS", "EXERCISES"), "incoming", MAX_USAGES)
        calls = [edge for edge in edges if edge.type == "CALLS"]
        usages = {self._call(edge, definition) for edge in calls}
        calling = {usage.path for usage in usages if usage.kind == "test"}
        for edge in edges:
            path = edge.source.partition(":")[2]
            if edge.type == "EXERCISES" and path not in calling:
                usages.add(self._exercise(path, edge, definition))
        return tuple(sorted(usages, key=lambda usage: (usage.kind, usage.by_name, usage.path, usage.line)))

    def _grouped(self, name: str, path: str | None) -> list[Definition]:
        """The definitions with this name, product code first."""
        groups: dict[tuple[str, str], list[Symbol]] = {}
        wanted = name.removeprefix("Symbol:")
        declared: Iterable[tuple[str, Symbol]]
        by_id = self._store.files.symbol(wanted)
        if by_id is not None:
            file, dotted = by_id.id.partition("::")[0], by_id.qualified_name
            declared = ((file, symbol) for _, symbol in self._store.files.symbols(file))
        else:
            dotted = _SEPARATOR.sub(".", wanted.removesuffix("()"))
            declared = self._store.files.symbols_named([dotted.rpartition(".")[2]])
        for file, symbol in declared:
            if (symbol.qualified_name == dotted if by_id else is_name_of(dotted, file, symbol)) and _is_in(file, path):
                groups.setdefault((file, symbol.qualified_name), []).append(symbol)
        found = [
            Definition(file, tuple(sorted(those, key=lambda symbol: symbol.line_start)), qualified == dotted)
            for (file, qualified), those in groups.items()
        ]
        return sorted(found, key=lambda one: (not _is_product(one.path), one.path, one.symbol.line_start))

    def _hint(self, name: str) -> str:
        last = _SEPARATOR.sub(".", name.removesuffix("()")).rpartition(".")[2]
        similar = self._store.graph.find_nodes(last, ("Symbol",), _MAX_SIMILAR) if last else ()
        if similar:
            return f"Similar: {', '.join(found.node.key for found in similar)}."
        return "Names are case-sensitive; find them with km-search."

    def _call(self, edge: Edge, definition: Definition) -> Usage:
        label, _, key = edge.source.partition(":")
        path = key.partition("::")[0] if label == "Symbol" else key
        caller = self._store.files.symbol(key) if label == "Symbol" else None
        is_test = is_test_symbol(key)
        line = edge.line or (caller.line_start if caller else definition.symbol.line_start)
        return Usage("test" if is_test else "call", edge.by_name, path, line, caller.qualified_name if caller else None)

    def _exercise(self, path: str, edge: Edge, definition: Definition) -> Usage:
        """A test that uses the symbol through a helper, or only mentions its name."""
        line = edge.line or self._first_mention(path, definition.symbol.name)
        around = _around(line, (symbol for _, symbol in self._store.files.symbols(path)))
        return Usage("test", edge.by_name, path, line, around)

    def _first_mention(self, path: str, name: str) -> int:
        references = self._store.files.references(path)
        return min((ref.line for ref in references if ref.name.rpartition(".")[2] == name), default=1)


def _around(line: int, symbols: Iterable[Symbol]) -> str | None:
    """The qualified name of the innermost symbol around a line."""
    inside = [symbol for symbol in symbols if symbol.line_start <= line <= symbol.line_end]
    return max(inside, key=lambda symbol: symbol.line_start).qualified_name if inside else None


def _is_in(file: str, path: str | None) -> bool:
    if path is None:
        return True
    wanted = path.removeprefix("./").strip("/")
    return file == wanted or file.startswith(f"{wanted}/") or file.endswith(f"/{wanted}")


def _is_product(path: str) -> bool:
    return artifact_type_of(path) in ("code", "proto") and is_product_code(path)


def _short(text: str) -> str:
    return repr(text if len(text) <= 120 else text[:117] + "…")
