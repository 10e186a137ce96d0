from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from contextive.trace.matching import Haystack, Match, MatchKind, find_within_one_edit, match_quote

from .in_memory_trace import markdown, only_section

WORDS = st.text(alphabet="abMUST,.é日-", min_size=1, max_size=6)
LINES = st.lists(st.lists(WORDS, min_size=1, max_size=6).map(" ".join), min_size=1, max_size=6)


def find(quote: str, body: str) -> tuple[MatchKind, list[str]] | None:
    """The kind of match of a quote in a section, and the texts of its spans."""
    specification = markdown(f"# T\n\n{body}\n")
    found = match_quote(quote, Haystack.of(only_section(specification)))
    text = specification.source.text
    return None if found is None else (found.kind, [text[start:end] for start, end in found.spans])


def test_a_quote_is_found_across_line_ends() -> None:
    assert find("two three four", "one two\n  three four five") == (MatchKind.EXACT, ["two", "three four"])


@pytest.mark.parametrize("quote", ["one  two", "one two , three", "one  two,three", " one two,three "])
def test_differences_in_white_space_are_accepted(quote: str) -> None:
    kind, pieces = find(quote, "one two, three. four") or (None, [])
    assert (kind, pieces[0][:7]) == (MatchKind.NORMALISED, "one two")


@pytest.mark.parametrize(
    "quote", ["one twx three", "one to three", "one twwo three", "xone two three", "one two thre!"]
)
def test_a_difference_of_one_byte_is_accepted(quote: str) -> None:
    found = find(quote, "zero one two three four")
    assert found is not None
    assert found[0] is MatchKind.FUZZY


@pytest.mark.parametrize("quote", ["one twxx three", "One Two three", "one three two", "nothing"])
def test_a_difference_of_more_than_one_byte_is_not_accepted(quote: str) -> None:
    assert find(quote, "zero one two three four") is None


def test_a_character_of_two_bytes_is_more_than_one_difference() -> None:
    assert find("naive", "naïve") is None
    assert find("nave", "nàve") is None
    assert find("nêve", "nève") == (MatchKind.FUZZY, ["nève"])


def test_case_matters_and_the_first_occurrence_counts() -> None:
    found = match_quote("b c", Haystack.of(only_section(markdown("# T\nB c b c b c\n"))))
    assert found == Match(MatchKind.EXACT, ((8, 11),), repeated=True)


def test_a_span_of_one_byte_covers_nothing() -> None:
    assert find("A b A", "A b\nA") == (MatchKind.EXACT, ["A b", ""])
    assert find("é", "a é b") == (MatchKind.EXACT, ["é"])


def test_a_quote_of_one_byte_always_matches_something() -> None:
    """Any byte is one edit away from any other, so the first byte matches."""
    assert find("x", "abc") == (MatchKind.FUZZY, [""])


def test_nothing_is_found_in_an_empty_section() -> None:
    assert find("x", "") is None
    assert find("some words", "") is None


def test_a_quote_of_white_space_is_not_found() -> None:
    assert match_quote(" ", Haystack.of(only_section(markdown("# T\nab\n")))) is None


@given(LINES, st.data())
def test_a_quote_copied_from_a_section_is_found_exactly(lines: list[str], data: st.DataObject) -> None:
    haystack = _haystack(lines)
    start = data.draw(st.integers(0, len(haystack.text) - 1))
    end = data.draw(st.integers(start + 1, len(haystack.text)))
    quote = haystack.text[start:end].strip()
    assume(quote)
    found = match_quote(quote, haystack)
    assert found is not None
    assert found.kind is MatchKind.EXACT
    assert all(before[1] <= after[0] for before, after in pairwise(found.spans))


@given(LINES, st.data())
def test_a_quote_with_one_edit_is_found_near_its_original_position(lines: list[str], data: st.DataObject) -> None:
    haystack = _haystack(lines)
    text = haystack.text
    # Inside a word: at its edge, an edit can change which white space is significant, which makes it two edits.
    inside = [at for at in range(1, len(text) - 1) if text[at].isascii() and text[at - 1 : at + 2].isalnum()]
    at = data.draw(st.sampled_from(inside))
    start = data.draw(st.integers(0, at - 1))
    end = data.draw(st.integers(at + 2, len(text)))
    kind = data.draw(st.sampled_from(["change", "insert", "drop"]))
    before, after = text[start:at], text[at + (kind != "insert") : end]
    quote = (before + ("" if kind == "drop" else "x") + after).strip()
    found = match_quote(quote, haystack)
    assert found is not None
    if text.count(text[start:end]) == 1 and len(quote) > 8:
        whole = match_quote(text[start:end].strip(), haystack)
        assert whole is not None
        assert found.spans[0][0] <= whole.spans[-1][1]
        assert whole.spans[0][0] <= found.spans[-1][1]


@settings(max_examples=500)
@given(st.binary(min_size=2, max_size=7), st.binary(max_size=24))
def test_the_fast_search_agrees_with_the_slow_one(needle: bytes, haystack: bytes) -> None:
    needle, haystack = _few_letters(needle), _few_letters(haystack)
    assume(needle not in haystack)
    assert find_within_one_edit(needle, haystack) == slow_search(needle, haystack)


@settings(max_examples=300)
@given(st.binary(min_size=2, max_size=12), st.binary(max_size=12), st.binary(max_size=12), st.data())
def test_they_also_agree_if_the_needle_was_copied_from_the_haystack(
    needle: bytes, before: bytes, after: bytes, data: st.DataObject
) -> None:
    haystack = _few_letters(before + needle + after)
    at = data.draw(st.integers(0, len(needle) - 1))
    edited = _few_letters(
        data.draw(st.sampled_from([needle[:at] + needle[at + 1 :], needle[:at] + b"z" + needle[at:]]))
    )
    assume(len(edited) > 1 and edited not in haystack)
    assert find_within_one_edit(edited, haystack) == slow_search(edited, haystack)


def slow_search(needle: bytes, haystack: bytes) -> tuple[int, int] | None:
    """The definition: the longest alignment for each end; the first end, unless the next ones start as early."""
    best: tuple[int, int] | None = None
    for end in range(len(haystack) + 1):
        sizes = range(max(0, len(needle) - 1), len(needle) + 2)
        starts = [end - size for size in sizes if size <= end and _distance(needle, haystack[end - size : end]) <= 1]
        if not starts:
            continue
        if best is not None and min(starts) > best[0]:
            break
        best = (min(starts), end)
    return best


def _distance(one: bytes, other: bytes) -> int:
    row = list(range(len(other) + 1))
    for index, byte in enumerate(one, 1):
        previous, row[0] = row[0], index
        for column, candidate in enumerate(other, 1):
            previous, row[column] = (
                row[column],
                min(row[column] + 1, row[column - 1] + 1, previous + (byte != candidate)),
            )
    return row[-1]


def _few_letters(data: bytes) -> bytes:
    """The data reduced to three different letters, so that parts of it repeat."""
    return bytes(97 + byte % 3 for byte in data)


def _haystack(lines: list[str]) -> Haystack:
    body = "\n".join(f"    {line}" for line in lines)
    return Haystack.of(only_section(markdown(f"# T\n\ntext\n\n{body}\n")))
