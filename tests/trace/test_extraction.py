from __future__ import annotations

import pytest

from contextive.trace.extraction import (
    extract_requirements,
    format_requirement_comments,
    format_requirement_file,
)
from contextive.trace.level import Level

from .in_memory_trace import markdown


def extract(body: str) -> list[tuple[str, str]]:
    """Level and text of each requirement in a section with this body."""
    return [
        (requirement.level.name, requirement.text)
        for _, requirements in extract_requirements(markdown(f"# T\n\n{body}\n"))
        for requirement in requirements
    ]


@pytest.mark.parametrize(
    ("word", "level"),
    [
        ("MUST", "MUST"),
        ("MUST NOT", "MUST"),
        ("SHALL", "MUST"),
        ("SHALL NOT", "MUST"),
        ("REQUIRED", "MUST"),
        ("SHOULD", "SHOULD"),
        ("SHOULD NOT", "SHOULD"),
        ("RECOMMENDED", "SHOULD"),
        ("NOT RECOMMENDED", "SHOULD"),
        ("MAY", "MAY"),
        ("OPTIONAL", "MAY"),
    ],
)
def test_each_key_word_has_its_level(word: str, level: str) -> None:
    assert extract(f"This {word} be.") == [(level, f"This {word} be.")]


@pytest.mark.parametrize(
    "word",
    [
        "must",
        "Must",
        "MUSTN",
        "xMAY",
        "MAY_BE",
        'MUST"',
        '"MUST NOT"',
        "éMUST",
        "MUST\u0301",
        "MAYⓐ",
        "MAY\u200d",
        "कीMUST",
    ],
)
def test_other_words_and_quoted_key_words_are_ignored(word: str) -> None:
    assert extract(f"This {word} be.") == []


@pytest.mark.parametrize(
    ("body", "quotes"),
    [
        ("One. It MUST be. Two.", ["It MUST be."]),
        ("One.\nIt MUST\nbe so. Two.", ["It MUST be so."]),
        ("First line\nit MUST\n\nAfter", ["First line it MUST"]),
        ("See v1.2 it MUST be e.g.this. No.", ["See v1.2 it MUST be e.g.this."]),
        ("End.It MUST be.", ["End.It MUST be."]),
        ("A. b.c MUST d.", ["b.c MUST d."]),
        ("A? B! C: it MUST.", ["A? B! C: it MUST."]),
        ("a... MUST b.. c. d", ["MUST b.. c."]),
        ("It MUST x and MUST y.", ["It MUST x and MUST y."]),
        ("It MUST x. It MUST x.", ["It MUST x."]),
        ("It MUST  x. It MUST x.", ["It MUST  x."]),
        ("Intro\n- it MUST a\n- it MAY b\nlazy", ["- it MUST a", "- it MAY b lazy"]),
        ("It\u00a0MUST work.", ["It\u00a0MUST work."]),
        ("It MUST² work.", ["It MUST² work."]),
        ("It MUST NOT\u0301 work.", ["It MUST NOT\u0301 work."]),
    ],
)
def test_a_requirement_is_the_sentence_around_its_key_word(body: str, quotes: list[str]) -> None:
    assert [quote for _, quote in extract(body)] == quotes


def test_the_highest_level_in_a_sentence_counts() -> None:
    assert extract("It MAY x and MUST y.") == [("MUST", "It MAY x and MUST y.")]


def test_headings_are_not_searched() -> None:
    assert extract("## It MUST be\n\nNothing.") == []


def test_requirements_are_written_as_toml_with_the_section_text_as_a_comment() -> None:
    ((section, requirements),) = extract_requirements(markdown("# A *b*\n\nIt MUST\n  be.\n\nEnd.\n"))
    assert format_requirement_file("s.md", section, requirements) == (
        'target = "s.md#a-b"\n\n# A *b*\n#\n# It MUST\n#   be.\n# \n# End.\n\n'
        "[[spec]]\nlevel = \"MUST\"\nquote = '''\nIt MUST\nbe.\n'''\n\n"
    )
    assert format_requirement_comments("s.md", section, requirements) == (
        "//! s.md#a-b\n//!\n//! A *b*\n//!\n//! It MUST\n//!   be.\n//! \n//! End.\n\n"
        "//= s.md#a-b\n//= type=spec\n//= level=MUST\n//# It MUST\n//# be.\n\n"
    )
    assert requirements[0].level is Level.MUST
