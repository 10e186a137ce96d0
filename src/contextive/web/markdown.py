"""The text of a note as HTML. Raw HTML is shown as text, and links lead to safe addresses only."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline
from markupsafe import Markup

from contextive.notes.catalog import NoteCatalog
from contextive.notes.note import Note
from contextive.notes.wikilink import NoteLink, parse_links
from contextive.web.addresses import file_address, note_address
from contextive.web.rendering import safe_link, visible

_LONGEST: Final = 200_000
"""Longer notes are shown as plain text, because rendering takes a second for each megabyte."""
_MAX_NESTING: Final = 20


##= docs/spec/site.md#security
##% Raw HTML in Markdown MUST be shown as text, and links lead only to http, https and mailto addresses, to the configured
##% editor, and to pages of the site.
def render_note(note: Note, catalog: NoteCatalog) -> Markup:
    """The content of a note as HTML."""
    if len(note.content) > _LONGEST:
        return Markup("<pre>{}</pre>").format(visible(note.content))
    target = partial(_target, note, catalog)
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": _MAX_NESTING}).enable(["table", "strikethrough"])
    parser.inline.ruler.before("link", "wikilink", partial(_wikilink, target))
    parser.validateLink = _any_link  # type: ignore[method-assign]
    parser.add_render_rule("link_open", _link_rule(target))
    parser.add_render_rule("image", _image)
    parser.add_render_rule("text", _text)
    parser.add_render_rule("wikilink", _render_wikilink)
    return Markup(parser.render(note.content))  # noqa: S704 - the parser escapes everything


def _any_link(url: str) -> bool:
    """Let every link become a token: `_opening_tag` decides what it may lead to."""
    return bool(url)


def _target(note: Note, catalog: NoteCatalog, link: NoteLink) -> str | None:
    """The page that a link of a note leads to; None if it does not exist."""
    match link.kind:
        case "requirement":
            return f"/requirements/{link.target}"
        case "file":
            return file_address(link.target)
        case "symbol":
            return file_address(link.target.partition("::")[0])
        case _:
            found = note if not link.target else catalog.find_link(link)
            return note_address(found.slug) if found is not None else None


Target = Callable[[NoteLink], str | None]


def _wikilink(target: Target, state: StateInline, silent: bool) -> bool:
    """Recognise `[[target]]` and `[[target|label]]`."""
    if not state.src.startswith("[[", state.pos):
        return False
    end = state.src.find("]]", state.pos + 2, state.pos + 1_004)
    written = state.src[state.pos : end + 2]
    if end < 0 or "\n" in written:
        return False
    links = parse_links(written)
    if not links:
        return False
    if not silent:
        token = state.push("wikilink", "", 0)
        token.content = links[0].label or links[0].target_text or links[0].heading or ""
        token.meta = {"address": target(links[0])}
    state.pos = end + 2
    return True


def _render_wikilink(_renderer: Any, tokens: Any, index: int, *_: object) -> str:
    token = tokens[index]
    address = token.meta["address"]
    if address is None:
        return Markup('<span class="missing-note" title="There is no such note">{}</span>').format(
            visible(token.content)
        )
    return Markup('<a href="{}">{}</a>').format(address, visible(token.content))


def _link_rule(target: Target) -> Callable[..., str]:
    """The rule for links in Markdown. The parser turns it into a method of its renderer."""

    def open_link(_renderer: Any, tokens: Any, index: int, *_: object) -> str:
        return _opening_tag(str(tokens[index].attrGet("href") or ""), target)

    return open_link


def _opening_tag(written: str, target: Target) -> str:
    if written.startswith("#"):
        return Markup('<a href="{}">').format(written)
    outside = safe_link(written)
    if outside is not None:
        return Markup('<a href="{}" rel="noopener noreferrer">').format(outside)
    links = parse_links(f"[x](<{written}>)") if not set(written) & set("<>\n") else ()
    address = target(links[0]) if links else None
    return Markup('<a href="{}">').format(address) if address else Markup("<a>")


def _image(_renderer: Any, tokens: Any, index: int, *_: object) -> str:
    """The text of an image: pages load nothing from other hosts."""
    return Markup('<span class="muted">[image: {}]</span>').format(visible(tokens[index].content or "without a text"))


def _text(_renderer: Any, tokens: Any, index: int, *_: object) -> str:
    return visible(tokens[index].content)
