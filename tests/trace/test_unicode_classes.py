from __future__ import annotations

import pytest

from contextive.trace.unicode_classes import is_alphanumeric, is_part_of_word


@pytest.mark.parametrize(
    "character", ["a", "1", "é", "日", "²", "½", "①", "ⓐ", "Ⅷ", "\u093f", "\u05b0", "\u0345", "\U0001f130"]
)
def test_letters_digits_and_vowel_signs_are_alphanumeric(character: str) -> None:
    assert is_alphanumeric(character)


@pytest.mark.parametrize("character", [" ", "_", "-", "\u0301", "\u094d", "\ufe0f", "🦀", "\u200d", "\U0010fffd"])
def test_accents_signs_and_emoji_are_not_alphanumeric(character: str) -> None:
    assert not is_alphanumeric(character)


def test_accents_and_joiners_continue_a_word_but_fractions_do_not() -> None:
    assert all(map(is_part_of_word, "aé日_‿\u0301\u200d\u093f"))
    assert not any(map(is_part_of_word, " -²½①🦀\u200b"))
