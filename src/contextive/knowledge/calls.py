"""Find the symbols that a file calls."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from contextive.knowledge.receivers import UNKNOWN, Class, Function, Guessed, TypeResolver
from contextive.knowledge.receivers.wrapper_methods import ELEMENT, SAME_COLLECTION, SAME_VALUE
from contextive.knowledge.symbol import Reference, Symbol

_BARE_BY_NAME = frozenset({"python", "ecmascript"})
"""Languages in which a bare name can come from another file without an import that names it: with a wildcard import, or
because all scripts of a page share their names."""
_MIN_METHOD_NAME = 4
"""Shorter names of methods say too little to match by."""
_COMMON_METHODS_TEXT = """
add all any append apply as_ref assert bind call catch clear clone close concat contains copy count default
delete emit encode decode end entries equals every exec exit expect extend fetch fill filter find first flat
flush forEach format from get has hash index indexOf init insert into is_empty items iter join json key keys last
len length lock log lower map match max merge min new next of open parse pop print push put query raise read
reduce remove replace reset resolve reverse round run save search send set setdefault shift size slice some
sort split start startswith endswith stop strip sub sum swap test then toString to_string trim unwrap update
upper value values wait with write zip
"""
_COMMON_METHODS = frozenset(_COMMON_METHODS_TEXT.split()) | SAME_COLLECTION | ELEMENT | SAME_VALUE
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
def resolve_calls(references: Iterable[Reference], resolver: TypeResolver) -> tuple[Call, ...]:
    """The calls in a file, sorted by source and target. Recursive calls are left out.

    The target is found by the type of the receiver, by an import or in the scopes around the call. If that says nothing
    about the receiver, a method counts if it is the only one in the project with its name.
    """
    found: dict[tuple[str | None, str], Call] = {}
    for reference in references:
        if reference.kind != "call":
            continue
        target, by_name = resolve_call(reference, resolver)
        if target is not None and target.id != reference.source:
            call = Call(reference.source, target.id, by_name, reference.line)
            known = found.setdefault((call.source, call.target), call)
            if (call.by_name, call.line) < (known.by_name, known.line):
                found[call.source, call.target] = call
    return tuple(sorted(found.values(), key=lambda call: (call.source or "", call.target)))


def resolve_call(reference: Reference, resolver: TypeResolver) -> tuple[Symbol | None, bool]:
    """The called symbol, and whether it was found by its name alone."""
    qualifier, _, name = reference.name.rpartition(".")
    if not resolver.named(name).declared:
        return None, False
    owner = reference.source.partition("::")[2].partition("#")[0] if reference.source else ""
    receiver = reference.receiver if reference.receiver is not None else qualifier
    if not receiver:
        value = resolver.name(name, owner)
        if value is UNKNOWN and resolver.family in _BARE_BY_NAME:
            return _only_function(name, resolver), True
    else:
        around = resolver.value(receiver, owner)
        value = resolver.member(around, name)
        if around is UNKNOWN and reference.receiver is None and resolver.family == "rust":
            return None, False  # a path into another crate: local variables would have a receiver
        if around is UNKNOWN or (isinstance(around, Guessed) and value is UNKNOWN):
            return _only_method(name, resolver), True
    by_name = isinstance(value, Guessed)
    found = value.value if isinstance(value, Guessed) else value
    return (found.symbol, by_name) if isinstance(found, (Class, Function)) else (None, False)


def calls_of_helper(symbol_id: str, resolver: TypeResolver) -> tuple[Call, ...]:
    """The calls in a symbol of any file. The resolver records what they depend on."""
    helpers = resolver.project.helpers
    known = helpers.get(symbol_id)
    if known is None:
        own = TypeResolver(symbol_id.partition("::")[0], resolver.project)
        references = resolver.project.references_of(symbol_id)
        known = helpers[symbol_id] = (resolve_calls(references, own), own.names)
    resolver.names |= known[1]
    return known[0]


def _only_function(name: str, resolver: TypeResolver) -> Symbol | None:
    """The symbol, if it is the only function or class with that name that the file could see."""
    declared = resolver.visible(name)
    return declared[0][1] if len(declared) == 1 and declared[0][1].kind != "method" else None


def _only_method(name: str, resolver: TypeResolver) -> Symbol | None:
    if name in _COMMON_METHODS or len(name) < _MIN_METHOD_NAME:
        return None
    methods = [symbol for _, symbol in resolver.visible(name) if symbol.kind == "method"]
    return methods[0] if len(methods) == 1 else None
