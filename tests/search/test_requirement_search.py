"""Requirements found by questions, words and phrases, without an index."""

from __future__ import annotations

import pytest

from contextive.search.requirement_search import RequirementSearch
from contextive.trace.catalog import TraceCatalog
from tests.trace.in_memory_trace import catalog_of

LOCKER = """\
# Parcel locker

## Opening a door

The locker MUST open the door when the code is right.
After three wrong codes, the locker MUST block the keypad for ten minutes.
A courier MAY open several doors at once.

## Parcels

A parcel that nobody fetches is returned. The period MUST be at least seven days.

The locker MUST NOT accept a parcel that is heavier than 20 kg.
The sender SHOULD get a message when the parcel is fetched.

## Power

A locker without power MUST keep every door closed.
"""
PAYMENT = """\
# Payment terminal

## Cards

The terminal MUST encrypt the card number.
A receipt MAY be printed.
"""


@pytest.fixture(scope="module")
def catalog() -> TraceCatalog:
    return catalog_of({"locker.md": LOCKER, "payment.md": PAYMENT})


def found(catalog: TraceCatalog, query: str) -> list[str]:
    return [requirement.text for requirement in RequirementSearch().search(catalog, query).requirements]


##= docs/spec/trace.md#search-requirements
##= type=test
##% A search MUST rank requirements by their words, the title of their section, the name of their specification and
##% the paragraph around them.
@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What happens after 3 wrong codes?", "block the keypad"),
        ("how heavy may a parcel be?", "heavier than 20 kg"),
        ("Does the sender get a message?", "The sender SHOULD"),
        ("Is a courier allowed to open more doors?", "A courier MAY"),
        ("doors stay closed without power", "A locker without power"),
        ("payment terminal receipt", "A receipt MAY"),
        ("card-numbers, (encrypted)!", "encrypt the card number"),
        ("nobody and returned", "The period MUST"),
    ],
)
def test_a_question_finds_the_right_requirement(question: str, expected: str, catalog: TraceCatalog) -> None:
    assert any(expected in text for text in found(catalog, question)[:2])


TIMERS = """\
# Timers

## Probes

A sender sets a probe timeout (PTO) for each packet. The PTO MUST be longer than the round-trip time (RTT).
When the PTO expires, the backoff MUST be doubled.

## Tokens

A client sends a token in its first packet. This token MUST be at least 8 bytes.
A server MUST discard a zero-length token.
A server MAY respond with a new token.
"""


@pytest.fixture(scope="module")
def timers() -> TraceCatalog:
    return catalog_of({"timers.md": TIMERS})


##= docs/spec/trace.md#search-requirements
##= type=test
##% A search MUST treat an abbreviation that a specification introduces, and the words that it stands for, alike.
@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("which round trip time?", "The PTO MUST be longer"),
        ("what happens when the probe timeout is over", "the backoff MUST be doubled"),
        ("RTT", "The PTO MUST be longer"),
        ("how does it back off", "the backoff MUST be doubled"),
    ],
)
def test_abbreviations_and_words_written_as_one_are_understood(
    question: str, expected: str, timers: TraceCatalog
) -> None:
    assert expected in found(timers, question)[0]


##= docs/spec/trace.md#search-requirements
##= type=test
##% A search SHOULD find a requirement by words that mean about the same as its own, and by those of the sentence that it
##% refers back to.
@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("is an empty token thrown away", "discard a zero-length token"),
        ("may I reply with another token", "respond with a new token"),
        ("what does the client send in its first packet", "at least 8 bytes"),
    ],
)
def test_other_words_for_the_same_and_the_sentence_before_are_found(
    question: str, expected: str, timers: TraceCatalog
) -> None:
    assert expected in found(timers, question)[0]


def test_a_word_of_similar_meaning_is_still_reported_as_missing(timers: TraceCatalog) -> None:
    note = RequirementSearch().search(timers, "empty token").note
    assert note == "No requirement contains all words. The first one lacks: empty."


def test_words_that_are_next_to_each_other_count_more(catalog: TraceCatalog) -> None:
    assert "the door when" in found(catalog, "open the door")[0]


##= docs/spec/trace.md#search-requirements
##= type=test
##% If no requirement contains all words of a search, the answer MUST say which words the best one lacks.
def test_missing_words_are_named(catalog: TraceCatalog) -> None:
    search = RequirementSearch()
    assert search.search(catalog, "encrypted card numbers").note == ""
    note = search.search(catalog, "encrypted bananas?").note
    assert note == "No requirement contains all words. The first one lacks: bananas."
    similar = search.search(catalog, "encrpyt")
    assert "encrypt for encrpyt" in similar.note
    assert "encrypt" in similar.requirements[0].text


def test_results_with_few_of_the_words_are_left_out(catalog: TraceCatalog) -> None:
    assert len(found(catalog, "block the keypad after three wrong codes")) < 4
    assert found(catalog, "of the and a") == []


def test_a_search_follows_the_requirements(catalog: TraceCatalog) -> None:
    search = RequirementSearch()
    assert search.search(catalog, "keypad").requirements
    other = catalog_of({"payment.md": PAYMENT.replace("receipt", "ticket")})
    assert not search.search(other, "keypad").requirements
    assert [r.text for r in search.search(other, "ticket").requirements] == ["A ticket MAY be printed."]
