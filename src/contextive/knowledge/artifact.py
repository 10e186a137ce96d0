"""An indexed file of the project."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, get_args

from contextive.knowledge.chunk import Chunk
from contextive.knowledge.symbol import Reference, Symbol, TypeHint

ArtifactType = Literal["code", "doc", "test", "proto", "config", "other"]
ARTIFACT_TYPES: tuple[ArtifactType, ...] = get_args(ArtifactType)


@dataclass(frozen=True, slots=True)
class LastCommit:
    """The last commit that touched a file."""

    commit: str
    timestamp: float


@dataclass(frozen=True, slots=True)
class Artifact:
    """The metadata of one file."""

    path: str
    artifact_type: ArtifactType
    digest: str
    """SHA-256 of the file's bytes in hexadecimal."""
    size: int
    title: str
    namespace: str
    subsystem: str | None = None
    language: str | None = None
    tags: tuple[str, ...] = ()
    messages: tuple[str, ...] = ()
    """Names of integration messages, such as FooMessage."""
    telemetry: tuple[str, ...] = ()
    """Names of telemetry channels, such as TelemetryFoo."""
    git: LastCommit | None = None


@dataclass(frozen=True, slots=True)
class ParsedArtifact:
    """Everything parsed from one file alone, before it is linked with others."""

    artifact: Artifact
    chunks: tuple[Chunk, ...] = ()
    symbols: tuple[Symbol, ...] = ()
    references: tuple[Reference, ...] = field(default=())
    hints: tuple[TypeHint, ...] = ()


@dataclass(frozen=True, slots=True)
class Totals:
    """The number of files of a type, and the number of their chunks."""

    files: int
    chunks: int
