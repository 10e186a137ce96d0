"""Embedding models with a common protocol."""

from contextive.search.embedding.factory import BackgroundEmbedder, open_embedder
from contextive.search.embedding.protocol import Embedder

__all__ = ["BackgroundEmbedder", "Embedder", "open_embedder"]
