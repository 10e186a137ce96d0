"""Models from packages that the user has installed."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

from contextive.errors import Unavailable
from contextive.search.embedding.protocol import disable_telemetry, normalise_rows
from contextive.store.values import VectorModel

if TYPE_CHECKING:
    from contextive.search.embedding.protocol import Matrix


class SentenceTransformersEmbedder:
    """A model from sentence-transformers."""

    def __init__(self, name: str) -> None:
        module = _import("sentence_transformers", "sentence-transformers")
        try:
            self._inner: Any = module.SentenceTransformer(name)
        except (OSError, ValueError, RuntimeError) as error:
            raise _unusable("sentence-transformers", name) from error
        self._model = VectorModel(f"sentence-transformers:{name}", len(self._inner.encode(["dimensions"])[0]))

    @property
    def model(self) -> VectorModel:
        return self._model

    @property
    def is_fast(self) -> bool:
        return False

    def embed(self, texts: Sequence[str]) -> Matrix:
        return _as_rows(self._inner.encode(list(texts), show_progress_bar=False), self._model.dimensions)

    def embed_query(self, text: str) -> Matrix:
        row: Matrix = self.embed([text])[0]
        return row


class FastEmbedEmbedder:
    """A model from fastembed, which embeds queries differently from texts."""

    def __init__(self, name: str) -> None:
        module = _import("fastembed", "fastembed")
        try:
            self._inner: Any = module.TextEmbedding(model_name=name)
        except (OSError, ValueError, RuntimeError) as error:
            raise _unusable("fastembed", name) from error
        self._model = VectorModel(f"fastembed:{name}", len(next(iter(self._inner.embed(["dimensions"])))))

    @property
    def model(self) -> VectorModel:
        return self._model

    @property
    def is_fast(self) -> bool:
        return False

    def embed(self, texts: Sequence[str]) -> Matrix:
        return _as_rows(list(self._inner.embed(list(texts))), self._model.dimensions)

    def embed_query(self, text: str) -> Matrix:
        row: Matrix = _as_rows(list(self._inner.query_embed([text])), self._model.dimensions)[0]
        return row


def _import(module: str, package: str) -> ModuleType:
    disable_telemetry()
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise Unavailable(
            f"The package {package} is not installed.", hint=f"Install {package}, or choose another embedding_model."
        ) from error


def _unusable(package: str, name: str) -> Unavailable:
    return Unavailable(
        f"{package} cannot load the model {name}.", hint="Check the name and that the model is downloaded."
    )


def _as_rows(rows: Any, dimensions: int) -> Matrix:
    import numpy as np

    return normalise_rows(np.asarray(rows, dtype=np.float32).reshape(-1, dimensions))
