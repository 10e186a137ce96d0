"""Keeps answers small: estimates their size, removes what says nothing, and cuts lists and texts to a budget.

A model pays for every character of an answer, so each tool has a budget in tokens. A token is estimated as four
characters of the compact JSON that is sent.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, TypeVar

from pydantic import Field

from contextive.errors import InvalidRequest
from contextive.registry.content import escape_hidden_characters
from contextive.registry.paging import Page, encode_cursor, offset_of

T = TypeVar("T")

Detail = Annotated[Literal["concise", "full"], Field(description="full: everything")]
"""The type of the argument `detail`: the short form of an answer, or everything."""
##= docs/spec/host.md#tool-calls
##% The default answer of a tool MUST fit into its budget of tokens, which is 2,500 unless the documentation names
##% another.
ANSWER_TOKENS: Final = 2_500
"""The budget of an answer, unless its tool has another one."""
_CHARACTERS_PER_TOKEN: Final = 4
_DECIMALS: Final = 3
_SIZES: Final = ((10, 4000), (10, 1000), (10, 400), (10, 200), (10, 100), (5, 100), (3, 80), (1, 60))
"""Entries of a list and characters of a text, tried in this order until a value fits."""
_LONGEST_NAME: Final = 300
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class Shortened:
    """Data with shorter lists and texts, and how many entries are left out of each list, by its path."""

    value: Any
    omitted: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class TextPart:
    """A part of a text, and the offset at which the next part starts if there is one."""

    text: str
    next_offset: int | None = None


def compact_json(value: Any) -> str:
    """The value as it is sent: JSON without spaces, with hidden characters escaped."""
    return escape_hidden_characters(_ENCODER.encode(value))


def estimated_tokens(value: Any) -> int:
    """The estimated tokens of a value as compact JSON."""
    return _tokens(len(compact_json(value)))


def concise(value: Any) -> Any:
    """The same data without nulls, and with numbers rounded to three decimals."""
    match value:
        case float():
            return round(value, _DECIMALS)
        case Mapping():
            return {key: concise(item) for key, item in value.items() if item is not None}
        case list() | tuple():
            return [concise(item) for item in value]
        case _:
            return value


def first_that_fit(items: Iterable[T], tokens: int) -> list[T]:
    """The first items that fit into the budget together, but at least one, so that a reader always gets further."""
    chosen: list[T] = []
    characters = 0
    for item in items:
        characters += len(compact_json(item)) + 1
        if chosen and _tokens(characters) > tokens:
            break
        chosen.append(item)
    return chosen


def page_within(
    kind: str, items: Sequence[T], cursor: str | None, *, tokens: int, show: Callable[[T], Any], limit: int
) -> Page[Any]:
    """The items from `cursor` on as `show` converts them: at most `limit`, and only as many as fit into the budget."""
    start = offset_of(kind, cursor)
    page = first_that_fit((show(item) for item in items[start : start + limit]), tokens)
    end = start + len(page)
    return Page(page, encode_cursor(kind, str(end)) if end < len(items) else None)


def text_part(text: str, offset: int, tokens: int) -> TextPart:
    """The part of a text from `offset` on that fits into the budget, cut at the end of a line. All parts are the text."""
    if offset > len(text):
        raise InvalidRequest(f"The text has only {len(text)} characters.", hint="Start with offset 0.")
    part = text[offset : offset + tokens * _CHARACTERS_PER_TOKEN]
    if estimated_tokens(part) > tokens:
        fitting = bisect_right(range(len(part)), tokens, key=lambda length: estimated_tokens(part[:length])) - 1
        part = part[: max(1, fitting)]
    end = offset + len(part)
    if end >= len(text):
        return TextPart(part)
    if at_line := part.rfind("\n", len(part) // 2) + 1:
        end = offset + at_line
    return TextPart(text[offset:end], end)


def shortened(value: Any, tokens: int) -> Shortened:
    """Data of any shape within a budget: if needed, the first entries of each list, and the beginning of each text."""
    whole = concise(value)
    if estimated_tokens(whole) <= tokens:
        return Shortened(whole, {})
    for entries, characters in _SIZES:
        omitted: dict[str, int] = {}
        short = _shorten(value, entries, characters, "", omitted)
        if estimated_tokens(short) + estimated_tokens(omitted) <= tokens:
            return Shortened(short, omitted)
    return Shortened({} if isinstance(value, Mapping) else [] if isinstance(value, list) else None, {"": 1})


def cut_at_line(text: str, characters: int) -> tuple[str, int]:
    """The start of a text, cut at the end of a line or else of a word, and the number of characters left out."""
    if len(text) <= characters:
        return text, 0
    cut = max(text.rfind("\n", characters // 2, characters + 1), text.rfind(" ", characters - 40, characters + 1))
    kept = text[: cut if cut > 0 else characters].rstrip()
    return kept, len(text) - len(kept)


def _tokens(characters: int) -> int:
    return -(-characters // _CHARACTERS_PER_TOKEN)


def _shorten(value: Any, entries: int, characters: int, path: str, omitted: dict[str, int]) -> Any:
    match value:
        case str() if len(value) > characters:
            # An identifier or a path is useless when it is cut.
            kept = characters if " " in value else max(characters, _LONGEST_NAME)
            return value if len(value) <= kept else cut_at_line(value, kept)[0] + "…"
        case Mapping():
            below = f"{path}." if path else ""
            return {
                key: _shorten(item, entries, characters, f"{below}{key}", omitted)
                for key, item in value.items()
                if item is not None
            }
        case list() | tuple():
            if len(value) > entries:
                omitted[path] = omitted.get(path, 0) + len(value) - entries
            return [_shorten(item, entries, characters, path, omitted) for item in value[:entries]]
        case _:
            return concise(value)
