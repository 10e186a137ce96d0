"""Front matter: the YAML or TOML block at the start of a note, read with limits and edited in place."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from contextive.errors import InvalidRequest, ParseError

_MAX_CHARACTERS = 65_536
_OPENING = re.compile(r"\ufeff?(---|\+\+\+)[ \t]*\r?\n")
_YAML_CLOSING = re.compile(r"^(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.MULTILINE)
_TOML_CLOSING = re.compile(r"^\+\+\+[ \t]*(?:\r?\n|\Z)", re.MULTILINE)
TOML_MARK: Final = "+++"
_BLANK_LINES = re.compile(r"(?:[ \t]*\r?\n)*")
_WORDS = r"[^\W\d_](?:[\w ./()+&'-]*[\w.)])?"
_TIME = r"\d{4}-\d\d-\d\d(?:[T\ ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z?)?"
_SIMPLE_LINE = re.compile(
    rf"""([a-z_]+):(?:\ +(?:(?P<plain>{_WORDS}|{_TIME})|"(?P<quoted>[ !#-\[\]-~]*)"
    |\[(?P<list>{_WORDS}(?:,\ *{_WORDS})*)\]))?\r?""",
    re.VERBOSE | re.ASCII,
)
_SIMPLE_ITEM = re.compile(rf"(\ *)-\ +({_WORDS})\r?", re.VERBOSE | re.ASCII)
_YAML_WORDS = frozenset({"null", "true", "false"})
_PLAIN = re.compile(r"[A-Za-z](?:[\w .,/()+&'-]*[\w.)])?")
_NOT_PLAIN = frozenset({"null", "true", "false", "yes", "no", "on", "off", "y", "n"})


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """The front matter of a text. `length` is its number of characters, including the blank lines after it."""

    values: Mapping[str, Any] = field(default_factory=dict)
    length: int = 0
    problem: str | None = None
    is_toml: bool = False


##= docs/spec/notes.md#front-matter
##% Front matter MUST be read as YAML between `---` lines and as TOML between `+++` lines.
##= docs/spec/notes.md#front-matter
##% Front matter that cannot be parsed MUST NOT prevent its note from being shown.
def parse_front_matter(text: str) -> FrontMatter:
    """The front matter of a text, or an empty one. Invalid front matter is reported in `problem`, never raised."""
    opening = _OPENING.match(text)
    if opening is None:
        return FrontMatter()
    is_toml = opening[1] == TOML_MARK
    closing = _closing_of(is_toml).search(text, opening.end(), opening.end() + _MAX_CHARACTERS)
    if closing is None:
        return FrontMatter()  # a horizontal rule
    blank = _BLANK_LINES.match(text, closing.end())
    length = blank.end() if blank else closing.end()
    block = text[opening.end() : closing.start()]
    if is_toml:
        return _read_toml(block, length)
    simple = _simple_values(block)
    if simple is not None:
        return FrontMatter(simple, length)
    from contextive.config.yaml_text import parse_yaml  # most notes do not need it

    try:
        values, _ = parse_yaml(block)
    except ParseError as error:
        return FrontMatter({}, length, f"the front matter cannot be read: {error}")
    if values is None:
        return FrontMatter({}, length)
    if not isinstance(values, dict):
        return FrontMatter({}, length, "the front matter is not a mapping of keys to values")
    return FrontMatter(values, length)


def _closing_of(is_toml: bool) -> re.Pattern[str]:
    return _TOML_CLOSING if is_toml else _YAML_CLOSING


def _read_toml(block: str, length: int) -> FrontMatter:
    from contextive.toml.reader import read_toml

    try:
        return FrontMatter(read_toml(block), length, is_toml=True)
    except ParseError as error:
        return FrontMatter({}, length, f"the front matter cannot be read: {error}", is_toml=True)


def _simple_values(block: str) -> dict[str, Any] | None:
    """The values of a block with only plain words, times and lists, which needs no YAML parser; otherwise None."""
    values: dict[str, Any] = {}
    items: list[Any] | None = None
    indent = ""
    for line in block.split("\n")[:-1]:
        if items is not None and (item := _SIMPLE_ITEM.fullmatch(line)) is not None:
            if items and item[1] != indent:
                return None
            indent = item[1]
            items.append(item[2])
            continue
        found = _SIMPLE_LINE.fullmatch(line)
        if found is None or found[1] in values or found[1] in _YAML_WORDS or items == []:
            return None
        items = None
        if found["list"] is not None:
            values[found[1]] = [item.strip() for item in found["list"].split(",")]
        elif found["plain"] is not None or found["quoted"] is not None:
            values[found[1]] = found["plain"] or found["quoted"]
        else:
            values[found[1]] = items = []
        if not _YAML_WORDS.isdisjoint(values[found[1]] if found["list"] else [found["plain"]]):
            return None
    plain_items = (item for value in values.values() if isinstance(value, list) for item in value)
    return None if items == [] or not _YAML_WORDS.isdisjoint(plain_items) else values


def text_value(values: Mapping[str, Any], key: str) -> str:
    """A value as one line of text without control characters, or an empty string."""
    value = values.get(key)
    if value is None or isinstance(value, dict | list):
        return ""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    if text.isprintable():
        return " ".join(text.split())
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def text_values(values: Mapping[str, Any], key: str) -> tuple[str, ...]:
    """A value as distinct strings, in order: a list, or words separated by commas."""
    value = values.get(key)
    if value is None:
        return ()
    items: Sequence[Any] = value if isinstance(value, list) else text_value(values, key).split(",")
    texts = (text_value({"item": item}, "item") for item in items)
    return tuple(dict.fromkeys(text for text in texts if text))


def time_value(values: Mapping[str, Any], key: str) -> float | None:
    """An ISO 8601 time as seconds since the epoch. Without a time zone it is UTC."""
    if values.get(key) is None:
        return None
    try:
        moment = datetime.fromisoformat(text_value(values, key))
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def write_values(head: str, values: Mapping[str, str | Sequence[str]]) -> str:
    """The front matter `head` with these keys set. Other lines and the quotes around a value do not change."""
    before = parse_front_matter(head)
    if before.problem:
        raise InvalidRequest(f"The note cannot be changed: {before.problem}.", hint="Fix the front matter first.")
    written = _with_toml_values(head, values) if before.is_toml else _with_yaml_values(head, values)
    after = parse_front_matter(written)
    wanted = {key: tuple(value) if not isinstance(value, str) else value for key, value in values.items()}
    found = {key: text_value(after.values, key) if isinstance(v, str) else text_values(after.values, key)
             for key, v in wanted.items()}  # fmt: skip
    kept = {key: value for key, value in before.values.items() if key not in values}
    if found != wanted or kept != {key: value for key, value in after.values.items() if key not in values}:
        raise InvalidRequest(
            "The front matter of the note cannot be edited in its current form.",
            hint="Write one key per line, as `key: value`.",
        )
    return written


def _with_toml_values(head: str, values: Mapping[str, str | Sequence[str]]) -> str:
    from contextive.toml.editor import NotEditable, with_values

    opening, closing = _OPENING.match(head), _TOML_CLOSING.search(head, 1)
    assert opening is not None
    assert closing is not None
    block = head[opening.end() : closing.start()]
    try:
        changed = with_values(block, (), values)
    except NotEditable as error:
        raise InvalidRequest(
            f"The note cannot be changed: {error}.", hint="Write one key per line, as `key = value`."
        ) from None
    if not block:
        changed = changed.replace("\n", "\r\n" if opening[0].endswith("\r\n") else "\n")
    return head[: opening.end()] + changed + head[closing.start() :]


def _with_yaml_values(head: str, values: Mapping[str, str | Sequence[str]]) -> str:
    newline = "\r\n" if "\r\n" in head else "\n"
    lines = head.splitlines(keepends=True) if _OPENING.match(head) else [f"---{newline}", f"---{newline}", newline]
    for key, value in values.items():
        _set_line(lines, key, value, newline)
    return "".join(lines)


def _set_line(lines: list[str], key: str, value: str | Sequence[str], newline: str) -> None:
    closing = next(i for i in range(1, len(lines)) if _YAML_CLOSING.match(lines[i]))
    first = next((i for i in range(1, closing) if re.match(rf"{re.escape(key)}[ \t]*:", lines[i])), None)
    if first is None:
        lines.insert(closing, f"{key}: {_yaml_value(value)}{newline}")
        return
    last = first + 1
    while last < closing and re.match(r"[ \t]|-[ \t]", lines[last]):
        last += 1
    quote = re.match(r"[^:]*:[ \t]*([\"']?)", lines[first])
    lines[first:last] = [f"{key}: {_yaml_value(value, quote[1] if quote else '')}{newline}"]


def _yaml_value(value: str | Sequence[str], quote: str = "") -> str:
    if not isinstance(value, str):
        return f"[{', '.join(_scalar(item, '', in_list=True) for item in value)}]"
    return _scalar(value, quote)


def _scalar(text: str, quote: str, *, in_list: bool = False) -> str:
    if quote == "'":
        return "'" + text.replace("'", "''") + "'"
    plain = _PLAIN.fullmatch(text) is not None and text.lower() not in _NOT_PLAIN and not (in_list and "," in text)
    return text if plain and not quote else json.dumps(text, ensure_ascii=False)
