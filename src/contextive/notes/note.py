"""A note: a Markdown file with a slug and links to other notes."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from contextive.notes.front_matter import parse_front_matter, text_value, text_values, time_value
from contextive.notes.slug import first_slug
from contextive.notes.wikilink import NoteLink, parse_links, parse_tags

TitleSource = Literal["front matter", "heading", "file name"]

_HEADING = re.compile(r"#[ \t]++([^\n]*)")
_WORD = re.compile(r"[^\W_]{3,}")


@dataclass(frozen=True)
class Note:
    """One note. `head` is its front matter as in the file, `content` the text after it."""

    path: str
    slug: str
    title: str
    content: str
    head: str = ""
    tags: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    created: float | None = None
    """Seconds since the epoch, or None if unknown."""
    modified: float | None = field(default=None, compare=False)
    """When the file was last written, in seconds since the epoch."""
    links: tuple[NoteLink, ...] = ()
    version: str = ""
    """A hash of the file's text, to detect whether the note changed since it was read."""
    title_source: TitleSource = "front matter"
    problem: str | None = None

    @property
    def text(self) -> str:
        """The text of the file."""
        return self.head + self.content

    @property
    def stem(self) -> str:
        """The file name without folder and suffix."""
        return stem_of(self.path)

    @cached_property
    def lowered(self) -> str:
        return self.content.lower()

    @cached_property
    def lowered_title(self) -> str:
        return self.title.lower()

    @cached_property
    def words(self) -> frozenset[str]:
        """The words of title and content, to compare notes."""
        return frozenset(_WORD.findall(self.lowered_title)) | frozenset(_WORD.findall(self.lowered))


##= docs/spec/notes.md#front-matter
##% The keys `title`, `slug`, `tags`, `aliases` and `created_at` of the front matter MUST be read, and all other keys
##% are kept unchanged.
##= docs/spec/notes.md#get-page
##% The content of a page MUST be the text of its file without the front matter.
def parse_note(path: str, text: str) -> Note:
    """Parse a note. Its slug comes from the front matter, else from the title there, else from the file name."""
    front = parse_front_matter(text)
    content = text[front.length :]
    stem = stem_of(path)
    source: TitleSource = "front matter"
    title = text_value(front.values, "title")
    slug_sources = (text_value(front.values, "slug"), title, stem)
    ##= docs/spec/notes.md#front-matter
    ##% Without a title in the front matter, the title MUST be the first heading at the start of the note, or else the
    ##% file name.
    if not title:
        start, end = title_span(content) or (0, 0)
        title, source = text_value({"heading": content[start:end]}, "heading"), "heading"
    if not title:
        title, source = text_value({"stem": stem}, "stem") or stem, "file name"
    return Note(
        path=path,
        ##= docs/spec/notes.md#slugs
        ##% The slug of a note MUST come from its front matter, or else from the title there, or else from its file
        ##% name.
        slug=first_slug(*filter(None, slug_sources)),
        title=title,
        content=content,
        head=text[: front.length],
        tags=_distinct((*(tag.lstrip("#") for tag in text_values(front.values, "tags")), *parse_tags(content))),
        aliases=text_values(front.values, "aliases") or text_values(front.values, "alias"),
        created=time_value(front.values, "created_at" if "created_at" in front.values else "created"),
        links=parse_links(content, path),
        version=version_of(text),
        title_source=source,
        problem=front.problem,
    )


def _distinct(tags: tuple[str, ...]) -> tuple[str, ...]:
    """The tags without repetitions that differ only in case."""
    found: dict[str, str] = {}
    for tag in filter(None, tags):
        found.setdefault(tag.casefold(), tag)
    return tuple(found.values())


def title_span(content: str) -> tuple[int, int] | None:
    """The start and end of the heading text at the start of the content, or None if it does not start with one."""
    heading = _HEADING.match(content)
    if heading is None:
        return None
    title = heading[1].removesuffix("\r").rstrip(" \t").rstrip("#").rstrip(" \t")
    return heading.start(1), heading.start(1) + len(title)


def version_of(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def stem_of(path: str) -> str:
    name = path.rpartition("/")[2]
    return name.rpartition(".")[0] or name


__all__ = ["Note", "TitleSource", "parse_note", "stem_of", "title_span", "version_of"]
