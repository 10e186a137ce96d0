"""Models that turn text into vectors, each behind the same protocol."""

from contextive.search.embedding.opening import BackgroundEmbedder, open_embedder
from contextive.search.embedding.protocol import Embedder

__all__ = ["BackgroundEmbedder", "Embedder", "open_embedder"]
