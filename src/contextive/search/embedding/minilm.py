"""The default model: all-MiniLM-L6-v2 in eight bits, run on the CPU without network or key."""

from __future__ import annotations

import contextlib
import ctypes
import gzip
import hashlib
import importlib.util
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from contextive.errors import Unavailable
from contextive.search.embedding.protocol import disable_telemetry, normalise_rows, require_packages
from contextive.search.embedding.wordpiece import WordPiece
from contextive.store.values import VectorModel

if TYPE_CHECKING:
    from contextive.search.embedding.protocol import Matrix

WEIGHTS_PACKAGE: Final = "contextive_minilm"
WEIGHTS_SHA256: Final = "bc242f55d6968b2499ebd020216bd94df119182f89280a9fa7ecb95f79f1875a"
VOCABULARY_SHA256: Final = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
DIMENSIONS: Final = 384
MAX_PIECES: Final = 128
"""256 pieces took twice as long and found less on four of five measured sets."""
_REINSTALL = "Reinstall contextive-mcp, or choose another embedding_model."


##= docs/spec/knowledge.md#ranking
##% The default embedding model MUST need neither network nor key.
class MiniLmEmbedder:
    """The loaded model. Thread-safe."""

    def __init__(self, *, threads: int = 1) -> None:
        self._wordpiece = WordPiece(read_vocabulary(), MAX_PIECES)
        require_packages("onnxruntime", WEIGHTS_PACKAGE)
        self._session = open_session(read_weights(WEIGHTS_PACKAGE, WEIGHTS_SHA256), threads)
        self._model = VectorModel(f"all-MiniLM-L6-v2-q8@{WEIGHTS_SHA256[:8]}/{MAX_PIECES}", DIMENSIONS)

    @property
    def model(self) -> VectorModel:
        return self._model

    @property
    def is_fast(self) -> bool:
        return True

    def embed(self, texts: Sequence[str]) -> Matrix:
        import numpy as np

        # One text at a time: the graph quantises its input by the largest value in it, so in a batch the embedding of
        # a text would depend on the other texts. Without padding this is no slower.
        rows = np.zeros((len(texts), DIMENSIONS), dtype=np.float32)
        for at, text in enumerate(texts):
            pieces = np.array([self._wordpiece.encode(text)], dtype=np.int64)
            rows[at] = self._session.run(["embedding"], {"pieces": pieces})[0][0]
        return normalise_rows(rows)

    def embed_query(self, text: str) -> Matrix:
        row: Matrix = self.embed([text])[0]
        return row


def open_session(weights: bytes, threads: int) -> Any:
    """The onnxruntime session of a model, set up to use little memory. Raises Unavailable if it cannot be loaded."""
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
    # The arena would keep the memory of a long text forever.
    options.enable_cpu_mem_arena = False
    # A memory plan would be kept for each length.
    options.enable_mem_pattern = False
    # Threads that spin between runs would take CPU time from the rest of the server.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    session = onnxruntime.InferenceSession(weights, options, providers=["CPUExecutionProvider"])
    _return_memory()
    return session


def _return_memory() -> None:
    """Return freed memory to the system if it has `malloc_trim`: loading the weights leaves some 70 MB."""
    with contextlib.suppress(OSError, TypeError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def read_weights(package: str, checksum: str) -> bytes:
    """The weights in an installed package. Raises Unavailable if they are missing or not the expected ones."""
    # The package is only located, not imported: it is read as data.
    found = importlib.util.find_spec(package)
    if found is None or found.origin is None:
        raise Unavailable("The package with the weights of the embedding model is not installed.", hint=_REINSTALL)
    try:
        weights = (Path(found.origin).parent / "model.onnx").read_bytes()
    except OSError as error:
        raise Unavailable("The weights of the embedding model cannot be read.", hint=_REINSTALL) from error
    if hashlib.sha256(weights).hexdigest() != checksum:
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
