"""Go."""

from __future__ import annotations

from contextive.knowledge.grammars.grammar import Grammar


def import_names(text: str, _path: str) -> tuple[str, ...]:
    """The path of the package as it is written, without its quotes."""
    name = text.strip('"`')
    return (name,) if name else ()


_OTHER = (
    "[(type_identifier) (qualified_type) (generic_type) (pointer_type) (map_type) (slice_type) (array_type)"
    " (function_type) (channel_type) (parenthesized_type)]"
)

GO = Grammar(
    language="go",
    package="tree_sitter_go",
    patterns=(
        ("function", "(function_declaration) @d"),
        (
            "method",
            (
                "(method_declaration receiver: (parameter_list (parameter_declaration type: (_) @o))"
                " name: (field_identifier) @n) @d"
            ),
        ),
        ("class", "(type_spec name: (_) @n type: (struct_type)) @d"),
        ("interface", "(type_spec name: (_) @n type: (interface_type)) @d"),
        ("type", f"(type_spec name: (_) @n type: {_OTHER}) @d"),
        ("type", "(type_alias name: (_) @n) @d"),
        ("method", "(method_elem name: (_) @n) @d"),
        ("call", "(call_expression function: (_) @n)"),
        ("import", "(import_spec path: (_) @n)"),
    ),
    non_code="[(interpreted_string_literal) (raw_string_literal) (rune_literal) (comment)] @q",
    import_names=import_names,
)
