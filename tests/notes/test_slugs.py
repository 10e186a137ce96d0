"""Slugs follow the rule of the NEXUS endpoint, and file names are valid on every system."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextive.notes.slug import file_stem, first_slug, is_safe_name, link_key, slugify


@pytest.mark.parametrize(
    ("text", "slug"),
    [
        ("Getting Started", "getting-started"),
        ("  OAuth 2.0  ", "oauth-20"),
        ("a  --  b", "a-b"),
        ("-x-", "x"),
        ("Café & Bar", "caf-bar"),
        ("C++", "c"),
        ("../../etc/passwd", "etcpasswd"),
        ("日本語", ""),
        ("", ""),
    ],
)
def test_slugs_follow_the_rule(text: str, slug: str) -> None:
    assert slugify(text) == slug


##= docs/spec/notes.md#slugs
##% A slug MUST contain only lower-case ASCII letters, digits and single dashes.
@given(st.text())
def test_slugs_have_only_allowed_characters_and_do_not_change_again(text: str) -> None:
    slug = slugify(text)
    assert re.fullmatch(r"(?:[a-z0-9]+(?:-[a-z0-9]+)*)?", slug)
    assert slugify(slug) == slug


##= docs/spec/notes.md#slugs
##% Every note MUST have a slug that is unique in the project.
@given(st.lists(st.text(), min_size=1))
def test_every_note_has_a_slug(names: list[str]) -> None:
    assert slugify(first_slug(*names)) == first_slug(*names) != ""


def test_a_name_in_another_script_is_transliterated() -> None:
    assert first_slug("日本語") == "ribenyu"
    assert first_slug("日本語", "notes") == "notes"


@given(st.text())
def test_the_file_name_of_a_slug_is_safe_everywhere(text: str) -> None:
    assert is_safe_name(file_stem(first_slug(text)) + ".md")


@pytest.mark.parametrize(
    "name",
    [
        "con",
        "NUL.md",
        "com1",
        "a:b",
        "a/b",
        "a\\b",
        ".hidden",
        "dot.",
        "space ",
        "",
        "x" * 201,
        "a\0b",
        "a\u202eb",
        "a?",
    ],
)
def test_names_that_a_system_refuses_or_hides_are_not_safe(name: str) -> None:
    assert not is_safe_name(name)


@pytest.mark.parametrize("slug", ["con", "nul", "com1", "lpt9", "aux"])
def test_windows_device_names_are_not_used_as_file_names(slug: str) -> None:
    assert file_stem(slug) == f"{slug}-note"


def test_composed_and_decomposed_characters_are_equal() -> None:
    assert link_key("Cafe\u0301 Notes") == link_key("Caf\u00e9  notes")
