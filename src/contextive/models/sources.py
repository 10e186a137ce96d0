"""What an answer may rest on: passages of the project, packed into a model's window, with what is secret left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

WITHHELD = "[withheld: it looks like a secret]"
_SMALLEST_PIECE = 200


@dataclass(frozen=True, slots=True)
class Source:
    """One passage that the search found: what it is, where it stands, and its text."""

    slug: str | None
    """None for what is no note."""
    title: str
    path: str
    first_line: int
    last_line: int
    text: str = field(repr=False)

    ##= docs/spec/notes.md#ask
    ##% Each source MUST have its number, title, path and lines, and also the slug if it is a note.
    def as_dict(self, number: int) -> dict[str, Any]:
        """The source without its text, as an answer shows it."""
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
    """The source with its secret lines withheld; None where a secret spans lines, so that no line alone gives it away."""
    if not is_secret(source.text) and not is_secret(source.title):
        return source
    text = redact(source.text, is_secret)
    if is_secret(text) or is_secret(source.title):
        return None
    return replace(source, text=text)


def redact(text: str, is_secret: Callable[[str], bool]) -> str:
    """The text with every line withheld that looks like a secret."""
    return "\n".join(WITHHELD if is_secret(line) else line for line in text.split("\n"))


def pack_sources(sources: Sequence[Source], budget_characters: int) -> list[Source]:
    """As many of the sources, best first, as the budget holds; the last one may be cut at the end of a line.

    The characters of all headings and texts together never pass the budget. No source takes more than half of it while there
    are others, so that one long page does not crowd out the rest.
    """
    packed: list[Source] = []
    left = budget_characters
    share = budget_characters if len(sources) == 1 else budget_characters // 2
    for number, source in enumerate(sources, 1):
        room = min(left, share) - len(heading(source, number)) - len("\n\n\n")
        if room < min(_SMALLEST_PIECE, len(source.text)):
            break
        piece = _cut(source, room)
        if piece is None:
            break
        packed.append(piece)
        left -= len(heading(piece, number)) + len(piece.text) + len("\n\n\n")
    return packed


def heading(source: Source, number: int) -> str:
    """The line above a source's text in the prompt."""
    title = " ".join(source.title.split())[:200]
    return f"### [{number}] {title} ({source.path}, lines {source.first_line} to {source.last_line})"


def write_context(sources: Sequence[Source]) -> str:
    """The sources as the prompt holds them, numbered from 1."""
    return "".join(f"{heading(source, number)}\n{source.text}\n\n" for number, source in enumerate(sources, 1))


def _cut(source: Source, room: int) -> Source | None:
    if len(source.text) <= room:
        return source
    text = source.text[: max(0, room)]
    if "\n" in text:
        text = text.rpartition("\n")[0]
    if not text.strip():
        return None
    last = min(source.last_line, source.first_line + text.count("\n"))
    return replace(source, text=text, last_line=last)
