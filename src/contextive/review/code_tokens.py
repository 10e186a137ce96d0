"""The tokens of a piece of code, such that layout, comments and names of local variables do not matter."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tree_sitter import Node

_NAME_MARK = "\0"
"""Before the name of a variable. No token of a source file starts with it."""
_NAMES = frozenset({"identifier"})
_NOT_VARIABLES = frozenset(
    {
        ("attribute", "attribute"),
        ("keyword_argument", "name"),
        ("call", "function"),
        ("call_expression", "function"),
        ("method_invocation", "name"),
        ("field_access", "field"),
        ("scoped_identifier", "name"),
        ("scoped_identifier", "path"),
        ("macro_invocation", "macro"),
    }
)
"""Node types and fields with a name that is not that of a variable."""
_BINDINGS = frozenset(
    {
        ("assignment", "left"),
        ("for_statement", "left"),
        ("for_in_clause", "left"),
        ("default_parameter", "name"),
        ("typed_default_parameter", "name"),
        ("named_expression", "name"),
        ("let_declaration", "pattern"),
        ("let_condition", "pattern"),
        ("parameter", "pattern"),
        ("for_expression", "pattern"),
        ("field_pattern", "pattern"),
        ("short_var_declaration", "left"),
        ("parameter_declaration", "name"),
        ("parameter_declaration", "declarator"),
        ("range_clause", "left"),
        ("var_spec", "name"),
        ("variable_declarator", "name"),
        ("required_parameter", "pattern"),
        ("optional_parameter", "pattern"),
        ("arrow_function", "parameter"),
        ("for_in_statement", "left"),
        ("catch_clause", "parameter"),
        ("formal_parameter", "name"),
        ("catch_formal_parameter", "name"),
        ("enhanced_for_statement", "name"),
        ("init_declarator", "declarator"),
        ("declaration", "declarator"),
        ("for_range_loop", "declarator"),
    }
)
"""Node types and fields in which a name is declared."""
_PATTERNS = frozenset(
    {
        "parameters",
        "lambda_parameters",
        "formal_parameters",
        "closure_parameters",
        "inferred_parameters",
        "typed_parameter",
        "as_pattern_target",
        "pattern_list",
        "tuple_pattern",
        "slice_pattern",
        "array_pattern",
        "match_pattern",
        "captured_pattern",
        "mut_pattern",
        "ref_pattern",
        "reference_pattern",
    }
)
"""Node types that declare every name directly in them."""
_WHOLE = ("string_content", "string_literal", "char_literal", "raw_string_content")
"""Ends of the types of nodes whose parts are not read: the text between them belongs to no part."""
_WITHOUT_SEMICOLONS = frozenset({"javascript", "typescript", "tsx"})
_OPERATIONS = ("operator", "expression", "call", "attribute", "subscript", "invocation")
_CLOSERS = frozenset({")", "]", "}"})
_IN_BRACES = re.compile(r"\{(\w+)")


class _Leaf(NamedTuple):
    """A token in the syntax tree, with the types and fields of the three nodes around it, the nearest first."""

    text: str
    kind: str
    around: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class CodeTokens:
    """The tokens of a piece of code, and the names that the function around it declares."""

    tokens: tuple[str, ...]
    local_names: frozenset[str] = frozenset()

    ##= docs/spec/review.md#code-under-a-citation
    ##% Moved files, moved code, formatting, comments and renamed local variables MUST NOT cause a finding.
    def is_same_as(self, other: CodeTokens) -> bool:
        """Whether two pieces differ at most in the names of local variables."""
        if self.tokens == other.tokens:
            return True
        if len(self.tokens) != len(other.tokens) or not self.local_names:
            return False
        renamed = self._renamed(other)
        if renamed is None:
            return False
        return all(
            old == new or is_name(old) or _rename_in_text(old, renamed) == new
            for old, new in zip(self.tokens, other.tokens, strict=True)
        )

    def _renamed(self, other: CodeTokens) -> dict[str, str] | None:
        """The new name of each name, or None if the names do not change one to one or are not local."""
        forward: dict[str, str] = {}
        backward: dict[str, str] = {}
        for old, new in zip(self.tokens, other.tokens, strict=True):
            if is_name(old) != is_name(new):
                return None
            if is_name(old) and (forward.setdefault(old, new), backward.setdefault(new, old)) != (new, old):
                return None
        changed = {old[1:]: new[1:] for old, new in forward.items() if old != new}
        is_local = changed.keys() <= self.local_names and set(changed.values()) <= other.local_names
        return changed if is_local else None


def is_name(token: str) -> bool:
    return token.startswith(_NAME_MARK)


def _rename_in_text(text: str, renamed: Mapping[str, str]) -> str:
    """A text with the names in braces renamed, as in a format string."""
    return _IN_BRACES.sub(lambda found: "{" + renamed.get(found[1], found[1]), text)


def tokens_of(node: Node, data: bytes, language: str) -> list[str]:
    """The tokens of a node without comments, docstrings and what only concerns the layout."""
    tokens: list[str] = []
    for leaf in _leaves(node, data):
        text, parents = leaf.text, [kind for kind, _ in leaf.around]
        if text == ";" and language in _WITHOUT_SEMICOLONS:
            continue
        if text in ("(", ")") and parents[:1] == ["parenthesized_expression"] and _is_needless(parents[1:2]):
            continue
        if text in _CLOSERS and tokens and tokens[-1] == ",":
            tokens.pop()
        if leaf.kind in ("string_start", "string_end") or (text == "'" and leaf.kind == "'"):
            text = text.replace("'", '"')
        is_variable = leaf.kind in _NAMES and not (leaf.around and leaf.around[0] in _NOT_VARIABLES)
        tokens.append(_NAME_MARK + text if is_variable else text)
    return tokens


def local_names(node: Node, data: bytes) -> frozenset[str]:
    """The names that are declared in a node, such as a function."""
    return frozenset(leaf.text for leaf in _leaves(node, data) if leaf.kind in _NAMES and _is_declared(leaf.around))


def _is_declared(around: Sequence[tuple[str, str]]) -> bool:
    return bool(around) and (around[0][0] in _PATTERNS or any(one in _BINDINGS for one in around))


def _is_needless(parents: Sequence[str]) -> bool:
    """Whether parentheses around a whole value mean nothing, by the node that they are in."""
    return not parents or parents[0] == "expression_statement" or not any(word in parents[0] for word in _OPERATIONS)


def _leaves(node: Node, data: bytes) -> Iterator[_Leaf]:
    """The tokens of a node in order. A block of Python gets braces, because its layout has a meaning."""
    cursor = node.walk()
    parents: list[tuple[str, str]] = []
    while True:
        current = cursor.node
        assert current is not None
        kind = current.type
        is_skipped = "comment" in kind or kind == "line_continuation" or is_docstring(current)
        is_whole = kind.endswith(_WHOLE)
        if not is_skipped and not is_whole and cursor.goto_first_child():
            is_block = kind == "block" and data[current.start_byte : current.start_byte + 1] != b"{"
            if is_block:
                yield _Leaf("{", "{", ())
            parents.append((kind, cursor.field_name or ""))
            continue
        if not is_skipped:
            text = data[current.start_byte : current.end_byte].decode("utf-8", "replace")
            if text:
                yield _Leaf(text, kind, tuple(reversed(parents[-3:])))
        while parents and not cursor.goto_next_sibling():
            kind, _ = parents.pop()
            cursor.goto_parent()
            left = cursor.node
            assert left is not None
            if kind == "block" and data[left.start_byte : left.start_byte + 1] != b"{":
                yield _Leaf("}", "}", ())
        if not parents:
            return
        parents[-1] = (parents[-1][0], cursor.field_name or "")


def is_docstring(node: Node) -> bool:
    return node.type == "expression_statement" and node.child_count == 1 and node.child(0).type == "string"  # type: ignore[union-attr]
