from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextive.errors import InvalidCursor, InvalidRequest
from contextive.registry.budget import (
    compact_json,
    concise,
    cut_at_line,
    estimated_tokens,
    first_that_fit,
    page_within,
    shortened,
    text_part,
)
from tests.registry.property_tests import property_test

TEXTS = st.text(alphabet=st.sampled_from('abc \n"\\\t\u202eäあ'), max_size=400)


def test_a_token_is_four_characters_of_compact_json() -> None:
    assert estimated_tokens({"a": [1, 2]}) == len('{"a":[1,2]}') // 4 + 1
    assert estimated_tokens("ab") == 1
    assert compact_json("a\u202eb") == '"a\\u202eb"'


def test_concise_data_has_no_nulls_and_short_numbers() -> None:
    data = {"score": 0.123456, "none": None, "list": [{"x": None, "y": 1}, 2.00001], "flag": False, "empty": []}
    assert concise(data) == {"score": 0.123, "list": [{"y": 1}, 2.0], "flag": False, "empty": []}


@property_test
@given(st.lists(TEXTS, max_size=30), st.integers(1, 200))
def test_pages_within_a_budget_are_together_the_list(items: list[str], tokens: int) -> None:
    found: list[str] = []
    cursor = None
    while True:
        page = page_within("things", items, cursor, tokens=tokens, show=str.upper, limit=7)
        assert len(page.items) == 1 or sum(len(compact_json(item)) + 1 for item in page.items) <= 4 * tokens
        assert len(page.items) <= 7
        found += page.items
        cursor = page.next_cursor
        if cursor is None:
            break
    assert found == [item.upper() for item in items]


def test_a_page_has_as_many_items_as_fit_and_at_least_one() -> None:
    items = ["x" * 37] * 9  # 40 characters each with quotes and comma
    assert len(first_that_fit(items, 20)) == 2
    assert len(first_that_fit(items, 1)) == 1
    assert first_that_fit([], 1) == []


def test_a_cursor_of_another_list_is_refused() -> None:
    following = page_within("a", ["x", "y"], None, tokens=1, show=str, limit=1).next_cursor
    with pytest.raises(InvalidCursor):
        page_within("b", ["x", "y"], following, tokens=1, show=str, limit=1)


@property_test
@given(TEXTS, st.integers(2, 60))
def test_the_parts_of_a_text_fit_into_the_budget_and_are_together_the_text(text: str, tokens: int) -> None:
    parts: list[str] = []
    offset: int | None = 0
    while offset is not None:
        part = text_part(text, offset, tokens)
        assert estimated_tokens(part.text) <= tokens or len(part.text) == 1
        parts.append(part.text)
        assert part.next_offset is None or part.next_offset > offset
        offset = part.next_offset
    assert "".join(parts) == text


def test_a_text_is_cut_at_the_end_of_a_line() -> None:
    text = "".join(f"line {number}\n" for number in range(100))
    part = text_part(text, 0, 50)
    assert part.text.endswith("\n")
    assert part.next_offset == len(part.text)
    assert text_part(text, part.next_offset, 10_000).next_offset is None


def test_an_offset_after_the_end_is_refused() -> None:
    assert text_part("abc", 3, 10).text == ""
    with pytest.raises(InvalidRequest):
        text_part("abc", 4, 10)


@pytest.mark.parametrize(
    ("text", "characters", "kept"),
    [
        ("short", 10, "short"),
        ("first line\nsecond line", 15, "first line"),
        ("one two three four", 12, "one two"),
        ("x" * 30, 10, "x" * 10),
    ],
)
def test_a_shortened_text_ends_with_a_line_or_a_word(text: str, characters: int, kept: str) -> None:
    assert cut_at_line(text, characters) == (kept, len(text) - len(kept))


def test_data_that_fits_is_not_shortened() -> None:
    assert shortened({"a": list(range(50)), "b": None}, 500).value == {"a": list(range(50))}


def test_shortened_data_says_how_many_entries_are_missing_and_keeps_names_whole() -> None:
    path = "src/" + "long_name/" * 20
    data = {"rows": {"old": [{"path": path, "text": "a sentence " * 60} for _ in range(40)]}, "count": 40}
    short = shortened(data, 800)
    kept = len(short.value["rows"]["old"])
    assert short.omitted == {"rows.old": 40 - kept}
    assert short.value["count"] == 40
    assert short.value["rows"]["old"][0]["path"] == path
    assert short.value["rows"]["old"][0]["text"].endswith("…")


@property_test
@given(
    st.recursive(
        st.none() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
        lambda inner: st.lists(inner, max_size=20) | st.dictionaries(st.text(max_size=5), inner, max_size=5),
        max_leaves=60,
    ),
    st.integers(30, 500),
)
def test_shortened_data_fits(value: object, tokens: int) -> None:
    assert estimated_tokens(shortened({"value": value}, tokens).value) <= tokens


def test_compact_json_is_read_back_as_the_same_value() -> None:
    value = {"text": 'a"b\\c\n\u200bd', "list": [1, 2.5, None, True]}
    assert json.loads(compact_json(value)) == value
