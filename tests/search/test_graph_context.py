from __future__ import annotations

from pathlib import Path

from contextive.knowledge.graph import Edge, Layer
from contextive.search.graph_context import MAX_RELATIONSHIPS, GraphContextReader
from contextive.store import open_store
from contextive.store.protocol import Store
from contextive.store.values import ChunkRow

from .project import fill


def first_rows(store: Store, *paths: str) -> list[ChunkRow]:
    return [store.files.chunks_of(path)[0] for path in paths]


def test_a_context_is_read_again_after_the_index_changed(state_dir: Path) -> None:
    store = open_store(state_dir)
    fill(store)
    reader = GraphContextReader(store)
    rows = first_rows(store, "src/shop/stock/shelf.py")
    before = reader.read(rows, store.as_of(), budget_ms=1000).by_number[rows[0].number]
    assert reader.read(rows, store.as_of(), budget_ms=1000).by_number[rows[0].number] is before
    edge = Edge("SourceFile:src/shop/stock/shelf.py", "IMPORTS", "SourceFile:src/shop/payment/gateway.py")
    with store.transaction() as writer:
        writer.put_layer("@more", Layer((), (edge,)))
    after = reader.read(rows, store.as_of(), budget_ms=1000).by_number[rows[0].number]
    assert [one.type for one in after.relationships if one not in before.relationships] == ["IMPORTS"]
    store.close()


def test_a_context_does_not_depend_on_the_other_results(state_dir: Path) -> None:
    store = open_store(state_dir)
    many = {f"src/shop/part{number:02}.py": f"value = {number}\n" for number in range(2 * MAX_RELATIONSHIPS)}
    fill(store, many)
    hub, *others = many
    with store.transaction() as writer:
        edges = tuple(Edge(f"SourceFile:{path}", "IMPORTS", f"SourceFile:{hub}") for path in others)
        writer.put_layer("@more", Layer((), edges))
    rows = first_rows(store, *many)
    alone = GraphContextReader(store).read(rows[:1], store.as_of(), budget_ms=1000).by_number
    together = GraphContextReader(store).read([rows[0], *rows[-9:]], store.as_of(), budget_ms=1000).by_number
    assert together[rows[0].number] == alone[rows[0].number]
    assert len(alone[rows[0].number].relationships) == MAX_RELATIONSHIPS
    store.close()


def test_the_first_batch_is_read_even_without_time(state_dir: Path) -> None:
    store = open_store(state_dir)
    many = {f"src/shop/part{number:02}.py": f"value = {number}\n" for number in range(15)}
    fill(store, many)
    rows = first_rows(store, *many)
    contexts = GraphContextReader(store).read(rows, store.as_of(), budget_ms=0)
    assert contexts.ran_out_of_time
    assert len(contexts.by_number) == 10
    store.close()
