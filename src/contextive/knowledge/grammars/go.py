"""Go."""

from __future__ import annotations

import re
from collections.abc import Iterator

from contextive.knowledge.grammars.grammar import Grammar

_VERSION = re.compile(r"v\d+")


def import_names(text: str, _path: str) -> tuple[str, ...]:
    """The path of the package as it is written, without its quotes."""
    name = text.strip('"`')
    return (name,) if name else ()


def imported(text: str, _path: str) -> Iterator[tuple[str, str]]:
    """The name of the package: the last part of its path, without a version."""
    name, _, path = text.rpartition(" ")
    path = path.strip('"`')
    parts = [part for part in path.split("/") if not _VERSION.fullmatch(part)]
    if name == ".":
        yield "*", path
    elif name != "_" and parts:
        yield name.strip() or parts[-1].partition(".")[0], path


_OTHER = (
    "[(type_identifier) (qualified_type) (generic_type) (pointer_type) (map_type) (slice_type) (array_type)"
    " (function_type) (channel_type) (parenthesized_type)]"
)

_RESULT = "result: [(type_identifier) (pointer_type) (qualified_type) (slice_type) (map_type) (generic_type)] @t"
_RESULTS = "result: (parameter_list . (parameter_declaration type: (_) @t))"

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
        ("alias", "(import_spec) @n"),
        ("closure", "(func_literal) @d"),
        ("value", "(parameter_declaration name: (identifier) @n type: (_) @t)"),
        ("unknown", "(variadic_parameter_declaration name: (identifier) @n)"),
        (
            "value",
            "(short_var_declaration left: (expression_list . (identifier) @n) right: (expression_list . (_) @v))",
        ),
        ("unknown", "(short_var_declaration left: (expression_list (_) . (identifier) @n))"),
        ("value", "(var_spec name: (identifier) @n type: (_) @t)"),
        ("value", "(var_spec name: (identifier) @n !type value: (expression_list . (_) @v))"),
        ("element", "(range_clause left: (expression_list (_) . (identifier) @n) right: (_) @v)"),
        ("unknown", "(type_switch_statement alias: (expression_list (identifier) @n))"),
        ("field", "(field_declaration name: (field_identifier) @n type: (_) @t)"),
        (
            "base",
            "[(field_declaration !name type: (_) @t) (interface_type (type_elem (_) @t)) (type_alias type: (_) @t)]",
        ),
        ("result", f"[(function_declaration {_RESULT}) (method_declaration {_RESULT}) (method_elem {_RESULT})]"),
        ("result", f"[(function_declaration {_RESULTS}) (method_declaration {_RESULTS}) (method_elem {_RESULTS})]"),
        ("typevar", "(type_parameter_declaration name: (identifier) @n type: (_) @t)"),
    ),
    non_code="[(interpreted_string_literal) (raw_string_literal) (rune_literal) (comment)] @q",
    import_names=import_names,
    imported=imported,
)
