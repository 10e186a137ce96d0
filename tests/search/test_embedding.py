from __future__ import annotations

import subprocess
import sys
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextive.errors import ConfigError, Unavailable
from contextive.search.embedding import BackgroundEmbedder, Embedder, open_embedder
from contextive.search.embedding import minilm as minilm_module
from contextive.search.embedding.dummy import DummyEmbedder
from contextive.search.embedding.minilm import MAX_PIECES, MiniLmEmbedder
from contextive.search.embedding.wordpiece import WordPiece, split_words


@pytest.fixture(scope="module")
def minilm() -> MiniLmEmbedder:
    return MiniLmEmbedder(threads=1)


def test_texts_with_similar_meaning_have_similar_vectors(minilm: MiniLmEmbedder) -> None:
    rows = minilm.embed(["load the settings from disk", "read the configuration file", "a cat sleeps in the sun"])
    assert rows.shape == (3, 384)
    assert rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    assert rows[0] @ rows[1] > 0.4 > 0.15 > rows[0] @ rows[2]


def test_a_text_has_the_same_vector_alone_and_in_a_batch(minilm: MiniLmEmbedder) -> None:
    texts = ["short", "a sentence of a few more words", "def f(x):\n    return x + 1\n" * 30, "", "東京"]
    together = minilm.embed(texts)
    for text, row in zip(texts, together, strict=True):
        assert np.array_equal(row, minilm.embed_query(text))


def test_no_texts_give_no_vectors(minilm: MiniLmEmbedder) -> None:
    assert minilm.embed([]).shape == (0, 384)


def test_the_model_name_has_the_weights_and_the_length_limit(minilm: MiniLmEmbedder) -> None:
    assert minilm.model.name == f"all-MiniLM-L6-v2-q8@{minilm_module.WEIGHTS_SHA256[:8]}/128"
    assert minilm.model.dimensions == 384


def test_pieces_are_those_of_the_reference_tokeniser() -> None:
    # From the tokenisers library with the model's own tokenizer.json.
    wordpiece = WordPiece(minilm_module.read_vocabulary(), MAX_PIECES)
    assert wordpiece.encode("The tokeniser's café: gatherAll_42 東京!") == [
        101, 1996, 19204, 17288, 1005, 1055, 7668, 1024, 8587, 8095, 1035, 4413, 1879, 1755, 999, 102,
    ]  # fmt: skip
    assert wordpiece.encode("") == [101, 102]
    assert wordpiece.encode("x" * 101) == [101, 100, 102]
    assert len(wordpiece.encode("word " * 1000)) == MAX_PIECES


def test_words_are_lower_case_without_accents_and_punctuation_is_separate() -> None:
    assert split_words("Café\tHTTPServer(x)") == ["cafe", "httpserver", "(", "x", ")"]
    assert split_words("naïve—test 東京") == ["naive", "—", "test", "東", "京"]
    assert split_words("a\x00b\u200bc\ufffd") == ["abc"]


@given(st.text(max_size=80))
def test_any_text_can_be_split_into_words(text: str) -> None:
    assert all(word and " " not in word for word in split_words(text))


def test_changed_weights_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minilm_module, "WEIGHTS_SHA256", "0" * 64)
    with pytest.raises(Unavailable, match="unexpected checksum"):
        MiniLmEmbedder()
    monkeypatch.setattr(minilm_module, "WEIGHTS_PACKAGE", "no_such_package_of_weights")
    with pytest.raises(Unavailable, match="not installed"):
        MiniLmEmbedder()
    monkeypatch.setattr(minilm_module, "VOCABULARY_SHA256", "0" * 64)
    with pytest.raises(Unavailable, match="vocabulary"):
        MiniLmEmbedder()


def test_the_dummy_is_deterministic_and_texts_with_common_words_are_close() -> None:
    rows = DummyEmbedder().embed(["open the door", "doors open", "count goods", ""])
    assert np.allclose(np.linalg.norm(rows, axis=1), 1)
    assert rows[0] @ rows[1] > rows[0] @ rows[2]
    assert np.array_equal(rows, open_embedder("dummy").embed(["open the door", "doors open", "count goods", ""]))


@pytest.mark.parametrize("spec", ["", "none", "mini", "openai:", "minilm:x", "fastembed"])
def test_an_unknown_model_is_a_configuration_error(spec: str) -> None:
    with pytest.raises(ConfigError, match="no embedding model"):
        open_embedder(spec)


@pytest.mark.parametrize("spec", ["sentence-transformers:all-MiniLM-L6-v2", "fastembed:BAAI/bge-small-en"])
def test_a_model_of_a_missing_package_reports_the_package(spec: str) -> None:
    with pytest.raises(Unavailable, match="is not installed"):
        open_embedder(spec)


def test_a_model_loads_in_the_background() -> None:
    release = threading.Event()

    def load() -> Embedder:
        assert release.wait(10)
        return DummyEmbedder()

    embedder = BackgroundEmbedder(load)
    with pytest.raises(Unavailable, match="still loading"):
        embedder()
    release.set()
    assert embedder.wait(10).model.name == "dummy"
    assert embedder() is embedder.wait(0)


def test_a_model_that_failed_to_load_reports_the_reason_each_time() -> None:
    def load() -> Embedder:
        raise Unavailable("The weights are gone.")

    embedder = BackgroundEmbedder(load)
    for _ in range(2):
        with pytest.raises(Unavailable, match="The weights are gone"):
            embedder.wait(10)


def test_importing_the_package_loads_no_heavy_dependency() -> None:
    code = (
        "import sys, contextive.search.embedding, contextive.knowledge.tokeniser\n"
        "assert not {'numpy', 'onnxruntime', 'httpx'} & sys.modules.keys(), sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
