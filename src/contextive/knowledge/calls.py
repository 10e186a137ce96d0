"""Find the symbols that a file calls."""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Iterable, Mapping, Sequence

from contextive.knowledge.languages import family_of, language_of
from contextive.knowledge.symbol import Reference, Symbol

DeclaredSymbol = tuple[str, Symbol]
"""A symbol with the path of the file that declares it."""

_SELF_NAMES = frozenset({"self", "this", "cls", "Self"})
_FOLDER_PACKAGES = frozenset({"go", "java"})
"""Languages in which a folder is a package, so its files see each other without imports."""
_BARE_METHODS = frozenset({"java", "c family"})
"""Languages in which a method can be called by its bare name."""
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
"""Methods that most projects call on objects of other libraries. A single match in the project proves nothing."""


##= docs/spec/knowledge.md#nodes-and-edges
##% A name MUST be resolved only if it is unambiguous.
def resolve_calls(
    path: str,
    references: Iterable[Reference],
    imported: Collection[str],
    by_name: Mapping[str, Sequence[DeclaredSymbol]],
) -> tuple[tuple[str | None, str], ...]:
    """Sorted pairs of the calling symbol (None for the file itself) and the called symbol.

    `imported` is the result of `resolve_imports`; `by_name` maps bare names to the symbols of the project. The callee
    is searched for in the same file, then in imported files and the same package, then in the whole project. It
    counts only if it is the only candidate there. Recursive calls are left out.
    """
    language = language_of(path)
    if language is None:
        return ()
    family = family_of(language)
    near = set(imported)
    folder = posixpath.dirname(path) if family in _FOLDER_PACKAGES else None
    found: set[tuple[str | None, str]] = set()
    for reference in references:
        if reference.kind != "call":
            continue
        qualifier, _, name = reference.name.rpartition(".")
        declared = [item for item in by_name.get(name, ()) if family_of(item[1].language) == family]
        if not declared:
            continue
        here = [item for item in declared if item[0] == path]
        nearby = [item for item in declared if item[0] in near or _is_in(item[0], folder)]
        target = (
            _choose_visible(here, qualifier, reference.source, family)
            or _choose_visible([item for item in nearby if item[0] != path], qualifier, reference.source, family)
            or _only_in_project(declared, qualifier, name, family)
        )
        if target is not None and target.id != reference.source:
            found.add((reference.source, target.id))
    return tuple(sorted(found, key=lambda pair: (pair[0] or "", pair[1])))


def _is_in(path: str, folder: str | None) -> bool:
    return folder is not None and posixpath.dirname(path) == folder


def _choose_visible(declared: list[DeclaredSymbol], qualifier: str, source: str | None, family: str) -> Symbol | None:
    """The called symbol among those declared in visible files."""
    if not declared:
        return None
    caller = source.partition("::")[2].partition("#")[0] if source else ""
    if qualifier:
        head = qualifier.rpartition(".")[2]
        if qualifier in _SELF_NAMES:
            owner = caller.rpartition(".")[0]
            own = [item for item in declared if item[1].qualified_name.rpartition(".")[0] == owner]
            return _same_symbol(own or [item for item in declared if item[1].kind == "method"])
        in_owner = [item for item in declared if _ends_in(item[1].qualified_name.rpartition(".")[0], head)]
        if in_owner:
            return _same_symbol(in_owner)
        in_file = [item for item in declared if item[1].kind != "method" and head in _file_names(item[0])]
        return _same_symbol(in_file or [item for item in declared if item[1].kind == "method"])
    visible = [item for item in declared if item[1].kind != "method" or family in _BARE_METHODS]
    if len(visible) > 1:
        # The innermost scope around the caller wins.
        depths = [_scope_depth(item[1].qualified_name.rpartition(".")[0], caller) for item in visible]
        visible = [item for item, depth in zip(visible, depths, strict=True) if depth == max(depths)]
    return _same_symbol(visible)


def _only_in_project(declared: list[DeclaredSymbol], qualifier: str, name: str, family: str) -> Symbol | None:
    """The symbol, if it is the only one in the project with that name and its kind fits the call."""
    if len(declared) != 1:
        return None
    path, symbol = declared[0]
    if not qualifier:
        return symbol if symbol.kind != "method" or family in _BARE_METHODS else None
    head = qualifier.rpartition(".")[2]
    if _ends_in(symbol.qualified_name.rpartition(".")[0], head):
        return symbol
    if symbol.kind == "method":
        return symbol if name not in _COMMON_METHODS and qualifier not in _SELF_NAMES else None
    return symbol if head in _file_names(path) else None


def _same_symbol(declared: Sequence[DeclaredSymbol]) -> Symbol | None:
    """The first declaration, if all of them declare the same symbol (overloads, branches)."""
    if not declared:
        return None
    first = declared[0]
    same = all(item[0] == first[0] and item[1].qualified_name == first[1].qualified_name for item in declared)
    return min((item[1] for item in declared), key=lambda symbol: symbol.line_start) if same else None


def _ends_in(dotted: str, name: str) -> bool:
    return dotted == name or dotted.endswith(f".{name}")


def _file_names(path: str) -> tuple[str, str]:
    folder, name = posixpath.split(path)
    return name.partition(".")[0], posixpath.basename(folder)


def _scope_depth(scope: str, caller: str) -> int:
    """The depth of a scope that contains the caller, or -1 if it does not."""
    if not scope:
        return 0
    return scope.count(".") + 1 if caller == scope or caller.startswith(f"{scope}.") else -1
