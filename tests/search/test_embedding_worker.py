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


class Counting(DummyEmbedder):
    """The dummy, which remembers what it was asked."""

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
def test_every_chunk_is_embedded_once_and_never_again(state_dir: Path) -> None:
    store = open_store(state_dir)
    fill(store, FILES)
    heard: list[tuple[int, int]] = []
    embedder = Counting()
    assert embed_pending(store, embedder, threading.Event(), lambda done, all_: heard.append((done, all_))) == len(
        FILES
    )
    assert heard[-1] == (len(FILES), len(FILES))
    assert [done for done, _ in heard] == [BATCH_CHUNKS, len(FILES)]
    assert store.search.vector_counts() == {embedder.model: len(FILES)}
    assert embed_pending(store, embedder, threading.Event()) == 0
    fill(store, {**FILES, "docs/page3.md": "# Page 3\n\nAnother text.\n"})
    assert embed_pending(store, embedder, threading.Event()) == 1
    assert len(embedder.texts) == len(FILES) + 1
    # Where a chunk stands comes first: a model reads only the beginning.
    assert embedder.texts[-1].startswith("Page 3\n")
    assert "Another text." in embedder.texts[-1]
    store.close()


def test_a_stopped_run_goes_on_where_it_was(state_dir: Path) -> None:
    store = open_store(state_dir)
    fill(store, FILES)
    stop = threading.Event()
    heard = []

    def hear(done: int, _: int) -> None:
        heard.append(done)
        stop.set()

    assert embed_pending(store, DummyEmbedder(), stop, hear) == BATCH_CHUNKS
    store.close()
    store = open_store(state_dir)
    assert embed_pending(store, DummyEmbedder(), threading.Event()) == len(FILES) - BATCH_CHUNKS
    store.close()


def test_a_run_that_is_stopped_while_it_embeds_writes_nothing_more(state_dir: Path) -> None:
    store = open_store(state_dir)
    fill(store, FILES)
    stop = threading.Event()
    assert embed_pending(store, Counting(stop_after=stop), stop) == 0
    assert not any(store.search.vector_counts().values())
    store.close()


def test_another_model_embeds_anew(state_dir: Path) -> None:
    store = open_store(state_dir)
    fill(store, {"docs/a.md": "# A\n\nText.\n"})
    assert embed_pending(store, Counting("first"), threading.Event()) == 1
    assert embed_pending(store, Counting("second"), threading.Event()) == 1
    store.close()
