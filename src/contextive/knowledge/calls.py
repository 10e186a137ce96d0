"""Find the symbols that a file calls."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from contextive.knowledge.classification import is_test_path
from contextive.knowledge.expressions import EXTERNAL
from contextive.knowledge.languages import family_of
from contextive.knowledge.project_names import DeclaredSymbol
from contextive.knowledge.receivers import UNKNOWN, Class, Function, TypeResolver
from contextive.knowledge.symbol import Reference, Symbol

_BARE_BY_NAME = frozenset({"python", "ecmascript"})
"""Languages in which a bare name can come from another file without an import that names it: with a wildcard import, or
because all scripts of a page share their names."""
_MIN_METHOD_NAME = 4
"""Shorter names of methods say too little to match by."""
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


@dataclass(frozen=True, slots=True)
class Call:
    """A resolved call, or several calls of the same symbol from the same place."""

    source: str | None
    """The id of the calling symbol; None for the file itself."""
    target: str
    """The id of the called symbol."""
    by_name: bool = False
    """Whether the target was found only because no other symbol of the project has its name."""
    line: int = 0
    """The line of the first call."""


##= docs/spec/knowledge.md#nodes-and-edges
##% A name MUST be resolved only if it is unambiguous.
def resolve_calls(path: str, references: Iterable[Reference], resolver: TypeResolver) -> tuple[Call, ...]:
    """The calls in a file, sorted by source and target. Recursive calls are left out.

    The target is found by the type of the receiver, by an import or in the scopes around the call. If that says nothing
    about the receiver, a method counts if it is the only one in the project with its name.
    """
    found: dict[tuple[str | None, str], Call] = {}
    for reference in references:
        if reference.kind != "call":
            continue
        target, by_name = resolve_call(path, reference, resolver)
        if target is not None and target.id != reference.source:
            call = Call(reference.source, target.id, by_name, reference.line)
            known = found.setdefault((call.source, call.target), call)
            if (call.by_name, call.line) < (known.by_name, known.line):
                found[call.source, call.target] = call
    return tuple(sorted(found.values(), key=lambda call: (call.source or "", call.target)))


def resolve_call(path: str, reference: Reference, resolver: TypeResolver) -> tuple[Symbol | None, bool]:
    """The called symbol, and whether it was found by its name alone."""
    qualifier, _, name = reference.name.rpartition(".")
    if not resolver.named(name).declared:
        return None, False
    owner = reference.source.partition("::")[2].partition("#")[0] if reference.source else ""
    receiver = reference.receiver if reference.receiver is not None else qualifier
    if not receiver:
        value = resolver.name(name, owner)
        if value is UNKNOWN and resolver.family in _BARE_BY_NAME:
            return _only_function(path, name, resolver), True
    else:
        around = UNKNOWN if receiver == EXTERNAL else resolver.value(receiver, owner)
        if around is UNKNOWN and receiver != EXTERNAL:
            return _only_method(path, name, resolver), True
        value = resolver.member(around, name)
    return (value.symbol, False) if isinstance(value, (Class, Function)) else (None, False)


def calls_of_helper(symbol_id: str, resolver: TypeResolver) -> tuple[Call, ...]:
    """The calls in a symbol of any file. The resolver records what they depend on."""
    helpers = resolver.project.helpers
    known = helpers.get(symbol_id)
    if known is None:
        own = TypeResolver(symbol_id.partition("::")[0], resolver.project)
        references = resolver.project.references_of(symbol_id)
        known = helpers[symbol_id] = (resolve_calls(own.path, references, own), own.names)
    resolver.names |= known[1]
    return known[0]


def _only_function(path: str, name: str, resolver: TypeResolver) -> Symbol | None:
    """The symbol, if it is the only function or class with that name that the file could see."""
    declared = _visible(path, name, resolver)
    return declared[0][1] if len(declared) == 1 and declared[0][1].kind != "method" else None


def _only_method(path: str, name: str, resolver: TypeResolver) -> Symbol | None:
    if name in _COMMON_METHODS or len(name) < _MIN_METHOD_NAME:
        return None
    declared = _visible(path, name, resolver)
    return declared[0][1] if len(declared) == 1 and declared[0][1].kind == "method" else None


def _visible(path: str, name: str, resolver: TypeResolver) -> list[DeclaredSymbol]:
    """The symbols with this name that a file could call: code does not call what only tests declare."""
    declared = [item for item in resolver.named(name).declared if family_of(item[1].language) == resolver.family]
    if not is_test_path(path):
        declared = [item for item in declared if not is_test_path(item[0])]
    return declared
