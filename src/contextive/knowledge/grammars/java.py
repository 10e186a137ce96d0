"""Java."""

from __future__ import annotations

import re

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
    ),
    non_code="[(string_literal) (character_literal) (line_comment) (block_comment)] @q",
    import_names=import_names,
)
