"""Detection of repeated keys in JSON texts."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from contextive.server.json_body import count_keys, decode_json, has_repeated_key
from contextive.server.jsonrpc import Batch, Refusal, parse_line
from tests.registry.property_tests import property_test

KEYS = st.text('ab\\"\u00e9', max_size=2)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=10,
)
PAIRS = st.lists(st.tuples(KEYS, VALUES), max_size=4)


def json_text(pairs: list[tuple[str, object]], ensure_ascii: bool) -> str:
    items = (f"{json.dumps(key, ensure_ascii=ensure_ascii)}: {json.dumps(value)}" for key, value in pairs)
    return "{" + ", ".join(items) + "}"


@property_test
@given(PAIRS, st.booleans())
def test_a_repeated_key_is_found_exactly_if_one_was_written_twice(
    pairs: list[tuple[str, object]], ensure_ascii: bool
) -> None:
    data = json_text(pairs, ensure_ascii).encode()
    assert has_repeated_key(decode_json(data), count_keys(data)) == (len(dict(pairs)) < len(pairs))


@property_test
@given(VALUES, st.booleans())
def test_the_keys_of_any_valid_json_can_be_counted(value: object, ensure_ascii: bool) -> None:
    data = json.dumps(value, ensure_ascii=ensure_ascii).encode()
    assert not has_repeated_key(decode_json(data), count_keys(data))


def test_numbers_of_any_length_are_not_converted() -> None:
    data = b'{"a": ' + b"9" * 4_000 + b', "b": 1e999, "a": [-0.0]}'
    assert count_keys(data) == 3


def test_each_message_of_a_batch_is_checked_separately() -> None:
    found = parse_line(
        b'[{"jsonrpc":"2.0","id":1,"method":"a","method":"b"}, 5, {"jsonrpc":"2.0","id":2,"method":"c"}]'
    )
    assert isinstance(found, Batch)
    assert [isinstance(item, Refusal) for item in found.items] == [True, True, False]
