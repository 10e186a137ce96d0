"""Encodes values for columns, and decodes them."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from contextive.knowledge.artifact import Artifact, LastCommit
from contextive.knowledge.chunk import Chunk
from contextive.knowledge.symbol import Reference, Symbol, TypeHint
from contextive.store.values import LedgerEntry

ARTIFACT_COLUMNS = (
    "path, type, digest, size, title, namespace, subsystem, language, tags, messages, telemetry,"
    " git_commit, git_timestamp"
)
SYMBOL_COLUMNS = "id, name, qualified_name, kind, language, line_start, line_end"
_HEXADECIMAL = re.compile(r"(?:[0-9a-f]{2})+")
_WORD = 1 << 64


encode_json = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode
"""JSON with sorted keys and no spaces: equal values give the same text."""


def encode_names(names: Iterable[str]) -> str:
    values = list(names)
    return encode_json(values) if values else ""


@lru_cache(maxsize=4096)
def decode_names(text: str) -> tuple[str, ...]:
    return tuple(json.loads(text)) if text else ()


def encode_digest(digest: str) -> bytes | str:
    """A hexadecimal digest as bytes, which take half the space; any other text unchanged."""
    return bytes.fromhex(digest) if _HEXADECIMAL.fullmatch(digest) else digest


def decode_digest(stored: bytes | str) -> str:
    return stored.hex() if isinstance(stored, bytes) else stored


def signed(number: int) -> int:
    """An unsigned 64-bit number as a signed one, because SQLite has only signed integers."""
    return number - _WORD if number >= _WORD >> 1 else number


def unsigned(number: int) -> int:
    return number + _WORD if number < 0 else number


def name_hash(name: str) -> int:
    """A case-insensitive hash of a name. Hashes may collide, so a lookup compares the names too."""
    return zlib.crc32(name.casefold().encode("utf-8", "surrogatepass"))


def encode_artifact(artifact: Artifact) -> tuple[Any, ...]:
    git = artifact.git
    return (
        artifact.path,
        artifact.artifact_type,
        encode_digest(artifact.digest),
        artifact.size,
        artifact.title,
        artifact.namespace,
        artifact.subsystem,
        artifact.language,
        encode_names(artifact.tags),
        encode_names(artifact.messages),
        encode_names(artifact.telemetry),
        git.commit if git else None,
        git.timestamp if git else None,
    )


def decode_artifact(row: tuple[Any, ...]) -> Artifact:
    path, kind, digest, size, title, namespace, subsystem, language, tags, messages, telemetry, commit, time = row
    return Artifact(
        path=path,
        artifact_type=kind,
        digest=decode_digest(digest),
        size=size,
        title=title,
        namespace=namespace,
        subsystem=subsystem,
        language=language,
        tags=decode_names(tags),
        messages=decode_names(messages),
        telemetry=decode_names(telemetry),
        git=None if commit is None else LastCommit(commit, time),
    )


def encode_entry(artifact: int, entry: LedgerEntry, seen_at: float) -> tuple[Any, ...]:
    return (
        artifact,
        encode_digest(entry.digest),
        entry.size,
        entry.modified_ns,
        entry.changed_ns,
        signed(entry.inode),
        entry.parser,
        seen_at,
    )


def chunk_size(chunk: Chunk) -> int:
    return len(chunk.title) + len(chunk.text)


def encode_references(references: Iterable[Reference]) -> bytes:
    return _pack([(item.kind, item.name, item.line, item.source, item.receiver) for item in references])


def decode_references(body: bytes) -> tuple[Reference, ...]:
    return tuple(Reference(*values) for values in _unpack(body))


def encode_hints(hints: Iterable[TypeHint]) -> bytes:
    return _pack([(hint.kind, hint.owner, hint.name, hint.value) for hint in hints])


def decode_hints(body: bytes) -> tuple[TypeHint, ...]:
    return tuple(TypeHint(*values) for values in _unpack(body))


def _pack(values: list[Any]) -> bytes:
    return zlib.compress(encode_json(values).encode("utf-8", "surrogatepass"), 1)


def _unpack(body: bytes) -> list[Any]:
    values: list[Any] = json.loads(zlib.decompress(body).decode("utf-8", "surrogatepass"))
    return values


def decode_symbol(row: tuple[Any, ...]) -> Symbol:
    return Symbol(*row)
