"""The shape of a grammar's table.

A pattern is a tree-sitter query with fixed capture names. `@d` is the node whose lines count, `@n` the node that is a name, and
`@o` the owner of the name, where the source names it beside the declaration (a Go receiver, `Foo.prototype`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Role = Literal[
    "class",
    "function",
    "method",
    "interface",
    "type",
    "space",  # names what stands inside, and is no symbol: a namespace or module
    "body",  # the same, and functions inside are methods: an impl block
    "wrapper",  # the declaration inside starts where this starts: decorators, templates
    "call",
    "invocation",  # a call whose name is a field of it
    "import",
]
ImportNames = Callable[[str, str], tuple[str, ...]]
"""From the text of an import and the path of its file to the names that are imported."""


@dataclass(frozen=True, slots=True)
class Grammar:
    """How one language is read."""

    language: str
    package: str
    """The package that carries the compiled grammar."""
    patterns: tuple[tuple[Role, str], ...]
    non_code: str
    """A query for what is not code: strings and comments."""
    import_names: ImportNames
    loader: str = "language"
    """The function of the package that gives the grammar."""
