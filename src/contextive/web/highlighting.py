"""Colours for code: comments, strings, numbers and keywords of most languages, found by one pass over a line.

A grammar for each language would do better, but its time on hostile text is not bounded. This pattern looks at each
character once.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_KEYWORDS: Final = frozenset(
    [
        "abstract",
        "and",
        "as",
        "assert",
        "async",
        "await",
        "break",
        "case",
        "catch",
        "class",
        "const",
        "continue",
        "crate",
        "def",
        "default",
        "defer",
        "del",
        "do",
        "elif",
        "else",
        "enum",
        "except",
        "export",
        "extends",
        "extern",
        "false",
        "False",
        "final",
        "finally",
        "fn",
        "for",
        "from",
        "func",
        "function",
        "go",
        "if",
        "impl",
        "implements",
        "import",
        "in",
        "interface",
        "is",
        "lambda",
        "let",
        "loop",
        "match",
        "mod",
        "module",
        "move",
        "mut",
        "namespace",
        "new",
        "nil",
        "None",
        "not",
        "null",
        "or",
        "package",
        "pass",
        "private",
        "protected",
        "pub",
        "public",
        "raise",
        "ref",
        "return",
        "self",
        "Self",
        "static",
        "struct",
        "super",
        "switch",
        "template",
        "this",
        "throw",
        "trait",
        "true",
        "True",
        "try",
        "type",
        "typedef",
        "union",
        "unsafe",
        "use",
        "using",
        "var",
        "virtual",
        "void",
        "where",
        "while",
        "with",
        "yield",
    ]
)
_HASH_ENDINGS: Final = (
    ".py",
    ".rb",
    ".sh",
    ".toml",
    ".yaml",
    ".yml",
    ".ini",
    ".cfg",
    ".mk",
    ".pl",
    ".r",
    ".jl",
    ".nix",
)
_DASH_ENDINGS: Final = (".sql", ".lua", ".hs", ".elm", ".adb", ".ads")
_REST: Final = r"""|"(?:[^"\\]|\\.)*"?|'(?:[^'\\\s]|\\.)*'|`[^`]*`?|\b[0-9][0-9A-Za-z_.]*|[A-Za-z_][A-Za-z_0-9]*"""
_SLASHES: Final = re.compile(r"//.*|/\*(?:[^*]|\*(?!/))*(?:\*/)?|^\s*\*(?!\w).*" + _REST)
_HASHES: Final = re.compile(r"#.*" + _REST)
_DASHES: Final = re.compile(r"--.*" + _REST)
_LONGEST: Final = 1_000


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of a line; `kind` is empty for plain text."""

    text: str
    kind: str = ""


def highlight(line: str, path: str) -> list[Token]:
    """The pieces of a line of code. The end of the path decides what a comment looks like."""
    if len(line) > _LONGEST:
        return [Token(line)]
    name = path.lower()
    pattern = _HASHES if name.endswith(_HASH_ENDINGS) else _DASHES if name.endswith(_DASH_ENDINGS) else _SLASHES
    tokens: list[Token] = []
    position = 0
    for found in pattern.finditer(line):
        kind = _kind(found.group())
        if kind:
            if found.start() > position:
                tokens.append(Token(line[position : found.start()]))
            tokens.append(Token(found.group(), kind))
            position = found.end()
    if position < len(line) or not tokens:
        tokens.append(Token(line[position:]))
    return tokens


def _kind(text: str) -> str:
    first = text[0]
    if first in "\"'`":
        return "string"
    if first.isdigit():
        return "number"
    if first.isalpha() or first == "_":
        return "keyword" if text in _KEYWORDS else ""
    return "comment"
