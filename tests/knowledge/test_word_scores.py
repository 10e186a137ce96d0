"""Ranking of texts in memory by words."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from contextive.knowledge.query_words import query_words
from contextive.knowledge.word_scores import WordScorer

PAGES = [
    ("backup", "Back up your files", "Copy the folder to another disk once a day."),
    ("sync", "Sync between devices", "Files are copied to every device. Files are encrypted."),
    ("tags", "Tags", "A tag groups files. Write it in the text."),
]


def found(query: str, limit: int = 10) -> list[str]:
    return [hit.key for hit in WordScorer(PAGES).search(query, limit)]


def test_a_question_in_a_sentence_finds_the_text_with_its_words_in_other_forms() -> None:
    assert found("How do I write the tagging of a file?")[0] == "tags"
    assert found("syncing device!")[0] == "sync"


def test_stop_words_and_punctuation_find_nothing_beside_other_words() -> None:
    assert found("what is the zebra?") == []


def test_a_word_in_the_title_counts_more_than_one_in_a_long_text() -> None:
    assert found("sync files", 2)[0] == "sync"


def test_a_hit_names_the_words_that_it_contains() -> None:
    hit = WordScorer(PAGES).search("copying a zebra", 1)[0]
    assert hit.matched == {"copi"}


def test_an_identifier_is_found_by_its_parts_and_written_together() -> None:
    scorer = WordScorer([("a", "", "call gatherPumps here"), ("b", "", "gather them")])
    assert [hit.key for hit in scorer.search("gatherpumps", 5)] == ["a"]
    assert scorer.search("gather_pumps", 5)[0].key == "a"


def test_a_shared_title_counts_only_for_texts_that_lack_the_word() -> None:
    texts = [("word", "Keys", "Keys are changed."), ("title", "Keys", "They are changed."), ("none", "", "Changed.")]
    scores = {hit.key: hit.score for hit in WordScorer(texts, title_share=0.5).search("keys", 3)}
    assert scores.keys() == {"word", "title"}
    assert scores["title"] < scores["word"]
    assert scores["word"] < {hit.key: hit.score for hit in WordScorer(texts).search("keys", 3)}["word"]


def test_words_of_similar_meaning_count_less_and_are_not_the_word() -> None:
    scorer = WordScorer([("drop", "", "drop it"), ("discard", "", "discard it"), ("other", "", "keep it")])
    words = [replace(word, similar=("discard",)) for word in query_words("drop")]
    first, second = scorer.search(words, 5)
    assert (first.key, second.key) == ("drop", "discard")
    assert (first.matched, second.matched) == (frozenset({"drop"}), frozenset())


_words = st.lists(st.sampled_from(["pump", "pumps", "water", "gate", "the"]), max_size=6).map(" ".join)


@given(st.lists(st.tuples(st.integers(0, 4), _words, _words), max_size=12), st.integers(0, 4))
def test_replaced_and_removed_texts_leave_no_trace(edits: list[tuple[int, str, str]], removed: int) -> None:
    changed: WordScorer[int] = WordScorer(edits)
    changed.remove(removed)
    last = {key: (title, body) for key, title, body in edits if key != removed}
    fresh = WordScorer([(key, *text) for key, text in last.items()])
    for query in ("pump", "water gate", "pumps the gate"):
        assert {h.key: h.score for h in changed.search(query, 9)} == {h.key: h.score for h in fresh.search(query, 9)}
