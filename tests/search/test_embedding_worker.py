from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from contextive.search.embedding.dummy import DummyEmbedder
from contextive.search.embedding_worker import BATCH_CHUNKS, embed_pending
from contextive.store import open_store
from contextive.store.values import VectorModel

from .project import fill

if TYPE_CHECKING:
    from contextive.search.embedding.protocol import Matrix

FILES = {f"docs/page{number}.md": f"# Page {number}\n\nText of page {number}.\n" for number in range(BATCH_CHUNKS + 20)}


class CountingEmbedder(DummyEmbedder):
    """A dummy embedder that records its texts."""

    def __init__(self, name: str = "dummy", stop_after: threading.Event | None = None) -> None:
        self.model = VectorModel(name, 64)
        self.texts: list[str] = []
        self._stop = stop_after

    def embed(self, texts: Sequence[str]) -> Matrix:
        self.texts += texts
        if self._stop is not None:
            self._stop.set()
        return super().embed(texts)


##= docs/spec/knowledge.md#index-updates
##% An unchanged file SHOULD NOT be parsed or embedded again.
def test_every_chunk_is_embedded_once(state_dir: Path) -> None:
    store = open_store(state_dir)
    fill(store, FILES)
    progress: list[tuple[int, int]] = []
    embedder = CountingEmbedder()
    done = embed_pending(store, embedder, threading.Event(), lambda done, total: progress.append((done, total)))
    assert done == len(FILES)
    assert progress[-1] == (len(FILES), len(FILES))
    assert [done for done, _ in progress] == [BATCH_CHUNKS, len(FILES)]
    assert store.search.vector_counts() == {embedder.model: len(FILES)}
    assert embed_pending(store, embedder, threading.Event()) == 0
    fill(store, {**FILES, "docs/page3.md": "# Page 3\n\nAnother text.\n"})
    assert embed_pending(store, embedder, threading.Event()) == 1
    assert len(embedder.texts) == len(FILES) + 1
    # The title comes first, because a model reads only the start of a text.
    assert embedder.texts[-1].startswith("Page 3\n")
    assert "Another text." in embedder.texts[-1]
    store.close()


##= docs/spec/knowledge.md#ranking
##% Embeddings MUST be computed for documents, requirements, notes and public symbols before tests.
def test_documents_and_public_symbols_are_embedded_before_tests(state_dir: Path) -> None:
    store = open_store(state_dir)
    fill(
        store,
        {
            "tests/test_a.py": "def test_a() -> None:\n    pass\n",
            "config/a.toml": "a = 1\n",
            "src/private.py": "def _helper() -> None:\n    pass\n",
            "src/public.py": "def helper() -> None:\n    return print(1, 2, 3)\n",
            "docs/a.md": "# A long page\n\n" + "Text. " * 50,
        },
    )
    pending = store.search.pending_vectors(DummyEmbedder.model, 10)
    order = ["docs/a.md", "src/public.py", "src/private.py", "config/a.toml", "tests/test_a.py"]
    assert [chunk.path for chunk in pending] == order
    store.close()


def test_a_stopped_run_is_resumed(state_dir: Path) -> None:
    store = open_store(state_dir)
    fill(store, FILES)
    stop = threading.Event()

    def stop_after_first_batch(_done: int, _total: int) -> None:
        stop.set()

    assert embed_pending(store, DummyEmbedder(), stop, stop_after_first_batch) == BATCH_CHUNKS
    store.close()
    store = open_store(state_dir)
    assert embed_pending(store, DummyEmbedder(), threading.Event()) == len(FILES) - BATCH_CHUNKS
    store.close()


def test_a_run_stopped_while_embedding_writes_nothing_more(state_dir: Path) -> None:
    store = open_store(state_dir)
    fill(store, FILES)
    stop = threading.Event()
    assert embed_pending(store, CountingEmbedder(stop_after=stop), stop) == 0
    assert not any(store.search.vector_counts().values())
    store.close()


def test_another_model_embeds_all_chunks_again(state_dir: Path) -> None:
    store = open_store(state_dir)
    fill(store, {"docs/a.md": "# A\n\nText.\n"})
    assert embed_pending(store, CountingEmbedder("first"), threading.Event()) == 1
    assert embed_pending(store, CountingEmbedder("second"), threading.Event()) == 1
    store.close()
