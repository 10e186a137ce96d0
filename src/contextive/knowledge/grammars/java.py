"""Java."""

from __future__ import annotations

import re

from contextive.knowledge.grammars.grammar import Grammar

_IMPORT = re.compile(r"import\s+(?:static\s+)?([\w.]*\w(?:\.\*)?)")


def import_names(text: str, _path: str) -> tuple[str, ...]:
    """The dotted name as written, including `.*`, and also its class if a member is imported."""
    found = _IMPORT.match(text)
    if found is None:
        return ()
    name = found.group(1)
    above, _, _ = name.rpartition(".")
    return (name, above) if above.rpartition(".")[2][:1].isupper() else (name,)


JAVA = Grammar(
    language="java",
    package="tree_sitter_java",
    patterns=(
        ("class", "[(class_declaration) (record_declaration)] @d"),
        ("interface", "[(interface_declaration) (annotation_type_declaration)] @d"),
        ("type", "(enum_declaration) @d"),
        ("method", "[(method_declaration) (constructor_declaration) (compact_constructor_declaration)] @d"),
        # A pattern for the name alone matches only after its object, so a long chain keeps every match open at once.
        ("invocation", "(method_invocation) @n"),
        ("call", "(object_creation_expression type: (_) @n)"),
        ("import", "(import_declaration) @n"),
    ),
    non_code="[(string_literal) (character_literal) (line_comment) (block_comment)] @q",
    import_names=import_names,
)
