"""The same random history of writes gives the same answers on SQLite and on PostgreSQL, in the same order."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contextive.knowledge.graph import LABELS
from contextive.store.protocol import Store
from contextive.store.values import AuditEntry, ChunkFilter, LexicalQuery, Run, SearchEvent, Vote

from .conftest import OPENERS
from .samples import EVERYTHING, MODEL, embed, entry, vector_of
from .test_against_model import PATHS, WORDS, change_steps

_names = st.sampled_from(["q1", "q2", "größe", "STRASSE"])
_kept = st.one_of(
    st.tuples(st.just("vote"), _names, st.sampled_from([None, 1.0, -0.5])),
    st.tuples(st.just("events"), _names, st.integers(1, 4), st.integers(0, 6)),
    st.tuples(st.just("run"), _names, st.sampled_from(["auto", "manual"])),
    st.tuples(st.just("audit"), _names),
    st.tuples(st.just("state"), _names, st.sampled_from([None, "1", "2"])),
    st.just(("fail",)),
)
_filters = (
    EVERYTHING,
    ChunkFilter(tags=("T1",)),
    ChunkFilter(paths=("B/",)),
    ChunkFilter(subsystems=("s",), extra_paths=("a.py",)),
    ChunkFilter(symbols=("F",), symbol_kinds=("method",)),
    ChunkFilter(namespaces=("PROJECT",), updated_after=2.0),
)


@pytest.mark.parametrize("kind", sorted(set(OPENERS) - {"sqlite"}) or ["sqlite"])
@given(history=st.lists(st.lists(st.one_of(change_steps, change_steps, _kept), max_size=5), max_size=6))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
##= docs/spec/knowledge.md#shared-store
##% Without PostgreSQL's extensions, a shared store MUST give the same answers as an embedded one, in the same order.
def test_the_same_history_gives_the_same_answers_in_the_same_order(kind: str, history: list[list[Any]]) -> None:
    with _stores("sqlite", kind) as (embedded, other):
        for steps in history:
            for store in (embedded, other):
                _apply(store, steps)
            assert list(_answers(other)) == list(_answers(embedded))


@contextlib.contextmanager
def _stores(*kinds: str) -> Iterator[list[Store]]:
    with contextlib.ExitStack() as stack:
        stores = []
        for kind in kinds:
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            stores.append(OPENERS.get(kind, OPENERS[sorted(OPENERS)[0]])(Path(folder)))
            stack.callback(stores[-1].close)
        yield stores


def _apply(store: Store, steps: list[Any]) -> None:
    """One transaction; a step `fail` rolls it back."""
    with contextlib.suppress(ZeroDivisionError), store.transaction() as writer:
        for number, step in enumerate(steps):
            match step:
                case ("put", file, layer):
                    writer.put_artifact(file, entry(file.artifact.path), layer)
                case ("remove", path):
                    writer.remove_artifact(path)
                case ("layer", name, layer):
                    writer.put_layer(name, layer)
                case ("vote", name, value):
                    writer.put_vote(Vote(name, "a.py::0", "me", value, name, {"n": name}, float(number)))
                case ("events", name, count, keep):
                    events = [
                        SearchEvent(name, float(rank), rank, name, "a.py::0", {"q": name}) for rank in range(count)
                    ]
                    writer.put_events(events, keep)
                case ("run", name, profile):
                    writer.put_run(Run(name, profile, 1.0, 0.5, True, created_at=float(number)))
                case ("audit", name):
                    writer.put_audit(AuditEntry(float(number), name, "tool", {"text": name}))
                case ("state", name, value):
                    writer.put_state(name, value)
                case ("fail",):
                    raise ZeroDivisionError
    if ("embed",) in steps:
        embed(store)


def _answers(store: Store) -> Iterator[Any]:
    yield from _file_answers(store)
    yield from _graph_answers(store)
    yield from _search_answers(store)
    records = store.records
    yield records.votes(), records.runs(10), records.runs(10, "auto"), records.audit(10), records.events()
    yield records.events("q1"), records.event_bytes(), store.generation(), store.as_of().chunk_count
    yield [store.state(name) for name in ("q1", "q2")]


def _file_answers(store: Store) -> Iterator[Any]:
    files = store.files
    yield list(files.ledger().items()), [(row.artifact, row.chunk_count) for row in files.artifacts()]
    yield [row.artifact.path for row in files.artifacts(limit=2, without_chunks=True)], list(files.totals().items())
    yield list(files.symbols()), list(files.symbols_named(["f", "g"])), files.paths_referring_to(["f", "g"])
    for path in PATHS:
        rows = files.chunks_of(path)
        yield rows, files.references(path), files.hints(path), list(files.symbols(path))
        numbers = [row.number for row in reversed(rows)]
        yield list(files.chunks(numbers).items()), list(files.chunk_headers(numbers, with_symbols=True).items())
        yield list(files.chunks_by_id([row.chunk.chunk_id for row in rows]).items())


def _graph_answers(store: Store) -> Iterator[Any]:
    graph = store.graph
    nodes = [node for label in LABELS for node in graph.nodes_labelled(label, None, 1000)]
    ids = [node.id for node in nodes]
    yield nodes, list(graph.nodes(reversed(ids)).items())
    for direction in ("outgoing", "incoming", "both"):
        yield graph.expand(ids, [], direction, 1000), graph.expand(ids[::2], ["CALLS", "LINKS_TO"], direction, 1)
    yield [list(graph.degree(node_id).items()) for node_id in ids]
    yield graph.unconnected("Note", ["LINKS_TO"], None, 10), graph.nodes_keyed("Note", "N")
    for term in ("a", "C", "s", "\x00", "f"):
        yield graph.find_nodes(term, LABELS, 5), graph.find_nodes(term, ["Symbol", "Note"], 5, 1)
    known, edges = graph.nodes_with_edges(ids, [], 2)
    yield list(known.items()), edges


def _search_answers(store: Store) -> Iterator[Any]:
    store.search.catch_up()
    for where in _filters:
        for word in WORDS:
            yield _named(store, store.search.lexical(LexicalQuery((word, "a")), 3, where).hits)
        yield _named(store, store.search.dense(MODEL, vector_of("q"), 3, where).hits)
    yield list(store.search.vector_counts().items()), store.search.pending_vectors(MODEL, 2)


def _named(store: Store, hits: Any) -> list[Any]:
    rows = store.files.chunks([hit.number for hit in hits])
    return [(rows[hit.number].chunk.chunk_id, round(hit.score, 4)) for hit in hits]
