"""Vectors for the chunks that have none, in the background, as long as there are any."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final

from contextive.search.embedding.protocol import Embedder
from contextive.store.protocol import Store
from contextive.store.values import STATE_VECTOR_MODEL

BATCH_CHUNKS: Final = 64
"""Chunks between two commits: what an interrupted run has to do again at most."""


def embed_pending(
    store: Store,
    embedder: Embedder,
    stop: threading.Event,
    progress: Callable[[int, int], None] | None = None,
) -> int:
    """Embed every chunk that has no vector of this model, and say how many it were.

    The store keeps what is done: a run that is stopped or killed goes on where it was, and a chunk whose text is unchanged
    is never embedded again. `progress` hears how many are done, and of how many.
    """
    model = f"{embedder.model.name}/{embedder.model.dimensions}"
    if store.state(STATE_VECTOR_MODEL) != model:
        # From now on every answer counts the chunks that lack an embedding of this model.
        with store.transaction() as writer:
            writer.put_state(STATE_VECTOR_MODEL, model)
    done = 0
    before: tuple[tuple[int, str], ...] = ()
    while not stop.is_set():
        pending = store.search.pending_vectors(embedder.model, BATCH_CHUNKS)
        offered = tuple((one.number, one.digest) for one in pending)
        # The same chunks again: the store did not take their vectors, because their text has changed since. The ingest
        # that changed it will offer them anew.
        if not pending or offered == before:
            break
        before = offered
        rows = embedder.embed([text_to_embed(one.title, one.text) for one in pending])
        if stop.is_set():
            break
        with store.transaction() as writer:
            writer.put_vectors(
                embedder.model, [(one.number, one.digest, row) for one, row in zip(pending, rows, strict=True)]
            )
        done += len(pending)
        if progress is not None:
            progress(done, done + store.as_of().pending_vectors)
    return done


def text_to_embed(title: str, text: str) -> str:
    """What a model reads of a chunk: where it stands, then what it says."""
    return f"{title}\n{text}" if title else text
