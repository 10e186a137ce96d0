"""Links follow when a note is renamed, and become words when it goes."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from contextive.notes.catalog import NoteCatalog
from contextive.notes.link_edits import NoteNames, rename_heading, rename_links, unlink
from tests.notes.catalogs import catalog_of

OLD = "---\ntitle: Old Name\naliases: [Nick]\n---\n"
TO = NoteNames("new-name", "New Name", "notes/sub/new-name.md")


def catalog_with(content: str) -> NoteCatalog:
    return catalog_of({"notes/sub/old-name.md": OLD, "notes/x.md": content, "notes/other.md": ""})


def renamed(content: str) -> str:
    catalog = catalog_with(content)
    return rename_links(content, catalog, catalog.notes[0], TO)


##= docs/spec/notes.md#page-changes
##% The tool `rename_page` MUST update the links in other notes and keep the form in which each is written.
def test_each_manner_of_writing_a_link_is_kept() -> None:
    assert renamed("[[old-name]] [[Old Name]] [[old name|Label]] ![[Old Name#Part]] [[ Old Name ]]") == (
        "[[new-name]] [[New Name]] [[New Name|Label]] ![[New Name#Part]] [[ New Name ]]"
    )
    assert renamed("[[sub/old-name]] [[notes/sub/old-name.md]] [[old-name.md]]") == (
        "[[sub/new-name]] [[notes/sub/new-name.md]] [[new-name.md]]"
    )


def test_what_is_no_link_to_the_note_stays() -> None:
    text = "`[[old-name]]` [[Nick]] [[other]] Old Name old-name\n\n    [[old-name]]\n\n[[missing|old-name]]"
    assert renamed(text) == text


def test_links_to_a_note_that_goes_become_their_words() -> None:
    content = "See [[old-name]], [[Old Name|that page]], ![[old-name]] and `[[old-name]]`."
    catalog = catalog_with(content)
    assert unlink(content, catalog, catalog.notes[0]) == "See old-name, that page,  and `[[old-name]]`."


_LINKS = [
    "[[old-name]]",
    "[[Old Name]]",
    "[[Old Name|l]]",
    "![[old-name#h]]",
    "[[other]]",
    "[[sub/old-name]]",
    "[[Nick]]",
]
_PIECES = st.lists(st.sampled_from([*_LINKS, "`", "```\n", "\n\n", " ", "text", "\r\n"]))


@given(_PIECES.map("".join))
def test_renaming_there_and_back_restores_every_byte(content: str) -> None:
    catalog = catalog_with(content)
    old = catalog.notes[0]
    there = rename_links(content, catalog, old, TO)
    moved = [replace(old, slug=TO.slug, title=TO.title, path=TO.path), *catalog.notes[1:]]
    again = NoteCatalog(moved)
    new = again.get(TO.slug)
    assert new is not None
    assert rename_links(there, again, new, NoteNames.of(old)) == content


def test_a_title_that_cannot_stand_in_a_link_gives_way_to_the_slug() -> None:
    catalog = catalog_with("[[Old Name]]")
    to = NoteNames("a-b", "A | B", "notes/sub/a-b.md")
    assert rename_links("[[Old Name]]", catalog, catalog.notes[0], to) == "[[a-b]]"


def test_only_the_first_heading_gets_the_new_title() -> None:
    assert rename_heading("# Old #\r\n\n# Old\n", "New \\1") == "# New \\1 #\r\n\n# Old\n"
