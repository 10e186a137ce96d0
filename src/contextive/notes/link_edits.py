"""Links in other notes when a note gets another name, or goes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from contextive.notes.catalog import NoteCatalog
from contextive.notes.note import Note, stem_of, title_span
from contextive.notes.slug import link_key
from contextive.notes.wikilink import LinkSpan, find_links


@dataclass(frozen=True, slots=True)
class NoteNames:
    """What a note can be called in a link."""

    slug: str
    title: str
    path: str

    @staticmethod
    def of(note: Note) -> NoteNames:
        return NoteNames(note.slug, note.title, note.path)


##= docs/spec/notes.md#page-changes
##% The tool `rename_page` MUST update the links in other notes and keep the form in which each is written.
def rename_links(content: str, catalog: NoteCatalog, note: Note, to: NoteNames) -> str:
    """The content with links to `note` leading to its new names, each in the manner in which it was written.

    A slug becomes the new slug, a title the new title, a path the new path. An alias stays. Labels and headings are kept.
    """
    old = NoteNames.of(note)

    def rename(place: LinkSpan) -> str | None:
        written = content[place.name_start : place.name_end]
        return _new_name(written, old, to, note.aliases)

    return _replace_links(content, catalog, note, rename, lambda place: (place.name_start, place.name_end))


def unlink(content: str, catalog: NoteCatalog, note: Note) -> str:
    """The content with links to `note` turned into plain text: the label, else the name. An embed leaves nothing."""

    def plain(place: LinkSpan) -> str:
        if place.link.embed:
            return ""
        return place.link.label or content[place.name_start : place.name_end]

    return _replace_links(content, catalog, note, plain, lambda place: (place.start, place.end))


def rename_heading(content: str, title: str) -> str:
    """The content with another text in the heading with which it begins."""
    start, end = title_span(content) or (0, 0)
    return content[:start] + title + content[end:] if start else content


def _replace_links(
    content: str,
    catalog: NoteCatalog,
    note: Note,
    edit: Callable[[LinkSpan], str | None],
    span: Callable[[LinkSpan], tuple[int, int]],
) -> str:
    pieces, position = [], 0
    for place in find_links(content):
        if catalog.find_link(place.link) is not note:
            continue
        text = edit(place)
        if text is not None:
            start, end = span(place)
            pieces += [content[position:start], text]
            position = end
    return "".join([*pieces, content[position:]])


def _new_name(written: str, old: NoteNames, to: NoteNames, aliases: tuple[str, ...]) -> str | None:
    name = link_key(written)
    if written == old.slug:
        return to.slug
    if name == link_key(old.title):
        return _linkable_name(to.title, to.slug)
    if name in map(link_key, aliases):
        return None
    ending = ".md" if name.endswith(".md") else ""
    bare = written[: len(written) - len(ending)]
    if "/" in written:
        depth = bare.strip("/").count("/") + 1
        path = to.path.rpartition(".")[0]
        return "/".join(path.split("/")[-depth:]) + ending
    if link_key(bare) == link_key(stem_of(old.path)):
        return _linkable_name(stem_of(to.path), to.slug) + ending
    return to.slug


def _linkable_name(name: str, slug: str) -> str:
    """The name, or the slug where the name holds a character that means something else between brackets."""
    return slug if any(c in name for c in "[]|#\r\n") else name
