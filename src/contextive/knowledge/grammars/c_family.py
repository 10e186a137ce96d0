"""C and C++. Only definitions are symbols; with prototypes every function would be declared twice."""

from __future__ import annotations

from contextive.knowledge.grammars.grammar import Grammar, Role


def import_names(text: str, _path: str) -> tuple[str, ...]:
    """The included path as it is written, without quotes or angle brackets."""
    name = text.strip('"<> \t')
    return (name,) if name else ()


def _defined(declarator: str) -> str:
    return (
        f"(function_definition declarator: [{declarator} (pointer_declarator declarator: {declarator})"
        f" (pointer_declarator declarator: (pointer_declarator declarator: {declarator}))]) @d"
    )


_SHARED: tuple[tuple[Role, str], ...] = (
    ("class", "[(struct_specifier name: (_) @n body: (_)) (union_specifier name: (_) @n body: (_))] @d"),
    ("class", "(type_definition type: [(struct_specifier !name) (union_specifier !name)] declarator: (_) @n) @d"),
    ("type", "(enum_specifier name: (_) @n body: (_)) @d"),
    ("type", "(type_definition type: (enum_specifier !name) declarator: (type_identifier) @n) @d"),
    (
        "type",
        (
            "(type_definition type: [(primitive_type) (type_identifier) (sized_type_specifier) (struct_specifier !body)"
            " (union_specifier !body) (enum_specifier !body)] declarator: [(type_identifier) @n"
            " (pointer_declarator declarator: (type_identifier) @n) (array_declarator declarator: (type_identifier) @n)"
            " (function_declarator declarator: (parenthesized_declarator (pointer_declarator"
            " declarator: (type_identifier) @n)))]) @d"
        ),
    ),
    (
        "type",
        # `typedef struct a {…} b;` declares two names. `b` covers only its identifier, or it would contain `a`.
        (
            "((type_definition type: [(struct_specifier name: (_) @s body: (_)) (union_specifier name: (_) @s body: (_))"
            " (enum_specifier name: (_) @s body: (_))] declarator: (type_identifier) @n @d) (#not-eq? @s @n))"
        ),
    ),
    ("function", "(preproc_function_def name: (_) @n) @d"),
    ("call", "(call_expression function: (_) @n)"),
    ("import", "(preproc_include path: [(string_literal) (system_lib_string)] @n)"),
)
_NON_CODE = "[(string_literal) (system_lib_string) (char_literal) (comment)] @q"
_PLUS_NAMES = (
    "(function_declarator declarator: [(identifier) (field_identifier) (qualified_identifier) (destructor_name)"
    " (operator_name)] @n)"
)

C = Grammar(
    language="c",
    package="tree_sitter_c",
    patterns=(("function", _defined("(function_declarator declarator: (identifier) @n)")), *_SHARED),
    non_code=_NON_CODE,
    import_names=import_names,
)
CPP = Grammar(
    language="cpp",
    package="tree_sitter_cpp",
    patterns=(
        ("function", _defined(_PLUS_NAMES)),
        ("function", f"(function_definition declarator: (reference_declarator {_PLUS_NAMES})) @d"),
        ("class", "(class_specifier name: (_) @n body: (_)) @d"),
        ("type", "[(alias_declaration name: (_) @n) (concept_definition name: (_) @n)] @d"),
        ("space", "(namespace_definition name: (_) @n) @d"),
        ("wrapper", "(template_declaration) @d"),
        ("call", "(new_expression type: (_) @n)"),
        *_SHARED,
    ),
    non_code="[(string_literal) (raw_string_literal) (system_lib_string) (char_literal) (comment)] @q",
    import_names=import_names,
)
