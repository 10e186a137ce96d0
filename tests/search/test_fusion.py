from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextive.errors import ConfigError
from contextive.search.fusion import fuse
from contextive.search.weights import PROFILES, resolve_weights

scores = st.dictionaries(st.integers(0, 30), st.floats(0, 50, allow_nan=False), max_size=15)
cosines = st.dictionaries(st.integers(0, 30), st.floats(-1, 1, allow_nan=False), max_size=15)


##= docs/spec/knowledge.md#ranking
##% A search MUST combine lexical and semantic scores, each scaled to the range 0 to 1.
@given(scores, cosines, st.floats(0, 1), st.floats(0, 1))
def test_fusion_is_a_permutation_of_the_union(
    lexical: dict[int, float], semantic: dict[int, float], lexical_weight: float, vector_weight: float
) -> None:
    fused = fuse(lexical, semantic, lexical_weight=lexical_weight, vector_weight=vector_weight)
    assert sorted(one.number for one in fused) == sorted(lexical.keys() | semantic.keys())
    assert [one.score for one in fused] == sorted((one.score for one in fused), reverse=True)
    assert all(-1e-9 <= one.score <= lexical_weight + vector_weight + 1e-9 for one in fused)
    head = fuse(lexical, semantic, lexical_weight=lexical_weight, vector_weight=vector_weight, first=3)
    assert head == fused[:3]


@given(scores)
def test_without_vectors_the_lexical_order_is_kept(lexical: dict[int, float]) -> None:
    fused = fuse(lexical, {}, lexical_weight=0.6, vector_weight=0.4)
    found = [lexical[one.number] for one in fused]
    assert all(first >= second - 1e-9 for first, second in pairwise(found))


def test_the_best_of_both_lists_comes_first() -> None:
    fused = fuse({1: 10.0, 2: 5.0}, {1: 0.9, 2: 0.5, 3: 0.1}, lexical_weight=0.6, vector_weight=0.4)
    assert [one.number for one in fused] == [1, 2, 3]
    assert fused[0].score == pytest.approx(1.0)
    assert (fused[0].lexical_share, fused[0].vector_share) == (0.6, 0.4)
    assert fused[2].score == 0


def test_a_chunk_without_a_vector_is_ranked_by_its_lexical_score() -> None:
    fused = {
        one.number: one
        for one in fuse({1: 10.0, 2: 9.0, 3: 0.0}, {2: 0.4, 3: 0.1}, lexical_weight=0.6, vector_weight=0.4)
    }
    assert fused[1].cosine is None
    assert fused[1].score == pytest.approx(1.0)


def test_a_single_chunk_has_the_highest_score() -> None:
    assert fuse({7: 0.3}, {7: 0.2}, lexical_weight=0.6, vector_weight=0.4)[0].score == pytest.approx(1.0)


def test_weights_are_clamped_and_named() -> None:
    assert resolve_weights().graph == PROFILES["default"]
    weights = resolve_weights("docs-heavy", support=7, coverage_penalty=-1, vector=-2, lexical=0)
    assert weights.profile == "docs-heavy+overrides"
    assert (weights.graph.support, weights.graph.coverage_penalty) == (1.0, 0.0)
    assert (weights.vector, weights.lexical) == (1.0, 0.0)
    with pytest.raises(ConfigError):
        resolve_weights("wild")
