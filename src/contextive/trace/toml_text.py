"""TOML as projects write it: read within limits, with one error for everything that cannot be read."""

from __future__ import annotations

import re
from typing import Any

_PART = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')"""
_MAX_PARTS = 1000
_MAX_ABOVE = 10
# tomllib needs time in the square of the number of parts, so such a key is refused before it is parsed.
_LONG_KEY = rf"(?m)(?:^|[{{,])[ \t]*\[{{0,2}}[ \t]*(?:{_PART}[ \t]*\.[ \t]*){{{_MAX_PARTS}}}"


class NotToml(ValueError):
    """A text that is not TOML, or goes beyond what is read. Its words are those of the parser, the place behind them."""


def read_toml(text: str) -> dict[str, Any]:
    """The value of a TOML text."""
    plain = read_plain(text)
    if plain is not None:
        return plain
    import tomllib

    if text.count(".") >= _MAX_PARTS and (long_key := re.search(_LONG_KEY, text)):
        line = text.count("\n", 0, long_key.start()) + 1
        raise NotToml(f"A key has more than {_MAX_PARTS} parts (at line {line}, column 1)")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as failure:
        raise NotToml(str(failure)) from None
    except RecursionError:
        raise NotToml("Arrays or tables are nested too deep") from None
    except ValueError:  # Python refuses to read integers of thousands of digits
        raise NotToml("A number has too many digits") from None


def read_plain(text: str) -> dict[str, Any] | None:
    """The value of a text of tables, strings and truth values on lines of their own, as most configurations are.

    None for every other text and for each that may be wrong: those are the library's, which takes longer to load than a small
    project takes to report on.
    """
    document: dict[str, Any] = {}
    table = document
    for line in text.split("\n"):
        if not line.isprintable():
            return None
        line = line.strip(" ")
        if line.startswith("["):
            opened = _opened(document, line)
            if opened is None:
                return None
            table = opened
        elif line and not line.startswith("#"):
            name, _, word = line.partition("=")
            key, value = _key(name.strip(" ")), _value(word.strip(" "))
            if key is None or value is None or key in table:
                return None
            table[key] = value
    return document


def _opened(document: dict[str, Any], line: str) -> dict[str, Any] | None:
    """The new table that a header opens: the next one of a list, or one with a name that was not there before."""
    if line.startswith("[["):
        name, listed = line[2:].removesuffix("]]"), document.setdefault(line[2:].removesuffix("]]"), [])
        if not line.endswith("]]") or not _is_bare(name) or not isinstance(listed, list):
            return None
        listed.append({})
        return listed[-1]  # type: ignore[no-any-return]
    *above, name = line[1:].removesuffix("]").split(".")
    if not line.endswith("]") or not all(map(_is_bare, [*above, name])) or len(above) > _MAX_ABOVE:
        return None
    table = document
    for part in above:
        table = table.setdefault(part, {})
        if not isinstance(table, dict):
            return None
    if name in table:
        return None
    table[name] = {}
    return table[name]  # type: ignore[no-any-return]


def _key(word: str) -> str | None:
    return word if _is_bare(word) else _string(word)


def _is_bare(word: str) -> bool:
    return word.isascii() and word.replace("-", "_").replace("_", "a").isalnum()


def _value(word: str) -> str | bool | None:
    return word == "true" if word in ("true", "false") else _string(word)


def _string(word: str) -> str | None:
    """What stands between two quotation marks, where it stands for itself."""
    mark, inside = word[:1], word[1:-1]
    is_plain = len(word) > 1 and mark in ("'", '"') and word[-1] == mark and mark not in inside and "\\" not in inside
    return inside if is_plain else None
