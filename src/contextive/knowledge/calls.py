"""Which symbols a file calls."""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Iterable, Mapping, Sequence

from contextive.knowledge.languages import family_of, language_of
from contextive.knowledge.symbol import Reference, Symbol

DeclaredSymbol = tuple[str, Symbol]
"""A symbol with the path of the file that declares it."""

_SELF_NAMES = frozenset({"self", "this", "cls", "Self"})
_PACKAGED = frozenset({"go", "java"})
"""Languages in which a folder is a package, whose files see each other without an import."""
_BARE_METHODS = frozenset({"java", "c family"})
"""Languages in which a method can be called by its name alone."""
_COMMON_METHODS_TEXT = """
add all any append apply as_ref assert bind call catch clear clone close concat contains copy count default
delete emit encode decode end entries equals every exec exit expect extend fetch fill filter find first flat
flush forEach format from get has hash index indexOf init insert into is_empty items iter join key keys last
len length lock log lower map match max merge min new next of open parse pop print push put query raise read
reduce remove replace reset resolve reverse round run save search send set setdefault shift size slice some
sort split start startswith endswith stop strip sub sum swap test then toString to_string trim unwrap update
upper value values wait with write zip
"""
_COMMON_METHODS = frozenset(_COMMON_METHODS_TEXT.split())
"""Methods that most projects call on things of others. Being the only one of that name here proves nothing."""


##= docs/spec/knowledge.md#nodes-and-edges
##% A name MUST be resolved only if it is unambiguous.
def resolve_calls(
    path: str,
    references: Iterable[Reference],
    imported: Collection[str],
    by_name: Mapping[str, Sequence[DeclaredSymbol]],
) -> tuple[tuple[str | None, str], ...]:
    """Pairs of the symbol that calls (None for the file itself) and the symbol that is called, sorted.

    `imported` is what `resolve_imports` gave, `by_name` has the symbols of the project by their bare name. A callee is looked for
    in the same file, then in imported files and the same package, and last in the whole project; in each place it counts only
    when there is no other choice. A symbol that calls itself is left out.
    """
    language = language_of(path)
    if language is None:
        return ()
    family = family_of(language)
    near = set(imported)
    folder = posixpath.dirname(path) if family in _PACKAGED else None
    found: set[tuple[str | None, str]] = set()
    for reference in references:
        if reference.kind != "call":
            continue
        qualifier, _, name = reference.name.rpartition(".")
        places = [place for place in by_name.get(name, ()) if family_of(place[1].language) == family]
        if not places:
            continue
        here = [place for place in places if place[0] == path]
        nearby = [place for place in places if place[0] in near or _is_in(place[0], folder)]
        target = (
            _choose_visible(here, qualifier, reference.source, family)
            or _choose_visible([place for place in nearby if place[0] != path], qualifier, reference.source, family)
            or _only_in_project(places, qualifier, name, family)
        )
        if target is not None and target.id != reference.source:
            found.add((reference.source, target.id))
    return tuple(sorted(found, key=lambda pair: (pair[0] or "", pair[1])))


def _is_in(path: str, folder: str | None) -> bool:
    return folder is not None and posixpath.dirname(path) == folder


def _choose_visible(places: list[DeclaredSymbol], qualifier: str, source: str | None, family: str) -> Symbol | None:
    """The symbol that a call means among those of files that it can see."""
    if not places:
        return None
    caller = source.partition("::")[2].partition("#")[0] if source else ""
    if qualifier:
        head = qualifier.rpartition(".")[2]
        if qualifier in _SELF_NAMES:
            owner = caller.rpartition(".")[0]
            own = [place for place in places if place[1].qualified_name.rpartition(".")[0] == owner]
            return _same_symbol(own or [place for place in places if place[1].kind == "method"])
        owned = [place for place in places if _ends_in(place[1].qualified_name.rpartition(".")[0], head)]
        if owned:
            return _same_symbol(owned)
        filed = [place for place in places if place[1].kind != "method" and head in _file_names(place[0])]
        return _same_symbol(filed or [place for place in places if place[1].kind == "method"])
    visible = [place for place in places if place[1].kind != "method" or family in _BARE_METHODS]
    if len(visible) > 1:
        # The innermost scope around the caller wins.
        depths = [_scope_depth(place[1].qualified_name.rpartition(".")[0], caller) for place in visible]
        visible = [place for place, depth in zip(visible, depths, strict=True) if depth == max(depths)]
    return _same_symbol(visible)


def _only_in_project(places: list[DeclaredSymbol], qualifier: str, name: str, family: str) -> Symbol | None:
    """The symbol, if it is the only one of the project with that name and the call could be of its kind."""
    if len(places) != 1:
        return None
    path, symbol = places[0]
    if not qualifier:
        return symbol if symbol.kind != "method" or family in _BARE_METHODS else None
    head = qualifier.rpartition(".")[2]
    if _ends_in(symbol.qualified_name.rpartition(".")[0], head):
        return symbol
    if symbol.kind == "method":
        return symbol if name not in _COMMON_METHODS and qualifier not in _SELF_NAMES else None
    return symbol if head in _file_names(path) else None


def _same_symbol(places: Sequence[DeclaredSymbol]) -> Symbol | None:
    """The one symbol. What one file declares several times (overloads, branches) is taken by its first place."""
    if not places:
        return None
    first = places[0]
    same = all(place[0] == first[0] and place[1].qualified_name == first[1].qualified_name for place in places)
    return min((place[1] for place in places), key=lambda symbol: symbol.line_start) if same else None


def _ends_in(dotted: str, name: str) -> bool:
    return dotted == name or dotted.endswith(f".{name}")


def _file_names(path: str) -> tuple[str, str]:
    folder, name = posixpath.split(path)
    return name.partition(".")[0], posixpath.basename(folder)


def _scope_depth(scope: str, caller: str) -> int:
    """How deep a scope is that holds the caller, or -1 for one that does not."""
    if not scope:
        return 0
    return scope.count(".") + 1 if caller == scope or caller.startswith(f"{scope}.") else -1
