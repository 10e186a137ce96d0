"""Write the expressions of all languages in one short notation, from which the type of a receiver can be found later.

An expression is a name followed by operators: `app.router`, `Database().execute`, `rows[].cells`.

| notation | meaning |
|---|---|
| `name` | a name as the file sees it; `self` is an instance of the class around the code, `Self` this class |
| `<path>` | the module that is imported from this path |
| `^name` | an instance of the class that a parameter without a type is named after |
| `#name` | the value of the pytest fixture of this name |
| `?` | a value that says nothing about its type |
| `*` | a collection of unknown values, such as an empty list |
| `!` | a value that does not come from the project, such as a string |
| `.name` | a member |
| `()` | the result of a call; for a class, an instance |
| `[]` | an element |
| `@` | a collection of such values |
| `~Name` | such a value in a generic type `Name` |

A type `Foo` is written as the instance `Foo()`. Alternatives are separated by `|`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from contextive.knowledge.type_expressions import type_expression

if TYPE_CHECKING:
    from tree_sitter import Node

UNKNOWN = "?"
EXTERNAL = "!"
COLLECTION = "*"
MAX_LENGTH = 160
"""The limit of characters in an expression. A longer one is unknown."""
_MAX_STEPS = 16
"""The limit of operators in an expression. A chain of calls can be as long as the file."""
_MAX_NAME = 100
_MAX_ALTERNATIVES = 3

DOTTED = re.compile(r"[A-Za-z_$@][\w$]*(?:(?:\.|::|->|\?\.)[A-Za-z_$~#][\w$]*)*")
SEPARATOR = re.compile(r"::|->|\?\.")
_MEMBER = re.compile(r"[\w$#~]+")
_QUOTED = re.compile(r"""['"`]([^'"`<>\s]+)['"`]""")

_NAMES = frozenset({"identifier", "type_identifier", "namespace_identifier", "package_identifier", "crate", "super"})
_SELF = frozenset({"self", "this"})
_MEMBERS = frozenset(
    {
        "attribute", "member_expression", "selector_expression", "field_expression", "field_access", "scoped_identifier",
        "scoped_type_identifier", "qualified_identifier", "qualified_type", "nested_identifier",
    }
)  # fmt: skip
_CALLS = frozenset(
    {
        "call", "call_expression", "new_expression", "object_creation_expression", "composite_literal", "struct_expression",
    }
)  # fmt: skip
_ELEMENTS = frozenset({"subscript", "subscript_expression", "index_expression", "array_access"})
_GENERICS = frozenset(
    {"generic_type", "template_type", "template_function", "generic_function", "slice_expression", "dependent_name"}
)
"""Their first child is the value."""
_WRAPPERS = frozenset(
    {
        "await", "await_expression", "parenthesized_expression", "try_expression", "reference_expression", "unary_expression",
        "pointer_expression", "non_null_expression", "expression_list", "type_descriptor", "pointer_type", "reference_type",
    }
)  # fmt: skip
"""Their last child is the value."""
_CASTS = frozenset(
    {
        "as_expression", "satisfies_expression", "type_cast_expression", "cast_expression", "type_assertion_expression",
        "slice_type", "map_type", "array_type",
    }
)  # fmt: skip
_CHOICES = frozenset({"boolean_operator", "binary_expression", "conditional_expression", "ternary_expression"})
_CHOOSING = frozenset({"or", "||", "??", "if", "?"})
_COPIES = frozenset(
    [
        "list",
        "tuple",
        "set",
        "frozenset",
        "sorted",
        "reversed",
        "iter",
        "copy.copy",
        "copy.deepcopy",
        "deepcopy",
        "Array.from",
    ]
)
"""Functions that return the elements of their first argument, or a copy of it."""
_NOTHING = frozenset({"none", "nil", "null", "undefined", "null_literal", "nullptr"})
_LITERALS_TEXT = """
string concatenated_string template_string integer float tuple true false number object regex string_literal
raw_string_literal char_literal integer_literal float_literal boolean_literal interpreted_string_literal int_literal
rune_literal number_literal decimal_integer_literal character_literal macro_invocation tuple_expression
range_expression comparison_operator
"""
_LITERALS = frozenset(_LITERALS_TEXT.split())
_COLLECTIONS_TEXT = """
list dictionary set list_comprehension dictionary_comprehension set_comprehension generator_expression array
array_expression
"""
_COLLECTIONS = frozenset(_COLLECTIONS_TEXT.split())


def join(expression: str, tail: str) -> str:
    """An expression with more operators after each of its alternatives."""
    if not tail or not expression:
        return expression
    if expression[0] in "?!" and "|" not in expression:
        return expression[0]
    joined = "|".join(f"{part}{tail}" for part in expression.split("|")) if "|" in expression else expression + tail
    return joined if len(joined) <= MAX_LENGTH else UNKNOWN


def expression_of(node: Node, text_of: Callable[[int, int], str], *, choices: bool = True) -> str:
    """The expression of a syntax node. Empty for null, which says nothing about a name."""
    tail: list[str] = []
    for _ in range(_MAX_STEPS):
        kind = node.type
        if kind in _NAMES or (kind in _MEMBERS and node.end_byte - node.start_byte <= _MAX_NAME):
            text = text_of(node.start_byte, node.end_byte)
            if DOTTED.fullmatch(text):
                head = SEPARATOR.sub(".", text)
                return join(f"self{head[4:]}" if head.startswith("this.") else head, "".join(reversed(tail)))
        if kind in _SELF:
            return join("self", "".join(reversed(tail)))
        following = _step(node, kind, tail, text_of)
        if following is not None:
            node = following
            continue
        if kind in _NOTHING:
            return ""
        if kind in _LITERALS:
            return EXTERNAL
        if kind in _COLLECTIONS:
            return join(COLLECTION, "".join(reversed(tail)))
        return join(_whole(node, kind, text_of, choices=choices), "".join(reversed(tail)))
    return UNKNOWN


def _step(node: Node, kind: str, tail: list[str], text_of: Callable[[int, int], str]) -> Node | None:
    """The inner expression, after its operator was added to the tail. None if the expression ends here."""
    if kind in _MEMBERS:
        member = node.named_child(node.named_child_count - 1)
        name = text_of(member.start_byte, min(member.end_byte, member.start_byte + _MAX_NAME)) if member else ""
        if not _MEMBER.fullmatch(name) or node.named_child_count < 2:
            return None
        tail.append(f".{name}")
        return node.named_child(0)
    if kind in _CALLS:
        called = node.named_child(0)
        if called is None or called.type in _CASTS or _is_cast(called, text_of):
            return None
        tail.append("()")
        return called
    if kind == "method_invocation":
        name_node = node.child_by_field_name("name")
        tail.append("()")
        receiver = node.child_by_field_name("object")
        if receiver is None or name_node is None:
            return name_node
        tail.append(f".{text_of(name_node.start_byte, min(name_node.end_byte, name_node.start_byte + _MAX_NAME))}")
        return receiver
    if kind in _ELEMENTS:
        index = node.named_child(node.named_child_count - 1)
        if index is None or index.type != "slice":
            tail.append("[]")
        return node.named_child(0)
    if kind in _GENERICS:
        return node.named_child(0)
    return node.named_child(node.named_child_count - 1) if kind in _WRAPPERS and node.named_child_count else None


def _is_cast(called: Node, text_of: Callable[[int, int], str]) -> bool:
    """Whether a call names a type or a module in its arguments."""
    if called.end_byte - called.start_byte > _MAX_NAME:
        return False
    text = text_of(called.start_byte, called.end_byte)
    return (
        text in ("require", "import", "cast", "typing.cast")
        or text in _COPIES
        or ("<" in text and ("_cast<" in text or "make_" in text))
    )


def _whole(node: Node, kind: str, text_of: Callable[[int, int], str], *, choices: bool) -> str:
    """The expression of a node that has its type or module in it, or that is one of several values."""
    if kind in _CASTS:
        cast_to = node.child_by_field_name("type") or node.named_child(node.named_child_count - 1)
        if kind in ("slice_type", "map_type", "array_type"):
            cast_to = node
        return type_expression(_short(cast_to, text_of)) if cast_to is not None else UNKNOWN
    if kind in _CALLS and (called := node.named_child(0)) is not None:
        if called.type in _CASTS:
            return expression_of(called, text_of)
        text = _short(called, text_of)
        if "<" in text:
            return type_expression(text.partition("<")[2].removesuffix(">"))
        arguments = node.named_child(1)
        first = arguments.named_child(0) if arguments is not None and arguments.named_child_count else None
        if text in ("require", "import"):
            found = _QUOTED.fullmatch(_short(first, text_of)) if first is not None else None
            return f"<{found.group(1)}>" if found else UNKNOWN
        if text in _COPIES and first is not None:
            return expression_of(first, text_of, choices=choices)
        return type_expression(_short(first, text_of)) if first is not None else UNKNOWN
    if kind in _CHOICES and choices:
        return _alternatives(node, text_of)
    return UNKNOWN


def _alternatives(node: Node, text_of: Callable[[int, int], str]) -> str:
    operators = [child.type for child in node.children[:4] if not child.is_named]
    if not _CHOOSING.intersection(operators):
        return UNKNOWN
    named = node.named_children[:3]
    if node.type == "ternary_expression":
        named = named[1:]
    elif node.type == "conditional_expression":
        named = [*named[:1], *named[2:]]
    found = [expression_of(child, text_of, choices=False) for child in named]
    return merge(found)


def merge(expressions: list[str]) -> str:
    """Several expressions as alternatives. Unknown ones are left out if another one is known."""
    parts = dict.fromkeys(part for expression in expressions for part in expression.split("|") if part)
    known = [part for part in parts if part[0] not in "?!"]
    if known:
        return "|".join(known[:_MAX_ALTERNATIVES])
    return next(iter(parts), UNKNOWN)


def _short(node: Node, text_of: Callable[[int, int], str]) -> str:
    return text_of(node.start_byte, min(node.end_byte, node.start_byte + 2 * _MAX_NAME))
