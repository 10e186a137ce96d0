"""Computes the embeddings of all chunks that have none."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final

from contextive.search.embedding.protocol import Embedder
from contextive.store.protocol import Store
from contextive.store.values import STATE_VECTOR_MODEL, STATE_VECTOR_SETTING, AsOf

BATCH_CHUNKS: Final = 64
"""Chunks per commit: the most work that an interrupted run loses."""
PLANNED_CHUNKS: Final = 16 * BATCH_CHUNKS
"""Chunks that are chosen at once. To choose the most important ones, the store looks at all that are missing."""


##= docs/spec/knowledge.md#ranking
##% Embeddings MUST be computed for documents, requirements, notes and public symbols before tests.
def embed_pending(
    store: Store,
    embedder: Embedder,
    stop: threading.Event,
    progress: Callable[[int, int], None] | None = None,
    *,
    setting: str | None = None,
) -> int:
    """Embed every chunk that has no vector of this model; returns how many were embedded.

    Each batch is committed, so a run that was stopped or killed is resumed by the next one, and a chunk whose text is
    unchanged is never embedded again. `progress` receives the number done and the total. `setting` is the configured name
    of the model.
    """
    model = f"{embedder.model.name}/{embedder.model.dimensions}"
    if (store.state(STATE_VECTOR_MODEL), store.state(STATE_VECTOR_SETTING)) != (model, setting):
        # From now on every answer counts the chunks that lack an embedding of this model.
        with store.transaction() as writer:
            writer.put_state(STATE_VECTOR_MODEL, model)
            writer.put_state(STATE_VECTOR_SETTING, setting)
    done = 0
    previous: tuple[tuple[int, str], ...] = ()
    while not stop.is_set():
        pending = store.search.pending_vectors(embedder.model, PLANNED_CHUNKS)
        plan = tuple((chunk.number, chunk.digest) for chunk in pending)
        # The same chunks again mean that the store rejected their vectors because the texts have changed since. They
        # are pending again after the ingest that changed them.
        if not pending or plan == previous:
            break
        previous = plan
        for start in range(0, len(pending), BATCH_CHUNKS):
            batch = pending[start : start + BATCH_CHUNKS]
            rows = embedder.embed([text_to_embed(chunk.title, chunk.text) for chunk in batch])
            if stop.is_set():
                return done
            with store.transaction() as writer:
                writer.put_vectors(
                    embedder.model, [(chunk.number, chunk.digest, row) for chunk, row in zip(batch, rows, strict=True)]
                )
            done += len(batch)
            if progress is not None:
                progress(done, done + store.as_of().pending_vectors)
            if stop.is_set():
                break
    return done


##= docs/spec/knowledge.md#index-updates
##% Every place that reports missing embeddings MUST report the same number.
def missing_embeddings(as_of: AsOf, setting: str) -> int:
    """How many chunks have no embedding of the configured model; 0 if embeddings are turned off."""
    if setting == "none":
        return 0
    return as_of.pending_vectors if as_of.vector_setting in (setting, None) else as_of.chunk_count


def missing_embeddings_text(missing: int, chunks: int) -> str:
    """A sentence that says how many embeddings are missing, and what follows from that."""
    return f"{missing} of {chunks} chunks have no embedding yet, so search finds them by words only."


def text_to_embed(title: str, text: str) -> str:
    """The text that is embedded for a chunk: its title, which says where it is, and its text."""
    return f"{title}\n{text}" if title else text
