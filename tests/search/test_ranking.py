from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextive.knowledge.artifact import Artifact, ArtifactType
from contextive.knowledge.chunk import Chunk
from contextive.knowledge.graph import Node
from contextive.knowledge.symbol import Symbol
from contextive.search.graph_context import GraphContext, RelatedArtifact
from contextive.search.ranking import RankingRules, apply_rules, is_test_or_example, query_features
from contextive.search.signals import criticality_score, graph_gain, read_signals, subsystem_affinity
from contextive.search.weights import PROFILES
from contextive.store.values import ChunkRow


def row(
    number: int,
    path: str = "src/a.py",
    kind: ArtifactType = "code",
    symbols: tuple[str, ...] = (),
    sequence: int = 0,
    title: str | None = None,
) -> ChunkRow:
    chunk = Chunk(
        f"{path}::{sequence}", sequence, "code", f"part {number}" if title is None else title, "text", 1, 2, ""
    )
    found = tuple(
        Symbol(f"{path}::{name}", name.rpartition(".")[2], name, "function", "python", 1, 2) for name in symbols
    )
    return ChunkRow(number, chunk, Artifact(path, kind, "", 4, path, "src"), found)


def order(query: str, *rows: ChunkRow, rules: RankingRules | None = None) -> list[int]:
    return [
        one.number for one in apply_rules(query_features(query), [(one, 0.5) for one in rows], rules or RankingRules())
    ]


##= docs/spec/knowledge.md#ranking
##% The definition of a symbol that the query names SHOULD come first.
@pytest.mark.parametrize(
    "query", ["open_store", "what does `open` do", "Database.open", "where is Open defined", "open"]
)
def test_the_definition_of_a_named_symbol_comes_first(query: str) -> None:
    names = ("Database.open",) if "open_store" not in query else ("open_store",)
    assert order(query, row(1, "src/b.py"), row(2, "src/z.py", symbols=names)) == [2, 1]


def test_a_plain_word_of_a_sentence_is_not_a_symbol() -> None:
    assert order("how to run and open the main door", row(1), row(2, "src/b.py", symbols=("open",))) == [1, 2]


def test_a_matching_file_name_ranks_higher() -> None:
    assert order("how the lexical index is kept", row(1, "src/dense.py"), row(2, "src/lexical_index.py")) == [2, 1]


def test_a_file_with_several_good_chunks_ranks_above_one_with_a_single_chunk() -> None:
    assert order("x", row(1, "src/a.py"), row(2, "src/b.py"), row(3, "src/b.py", sequence=1)) == [2, 3, 1]


def test_the_pieces_of_one_long_function_do_not_count_as_several_good_chunks() -> None:
    pieces = [row(2, "src/b.py", title="run (b)"), row(3, "src/b.py", sequence=1, title="run (b)")]
    assert order("x", row(1, "src/a.py"), *pieces) == [1, 2, 3]


def test_ties_are_ordered_by_path_and_position() -> None:
    rows = [row(3, "src/b.py"), row(2, "src/a.py", sequence=2), row(1, "src/a.py", sequence=1)]
    assert order("x", *rows, rules=RankingRules(file=0)) == [1, 2, 3]


@pytest.mark.parametrize(
    ("path", "kind", "expected"),
    [
        ("tests/a.py", "test", True),
        ("pkg/testing/tools.py", "code", True),
        ("examples/a.go", "code", True),
        ("src/widget.spec.ts", "code", True),
        ("src/attestation.py", "code", False),
        ("src/contest.py", "code", False),
        ("docs/spec/a.md", "doc", False),
    ],
)
def test_tests_and_examples_are_recognised_by_their_path(path: str, kind: ArtifactType, expected: bool) -> None:
    assert is_test_or_example(row(1, path, kind)) is expected


@given(st.lists(st.tuples(st.sampled_from(["src/a.py", "tests/t.py", "docs/d.md"]), st.floats(0, 1)), max_size=20))
def test_the_rules_only_reorder(found: list[tuple[str, float]]) -> None:
    rows = [(row(number, path, sequence=number), score) for number, (path, score) in enumerate(found)]
    ruled = apply_rules(query_features("open the door"), rows, RankingRules())
    assert sorted(one.number for one in ruled) == list(range(len(found)))
    assert [one.score for one in ruled] == sorted((one.score for one in ruled), reverse=True)


@pytest.mark.parametrize(
    ("subsystem", "query", "expected"),
    [
        ("Payment", "payment of cards", 1.0),
        ("Payment", "all payments", 0.5),
        ("PaymentGateway", "the gateway", 0.5),
        ("order-book", "the order book", 1.0),
        ("UI", "require", 0.0),
        ("Stock", "payment", 0.0),
        (None, "payment", 0.0),
    ],
)
def test_a_query_can_name_a_subsystem(subsystem: str | None, query: str, expected: float) -> None:
    assert subsystem_affinity(subsystem, query.split()) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("low", 0.2),
        ("Medium", 0.5),
        ("high", 0.8),
        ("critical", 1.0),
        (0.7, 0.7),
        ("0.3", 0.3),
        ("odd", 0.0),
        (None, 0.0),
    ],
)
def test_criticality_is_a_level_or_a_number(value: object, expected: float) -> None:
    assert criticality_score(value) == expected


def test_the_graph_gain_follows_the_formula() -> None:
    related = (
        *(RelatedArtifact(f"DesignDoc:docs/{number}.md", "DESCRIBES") for number in range(3)),
        RelatedArtifact("TestCase:tests/a.py", "VALIDATES"),
    )
    context = GraphContext(Node("SourceFile", "src/a.py", {"coverage_ratio": 0.5}), related_artifacts=related)
    weights = PROFILES["default"]
    signals = read_signals(row(1), context, subsystem_criticality="high", words=(), weights=weights, now=0)
    assert signals.supporting_bonus == pytest.approx(0.2 * 2 + 0.1)
    assert graph_gain(signals, weights) == pytest.approx(4 * 0.05 * 0.1 + 0.5 * 0.09 - 0.15 * 0.5 + 0.8 * 0.12)


def test_sections_of_one_document_do_not_raise_each_other() -> None:
    rows = [row(1, "docs/a.md", "doc"), row(2, "docs/b.md", "doc"), row(3, "docs/b.md", "doc", sequence=1)]
    assert order("x", *rows) == [1, 2, 3]
