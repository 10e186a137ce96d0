"""Plain notes are not parsed; what their lines say is what the parser of Markdown says."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextive.notes import wikilink
from contextive.notes.prose import _parsed_prose, _plain_prose
from contextive.notes.wikilink import find_links

PIECES = st.sampled_from(
    [
        "[[a]]",
        "[[b|c]]",
        "`",
        "``",
        "```",
        "````",
        "~~~",
        "\n",
        "\n\n",
        "\n```\n",
        "\n~~~\n",
        "    ",
        "- ",
        "> ",
        "# ",
        "1. ",
        "\n[[x]]\n",
        "`[[y]]`",
        "![[z]]",
        "\\",
        "<div>",
        "word ",
        " ",
        "\t",
        "[[p`q]]",
        "```py\n",
        "\n   ```\n",
        "\r\n",
        "---\n",
    ]
)


def links(content: str, stretches: list[tuple[int, int]]) -> list[str]:
    return [found[0] for start, end in stretches for found in wikilink._link_matches_within(content, start, end)]


@settings(max_examples=3000)
@given(st.lists(PIECES, max_size=14).map("".join))
def test_a_look_at_the_lines_finds_the_links_that_the_parser_finds(content: str) -> None:
    plain = _plain_prose(content)
    if plain is not None:
        assert links(content, plain) == links(content, list(_parsed_prose(content))), plain


@pytest.mark.parametrize(
    ("content", "targets"),
    [
        ("[[a]]\n\n```py\n[[b]]\n    x\n```\n\n[[c]] `[[d]]` [[e]]\n", ["a", "c", "e"]),
        ("~~~\n[[a]]\n```\n[[b]]\n~~~\n[[c]]", ["c"]),
        ("```\n[[a]]", []),
        ("one `tick [[a]]\n\nand `another [[b]]", ["a", "b"]),
    ],
)
def test_code_holds_no_links(content: str, targets: list[str]) -> None:
    assert [place.link.target for place in find_links(content)] == targets


def test_a_note_with_code_in_plain_lines_needs_no_parser() -> None:
    for content in ("Use `x` [[a]]\n", "```\ncode\n```\n[[a]]\n", "# T\n\n- `a` and ``b`` [[c]]\n"):
        assert _plain_prose(content) is not None
