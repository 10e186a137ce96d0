"""Short helpers to create parsed files and write them to a store."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from contextive.knowledge.artifact import Artifact, LastCommit, ParsedArtifact
from contextive.knowledge.chunk import Chunk
from contextive.knowledge.graph import Edge, Layer, Node
from contextive.knowledge.symbol import Reference, Symbol
from contextive.knowledge.tokeniser import query_identifiers, query_terms
from contextive.store.protocol import Store
from contextive.store.values import ChunkFilter, LedgerEntry, LexicalQuery, VectorModel

if TYPE_CHECKING:
    from contextive.store.protocol import Vector

MODEL = VectorModel("sample", 8)
EVERYTHING = ChunkFilter()


def digest(*parts: object) -> str:
    return hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()


def chunk(path: str, number: int, text: str, title: str = "", **facts: Any) -> Chunk:
    return Chunk(
        chunk_id=f"{path}::{number}",
        sequence=number,
        kind=facts.pop("kind", "prose"),
        title=title,
        text=text,
        line_start=facts.pop("line_start", number * 10 + 1),
        line_end=facts.pop("line_end", number * 10 + 9),
        digest=digest(path, number, title, text),
        **facts,
    )


def symbol(path: str, qualified_name: str, line: int = 1, kind: Any = "function", language: str = "python") -> Symbol:
    name = qualified_name.rpartition(".")[2]
    return Symbol(f"{path}::{qualified_name}", name, qualified_name, kind, language, line, line + 3)


def parsed(
    path: str,
    texts: Sequence[str] = (),
    *,
    chunks: Sequence[Chunk] | None = None,
    symbols: Sequence[Symbol] = (),
    references: Sequence[Reference] = (),
    **facts: Any,
) -> ParsedArtifact:
    file_chunks = (
        tuple(chunk(path, number, text) for number, text in enumerate(texts)) if chunks is None else tuple(chunks)
    )
    artifact = Artifact(
        path=path,
        artifact_type=facts.pop("artifact_type", "doc"),
        digest=digest(path, *(piece.digest for piece in file_chunks)),
        size=sum(len(piece.text) for piece in file_chunks),
        title=facts.pop("title", path),
        namespace=facts.pop("namespace", "root"),
        **facts,
    )
    return ParsedArtifact(artifact, file_chunks, tuple(symbols), tuple(references))


def entry(path: str, **facts: Any) -> LedgerEntry:
    known = {"digest": digest(path), "size": 1, "modified_ns": 2, "changed_ns": 3, "inode": 4, "parser": "1"}
    return LedgerEntry(path=path, **{**known, **facts})


def file_layer(file: ParsedArtifact) -> Layer:
    """The nodes and edges that a file states, similar to those of an ingest."""
    artifact = file.artifact
    git = artifact.git
    file_node = Node(
        "SourceFile",
        artifact.path,
        {
            "path": artifact.path,
            "git_commit": git.commit if git else None,
            "git_timestamp": git.timestamp if git else None,
        },
    )
    nodes, edges = [file_node], []
    if artifact.subsystem:
        nodes.append(Node("Subsystem", artifact.subsystem, {"name": artifact.subsystem}))
        edges.append(Edge(file_node.id, "BELONGS_TO", f"Subsystem:{artifact.subsystem}"))
    for piece in file.chunks:
        nodes.append(Node("Chunk", piece.chunk_id, {"sequence": piece.sequence}))
        edges.append(Edge(file_node.id, "HAS_CHUNK", f"Chunk:{piece.chunk_id}"))
    for declared in file.symbols:
        nodes.append(Node("Symbol", declared.id, {"name": declared.qualified_name, "kind": declared.kind}))
        edges.append(Edge(file_node.id, "DECLARES_SYMBOL", f"Symbol:{declared.id}"))
    return Layer(tuple(nodes), tuple(edges))


def put(store: Store, *files: ParsedArtifact, **entry_facts: Any) -> None:
    with store.transaction() as writer:
        for file in files:
            writer.put_artifact(file, entry(file.artifact.path, **entry_facts), file_layer(file))


def remove(store: Store, *paths: str) -> None:
    with store.transaction() as writer:
        for path in paths:
            writer.remove_artifact(path)


def found_ids(store: Store, query: str, k: int = 50, where: ChunkFilter = EVERYTHING) -> list[str]:
    """Chunk ids of a lexical search, best first."""
    hits = store.search.lexical(LexicalQuery(query_terms(query), query_identifiers(query)), k, where).hits
    rows = store.files.chunks([hit.number for hit in hits])
    return [rows[hit.number].chunk.chunk_id for hit in hits]


def near_ids(store: Store, vector: Vector, k: int = 50, where: ChunkFilter = EVERYTHING) -> list[str]:
    """Chunk ids of a vector search, nearest first."""
    hits = store.search.dense(MODEL, vector, k, where).hits
    rows = store.files.chunks([hit.number for hit in hits])
    return [rows[hit.number].chunk.chunk_id for hit in hits]


def vector_of(text: str, dimensions: int = MODEL.dimensions) -> Vector:
    """A vector that depends only on the text."""
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
    return np.random.default_rng(seed).standard_normal(dimensions).astype(np.float32)


def embed(store: Store, limit: int = 10_000) -> None:
    """Store a vector for every chunk without one."""
    pending = store.search.pending_vectors(MODEL, limit)
    with store.transaction() as writer:
        writer.put_vectors(MODEL, [(item.number, item.digest, vector_of(item.text)) for item in pending])


def git(timestamp: float, commit: str = "c0ffee") -> LastCommit:
    return LastCommit(commit, timestamp)
