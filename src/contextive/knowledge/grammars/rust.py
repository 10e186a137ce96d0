"""Rust."""

from __future__ import annotations

import re

from contextive.knowledge.grammars.grammar import Grammar

_SIGN = re.compile(r"[{},]|\*|\w+")
_ALIAS = re.compile(r"(?<!\s)\s++as\s++\w++")
_MOST = 200
"""Parts of one path, and leaves of one tree."""


def import_names(text: str, _path: str) -> tuple[str, ...]:
    """Dotted paths, with every beginning of each: `crate::a::{b, c}` gives `crate`, `crate.a`, `crate.a.b` and `crate.a.c`.

    Any beginning may be the file that is meant. `mod name;` arrives as a bare word and gives `self.name`.
    """
    if text.isidentifier():
        return (f"self.{text}",)
    beginnings: dict[str, None] = {}
    for leaf in _leaves(text):
        parts = leaf.split(".")
        beginnings.update((".".join(parts[:count]), None) for count in range(1, len(parts) + 1))
    return tuple(beginnings)


def _leaves(text: str) -> list[str]:
    prefixes: list[list[str]] = [[]]
    current: list[str] = []
    found: list[str] = []
    for sign in _SIGN.findall(_ALIAS.sub("", text)):
        if sign == "{":
            prefixes.append(current)
            current = list(current)
        elif sign in (",", "}"):
            if len(current) > len(prefixes[-1]):
                found.append(".".join(current))
            if sign == "}" and len(prefixes) > 1:
                prefixes.pop()
                current = []  # what stands behind a group belongs to nobody
            else:
                current = list(prefixes[-1])
        elif not (sign == "self" and current):
            current.append(sign)
        elif len(current) == len(prefixes[-1]):
            found.append(".".join(current))  # `a::{self}` is `a`
        if len(current) > _MOST or len(found) > _MOST:
            break
    if current and len(current) > len(prefixes[-1]):
        found.append(".".join(current))
    return found


RUST = Grammar(
    language="rust",
    package="tree_sitter_rust",
    patterns=(
        ("class", "[(struct_item) (union_item)] @d"),
        ("type", "[(enum_item) (type_item)] @d"),
        ("interface", "(trait_item) @d"),
        ("function", "[(function_item) (function_signature_item) (macro_definition)] @d"),
        ("body", "(impl_item type: (_) @n) @d"),
        ("space", "(mod_item name: (_) @n body: (_)) @d"),
        ("call", "(call_expression function: (_) @n)"),
        ("import", "(use_declaration argument: (_) @n)"),
        ("import", "(mod_item name: (_) @n !body)"),
    ),
    non_code="[(string_literal) (raw_string_literal) (char_literal) (line_comment) (block_comment)] @q",
    import_names=import_names,
)
