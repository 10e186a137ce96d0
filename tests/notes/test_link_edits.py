"""Links are updated when a note is renamed, and replaced by plain text when it is deleted."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from contextive.notes.catalog import NoteCatalog
from contextive.notes.link_edits import NoteNames, rename_heading, rename_links, unlink
from tests.notes.catalogs import catalog_of

OLD = "---\ntitle: Old Name\naliases: [Nick]\n---\n"
NEW_NAMES = NoteNames("new-name", "New Name", "notes/sub/new-name.md")


def catalog_with(content: str) -> NoteCatalog:
    return catalog_of({"notes/sub/old-name.md": OLD, "notes/x.md": content, "notes/other.md": ""})


def with_renamed_links(content: str) -> str:
    catalog = catalog_with(content)
    return rename_links(content, catalog, catalog.notes[0], NEW_NAMES)


##= docs/spec/notes.md#page-changes
##% The tool `rename_page` MUST update the links in other notes and keep the form in which each is written.
def test_every_link_keeps_its_form() -> None:
    assert with_renamed_links("[[old-name]] [[Old Name]] [[old name|Label]] ![[Old Name#Part]] [[ Old Name ]]") == (
        "[[new-name]] [[New Name]] [[New Name|Label]] ![[New Name#Part]] [[ New Name ]]"
    )
    assert with_renamed_links("[[sub/old-name]] [[notes/sub/old-name.md]] [[old-name.md]]") == (
        "[[sub/new-name]] [[notes/sub/new-name.md]] [[new-name.md]]"
    )


def test_other_text_and_links_do_not_change() -> None:
    text = "`[[old-name]]` [[Nick]] [[other]] Old Name old-name\n\n    [[old-name]]\n\n[[missing|old-name]]"
    assert with_renamed_links(text) == text


def test_links_to_a_deleted_note_become_plain_text() -> None:
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
def test_renaming_back_restores_every_byte(content: str) -> None:
    catalog = catalog_with(content)
    old = catalog.notes[0]
    after_rename = rename_links(content, catalog, old, NEW_NAMES)
    moved = [replace(old, slug=NEW_NAMES.slug, title=NEW_NAMES.title, path=NEW_NAMES.path), *catalog.notes[1:]]
    new_catalog = NoteCatalog(moved)
    new = new_catalog.get(NEW_NAMES.slug)
    assert new is not None
    assert rename_links(after_rename, new_catalog, new, NoteNames.of(old)) == content


def test_a_title_that_is_not_allowed_in_a_link_is_replaced_by_the_slug() -> None:
    catalog = catalog_with("[[Old Name]]")
    to = NoteNames("a-b", "A | B", "notes/sub/a-b.md")
    assert rename_links("[[Old Name]]", catalog, catalog.notes[0], to) == "[[a-b]]"


def test_only_the_first_heading_is_renamed() -> None:
    assert rename_heading("# Old #\r\n\n# Old\n", "New \\1") == "# New \\1 #\r\n\n# Old\n"


def test_markdown_links_get_the_new_file_name_and_become_plain_text_when_it_is_deleted() -> None:
    content = "See [the page](old-name.md#part) and [again](<old-name.md>)."
    catalog = catalog_with(content)
    target = catalog.notes[0]
    path = target.path.rpartition("/")[0] + "/source.md"
    new_file = NEW_NAMES.path.rpartition("/")[2].replace(" ", "%20")
    renamed = rename_links(content, catalog, target, NEW_NAMES, path)
    assert renamed == f"See [the page]({new_file}#part) and [again](<{new_file}>)."
    assert unlink(content, catalog, target, path) == "See the page and again."
