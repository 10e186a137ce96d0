"""Rust."""

from __future__ import annotations

import re

from contextive.knowledge.grammars.grammar import Grammar

_TOKEN = re.compile(r"[{},]|\*|\w+")
_ALIAS = re.compile(r"(?<!\s)\s++as\s++\w++")
_MAX_PARTS = 200
"""The limit of parts in one path, and of paths in one `use` tree."""


def import_names(text: str, _path: str) -> tuple[str, ...]:
    """Dotted paths and all their prefixes: `crate::a::{b, c}` gives `crate`, `crate.a`, `crate.a.b` and `crate.a.c`.

    Any prefix may be the imported file. The text of `mod name;` is the bare name; it gives `self.name`.
    """
    if text.isidentifier():
        return (f"self.{text}",)
    prefixes: dict[str, None] = {}
    for leaf in _leaves(text):
        parts = leaf.split(".")
        prefixes.update((".".join(parts[:count]), None) for count in range(1, len(parts) + 1))
    return tuple(prefixes)


def _leaves(text: str) -> list[str]:
    prefixes: list[list[str]] = [[]]
    current: list[str] = []
    found: list[str] = []
    for item in _TOKEN.findall(_ALIAS.sub("", text)):
        if item == "{":
            prefixes.append(current)
            current = list(current)
        elif item in (",", "}"):
            if len(current) > len(prefixes[-1]):
                found.append(".".join(current))
            if item == "}" and len(prefixes) > 1:
                prefixes.pop()
                current = []  # nothing can follow a group
            else:
                current = list(prefixes[-1])
        elif not (item == "self" and current):
            current.append(item)
        elif len(current) == len(prefixes[-1]):
            found.append(".".join(current))  # `a::{self}` is `a`
        if len(current) > _MAX_PARTS or len(found) > _MAX_PARTS:
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
