"""TypeScript, TSX and JavaScript."""

from __future__ import annotations

from contextive.knowledge.grammars.grammar import Grammar, Role

_FUNCTION = "[(arrow_function) (function_expression) (generator_function)]"
_ASSIGNED = f"(variable_declarator name: (identifier) @n value: {_FUNCTION}) @d"
_VARIABLE = f"[(lexical_declaration {_ASSIGNED}) (variable_declaration {_ASSIGNED})]"
_NAMES = "[(property_identifier) (private_property_identifier)] @n"


def import_names(text: str, _path: str) -> tuple[str, ...]:
    """The module as it is written, without its quotes."""
    name = text.strip("'\"`")
    return (name,) if name else ()


_SHARED: tuple[tuple[Role, str], ...] = (
    ("function", "[(function_declaration) (generator_function_declaration)] @d"),
    ("function", f"(program {_VARIABLE})"),
    ("function", f"(program (export_statement {_VARIABLE}))"),
    (
        "function",
        (
            f"(program (expression_statement (assignment_expression left: (member_expression object: (_) @o property: {_NAMES})"
            f" right: {_FUNCTION}) @d))"
        ),
    ),
    ("method", f"(class_body (method_definition name: {_NAMES}) @d)"),
    ("call", "(call_expression function: (_) @n)"),
    ("call", "(new_expression constructor: (_) @n)"),
    ("import", "(import_statement source: (string) @n)"),
    ("import", "(export_statement source: (string) @n)"),
    (
        "import",
        (
            "((call_expression function: [(identifier) (import)] @f arguments: (arguments . (string) @n))"
            ' (#any-of? @f "require" "import"))'
        ),
    ),
)
_MARKUP: tuple[tuple[Role, str], ...] = (
    ("call", '([(jsx_self_closing_element name: (_) @n) (jsx_opening_element name: (_) @n)] (#match? @n "^[A-Z]"))'),
)
_TYPED: tuple[tuple[Role, str], ...] = (
    ("class", "[(class_declaration) (abstract_class_declaration)] @d"),
    ("interface", "(interface_declaration) @d"),
    ("type", "[(type_alias_declaration) (enum_declaration)] @d"),
    ("space", "(internal_module name: [(identifier) (nested_identifier)] @n) @d"),
    ("space", "(module name: (identifier) @n) @d"),
    ("function", "(function_signature) @d"),
    ("function", f"(internal_module body: (statement_block [{_VARIABLE} (export_statement {_VARIABLE})]))"),
    ("method", f"[(method_signature name: {_NAMES}) (abstract_method_signature name: {_NAMES})] @d"),
    ("method", f"(class_body (public_field_definition name: {_NAMES} value: {_FUNCTION}) @d)"),
    ("wrapper", "(export_statement (decorator)) @d"),
)
_UNTYPED: tuple[tuple[Role, str], ...] = (
    ("class", "(class_declaration) @d"),
    ("method", f"(class_body (field_definition property: {_NAMES} value: {_FUNCTION}) @d)"),
)
_NON_CODE = "[(string) (template_string) (comment) (regex)] @q"

TYPESCRIPT = Grammar(
    language="typescript",
    package="tree_sitter_typescript",
    loader="language_typescript",
    patterns=_SHARED + _TYPED,
    non_code=_NON_CODE,
    import_names=import_names,
)
TSX = Grammar(
    language="tsx",
    package="tree_sitter_typescript",
    loader="language_tsx",
    patterns=_SHARED + _TYPED + _MARKUP,
    non_code=_NON_CODE,
    import_names=import_names,
)
JAVASCRIPT = Grammar(
    language="javascript",
    package="tree_sitter_javascript",
    patterns=_SHARED + _UNTYPED + _MARKUP,
    non_code=_NON_CODE,
    import_names=import_names,
)
