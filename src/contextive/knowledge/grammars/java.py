"""Java."""

from __future__ import annotations

import re
from collections.abc import Iterator

from contextive.knowledge.grammars.grammar import Grammar

_IMPORT = re.compile(r"import\s+(?:static\s+)?([\w.]*\w(?:\.\*)?)")


def import_names(text: str, _path: str) -> tuple[str, ...]:
    """The dotted name as written, including `.*`, and also the name of the class if a member of a class is imported."""
    found = _IMPORT.match(text)
    if found is None:
        return ()
    name = found.group(1)
    parent, _, _ = name.rpartition(".")
    return (name, parent) if parent.rpartition(".")[2][:1].isupper() else (name,)


def imported(text: str, _path: str) -> Iterator[tuple[str, str]]:
    """The last part of the dotted name with all of it. A static import gives the class and the member."""
    found = _IMPORT.match(text)
    if found is None:
        return
    parent, _, last = found.group(1).rpartition(".")
    if last == "*":
        yield "*", parent
    else:
        yield last, f"{parent}:{last}" if "static " in text[:20] else found.group(1)


JAVA = Grammar(
    language="java",
    package="tree_sitter_java",
    patterns=(
        ("class", "[(class_declaration) (record_declaration)] @d"),
        ("interface", "[(interface_declaration) (annotation_type_declaration)] @d"),
        ("type", "(enum_declaration) @d"),
        ("method", "[(method_declaration) (constructor_declaration) (compact_constructor_declaration)] @d"),
        # The whole call is captured, not only its name: a pattern for the name cannot complete until the object before
        # it has been parsed, so a long chain of calls would keep many incomplete matches at once.
        ("invocation", "(method_invocation) @n"),
        ("call", "(object_creation_expression type: (_) @n)"),
        ("import", "(import_declaration) @n"),
        ("closure", "(lambda_expression) @d"),
        ("value", "(formal_parameter type: (_) @t name: (_) @n)"),
        ("value", "(catch_formal_parameter (catch_type . (_) @t) name: (_) @n)"),
        ("value", "(resource type: (_) @t name: (_) @n)"),
        ("value", "(instanceof_expression right: (_) @t name: (_) @n)"),
        (
            "value",
            "(local_variable_declaration type: (_) @t declarator: (variable_declarator name: (_) @n value: (_)? @v))",
        ),
        ("element", "(enhanced_for_statement type: (_) @t name: (_) @n value: (_) @v)"),
        ("parameter", "[(inferred_parameters (identifier) @n) (lambda_expression parameters: (identifier) @n)]"),
        ("field", "(field_declaration type: (_) @t declarator: (variable_declarator name: (_) @n))"),
        ("field", "(record_declaration parameters: (formal_parameters (formal_parameter type: (_) @t name: (_) @n)))"),
        ("base", "[(superclass (_) @t) (super_interfaces (type_list (_) @t)) (extends_interfaces (type_list (_) @t))]"),
        ("result", "(method_declaration type: (_) @t)"),
        ("typevar", "(type_parameter . (type_identifier) @n (type_bound . (_) @t)?)"),
    ),
    non_code="[(string_literal) (character_literal) (line_comment) (block_comment)] @q",
    import_names=import_names,
    imported=imported,
)
