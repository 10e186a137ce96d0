"""The queries and settings of one language.

A pattern is a tree-sitter query with fixed capture names. `@d` is the declaration, `@n` its name, and `@o` the owner
of the name if the source names it next to the declaration (a Go receiver, `Foo.prototype`). `@t` is a type, `@v` a
value, and `@s` the code in which a name is visible if it is not all that follows in the scope.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
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
    "macro_call",  # a name before more tokens in the arguments of a macro, which may be a call
    "import",
    "alias",  # an import or export that only says what the imported names are called
    "closure",  # a function without a name: its parameters are visible only inside
    "value",  # a variable, parameter or attribute gets a type or a value
    "parameter",  # a parameter without a type
    "element",  # a name gets an element of a collection
    "part",  # a name gets the member of this name
    "unknown",  # a name gets a value that is not known
    "field",  # a field of the class around it gets a type or a value
    "first_field",  # the type of the first field of a tuple struct
    "base",  # a base class, an implemented interface, the target of a type alias
    "result",  # the type that the function around it returns
    "return",  # a value that the function around it returns
    "exported",  # what a module exports by default
    "typevar",  # a type parameter, with its bound
]
ImportNames = Callable[[str, str], tuple[str, ...]]
"""Takes the text of an import and the path of its file, returns the imported names."""
ImportedNames = Callable[[str, str], Iterable[tuple[str, str]]]
"""Takes the same, returns each name that the file uses with its origin: the module and the member, separated by a colon.
The name `*` means that all members are used without the name of the module."""


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
    imported: ImportedNames
    loader: str = "language"
    """The function of the package that returns the grammar."""
