"""The queries and settings of one language.

A pattern is a tree-sitter query with fixed capture names. `@d` is the declaration, `@n` its name, and `@o` the owner
of the name if the source names it next to the declaration (a Go receiver, `Foo.prototype`).
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
    "space",  # qualifies the names inside but is not a symbol: a namespace or module
    "body",  # the same, and functions inside are methods: an impl block
    "wrapper",  # the declaration inside starts where the wrapper starts: decorators, templates
    "call",
    "invocation",  # a call whose name is one of its fields
    "import",
]
ImportNames = Callable[[str, str], tuple[str, ...]]
"""Takes the text of an import and the path of its file, returns the imported names."""


@dataclass(frozen=True, slots=True)
class Grammar:
    """How to parse one language."""

    language: str
    package: str
    """The package with the compiled grammar."""
    patterns: tuple[tuple[Role, str], ...]
    non_code: str
    """A query for what is not code: strings and comments."""
    import_names: ImportNames
    loader: str = "language"
    """The function of the package that returns the grammar."""
