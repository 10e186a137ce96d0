"""Python."""

from __future__ import annotations

import posixpath
import re

from contextive.knowledge.grammars.grammar import Grammar

_ALIAS = re.compile(r" as \w+")
_COMMENT = re.compile(r"#[^\n]*")
_FROM = re.compile(r"from ?([. ]*+)((?!import\b)[\w.]*+|) ?import\b(.*)")
_MODULE = re.compile(r"[\w.]+")


def import_names(text: str, path: str) -> tuple[str, ...]:
    """Modules, and the names imported with `from`, which may be modules too.

    Absolute names stay dotted. Relative ones are resolved against the path and have slashes: `from .m import f` in
    `src/p/a.py` gives `src/p/m` and `src/p/m/f`. Relative imports that leave the project are left out.
    """
    text = _COMMENT.sub("", text) if "#" in text else text
    text = _ALIAS.sub("", " ".join(text.replace("\\", " ").split()))
    if text.startswith("import"):
        return tuple(_MODULE.findall(text[6:]))
    found = _FROM.match(text)
    if found is None:
        return ()
    dots, module, rest = found.group(1).count("."), found.group(2), found.group(3)
    names = _MODULE.findall(rest)
    if not dots:
        return (module, *(f"{module}.{name}" for name in names)) if module else ()
    folders = posixpath.dirname(path).split("/") if "/" in path else []
    if dots - 1 > len(folders):
        return ()
    parts = folders[: len(folders) - (dots - 1)] + (module.split(".") if module else [])
    base = "/".join(parts)
    return tuple(filter(None, (base, *("/".join((*parts, name)) for name in names))))


PYTHON = Grammar(
    language="python",
    package="tree_sitter_python",
    patterns=(
        ("class", "(class_definition name: (identifier) @n) @d"),
        ("function", "(function_definition name: (identifier) @n) @d"),
        ("wrapper", "(decorated_definition) @d"),
        ("call", "(call function: (_) @n)"),
        ("import", "[(import_statement) (import_from_statement)] @n"),
    ),
    non_code="[(string) (comment)] @q",
    import_names=import_names,
)
