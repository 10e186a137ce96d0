"""TypeScript, TSX and JavaScript."""

from __future__ import annotations

import re
from collections.abc import Iterator

from contextive.knowledge.grammars.grammar import Grammar, Role

_FUNCTION = "[(arrow_function) (function_expression) (generator_function)]"
_ASSIGNED = f"(variable_declarator name: (identifier) @n value: {_FUNCTION}) @d"
_VARIABLE = f"[(lexical_declaration {_ASSIGNED}) (variable_declaration {_ASSIGNED})]"
_EXPRESSION = "[(call_expression) (new_expression) (identifier) (await_expression) (member_expression) (this)]"
_NAMES = "[(property_identifier) (private_property_identifier)] @n"


def import_names(text: str, _path: str) -> tuple[str, ...]:
    """The module as it is written, without its quotes."""
    name = text.strip("'\"`")
    return (name,) if name else ()


_FROM = re.compile(r"""\bfrom\s*['"]([^'"\n]+)['"]""")
_NAMED = re.compile(r"(?:\btype\s++)?([\w$]++|\*)(?:\s++as\s++([\w$]++))?")
_MAX_CLAUSE = 10_000


def imported(text: str, _path: str) -> Iterator[tuple[str, str]]:
    """`import D, { a as b } from './m'` gives `D` from `./m:default` and `b` from `./m:a`."""
    found = _FROM.search(text[-300:])
    if found is None or len(text) > _MAX_CLAUSE:
        return
    module = found.group(1)
    before, _, rest = text[: text.rfind("from")].partition("{")
    is_export = before.startswith("export")
    for name, alias in _NAMED.findall(before.partition(" ")[2]):
        if name == "*":
            yield (alias, f"{module}:*") if alias else ("*", module)
        elif name != "type" and not is_export:
            yield name, f"{module}:default"
    for name, alias in _NAMED.findall(rest.partition("}")[0]):
        yield alias or name, f"{module}:{name}"


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
    ("alias", "[(import_statement (import_clause) source: (_)) (export_statement source: (_))] @n"),
    ("closure", "[(arrow_function) (function_expression) (generator_function)] @d"),
    ("closure", "(object (method_definition) @d)"),
    ("part", "(variable_declarator name: (object_pattern (shorthand_property_identifier_pattern) @n) value: (_) @v)"),
    ("unknown", "(object_pattern (pair_pattern value: (identifier) @n))"),
    ("unknown", "(array_pattern (identifier) @n)"),
    ("value", "(assignment_expression left: [(identifier) (member_expression)] @n right: (_) @v)"),
    ("element", "(for_in_statement left: (identifier) @n right: (_) @v)"),
    ("return", "(return_statement (_) @v)"),
    ("return", f"(arrow_function body: {_EXPRESSION} @v)"),
    ("value", "(export_statement (export_clause (export_specifier name: (_) @v alias: (_) @n)) !source)"),
    ("exported", "(export_statement value: (_) @v)"),
    ("exported", '(export_statement "default" declaration: (_ name: (_) @v))'),
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
    ("value", "(variable_declarator name: (identifier) @n type: (_) @t)"),
    ("value", "(variable_declarator name: (identifier) @n !type value: (_) @v)"),
    ("value", "(required_parameter !type (accessibility_modifier)? pattern: (identifier) @n value: (_) @v)"),
    ("value", "(required_parameter pattern: (identifier) @n type: (_) @t)"),
    ("value", "(optional_parameter pattern: (identifier) @n type: (_) @t)"),
    ("parameter", "(required_parameter !type !value pattern: (identifier) @n)"),
    ("parameter", "(optional_parameter !type pattern: (identifier) @n)"),
    ("parameter", "(arrow_function parameter: (identifier) @n)"),
    ("unknown", "(_ pattern: (object_pattern (shorthand_property_identifier_pattern) @n))"),
    ("field", f"(public_field_definition name: {_NAMES} type: (_) @t)"),
    ("field", f"(property_signature name: {_NAMES} type: (_) @t)"),
    ("field", "(required_parameter (accessibility_modifier) pattern: (identifier) @n type: (_) @t)"),
    ("field", f"(public_field_definition name: {_NAMES} !type value: (_) @v)"),
    ("base", "(extends_clause value: (_) @t)"),
    ("base", "(implements_clause (_) @t)"),
    ("base", "(extends_type_clause type: (_) @t)"),
    ("base", "(type_alias_declaration value: (_) @t)"),
    ("result", "(function_declaration return_type: (_) @t)"),
    ("result", "(arrow_function return_type: (_) @t)"),
    ("result", "(function_expression return_type: (_) @t)"),
    ("result", "(method_definition return_type: (_) @t)"),
    ("result", "(method_signature return_type: (_) @t)"),
    ("result", "(abstract_method_signature return_type: (_) @t)"),
    ("result", "(function_signature return_type: (_) @t)"),
    ("typevar", "(type_parameter name: (_) @n constraint: (constraint (_) @t)?)"),
)
_UNTYPED: tuple[tuple[Role, str], ...] = (
    ("class", "(class_declaration) @d"),
    ("method", f"(class_body (field_definition property: {_NAMES} value: {_FUNCTION}) @d)"),
    ("value", "(variable_declarator name: (identifier) @n value: (_) @v)"),
    ("parameter", "[(formal_parameters (identifier) @n) (arrow_function parameter: (identifier) @n)]"),
    ("value", "(formal_parameters (assignment_pattern left: (identifier) @n right: (_) @v))"),
    ("unknown", "(formal_parameters (object_pattern (shorthand_property_identifier_pattern) @n))"),
    ("field", f"(class_body (field_definition property: {_NAMES} value: (_) @v))"),
    ("base", "(class_heritage [(identifier) (member_expression)] @t)"),
)
_NON_CODE = "[(string) (template_string) (comment) (regex)] @q"

TYPESCRIPT = Grammar(
    language="typescript",
    package="tree_sitter_typescript",
    loader="language_typescript",
    patterns=_SHARED + _TYPED,
    non_code=_NON_CODE,
    import_names=import_names,
    imported=imported,
)
TSX = Grammar(
    language="tsx",
    package="tree_sitter_typescript",
    loader="language_tsx",
    patterns=_SHARED + _TYPED + _MARKUP,
    non_code=_NON_CODE,
    import_names=import_names,
    imported=imported,
)
JAVASCRIPT = Grammar(
    language="javascript",
    package="tree_sitter_javascript",
    patterns=_SHARED + _UNTYPED + _MARKUP,
    non_code=_NON_CODE,
    import_names=import_names,
    imported=imported,
)
