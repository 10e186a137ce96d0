"""The sources of an answer: passages of the project, without secrets, that fit into the context window."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

WITHHELD = "[withheld: it looks like a secret]"
_MIN_SOURCE_LENGTH = 200


@dataclass(frozen=True, slots=True)
class Source:
    """One passage of the project: title, location and text."""

    slug: str | None
    """None if the source is not a note."""
    title: str
    path: str
    first_line: int
    last_line: int
    text: str = field(repr=False)

    ##= docs/spec/notes.md#ask
    ##% Each source MUST have its number, title, path and lines, and also the slug if it is a note.
    def as_dict(self, number: int) -> dict[str, Any]:
        """The source as a JSON object, without its text."""
        return {
            "number": number,
            **({"slug": self.slug} if self.slug is not None else {}),
            "title": self.title,
            "path": self.path,
            "lines": [self.first_line, self.last_line],
        }


##= docs/spec/notes.md#data-sent-to-models
##% A line that contains a secret in a known format MUST NOT be sent to a model.
def without_secrets(source: Source, is_secret: Callable[[str], bool]) -> Source | None:
    """The source with secret lines replaced, or None if a secret spans several lines and cannot be removed by line."""
    if not is_secret(source.text) and not is_secret(source.title):
        return source
    text = redact(source.text, is_secret)
    if is_secret(text) or is_secret(source.title):
        return None
    return replace(source, text=text)


def redact(text: str, is_secret: Callable[[str], bool]) -> str:
    """The text with every line replaced that looks like a secret."""
    return "\n".join(WITHHELD if is_secret(line) else line for line in text.split("\n"))


def pack_sources(sources: Sequence[Source], budget_characters: int) -> list[Source]:
    """As many of the sources, best first, as fit into the budget. Long ones are cut at the end of a line.

    Headings and texts together never exceed the budget. If there are several sources, each gets at most half of it, so that one
    long page does not take all the space.
    """
    packed: list[Source] = []
    remaining = budget_characters
    share = budget_characters if len(sources) == 1 else budget_characters // 2
    for number, source in enumerate(sources, 1):
        available = min(remaining, share) - len(heading(source, number)) - len("\n\n\n")
        if available < min(_MIN_SOURCE_LENGTH, len(source.text)):
            break
        piece = _cut(source, available)
        if piece is None:
            break
        packed.append(piece)
        remaining -= len(heading(piece, number)) + len(piece.text) + len("\n\n\n")
    return packed


def heading(source: Source, number: int) -> str:
    """The line above a source's text in the prompt."""
    title = " ".join(source.title.split())[:200]
    return f"### [{number}] {title} ({source.path}, lines {source.first_line} to {source.last_line})"


def write_context(sources: Sequence[Source]) -> str:
    """The sources as text for the prompt, numbered from 1."""
    return "".join(f"{heading(source, number)}\n{source.text}\n\n" for number, source in enumerate(sources, 1))


def _cut(source: Source, length: int) -> Source | None:
    if len(source.text) <= length:
        return source
    text = source.text[: max(0, length)]
    if "\n" in text:
        text = text.rpartition("\n")[0]
    if not text.strip():
        return None
    last = min(source.last_line, source.first_line + text.count("\n"))
    return replace(source, text=text, last_line=last)
