"""After any sequence of changes, a store has the same content as a simple model made of dicts."""

from __future__ import annotations

import contextlib
import itertools
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contextive.knowledge.graph import Edge, Layer, Node
from contextive.knowledge.symbol import Reference
from contextive.store.protocol import Store
from contextive.store.values import ChunkFilter, LexicalQuery

from .conftest import OPENERS
from .model import ModelStore
from .samples import EVERYTHING, MODEL, chunk, embed, entry, file_layer, git, near_ids, parsed, symbol, vector_of

PATHS = ("a.py", "b/c.md", "B/C.md", "links:x")
WORDS = ("red", "green", "blue")
TAGS = ("t1", "T2")
_texts = st.lists(st.lists(st.sampled_from(WORDS), max_size=3).map(" ".join), max_size=3)
_values = st.sampled_from([1, True, "x", None, [1]])


@st.composite
def _puts(draw: st.DrawFn) -> tuple[Any, ...]:
    path = draw(st.sampled_from(PATHS))
    names = draw(st.lists(st.sampled_from(["f", "g", "C.f"]), unique=True, max_size=2))
    symbols = [
        symbol(path, name, draw(st.integers(1, 3)), draw(st.sampled_from(["method", "class"]))) for name in names
    ]
    chunks = [
        chunk(
            path,
            number,
            text,
            draw(st.sampled_from(["", "red"])),
            line_start=draw(st.integers(1, 2)),
            tags=tuple(draw(st.lists(st.sampled_from(TAGS), unique=True, max_size=1))),
            symbols=tuple(item.id for item in symbols if draw(st.booleans())),
        )
        for number, text in enumerate(draw(_texts))
    ]
    file = parsed(
        path,
        chunks=chunks,
        symbols=symbols,
        references=[Reference("call", name, 1) for name in draw(st.lists(st.sampled_from(["m.f", "g"]), max_size=2))],
        subsystem=draw(st.sampled_from([None, "S", "T"])),
        git=draw(st.sampled_from([None, git(1.0), git(5.0)])),
    )
    layer = file_layer(file)
    extra = tuple(Node("Subsystem", key, {"name": draw(_values)}) for key in draw(st.sets(st.sampled_from("ST"))))
    return ("put", file, Layer(layer.nodes + extra, layer.edges))


_keys = st.sampled_from(["SourceFile:a.py", "SourceFile:b/c.md", "Subsystem:S", "Note:n", "Note:m"])
_layers = st.builds(
    lambda nodes, edges: Layer(tuple(nodes), tuple(edges)),
    st.lists(
        st.builds(
            Node,
            st.sampled_from(["Note", "Subsystem"]),
            st.sampled_from(["n", "m", "S"]),
            st.dictionaries(st.sampled_from(["name", "p"]), _values, max_size=2),
        ),
        max_size=3,
        unique_by=lambda node: node.id,
    ),
    st.lists(
        st.builds(Edge, _keys, st.sampled_from(["LINKS_TO", "CALLS"]), _keys, st.booleans(), st.integers(0, 2)),
        max_size=4,
    ),
)
change_steps = st.one_of(
    _puts(),
    _puts(),
    st.tuples(st.just("remove"), st.sampled_from(PATHS)),
    st.tuples(st.just("layer"), st.sampled_from(["@one", "@two", "links:a.py"]), _layers),
    st.tuples(st.just("embed")),
    st.tuples(st.just("search")),
    st.tuples(st.just("commit")),
)


@contextlib.contextmanager
def _fresh_store(kind: str) -> Iterator[Store]:
    with tempfile.TemporaryDirectory() as directory:
        store = OPENERS[kind](Path(directory))
        try:
            yield store
        finally:
            store.close()


@pytest.mark.parametrize("kind", sorted(OPENERS))
@given(transactions=st.lists(st.lists(change_steps, max_size=4), max_size=6))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_after_any_sequence_of_changes_the_store_equals_the_model(kind: str, transactions: list[list[Any]]) -> None:
    model = ModelStore()
    with _fresh_store(kind) as store:
        for steps in transactions:
            with store.transaction() as writer:
                for step in steps:
                    match step:
                        case ("put", file, layer):
                            writer.put_artifact(file, entry(file.artifact.path), layer)
                            model.put(file, entry(file.artifact.path), layer)
                        case ("remove", path):
                            writer.remove_artifact(path)
                            model.remove(path)
                        case ("layer", name, layer):
                            writer.put_layer(name, layer)
                            model.layers[1, name] = layer
            if ("embed",) in steps:
                embed(store)
                model.vectors = {c.chunk_id: c.digest for file in model.files.values() for c in file.chunks}
            if ("search",) in steps:
                _compare_search(store, model)
        _compare_rows(store, model)
        _compare_graph(store, model)
        _compare_search(store, model)
        assert [found for found in store.verify() if "loose" not in found.what] == []


_properties = st.sampled_from([{"p": 1}, {"p": 2}, {"p": True, "q": 1}])


def test_properties_of_a_node_are_merged_the_same_in_any_order(store: Store) -> None:
    keys = (f"n{number}" for number in itertools.count())

    # Each owner states the node once or twice, and one of them stops at the end: its properties are merged again.
    @given(
        statements=st.permutations("abcab").flatmap(
            lambda names: st.tuples(*(st.tuples(st.just(n), _properties) for n in names))
        ),
        last=st.sampled_from("abc"),
    )
    @settings(max_examples=300, deadline=None)
    def check(statements: tuple[tuple[str, Any], ...], last: str) -> None:
        model, key = ModelStore(), next(keys)
        with store.transaction() as writer:
            for owner, properties in (*statements, (last, None)):
                layer = Layer() if properties is None else Layer((Node("Note", key, properties),))
                writer.put_layer(f"@{key}{owner}", layer)
                model.layers[1, owner] = layer
        found = {node.key: sorted(node.properties.items()) for node in store.graph.nodes([f"Note:{key}"]).values()}
        expected = {node_id[5:]: sorted(stated.items()) for node_id, stated in model.nodes().items()}
        # Compared as text, because in Python 1 and True are equal.
        assert repr(found) == repr(expected)

    check()


def _compare_rows(store: Store, model: ModelStore) -> None:
    assert dict(store.files.ledger()) == model.ledger
    assert {row.artifact.path: row.artifact for row in store.files.artifacts()} == {
        path: file.artifact for path, file in model.files.items()
    }
    for path, file in model.files.items():
        rows = store.files.chunks_of(path)
        assert tuple(row.chunk for row in rows) == file.chunks
        assert {item.id: item for _, item in store.files.symbols(path)} == {item.id: item for item in file.symbols}
        assert store.files.references(path) == file.references
    referring = {p for p, file in model.files.items() if any(r.name in ("m.f", "f") for r in file.references)}
    assert store.files.paths_referring_to(["f"]) == referring


def _compare_graph(store: Store, model: ModelStore) -> None:
    nodes, edges = model.nodes(), model.edges()
    assert {key: node.properties for key, node in store.graph.nodes([*nodes, "Note:nobody"]).items()} == nodes
    for label in ("SourceFile", "Subsystem", "Note", "Chunk", "Symbol"):
        expected = sorted(key.partition(":")[2] for key in nodes if key.startswith(f"{label}:"))
        assert [node.key for node in store.graph.nodes_labelled(label, None, 1000)] == expected
    assert list(store.graph.expand(list(nodes), [], "outgoing", 1000)) == edges
    assert list(store.graph.expand(list(nodes), [], "incoming", 1000)) == edges
    for key in nodes:
        assert sum(store.graph.degree(key).values()) == sum(key in (edge.source, edge.target) for edge in edges)


def _compare_search(store: Store, model: ModelStore) -> None:
    for word in WORDS:
        assert _found(store, word, EVERYTHING) == model.chunks_containing(word)
    tagged = {c.chunk_id for file in model.files.values() for c in file.chunks if "t2" in map(str.casefold, c.tags)}
    late = {c.chunk_id for file in model.files.values() if file.artifact.git == git(5.0) for c in file.chunks}
    for where, passing in ((ChunkFilter(tags=("t2",)), tagged), (ChunkFilter(updated_after=3.0), late)):
        assert _found(store, "red", where) == model.chunks_containing("red") & passing
        assert set(near_ids(store, vector_of("q"), 100, where)) == set(model.vectors) & passing
    texts = {c.chunk_id: c.text for file in model.files.values() for c in file.chunks}
    query = vector_of("q") / np.linalg.norm(vector_of("q"))
    nearest = {
        key: float(vector_of(texts[key]) @ query / np.linalg.norm(vector_of(texts[key]))) for key in model.vectors
    }
    found = store.search.dense(MODEL, vector_of("q"), 100, EVERYTHING).hits
    assert [hit.score for hit in found] == pytest.approx(sorted(nearest.values(), reverse=True), abs=2e-3)


def _found(store: Store, word: str, where: ChunkFilter) -> set[str]:
    hits = store.search.lexical(LexicalQuery((word,)), 1000, where).hits
    rows = store.files.chunks([hit.number for hit in hits])
    assert len(rows) == len(hits)
    return {row.chunk.chunk_id for row in rows.values()}
