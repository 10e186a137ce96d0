"""Generated data for the index: a repository of small files, and stores of many chunks. The text is always the same."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from contextive.knowledge.artifact import Artifact, ParsedArtifact
from contextive.knowledge.artifact_layers import artifact_layer, project_layer
from contextive.knowledge.chunk import Chunk
from contextive.knowledge.subsystems import NO_CATALOG
from contextive.knowledge.symbol import Symbol
from contextive.store import open_store
from contextive.store.values import LedgerEntry, VectorModel

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from contextive.store.protocol import Store

MODEL = VectorModel("bench", 384)
CHUNKS_A_FILE = 10
_WORDS_A_CHUNK = 80
_FILES_A_TRANSACTION = 100
_SUBSYSTEMS = 40
_VOCABULARY = 20_000


def vocabulary() -> list[str]:
    """Words like those of code and prose, the most frequent first."""
    rng = random.Random(7)
    parts = ["ta", "re", "mi", "lo", "ven", "dor", "qui", "sal", "ner", "pho", "gra", "tik", "bu", "wel", "zan", "cor"]
    words: dict[str, None] = {}
    while len(words) < _VOCABULARY:
        words["".join(rng.choices(parts, k=rng.randint(2, 4)))] = None
        words["_".join("".join(rng.choices(parts, k=2)) for _ in range(2))] = None
    return list(words)[:_VOCABULARY]


class Prose:
    """Sentences with word frequencies like those of real text."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)
        self._words = vocabulary()
        self._weights = [1 / (rank + 10) for rank in range(len(self._words))]

    def words(self, count: int) -> list[str]:
        return self._rng.choices(self._words, self._weights, k=count)


def write_repository(root: Path, files: int) -> None:
    """Write small source files and documents, about three kilobytes each."""
    prose = Prose(11)
    for number in range(files):
        folder = root / "src" / "app" / f"part{number % _SUBSYSTEMS}"
        folder.mkdir(parents=True, exist_ok=True)
        if number % 5 == 4:
            text = "".join(f"## {' '.join(prose.words(4))}\n\n{' '.join(prose.words(60))}\n\n" for _ in range(6))
            (folder / f"page{number}.md").write_text(f"# Page {number}\n\n{text}", encoding="utf-8")
        else:
            text = "".join(_function(prose, number, index) for index in range(8))
            (folder / f"module{number}.py").write_text(
                f'"""Module {number}."""\n\nimport os\n\n\n{text}', encoding="utf-8"
            )


def _function(prose: Prose, number: int, index: int) -> str:
    first, second = prose.words(2)
    return (
        f"def {first}_{number}_{index}({second}: int) -> int:\n"
        f'    """{" ".join(prose.words(14))}."""\n'
        f"    total = {second} + {index}\n"
        f"    for step in range(total):\n"
        f"        total += {first}_{number}_{max(0, index - 1)}(step) if step else os.getpid()\n"
        f"    return total\n\n\n"
    )


def build_store(state: Path, chunks: int) -> None:
    """Build a store with this many chunks, and their symbols, graph and vectors."""
    store = open_store(state)
    try:
        artifacts = []
        batch: list[ParsedArtifact] = []
        for parsed in _artifacts(chunks // CHUNKS_A_FILE):
            artifacts.append(parsed.artifact)
            batch.append(parsed)
            if len(batch) == _FILES_A_TRANSACTION:
                _put(store, batch)
                batch = []
        _put(store, batch)
        with store.transaction() as writer:
            writer.put_layer("@project", project_layer(artifacts, NO_CATALOG))
        _put_vectors(store)
        store.search.catch_up()
    finally:
        store.close()


def queries(count: int) -> list[str]:
    """Short and long queries, with rare and frequent words."""
    prose = Prose(29)
    return [" ".join(prose.words(3 if number % 2 else 9)) for number in range(count)]


def random_vectors(seed: int, count: int) -> NDArray[np.float32]:
    """Random unit vectors, evenly distributed."""
    import numpy as np

    rows = np.random.default_rng(seed).standard_normal((count, MODEL.dimensions), dtype=np.float32)
    unit: NDArray[np.float32] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit


class RandomEmbedder:
    """Returns a different vector for each query at almost no cost, so that only the search is measured."""

    @property
    def model(self) -> VectorModel:
        return MODEL

    @property
    def is_fast(self) -> bool:
        return False

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return random_vectors(len(texts), len(texts))

    def embed_query(self, text: str) -> NDArray[np.float32]:
        seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")
        vector: NDArray[np.float32] = random_vectors(seed, 1)[0]
        return vector


def _artifacts(files: int) -> Iterator[ParsedArtifact]:
    prose = Prose(13)
    types = ("code", "code", "doc", "test")
    for number in range(files):
        kind = types[number % len(types)]
        path = f"src/part{number % _SUBSYSTEMS}/file{number}.{'md' if kind == 'doc' else 'py'}"
        chunks, symbols = [], []
        for index in range(CHUNKS_A_FILE):
            text = " ".join(prose.words(_WORDS_A_CHUNK))
            title = " ".join(prose.words(3))
            symbol = Symbol(
                f"{path}::s{index}",
                f"s{number}_{index}",
                f"s{index}",
                "function",
                "python",
                index * 5 + 1,
                index * 5 + 5,
            )
            symbols.append(symbol)
            digest = hashlib.sha256(f"{path}:{index}".encode()).hexdigest()
            chunks.append(
                Chunk(
                    f"{path}::{index}",
                    index,
                    "code",
                    title,
                    text,
                    index * 5 + 1,
                    index * 5 + 5,
                    digest,
                    symbols=(symbol.id,),
                )
            )
        digest = hashlib.sha256(path.encode()).hexdigest()
        artifact = Artifact(path, kind, digest, 5000, f"File {number}", "src", f"Part{number % _SUBSYSTEMS}", "python")  # type: ignore[arg-type]
        yield ParsedArtifact(artifact, tuple(chunks), tuple(symbols))


def _put(store: Store, batch: list[ParsedArtifact]) -> None:
    with store.transaction() as writer:
        for parsed in batch:
            artifact = parsed.artifact
            entry = LedgerEntry(artifact.path, artifact.digest, artifact.size, 1, 1, 1, "bench")
            writer.put_artifact(parsed, entry, artifact_layer(parsed))


def _put_vectors(store: Store) -> None:
    seed = 0
    while pending := store.search.pending_vectors(MODEL, 5_000):
        seed += 1
        rows = random_vectors(seed, len(pending))
        with store.transaction() as writer:
            writer.put_vectors(
                MODEL, [(chunk.number, chunk.digest, row) for chunk, row in zip(pending, rows, strict=True)]
            )
