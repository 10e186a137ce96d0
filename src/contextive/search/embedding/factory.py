"""Loads the configured embedding model, immediately or in the background."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from contextive.errors import ConfigError, ContextiveError, Unavailable
from contextive.search.embedding.protocol import Embedder, require_packages

logger = logging.getLogger(__name__)

PACKAGES = ("numpy", "simsimd")
"""The packages of the extra `vectors` that every model needs."""


def open_embedder(
    spec: str, *, url: str | None = None, key: str | None = None, timeout_seconds: float = 30.0, threads: int = 1
) -> Embedder:
    """Load the model that `spec` names: minilm, dummy, openai:NAME, sentence-transformers:NAME or fastembed:NAME.

    `url`, `key` and `timeout_seconds` are for a remote endpoint, `threads` for a local model. Raises Unavailable if
    the model cannot be loaded, and ConfigError if the name is unknown.
    """
    require_packages(*PACKAGES)
    kind, _, name = spec.partition(":")
    match kind, name:
        case "minilm", "":
            from contextive.search.embedding.minilm import MiniLmEmbedder

            return MiniLmEmbedder(threads=threads)
        case "dummy", "":
            from contextive.search.embedding.dummy import DummyEmbedder

            return DummyEmbedder()
        case "openai", str(model) if model:
            from contextive.search.embedding.openai import DEFAULT_URL, OpenAiEmbedder

            return OpenAiEmbedder(model, url=url or DEFAULT_URL, key=key, timeout_seconds=timeout_seconds)
        case "sentence-transformers", str(model) if model:
            from contextive.search.embedding.third_party import SentenceTransformersEmbedder

            return SentenceTransformersEmbedder(model)
        case "fastembed", str(model) if model:
            from contextive.search.embedding.third_party import FastEmbedEmbedder

            return FastEmbedEmbedder(model)
        case _:
            raise ConfigError(
                f"There is no embedding model {spec!r}.",
                hint="Use minilm, dummy, none, openai:NAME, sentence-transformers:NAME or fastembed:NAME.",
            )


class BackgroundEmbedder:
    """Loads a model in a background thread. Calling it returns the model or raises Unavailable with the reason."""

    def __init__(self, load: Callable[[], Embedder]) -> None:
        self._load = load
        self._lock = threading.Lock()
        self._done = threading.Event()
        self._embedder: Embedder | None = None
        self._problem: ContextiveError | None = None
        self._is_started = False

    def start(self) -> None:
        """Start loading, unless already started."""
        with self._lock:
            if self._is_started:
                return
            self._is_started = True
        threading.Thread(target=self._run, name="load-embedder", daemon=True).start()

    def wait(self, timeout_seconds: float | None = None) -> Embedder:
        """Wait for the model and return it. Raises Unavailable if it is not loaded in time."""
        self.start()
        self._done.wait(timeout_seconds)
        return self()

    def __call__(self) -> Embedder:
        if self._embedder is not None:
            return self._embedder
        if self._problem is not None:
            raise Unavailable(self._problem.message, hint=self._problem.hint)
        self.start()
        raise Unavailable("The embedding model is still loading.", hint="Try again in a moment.")

    def _run(self) -> None:
        try:
            self._embedder = self._load()
        except ContextiveError as error:
            self._problem = error
        except (OSError, ImportError) as error:
            logger.warning("the embedding model could not be loaded: %s", error)
        finally:
            if self._embedder is None and self._problem is None:
                self._problem = Unavailable("The embedding model could not be loaded; the log says why.")
            self._done.set()
