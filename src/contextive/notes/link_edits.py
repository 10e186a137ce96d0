"""Update the links in other notes when a note is renamed or deleted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import quote

from contextive.notes.catalog import NoteCatalog
from contextive.notes.note import Note, stem_of, title_span
from contextive.notes.slug import link_key
from contextive.notes.wikilink import LinkSpan, find_links


@dataclass(frozen=True, slots=True)
class NoteNames:
    """The names of a note in links."""

    slug: str
    title: str
    path: str

    @staticmethod
    def of(note: Note) -> NoteNames:
        return NoteNames(note.slug, note.title, note.path)


##= docs/spec/notes.md#page-changes
##% The tool `rename_page` MUST update the links in other notes and keep the form in which each is written.
def rename_links(content: str, catalog: NoteCatalog, note: Note, to: NoteNames, path: str = "") -> str:
    """The content of the note at `path`, with links to `note` changed to its new names. Each link keeps its form.

    A slug becomes the new slug, a title the new title, a path the new path. Aliases, labels and headings do not
    change.
    """
    old = NoteNames.of(note)

    def rename(span: LinkSpan) -> str | None:
        written = content[span.name_start : span.name_end]
        if span.link.path is not None:  # a Markdown link: the file stays in its folder and gets another name
            return written[: written.rfind("/") + 1] + quote(to.path.rpartition("/")[2])
        return _new_name(written, old, to, note.aliases)

    return _replace_links(content, path, catalog, note, rename, lambda span: (span.name_start, span.name_end))


def unlink(content: str, catalog: NoteCatalog, note: Note, path: str = "") -> str:
    """The content of the note at `path`, with links to `note` as plain text: the label, or else the name. Embeds are removed."""

    def plain(span: LinkSpan) -> str:
        if span.link.embed:
            return ""
        return span.link.label or content[span.name_start : span.name_end]

    return _replace_links(content, path, catalog, note, plain, lambda span: (span.start, span.end))


def rename_heading(content: str, title: str) -> str:
    """The content with a new text in its first heading, if it starts with one."""
    start, end = title_span(content) or (0, 0)
    return content[:start] + title + content[end:] if start else content


def _replace_links(
    content: str,
    path: str,
    catalog: NoteCatalog,
    note: Note,
    edit: Callable[[LinkSpan], str | None],
    bounds: Callable[[LinkSpan], tuple[int, int]],
) -> str:
    pieces, position = [], 0
    for span in find_links(content, path):
        if catalog.find_link(span.link) is not note:
            continue
        text = edit(span)
        if text is not None:
            start, end = bounds(span)
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
    """The name, or the slug if the name contains a character with a special meaning in a link."""
    return slug if any(c in name for c in "[]|#\r\n") else name
