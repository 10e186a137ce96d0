"""C and C++. Only definitions are symbols; with prototypes every function would be declared twice."""

from __future__ import annotations

from contextive.knowledge.grammars.grammar import Grammar, Role


def import_names(text: str, _path: str) -> tuple[str, ...]:
    """The included path as it is written, without quotes or angle brackets."""
    name = text.strip('"<> \t')
    return (name,) if name else ()


def imported(_text: str, _path: str) -> tuple[tuple[str, str], ...]:
    """An included file gives no name to what it declares."""
    return ()


def _declared(name: str) -> str:
    """A declared name, or a pointer to it."""
    return f"{name} (pointer_declarator declarator: {name})"


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
            "((type_definition type: [(struct_specifier name: (_) @w body: (_)) (union_specifier name: (_) @w body: (_))"
            " (enum_specifier name: (_) @w body: (_))] declarator: (type_identifier) @n @d) (#not-eq? @w @n))"
        ),
    ),
    ("function", "(preproc_function_def name: (_) @n) @d"),
    ("call", "(call_expression function: (_) @n)"),
    ("import", "(preproc_include path: [(string_literal) (system_lib_string)] @n)"),
)
_LOCAL = _declared("(identifier) @n")
_TYPED: tuple[tuple[Role, str], ...] = (
    ("value", f"(declaration type: (_) @t declarator: [{_LOCAL}])"),
    ("value", f"(declaration type: (_) @t declarator: (init_declarator declarator: [{_LOCAL}] value: (_) @v))"),
    ("value", f"(parameter_declaration type: (_) @t declarator: [{_LOCAL}])"),
    ("field", f"(field_declaration type: (_) @t declarator: [{_declared('(field_identifier) @n')}])"),
    ("result", "(function_definition type: (_) @t)"),
)
_REFERENCE = "(reference_declarator (identifier) @n)"
_TYPED_PLUS: tuple[tuple[Role, str], ...] = (
    *_TYPED,
    ("closure", "(lambda_expression) @d"),
    ("value", f"(declaration type: (_) @t declarator: {_REFERENCE})"),
    ("value", f"(declaration type: (_) @t declarator: (init_declarator declarator: {_REFERENCE} value: (_) @v))"),
    ("value", f"(parameter_declaration type: (_) @t declarator: {_REFERENCE})"),
    ("value", "(optional_parameter_declaration type: (_) @t declarator: [(identifier) @n (_ (identifier) @n)])"),
    ("field", "(field_declaration type: (_) @t declarator: (reference_declarator (field_identifier) @n))"),
    ("element", "(for_range_loop declarator: [(identifier) @n (_ (identifier) @n)] right: (_) @v)"),
    ("base", "(base_class_clause (type_identifier) @t)"),
    ("base", "(base_class_clause (qualified_identifier) @t)"),
    ("base", "(base_class_clause (template_type) @t)"),
    ("base", "(alias_declaration type: (_) @t)"),
    ("typevar", "(type_parameter_declaration (type_identifier) @n)"),
)
_NON_CODE = "[(string_literal) (system_lib_string) (char_literal) (comment)] @q"
_PLUS_NAMES = (
    "(function_declarator declarator: [(identifier) (field_identifier) (qualified_identifier) (destructor_name)"
    " (operator_name)] @n)"
)

C = Grammar(
    language="c",
    package="tree_sitter_c",
    patterns=(("function", _defined("(function_declarator declarator: (identifier) @n)")), *_SHARED, *_TYPED),
    non_code=_NON_CODE,
    import_names=import_names,
    imported=imported,
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
        *_TYPED_PLUS,
    ),
    non_code="[(string_literal) (raw_string_literal) (system_lib_string) (char_literal) (comment)] @q",
    import_names=import_names,
    imported=imported,
)
