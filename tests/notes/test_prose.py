"""The fast path for simple notes finds the same links as the Markdown parser."""

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


def links_in(content: str, ranges: list[tuple[int, int]]) -> list[str]:
    return [found[0] for start, end in ranges for found in wikilink._link_matches_within(content, start, end)]


@settings(max_examples=3000)
@given(st.lists(PIECES, max_size=14).map("".join))
def test_the_fast_path_finds_the_same_links_as_the_parser(content: str) -> None:
    plain = _plain_prose(content)
    if plain is not None:
        assert links_in(content, plain) == links_in(content, list(_parsed_prose(content))), plain


@pytest.mark.parametrize(
    ("content", "targets"),
    [
        ("[[a]]\n\n```py\n[[b]]\n    x\n```\n\n[[c]] `[[d]]` [[e]]\n", ["a", "c", "e"]),
        ("~~~\n[[a]]\n```\n[[b]]\n~~~\n[[c]]", ["c"]),
        ("```\n[[a]]", []),
        ("one `tick [[a]]\n\nand `another [[b]]", ["a", "b"]),
    ],
)
def test_code_contains_no_links(content: str, targets: list[str]) -> None:
    assert [span.link.target for span in find_links(content)] == targets


def test_simple_notes_with_code_need_no_parser() -> None:
    for content in ("Use `x` [[a]]\n", "```\ncode\n```\n[[a]]\n", "# T\n\n- `a` and ``b`` [[c]]\n"):
        assert _plain_prose(content) is not None
