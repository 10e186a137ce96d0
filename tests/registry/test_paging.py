from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextive.errors import InvalidCursor
from contextive.registry.paging import decode_cursor, encode_cursor, offset_of, page_of
from tests.registry.property_tests import property_test

KINDS = st.sampled_from(["tools", "resources", "prompts", "templates"])
POSITIONS = st.text(alphabet=st.characters(codec="utf-8"), max_size=60)


@property_test
@given(KINDS, POSITIONS)
def test_a_cursor_decodes_to_its_position(kind: str, position: str) -> None:
    cursor = encode_cursor(kind, position)
    assert cursor.isascii()
    if len(cursor) <= 256:
        assert decode_cursor(kind, cursor) == position


@property_test
@given(KINDS, st.integers(0, 10**6), st.data())
def test_a_cursor_with_one_changed_character_is_refused(kind: str, offset: int, data: st.DataObject) -> None:
    cursor = encode_cursor(kind, str(offset))
    place = data.draw(st.integers(0, len(cursor) - 1))
    letter = data.draw(st.characters(codec="ascii").filter(lambda c: c != cursor[place]))
    with pytest.raises(InvalidCursor):
        offset_of(kind, cursor[:place] + letter + cursor[place + 1 :])


@property_test
@given(KINDS, KINDS, st.integers(0, 10**6))
def test_a_cursor_is_refused_by_every_other_list(kind: str, other: str, offset: int) -> None:
    cursor = encode_cursor(kind, str(offset))
    if kind == other:
        assert offset_of(other, cursor) == offset
    else:
        with pytest.raises(InvalidCursor):
            offset_of(other, cursor)


@property_test
@given(KINDS, st.text(max_size=400))
def test_arbitrary_text_is_refused_as_a_cursor(kind: str, text: str) -> None:
    with pytest.raises(InvalidCursor):
        decode_cursor(kind, text)


@pytest.mark.parametrize("position", ["", "-1", "x", "1:2", "٣", "1e3"])
def test_a_plain_list_refuses_a_position_that_is_not_an_offset(position: str) -> None:
    with pytest.raises(InvalidCursor):
        offset_of("tools", encode_cursor("tools", position))


@property_test
@given(st.lists(st.integers(), max_size=60), st.integers(1, 70))
def test_all_pages_together_are_the_list(items: list[int], size: int) -> None:
    found: list[int] = []
    cursor, pages = None, 0
    while True:
        page = page_of("things", items, cursor, size)
        assert len(page.items) <= size
        found += page.items
        cursor, pages = page.next_cursor, pages + 1
        if cursor is None:
            break
    assert found == items
    assert pages == max(1, -(-len(items) // size))
