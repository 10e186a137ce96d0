"""Parsing a note from the text of its file."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextive.notes.note import parse_note


##= docs/spec/notes.md#front-matter
##% Without a title in the front matter, the title MUST be the first heading at the start of the note, or else the
##% file name.
##= docs/spec/notes.md#slugs
##% The slug of a note MUST come from its front matter, or else from the title there, or else from its file name.
@pytest.mark.parametrize(
    ("text", "slug", "title"),
    [
        ("---\ntitle: Big Plan\nslug: plan\n---\n# Other\n", "plan", "Big Plan"),
        ("---\ntitle: Big Plan\n---\n# Other\n", "big-plan", "Big Plan"),
        ("# Heading Here #\n\ntext", "my-file", "Heading Here"),
        ("text", "my-file", "My File"),
        ("", "my-file", "My File"),
        ("---\ntitle: 日本語\n---\n", "my-file", "日本語"),
        ("---\ntitle: [a]\n---\nx", "my-file", "My File"),
    ],
)
def test_slug_and_title_come_from_the_front_matter_or_the_file(text: str, slug: str, title: str) -> None:
    note = parse_note("notes/sub/My File.md", text)
    assert (note.slug, note.title) == (slug, title)


##= docs/spec/notes.md#front-matter
##% The keys `title`, `slug`, `tags`, `aliases` and `created_at` of the front matter MUST be read, and all other keys
##% are kept unchanged.
def test_tags_aliases_and_creation_time_are_read() -> None:
    note = parse_note("n.md", "---\ntags: ['#a', b]\naliases: Other, Third\ncreated_at: 1970-01-02\n---\nx")
    assert note.tags == ("a", "b")
    assert note.aliases == ("Other", "Third")
    assert note.created == 86400.0


##= docs/spec/notes.md#get-page
##% The content of a page MUST be the text of its file without the front matter.
@given(st.text())
def test_head_and_content_together_are_the_text(text: str) -> None:
    note = parse_note("n.md", text)
    assert note.head + note.content == text
    assert note.slug


def test_the_version_depends_on_the_text_only() -> None:
    assert parse_note("n.md", "a").version != parse_note("n.md", "b").version
    assert parse_note("n.md", "a").version == parse_note("m.md", "a").version
