"""Lexical and vector search, with filters."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from contextive.knowledge.query_words import TermCounts
from contextive.store.protocol import Store
from contextive.store.values import ChunkFilter, LexicalQuery, VectorModel

from .conftest import StoreFactory
from .samples import (
    EVERYTHING,
    MODEL,
    chunk,
    embed,
    entry,
    found_ids,
    git,
    near_ids,
    parsed,
    put,
    remove,
    symbol,
    vector_of,
)


def test_words_find_the_chunks_that_contain_them(store: Store) -> None:
    put(store, parsed("a", ["apples and pears", "plums"]), parsed("b", ["pears, pears, pears"]))
    assert found_ids(store, "pears") == ["b::0", "a::0"]
    assert found_ids(store, "plum") == ["a::1"]
    assert found_ids(store, "cherries") == []
    assert store.search.lexical(LexicalQuery(()), 10, EVERYTHING).hits == ()


@pytest.mark.parametrize("words", ["gatherAll", "gather_all", "gather", "http server", "HTTPServer", "REQ-AUTH-0042"])
def test_identifiers_are_found_whole_and_by_their_words(store: Store, words: str) -> None:
    put(store, parsed("a", ["call gatherAll and gather_all of the HTTPServer for REQ-AUTH-0042"]), parsed("b", ["no"]))
    assert found_ids(store, words) == ["a::0"]


def test_a_word_in_the_title_counts_more_than_one_in_the_text(store: Store) -> None:
    texts = [
        chunk("a", 0, "retry is a word here among several others"),
        chunk("a", 1, "other words of some length", "retry"),
    ]
    put(store, parsed("a", chunks=texts), *(parsed(f"f{n}", ["words about something else"]) for n in range(8)))
    assert found_ids(store, "retry") == ["a::1", "a::0"]


def test_the_path_of_a_file_is_searched_too(store: Store) -> None:
    put(store, parsed("billing/invoice.py", ["nothing special"]), parsed("b", ["nothing at all"]))
    assert found_ids(store, "invoice") == ["billing/invoice.py::0"]


def test_changes_and_removals_are_seen_by_the_next_search(store: Store, store_factory: StoreFactory) -> None:
    other = store_factory()
    put(store, parsed("a", ["first"]))
    assert found_ids(other, "first") == ["a::0"]
    put(store, parsed("a", ["second"]))
    assert found_ids(other, "first") == []
    assert found_ids(other, "second") == ["a::0"]
    remove(other, "a")
    assert found_ids(store, "second") == []


##= docs/spec/knowledge.md#index-updates
##% An answer MUST say which state of the index it is based on.
def test_search_results_have_the_generation_that_was_searched(store: Store) -> None:
    put(store, parsed("a", ["text"]))
    embed(store)
    assert store.search.lexical(LexicalQuery(("text",)), 5, EVERYTHING).generation == store.generation()
    assert store.search.dense(MODEL, vector_of("text"), 5, EVERYTHING).generation == store.generation()


##= docs/spec/knowledge.md#ranking
##% The vector scan MUST be exact.
def test_vector_search_returns_the_nearest_chunks_with_their_cosines(store: Store) -> None:
    texts = [f"text {number}" for number in range(40)]
    put(store, parsed("a", texts))
    embed(store)
    query = vector_of("question")
    unit = query / np.linalg.norm(query)
    cosines = {text: float(vector_of(text) @ unit / np.linalg.norm(vector_of(text))) for text in texts}
    best = sorted(texts, key=lambda text: -cosines[text])
    hits = store.search.dense(MODEL, query * 7, 10, EVERYTHING).hits
    rows = store.files.chunks([hit.number for hit in hits])
    assert [rows[hit.number].chunk.text for hit in hits] == best[:10]
    assert [hit.score for hit in hits] == pytest.approx([cosines[text] for text in best[:10]], abs=2e-3)
    numbers = [row.number for row in store.files.chunks_of("a")]
    cosines_found = store.search.cosines(MODEL, query, [*numbers[:5], 10_000])
    assert cosines_found == pytest.approx(
        {number: cosines[text] for number, text in zip(numbers[:5], texts, strict=False)}, abs=2e-3
    )


##= docs/spec/knowledge.md#ranking
##% Embeddings of different models MUST NOT be compared with each other.
def test_vectors_of_different_models_are_never_compared(store: Store) -> None:
    put(store, parsed("a", ["one", "two"]))
    embed(store)
    other = VectorModel("other", MODEL.dimensions)
    assert store.search.dense(other, vector_of("one"), 5, EVERYTHING).hits == ()
    assert store.search.cosines(other, vector_of("one"), [1, 2]) == {}
    pending = store.search.pending_vectors(other, 10)
    assert len(pending) == 2
    with store.transaction() as writer:
        writer.put_vectors(other, [(pending[0].number, pending[0].digest, vector_of("x"))])
    # A chunk has only one vector: that of the model that was written last.
    assert store.search.vector_counts() == {MODEL: 1, other: 1}
    assert [hit.number for hit in store.search.dense(MODEL, vector_of("one"), 5, EVERYTHING).hits] == [
        pending[1].number
    ]
    assert [hit.number for hit in store.search.dense(other, vector_of("one"), 5, EVERYTHING).hits] == [
        pending[0].number
    ]


def test_a_vector_of_a_chunk_that_has_changed_is_skipped(store: Store) -> None:
    put(store, parsed("a", ["old"]))
    (pending,) = store.search.pending_vectors(MODEL, 5)
    put(store, parsed("a", ["new"]))
    with store.transaction() as writer:
        writer.put_vectors(MODEL, [(pending.number, pending.digest, vector_of("old")), (999, "d", vector_of("x"))])
    assert store.search.vector_counts() == {}
    assert [item.text for item in store.search.pending_vectors(MODEL, 5)] == ["new"]


def test_pending_chunks_are_sorted_by_length(store: Store) -> None:
    put(store, parsed("a", ["x" * 50, "x", "x" * 20, "xx"]))
    assert [len(item.text) for item in store.search.pending_vectors(MODEL, 3)] == [1, 2, 20]


def test_zero_vectors_and_vectors_of_the_wrong_size_do_no_harm(store: Store) -> None:
    put(store, parsed("a", ["zero", "other"]))
    first, second = store.search.pending_vectors(MODEL, 5)
    with store.transaction() as writer:
        writer.put_vectors(
            MODEL,
            [(first.number, first.digest, np.zeros(8, np.float32)), (second.number, second.digest, vector_of("b"))],
        )
    assert len(store.search.dense(MODEL, vector_of("q"), 5, EVERYTHING).hits) == 2
    assert [hit.score for hit in store.search.dense(MODEL, np.zeros(8, np.float32), 5, EVERYTHING).hits] == [0.0, 0.0]
    assert store.search.dense(MODEL, np.ones(3, np.float32), 5, EVERYTHING).hits == ()


_CODE = chunk("src/Core/run.py", 0, "shared words", tags=("Fast",), symbols=("src/Core/run.py::Engine.start",))
_FILES = (
    parsed(
        "src/Core/run.py",
        chunks=[_CODE],
        symbols=[symbol("src/Core/run.py", "Engine.start", kind="method", language="Python")],
        artifact_type="code",
        namespace="Core",
        subsystem="Motor",
        git=git(200.0),
    ),
    parsed("docs/guide.md", ["shared words"], artifact_type="doc", namespace="docs", tags=("slow",), git=git(100.0)),
    parsed("src/corex.txt", ["shared words"], artifact_type="other", namespace="src"),
)


##= docs/spec/knowledge.md#km-search-requests
##% A result MUST match every filter, and at least one value of each filter.
@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ({}, "run guide corex"),
        ({"artifact_types": ("code", "other")}, "run corex"),
        ({"namespaces": ("CORE",)}, "run"),
        ({"subsystems": ("motor", "other")}, "run"),
        ({"subsystems": ("motor",), "extra_paths": ("docs/guide.md", "gone.md")}, "run guide"),
        ({"subsystems": ("motor",), "extra_paths": ("docs/guide.md",), "artifact_types": ("doc",)}, "guide"),
        ({"tags": ("FAST",)}, "run"),
        ({"tags": ("fast", "SLOW")}, "run guide"),
        ({"symbols": ("engine.START",)}, "run"),
        ({"symbols": ("start",)}, "run"),
        ({"symbols": ("Engine",)}, ""),
        ({"symbol_kinds": ("method",)}, "run"),
        ({"symbol_kinds": ("class",)}, ""),
        ({"symbol_languages": ("python", "go")}, "run"),
        ({"updated_after": 150.0}, "run"),
        ({"updated_after": 50.0}, "run guide"),
        ({"paths": ("src/",)}, "run corex"),
        ({"paths": ("SRC/core",)}, "run corex"),
        ({"paths": ("src/core/", "docs/g")}, "run guide"),
        ({"paths": ("src/core.",)}, ""),
        ({"artifact_types": ("doc",), "tags": ("fast",)}, ""),
        ({"artifact_types": ("code",), "tags": ("fast",), "paths": ("src",), "updated_after": 1.0}, "run"),
    ],
)
def test_filters_apply_to_words_and_to_vectors(store: Store, where: dict[str, Any], expected: str) -> None:
    put(store, *_FILES)
    embed(store)
    chosen = ChunkFilter(**where)
    names = {"run": "src/Core/run.py::0", "guide": "docs/guide.md::0", "corex": "src/corex.txt::0"}
    expected_ids = {names[name] for name in expected.split()}
    assert set(found_ids(store, "shared", where=chosen)) == expected_ids
    assert set(near_ids(store, vector_of("q"), where=chosen)) == expected_ids


def test_filters_apply_before_the_limit(store: Store) -> None:
    put(
        store,
        *(parsed(f"many/{n}", ["needle needle needle"]) for n in range(60)),
        parsed("one", ["needle in much hay"]),
    )
    embed(store)
    where = ChunkFilter(paths=("one",))
    assert found_ids(store, "needle", 1, where) == ["one::0"]
    assert near_ids(store, vector_of("needle needle needle"), 1, where) == ["one::0"]


def test_filters_see_changes_of_the_artifact_of_an_unchanged_chunk(store: Store) -> None:
    file = parsed("a", ["words"], subsystem="old", git=git(1.0))
    put(store, file)
    embed(store)
    old, new = ChunkFilter(subsystems=("old",)), ChunkFilter(subsystems=("new",))
    assert found_ids(store, "words", where=old) == near_ids(store, vector_of("q"), where=old) == ["a::0"]
    put(store, dataclasses.replace(file, artifact=dataclasses.replace(file.artifact, subsystem="new")))
    assert found_ids(store, "words", where=old) == near_ids(store, vector_of("q"), where=old) == []
    assert found_ids(store, "words", where=new) == near_ids(store, vector_of("q"), where=new) == ["a::0"]
    late = ChunkFilter(updated_after=5.0)
    assert found_ids(store, "words", where=late) == []
    with store.transaction() as writer:
        writer.touch_artifact(entry("a"), git(9.0))
    assert found_ids(store, "words", where=late) == near_ids(store, vector_of("q"), where=late) == ["a::0"]


def test_after_catching_up_the_next_search_is_current(store: Store) -> None:
    put(store, *(parsed(f"f{n}", [f"word{n} common", "text"]) for n in range(1_200)))
    store.search.catch_up()
    found = store.search.lexical(LexicalQuery(("common",)), 2_000, EVERYTHING)
    assert len(found.hits) == 1_200
    assert found.generation == store.generation()


def test_unusual_filters_and_limits_do_no_harm(store: Store) -> None:
    put(store, parsed("a+b(c).md", ["words"]))
    embed(store)
    assert found_ids(store, "words", 0) == []
    assert near_ids(store, vector_of("q"), 0) == []
    assert found_ids(store, "words", where=ChunkFilter(paths=("a+b(",))) == ["a+b(c).md::0"]
    assert found_ids(store, "words", where=ChunkFilter(paths=("a.b",))) == []
    assert found_ids(store, "words", where=ChunkFilter(tags=("'; DROP TABLE chunk; --",))) == []
    assert store.search.lexical(LexicalQuery(('" OR 1', "AND", "*")), 5, EVERYTHING).hits == ()


def test_chunk_headers_are_chunks_without_their_text(store: Store) -> None:
    chunks = [chunk("a", 0, "one", symbols=("a::f",)), chunk("a", 1, "two")]
    with_symbol = parsed("a", chunks=chunks, symbols=[symbol("a", "f")])
    put(store, with_symbol, parsed("b", ["three"]))
    rows = store.files.chunks_by_id(["a::0", "a::1", "b::0"])
    numbers = [row.number for row in rows.values()]
    headers = store.files.chunk_headers([*numbers, numbers[0], 999_999], with_symbols=True)
    assert headers.keys() == set(numbers)
    for row in rows.values():
        header = headers[row.number]
        assert (header.number, header.sequence, header.artifact) == (row.number, row.sequence, row.artifact)
        assert [tuple(item) for item in header.symbols] == [(item.name, item.qualified_name) for item in row.symbols]
    assert headers[rows["a::0"].number].symbols
    assert not any(header.symbols for header in store.files.chunk_headers(numbers, with_symbols=False).values())


def test_the_number_of_chunks_with_a_term_is_known(store: Store) -> None:
    put(store, parsed("a", ["apples and pears", "plums"]), parsed("b", ["pears, pears, pears"]))
    assert store.search.chunk_counts(["pear", "plum", "cherri"]) == TermCounts(3, {"pear": 2, "plum": 1})
