"""Rust."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from contextive.knowledge.grammars.grammar import Grammar

_TOKEN = re.compile(r"[{},]|\*|\w+")
_MAX_PARTS = 200
"""The limit of parts in one path, and of paths in one `use` tree."""


def import_names(text: str, _path: str) -> tuple[str, ...]:
    """Dotted paths and all their prefixes: `crate::a::{b, c}` gives `crate`, `crate.a`, `crate.a.b` and `crate.a.c`.

    Any prefix may be the imported file. The text of `mod name;` is the bare name; it gives `self.name`.
    """
    if text.isidentifier():
        return (f"self.{text}",)
    prefixes: dict[str, None] = {}
    for leaf, _ in _leaves(text):
        parts = leaf.split(".")
        prefixes.update((".".join(parts[:count]), None) for count in range(1, len(parts) + 1))
    return tuple(prefixes)


def imported(text: str, _path: str) -> Iterator[tuple[str, str]]:
    """Each used name with its dotted path. `use a::*` gives the name `*` for `a`."""
    if text.isidentifier():
        yield text, f"self.{text}"
        return
    for leaf, alias in _leaves(text):
        module, _, name = leaf.rpartition(".")
        yield ("*", module) if name == "*" else (alias or name, leaf)


@lru_cache(maxsize=256)
def _leaves(text: str) -> tuple[tuple[str, str], ...]:
    """The dotted paths in a `use` tree, each with its alias or an empty text."""
    prefixes: list[list[str]] = [[]]
    current: list[str] = []
    found: list[tuple[str, str]] = []
    tokens = iter(_TOKEN.findall(text))
    for item in tokens:
        if item == "{":
            prefixes.append(current)
            current = list(current)
        elif item in (",", "}"):
            if len(current) > len(prefixes[-1]):
                found.append((".".join(current), ""))
            if item == "}" and len(prefixes) > 1:
                prefixes.pop()
                current = []  # nothing can follow a group
            else:
                current = list(prefixes[-1])
        elif item == "as" and current:
            found.append((".".join(current), next(tokens, "")))
            current = list(prefixes[-1])
        elif not (item == "self" and current):
            current.append(item)
        elif len(current) == len(prefixes[-1]):
            found.append((".".join(current), ""))  # `a::{self}` is `a`
        if len(current) > _MAX_PARTS or len(found) > _MAX_PARTS:
            break
    if current and len(current) > len(prefixes[-1]):
        found.append((".".join(current), ""))
    return tuple(found)


_PAYLOAD = "(tuple_struct_pattern type: (identifier) @w . (identifier) @n)"
"""The value in `Some(value)` or `Ok(value)`. Types are written without Option and Result, so it is the whole value."""

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
        ("macro_call", "(token_tree (identifier) @n . (token_tree) @a)"),
        ("import", "(use_declaration argument: (_) @n)"),
        ("import", "(mod_item name: (_) @n !body)"),
        ("closure", "(closure_expression) @d"),
        ("value", "(let_declaration pattern: (identifier) @n type: (_) @t)"),
        ("value", "(parameter pattern: (identifier) @n type: (_) @t)"),
        ("value", "(let_declaration pattern: (identifier) @n !type value: (_) @v)"),
        ("value", "(const_item name: (_) @n type: (_) @t)"),
        ("value", "(static_item name: (_) @n type: (_) @t)"),
        ("value", f'((let_condition pattern: {_PAYLOAD} value: (_) @v) (#any-of? @w "Some" "Ok"))'),
        ("value", f'((let_declaration pattern: {_PAYLOAD} value: (_) @v) (#any-of? @w "Some" "Ok"))'),
        (
            "value",
            (
                f"((match_expression value: (_) @v body: (match_block (match_arm pattern: (match_pattern {_PAYLOAD})) @s))"
                ' (#any-of? @w "Some" "Ok"))'
            ),
        ),
        ("parameter", "(closure_parameters (identifier) @n)"),
        ("unknown", '((tuple_struct_pattern type: (_) @w (identifier) @n) (#not-any-of? @w "Some" "Ok"))'),
        ("unknown", "(tuple_pattern (identifier) @n)"),
        ("unknown", "(struct_pattern (field_pattern name: (shorthand_field_identifier) @n))"),
        ("unknown", "(field_pattern pattern: (identifier) @n)"),
        ("element", "(for_expression pattern: (identifier) @n value: (_) @v)"),
        ("field", "(field_declaration name: (_) @n type: (_) @t)"),
        ("first_field", "(struct_item body: (ordered_field_declaration_list . (visibility_modifier)? . type: (_) @t))"),
        ("base", "[(impl_item trait: (_) @t) (trait_item bounds: (trait_bounds (_) @t)) (type_item type: (_) @t)]"),
        ("result", "[(function_item return_type: (_) @t) (function_signature_item return_type: (_) @t)]"),
        ("typevar", "(type_parameter name: (_) @n bounds: (trait_bounds . (_) @t)?)"),
        ("typevar", "(where_predicate left: (type_identifier) @n bounds: (trait_bounds . (_) @t))"),
    ),
    non_code="[(string_literal) (raw_string_literal) (char_literal) (line_comment) (block_comment)] @q",
    import_names=import_names,
    imported=imported,
)
