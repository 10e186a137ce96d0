"""Tell the symbols that other code can use from those that are private to their file, class or package."""

from __future__ import annotations

import re
from collections.abc import Collection

from contextive.knowledge.symbol import Symbol

DECLARATION_LINES = 4
"""The lines of a declaration that may have its modifiers."""
_PUBLIC_IN_RUST = re.compile(r"\bpub\s+(?!\()")
_EXPORTED = re.compile(r"\bexport\b")
_PRIVATE = re.compile(r"\bprivate\b|\bprotected\b")
_STATIC = re.compile(r"\bstatic\b")
_FUNCTIONS = frozenset({"function", "method"})


def is_hidden(symbol: Symbol, functions: Collection[str], declaration: str) -> bool:
    """Whether a symbol is private by its name, its place or its modifiers.

    `functions` are the qualified names of the functions in its file; what they contain is local. `declaration` are the
    first lines of the symbol.
    """
    outer = symbol.qualified_name
    while outer := outer.rpartition(".")[0]:
        if outer in functions:
            return True
    head = re.split(r"[{;=]", declaration, maxsplit=1)[0]
    match symbol.language:
        case "python":
            return any(part.startswith("_") for part in symbol.qualified_name.split("."))
        case "go":
            return not symbol.name[:1].isupper()
        case "rust":
            return _PUBLIC_IN_RUST.search(head) is None
        case "typescript" | "tsx":
            if symbol.kind == "method":
                return symbol.name.startswith(("_", "#")) or _PRIVATE.search(head) is not None
            return _EXPORTED.search(head) is None
        case "java":
            return _PRIVATE.search(head) is not None
        case "c" | "cpp":
            return symbol.kind == "function" and _STATIC.search(head) is not None
        case _:
            return symbol.name.startswith(("_", "#"))


def function_names(symbols: Collection[Symbol]) -> frozenset[str]:
    """The qualified names of the functions and methods of a file."""
    return frozenset(symbol.qualified_name for symbol in symbols if symbol.kind in _FUNCTIONS)
