"""Links in the text of a note, and text that only looks like a link."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextive.notes.slug import link_key
from contextive.notes.wikilink import NoteLink, find_links, parse_links


def targets(text: str) -> list[str]:
    return [link.target for link in parse_links(text)]


##= docs/spec/notes.md#links
##% The outlinks of a note MUST be the targets of the links in its content, each once, in order of first appearance.
def test_links_are_listed_once_in_order_of_first_appearance() -> None:
    assert targets("[[b]] and [[a|Label]] and [[B]] and [[c#Part]] and [[a]]") == ["b", "a", "c"]


##= docs/spec/notes.md#links
##% The label and the heading in a link MUST NOT change its target.
def test_label_heading_and_embed_are_parsed() -> None:
    assert parse_links("![[Page#Part|seen]]") == (NoteLink("note", "Page", "seen", "Part", embed=True),)
    assert parse_links("[[ spaced ]]") == (NoteLink("note", "spaced"),)
    assert parse_links("[[C#]]") == (NoteLink("note", "C#"),)
    assert parse_links("[[#Part]]") == (NoteLink("note", "", None, "Part"),)


##= docs/spec/notes.md#links
##% A link whose target is prefixed with `req:`, `file:` or `symbol:` MUST lead to a requirement, a file or a symbol
##% of the project.
@pytest.mark.parametrize(
    ("text", "link"),
    [
        ("[[req:1a2b3c4d]]", NoteLink("requirement", "1a2b3c4d")),
        ("[[req:1A2B3C4D5E|why]]", NoteLink("requirement", "1a2b3c4d5e", "why")),
        ("[[req:1a2b]]", NoteLink("note", "req:1a2b")),
        ("[[file:src/a.py]]", NoteLink("file", "src/a.py")),
        ("[[symbol:src/a.py::Thing.run]]", NoteLink("symbol", "src/a.py::Thing.run")),
        ("[[symbol:Thing]]", NoteLink("note", "symbol:Thing")),
        ("![[chart.png]]", NoteLink("file", "chart.png", embed=True)),
        ("![[Release 2.0 notes]]", NoteLink("note", "Release 2.0 notes", embed=True)),
        ("![[other.md]]", NoteLink("note", "other.md", embed=True)),
    ],
)
def test_the_prefix_decides_the_kind_of_a_link(text: str, link: NoteLink) -> None:
    assert parse_links(text) == (link,)


##= docs/spec/notes.md#links
##% The text `[[target]]` outside code MUST be a link to the note whose slug, title, alias, file name or path is the
##% target.
@pytest.mark.parametrize(
    "text",
    [
        "`[[a]]`",
        "``[[a]] ` x``",
        "`spans\nlines [[a]]`",
        "```\n[[a]]\n```",
        "~~~md\n[[a]]\n~~~",
        "```\n[[a]] never closed",
        "text\n\n    [[a]]\n",
        "\t[[a]]",
        "- item\n\n      [[a]]\n",
        "> ```\n> [[a]]\n> ```",
        "> >     [[a]]",
        "\\[[a]]",
        "[[a\nb]]",
        "[[]]",
        "[a]",
        "[[a]",
    ],
)
def test_code_and_escaped_brackets_are_not_links(text: str) -> None:
    assert targets(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "`code` [[a]] `code`",
        "a ` b [[a]]",
        "\\` [[a]] `",
        "``` inline ``` [[a]]",
        "- item\n    [[a]]",
        "> quote [[a]]",
        "# Heading [[a]]",
        "| x | [[a\\|b]] |\n|---|---|",
        "[[[a]]]",
        "`open\n\n[[a]] `",
        "```\ncode\n```\r\n[[a]]",
        "<div>[[a]]</div>",
        "para\n    [[a]]",
        "\\\\[[a]]",
    ],
)
def test_links_next_to_code_are_found(text: str) -> None:
    assert targets(text) == ["a"]


_MARKS = ["`", "``", "```\n", "\n", "\n\n", "    ", "\\", "text", "[[", "]]", "> ", "- ", "\r\n", "\t", "~~~\n"]
_PIECES = st.lists(st.sampled_from([*_MARKS, "[[a]]", "[[B b|x]]", "![[a#h]]", "[[req:12345678]]"]))


@given(_PIECES)
def test_links_are_unique_ordered_and_at_their_positions(pieces: list[str]) -> None:
    text = "".join(pieces)
    spans = list(find_links(text))
    assert [p.start for p in spans] == sorted({p.start for p in spans})
    for span in spans:
        assert text[span.start : span.end].lstrip("!").startswith("[[")
        assert text[span.end - 2 : span.end] == "]]"
        if span.link.kind == "note":
            assert text[span.name_start : span.name_end] == span.link.target
    keys = [(p.link.kind, link_key(p.link.target), p.link.heading) for p in spans]
    links = parse_links(text)
    assert [(link.kind, link_key(link.target), link.heading) for link in links] == list(dict.fromkeys(keys))


@given(_PIECES.map("".join))
def test_the_fast_path_for_texts_without_code_finds_the_same_links(text: str) -> None:
    # A separate block with a code span disables the fast path and changes nothing else.
    with_code = text + "\n\n`code`\n"
    plain = text.count("`") == 0 and "~~~" not in text
    if plain:
        assert [p.link for p in find_links(text)] == [p.link for p in find_links(with_code)]


@pytest.mark.parametrize(
    "text",
    [
        "[[" * 50_000,
        "```[[a]]" + " ` `` ``` ````" * 20_000,
        "> " * 20_000 + "[[a]] `",
        "[[a|" * 30_000,
        "[[x]]" * 100_000 + "`",
        "- " * 5_000 + "[[a]]`",
    ],
    ids=lambda text: text[:8],
)
def test_hostile_texts_are_not_slow(text: str) -> None:
    started = time.process_time()
    list(find_links(text))
    assert time.process_time() - started < 10
