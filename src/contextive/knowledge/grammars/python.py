"""Python."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from contextive.knowledge.grammars.grammar import Grammar

_ALIAS = re.compile(r" as \w+")
_COMMENT = re.compile(r"#[^\n]*")
_FROM = re.compile(r"from ?([. ]*+)((?!import\b)[\w.]*+|) ?import\b(.*)")
_MODULE = re.compile(r"[\w.]+")
_NAMED = re.compile(r"([\w.]++)(?: as (\w++))?")


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
    base = _base(dots, module, path)
    if base is None:
        return ()
    separator = "/" if dots else "."
    names = [f"{base}{separator}{name}" if base else name for name in _MODULE.findall(rest)]
    return tuple(filter(None, (base, *names)))


def imported(text: str, path: str) -> Iterator[tuple[str, str]]:
    """`import a.b` gives `a`, and `from .m import f as g` gives `g` from `p/m:f`."""
    text = " ".join((_COMMENT.sub("", text) if "#" in text else text).replace("\\", " ").split())
    if text.startswith("import"):
        for module, name in _NAMED.findall(text[6:]):
            first = module.partition(".")[0]
            yield (name, module) if name else (first, first)
    elif (found := _FROM.match(text)) is not None:
        base = _base(found.group(1).count("."), found.group(2), path)
        if base is not None:
            rest = found.group(3)
            if "*" in rest:
                yield "*", base
            for member, name in _NAMED.findall(rest):
                yield name or member, f"{base}:{member}"


def _base(dots: int, module: str, path: str) -> str | None:
    """The module of a `from` import; relative ones have slashes."""
    if not dots:
        return module or None
    folders = posixpath.dirname(path).split("/") if "/" in path else []
    if dots - 1 > len(folders):
        return None
    return "/".join(folders[: len(folders) - (dots - 1)] + (module.split(".") if module else []))


def _in_comprehensions(clause: str) -> str:
    kinds = ("list_comprehension", "set_comprehension", "dictionary_comprehension", "generator_expression")
    return f"[{' '.join(f'({kind} {clause})' for kind in kinds)}] @s"


PYTHON = Grammar(
    language="python",
    package="tree_sitter_python",
    patterns=(
        ("class", "(class_definition name: (identifier) @n) @d"),
        ("function", "(function_definition name: (identifier) @n) @d"),
        ("wrapper", "(decorated_definition) @d"),
        ("call", "(call function: (_) @n)"),
        ("import", "[(import_statement) (import_from_statement)] @n"),
        ("closure", "(lambda) @d"),
        ("value", "(assignment left: [(identifier) (attribute)] @n type: (_)? @t right: (_)? @v)"),
        ("value", "(named_expression name: (_) @n value: (_) @v)"),
        ("value", "(as_pattern (_) @v alias: (as_pattern_target (identifier) @n))"),
        (
            "value",
            "[(typed_parameter . (identifier) @n type: (_) @t) (typed_default_parameter name: (_) @n type: (_) @t)]",
        ),
        ("value", "(default_parameter name: (identifier) @n value: (_) @v)"),
        ("parameter", "[(parameters (identifier) @n) (lambda_parameters (identifier) @n)]"),
        ("unknown", "[(list_splat_pattern (identifier) @n) (dictionary_splat_pattern (identifier) @n)]"),
        ("unknown", "[(pattern_list (identifier) @n) (tuple_pattern (identifier) @n)]"),
        ("element", "(for_statement left: (identifier) @n right: (_) @v)"),
        ("element", _in_comprehensions("(for_in_clause left: (identifier) @n right: (_) @v)")),
        ("unknown", _in_comprehensions("(for_in_clause left: (_ (identifier) @n))")),
        ("base", "(class_definition superclasses: (argument_list [(identifier) (attribute) (subscript)] @t))"),
        ("result", "(function_definition return_type: (_) @t)"),
        ("return", "[(return_statement (_) @v) (yield (_) @v)]"),
    ),
    non_code="[(string) (comment)] @q",
    import_names=import_names,
    imported=imported,
)
