"""Markdown links, comments and tags in the text of notes."""

from __future__ import annotations

import pytest

from contextive.notes.wikilink import parse_links, parse_tags


##= docs/spec/notes.md#links
##% A Markdown link to a file that is a note MUST count as a link to this note.
@pytest.mark.parametrize(
    ("written", "path"),
    [
        ("[Other](other.md)", "notes/other.md"),
        ("[Other](../Other%20Page.md#part)", "Other Page.md"),
        ('[Other](<sub/other page.md> "title")', "notes/sub/other page.md"),
        ("[](other.MD)", "notes/other.MD"),
    ],
)
def test_a_markdown_link_leads_to_the_file_relative_to_its_note(written: str, path: str) -> None:
    assert [link.path for link in parse_links(f"See {written}.", "notes/a.md")] == [path]


@pytest.mark.parametrize(
    "written",
    [
        "[x](https://example.org/a.md)", "[x](/etc/a.md)", "[x](../../a.md)", "[x](a.png)", "![x](a.md)", "`[x](a.md)`",
        "[x](#part)", "[x](a.md", "[x] (a.md)", "mailto:[x](mailto:a@b.md)",
    ],
)  # fmt: skip
def test_other_markdown_links_are_not_links_to_notes(written: str) -> None:
    assert parse_links(written, "notes/a.md") == ()


##= docs/spec/notes.md#links
##% A link in a comment between `%%` marks MUST NOT count.
@pytest.mark.parametrize(
    ("content", "targets"),
    [
        ("[[a]] %%[[b]]%% [[c]]", ["a", "c"]),
        ("[[a]]\n\n%%\n[[b]]\n\n[[c]]\n%%\n\n[[d]]", ["a", "d"]),
        ("```\n%%\n```\n[[a]] %%[[b]]", ["a", "b"]),
        ("100%% [[a]]", ["a"]),
        ("%%[[a]]%%%%[[b]]%%[[c]]", ["c"]),
    ],
)
def test_links_in_comments_do_not_count(content: str, targets: list[str]) -> None:
    assert [link.target for link in parse_links(content)] == targets


##= docs/spec/notes.md#front-matter
##% A word such as `#pump` in the text of a note MUST count as a tag.
@pytest.mark.parametrize(
    ("content", "tags"),
    [
        ("#pump and #cold/start-up, #Größe.", ("pump", "cold/start-up", "Größe")),
        ("# Heading\n\n## Another", ()),
        ("issue #123 and #2024/05, a#b, `#code` and [x](#part)", ()),
        ("```\n#include\n```\n#real", ("real",)),
        ("%% #hidden %% #seen", ("seen",)),
        ("`a #b` c #d `e", ("d",)),
    ],
)
def test_tags_are_words_with_a_hash_outside_code_and_comments(content: str, tags: tuple[str, ...]) -> None:
    assert parse_tags(content) == tags
