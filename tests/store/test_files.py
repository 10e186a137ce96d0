"""Files, their symbols and references, and the ledger."""

from __future__ import annotations

import dataclasses

import pytest

from contextive.knowledge.artifact import Totals
from contextive.knowledge.symbol import Reference
from contextive.store.protocol import Store

from .conftest import StoreFactory
from .samples import chunk, embed, entry, file_layer, git, parsed, put, remove, symbol


def test_a_file_is_read_back_as_it_was_written(store: Store) -> None:
    path = "src/é/naïve.py"
    file = parsed(
        path,
        chunks=[chunk(path, 0, "def naïve(): …", "naïve", kind="code", tags=("B", "a"), symbols=(f"{path}::naïve",))],
        symbols=[symbol(path, "naïve")],
        artifact_type="code",
        subsystem="core",
        language="python",
        tags=("x", "y"),
        messages=("FooMessage",),
        telemetry=("TelemetryFoo",),
        git=git(12.5),
    )
    put(store, file)
    row = store.files.artifact(path)
    assert row is not None
    assert (row.artifact, row.chunk_count, row.symbol_count) == (file.artifact, 1, 1)
    assert row.last_seen > 0
    (chunk_row,) = store.files.chunks_of(path)
    assert chunk_row.chunk == file.chunks[0]
    assert chunk_row.artifact == file.artifact
    assert chunk_row.symbols == file.symbols
    assert store.files.chunks_by_id([chunk_row.chunk.chunk_id, "nothing::0"]) == {chunk_row.chunk.chunk_id: chunk_row}
    assert store.files.chunks([chunk_row.number, chunk_row.number + 1]) == {chunk_row.number: chunk_row}


def test_a_chunk_requested_twice_is_returned_once_with_current_values(store: Store) -> None:
    put(store, parsed("a.md", ["one", "two"], subsystem="Old"))
    numbers = [row.number for row in store.files.chunks_of("a.md")]
    assert list(store.files.chunks([*numbers[::-1], *numbers])) == numbers[::-1]
    put(store, parsed("a.md", ["one", "two"], subsystem="New"))
    assert {row.artifact.subsystem for row in store.files.chunks(numbers).values()} == {"New"}


def test_artifacts_are_listed_by_path(store: Store) -> None:
    put(store, parsed("b"), parsed("a/z"), parsed("a.md"))
    assert [row.artifact.path for row in store.files.artifacts()] == ["a.md", "a/z", "b"]
    assert store.files.artifact("c") is None


def test_a_limited_list_of_artifacts_and_totals_of_all(store: Store) -> None:
    put(store, *(parsed(f"{number}.md", ["text"] * (number % 3)) for number in range(9)))
    assert [row.artifact.path for row in store.files.artifacts(limit=2)] == ["0.md", "1.md"]
    assert [row.artifact.path for row in store.files.artifacts(limit=2, without_chunks=True)] == ["0.md", "3.md"]
    assert [row.artifact.path for row in store.files.artifacts(without_chunks=True)] == ["0.md", "3.md", "6.md"]
    kind = next(store.files.artifacts()).artifact.artifact_type
    assert store.files.totals() == {kind: Totals(files=9, chunks=9)}


def test_the_ledger_stores_every_number_exactly(store: Store) -> None:
    facts = {
        "size": 2**40,
        "modified_ns": 1_700_000_000_123_456_789,
        "changed_ns": -5,
        "inode": 2**64 - 1,
        "parser": "p7",
    }
    put(store, parsed("a"), **facts)
    assert store.files.ledger() == {"a": entry("a", **facts)}


def test_chunks_are_listed_in_sequence(store: Store) -> None:
    put(store, parsed("a", [f"text {number}" for number in range(12)]))
    assert [row.chunk.sequence for row in store.files.chunks_of("a")] == list(range(12))
    assert store.files.chunks_of("b") == ()


def test_an_unchanged_chunk_keeps_its_number_and_vector_and_a_changed_one_does_not(store: Store) -> None:
    put(store, parsed("a", ["same", "old"]))
    embed(store)
    before = {row.chunk.sequence: row.number for row in store.files.chunks_of("a")}
    put(store, parsed("a", ["same", "new", "more"]))
    after = {row.chunk.sequence: row.number for row in store.files.chunks_of("a")}
    assert after[0] == before[0]
    assert before[1] not in after.values()
    assert list(store.search.vector_counts().values()) == [1]


def test_lines_tags_and_symbols_of_an_unchanged_chunk_are_updated(store: Store) -> None:
    first = chunk("a", 0, "text", line_start=1, line_end=2, tags=("x",), symbols=("a::f",))
    put(store, parsed("a", chunks=[first], symbols=[symbol("a", "f", 1)]))
    (before,) = store.files.chunks_of("a")
    second = dataclasses.replace(first, line_start=11, line_end=12, tags=("y",), symbols=("a::g", "a::f"))
    put(store, parsed("a", chunks=[second], symbols=[symbol("a", "f", 12), symbol("a", "g", 11)]))
    (after,) = store.files.chunks_of("a")
    assert after.number == before.number
    assert after.chunk == second
    assert [item.line_start for item in after.symbols] == [11, 12]


def test_removing_a_file_removes_everything_derived_from_it(store: Store) -> None:
    file = parsed(
        "a", ["text"], symbols=[symbol("a", "f")], references=[Reference("call", "x.g", 3)], subsystem="only here"
    )
    put(store, file)
    embed(store)
    remove(store, "a")
    assert store.files.artifact("a") is None
    assert store.files.ledger() == {}
    assert list(store.files.symbols()) == []
    assert store.files.references("a") == ()
    assert store.files.paths_referring_to(["g"]) == set()
    assert store.search.vector_counts() == {}
    assert store.graph.node("SourceFile:a") is None
    assert store.graph.node("Subsystem:only here") is None
    assert list(store.verify()) == []


def test_removing_an_unknown_file_changes_nothing(store: Store) -> None:
    before = store.generation()
    remove(store, "nowhere")
    assert store.generation() == before


def test_touching_updates_the_ledger_the_commit_and_the_node(store: Store) -> None:
    put(store, parsed("a", ["text"], git=git(1.0)))
    number = store.files.chunks_of("a")[0].number
    with store.transaction() as writer:
        writer.touch_artifact(entry("a", modified_ns=99), git(2.0, "beef"))
    row, node = store.files.artifact("a"), store.graph.node("SourceFile:a")
    assert row is not None
    assert node is not None
    assert row.artifact.git == git(2.0, "beef")
    assert store.files.ledger()["a"].modified_ns == 99
    assert (node.properties["git_commit"], node.properties["git_timestamp"]) == ("beef", 2.0)
    assert node.properties["path"] == "a"
    assert store.files.chunks_of("a")[0].number == number


def test_touching_a_file_that_is_not_indexed_does_nothing(store: Store) -> None:
    with store.transaction() as writer:
        writer.touch_artifact(entry("a"), None)
    assert store.files.ledger() == {}


def test_symbols_are_listed_by_path_and_line(store: Store) -> None:
    put(
        store,
        parsed("b", symbols=[symbol("b", "late", 9), symbol("b", "early", 1)]),
        parsed("a", symbols=[symbol("a", "x")]),
    )
    assert [(path, item.name) for path, item in store.files.symbols()] == [("a", "x"), ("b", "early"), ("b", "late")]
    assert [item.name for _, item in store.files.symbols("b")] == ["early", "late"]
    assert store.files.symbol("b::late") == symbol("b", "late", 9)
    assert store.files.symbol("b::later") is None


def test_symbols_are_found_by_their_bare_name_case_sensitively(store: Store) -> None:
    put(
        store,
        parsed("a", symbols=[symbol("a", "Foo.run"), symbol("a", "Run")]),
        parsed("b", symbols=[symbol("b", "run")]),
    )
    assert [item.id for _, item in store.files.symbols_named(["run", "nothing"])] == ["a::Foo.run", "b::run"]
    assert list(store.files.symbols_named([])) == []


def test_references_keep_their_order_and_are_found_by_their_last_part(store: Store) -> None:
    references = [
        Reference("import", "pkg.mod", 1),
        Reference("call", "pkg.mod.run", 7, "a::f"),
        Reference("link", "docs/guide.md", 9),
        Reference("mention", "run", 3),
    ]
    put(store, parsed("a", references=references), parsed("b", references=[Reference("call", "run", 1)]), parsed("c"))
    assert store.files.references("a") == tuple(references)
    assert store.files.references("c") == ()
    assert store.files.paths_referring_to(["run"]) == {"a", "b"}
    assert store.files.paths_referring_to(["mod"]) == {"a"}
    assert store.files.paths_referring_to(["md", "nothing"]) == {"a"}
    put(store, parsed("a", references=references[:1]))
    assert store.files.paths_referring_to(["run"]) == {"b"}
    put(store, parsed("a"))
    assert store.files.references("a") == ()


def test_a_failed_transaction_is_rolled_back(store: Store) -> None:
    put(store, parsed("a", ["kept"]))
    before = store.generation()
    file = parsed("b", ["lost"])

    def fail_half_way() -> None:
        with store.transaction() as writer:
            writer.put_artifact(file, entry("b"), file_layer(file))
            writer.remove_artifact("a")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_half_way()
    assert store.generation() == before
    assert [row.artifact.path for row in store.files.artifacts()] == ["a"]
    assert list(store.verify()) == []


##= docs/spec/knowledge.md#store
##% The command `rebuild` MUST start over from the files and preserve the kept rows.
def test_clearing_deletes_derived_rows_and_nothing_else(store: Store, store_factory: StoreFactory) -> None:
    from contextive.store.values import AuditEntry

    put(store, parsed("a", ["text"], symbols=[symbol("a", "f")]))
    embed(store)
    number = store.files.chunks_of("a")[0].number
    with store.transaction() as writer:
        writer.put_audit(AuditEntry(1.0, "me", "tool", {}))
        writer.put_state("repo_head", "abc")
        writer.clear_derived()
    other = store_factory()
    assert list(other.files.artifacts()) == []
    assert other.graph.node("SourceFile:a") is None
    assert other.state("repo_head") is None
    assert len(other.records.audit(10)) == 1
    put(store, parsed("a", ["text"]))
    assert store.files.chunks_of("a")[0].number > number, "a number is never used twice"
    assert list(store.verify()) == []
