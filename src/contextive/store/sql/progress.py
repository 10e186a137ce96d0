"""The current generation of the database, and the generation that a sidecar has caught up to."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from contextive.file_writing import write_file
from contextive.store.sql.database import SqlConnection, SqlDatabase


class ProgressRow(NamedTuple):
    """The single row of `progress`, with the stamp of its generation. A seq may be used again after a restore; a
    stamp never is."""

    generation: int
    committed_at: float
    artifact_seq: int
    chunk_seq: int
    vector_seq: int
    floor: int
    stamp: int
    artifact_stamp: int
    chunk_stamp: int


_PROGRESS = (
    "SELECT p.generation, p.committed_at, p.artifact_seq, p.chunk_seq, p.vector_seq, p.change_floor, g.stamp,"
    " p.artifact_stamp, p.chunk_stamp FROM progress p JOIN generation g ON g.seq = p.generation"
)


def read_progress(database: SqlDatabase) -> ProgressRow:
    return ProgressRow(*database.read(_PROGRESS)[0])


@dataclass(frozen=True, slots=True)
class SidecarManifest:
    """The generation that a sidecar contains, and the file or directory of its data (`place`).

    A sidecar that is still being built has no seq. A search returns what it contains so far.
    """

    version: int
    place: str
    seq: int | None = None
    stamp: int = 0
    rows: int = 0
    checksum: int = 0
    model: str = ""
    dimensions: int = 0


_MANIFEST_TYPES: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("version", "stamp", "rows", "checksum", "dimensions"), (int,)),
    **dict.fromkeys(("place", "model"), (str,)),
    "seq": (int, type(None)),
}


def read_sidecar_manifest(path: Path, version: int) -> SidecarManifest | None:
    """The manifest of a sidecar; None when it is missing, damaged or of another version."""
    try:
        values: dict[str, Any] = json.loads(path.read_bytes())
        manifest = SidecarManifest(**values)
        if any(type(getattr(manifest, name)) not in kinds for name, kinds in _MANIFEST_TYPES.items()):
            return None
    except (OSError, ValueError, TypeError, RecursionError):
        return None
    # A name with a separator could lead out of the directory of the sidecar.
    is_valid = manifest.version == version and manifest.place and Path(manifest.place).name == manifest.place
    return manifest if is_valid else None


##= docs/spec/knowledge.md#store
##% A process that dies during a write MUST leave only faults that `verify` reports and the next run fixes.
def write_sidecar_manifest(path: Path, manifest: SidecarManifest) -> None:
    """Replace the manifest of a sidecar. Not durable: a sidecar that loses its manifest is rebuilt from the
    database."""
    write_file(path, json.dumps(asdict(manifest)).encode(), mode=0o600, durable=False)


def can_catch_up(connection: SqlConnection, manifest: SidecarManifest, progress: ProgressRow) -> bool:
    """Whether the manifest's generation is in the history of this database, and all changes since then are known."""
    if manifest.seq is None or not progress.floor <= manifest.seq <= progress.generation:
        return False
    found = connection.execute("SELECT stamp FROM generation WHERE seq = ?", (manifest.seq,)).fetchone()
    return bool(found == (manifest.stamp,))


def progress_in(connection: SqlConnection) -> ProgressRow:
    return ProgressRow(*connection.execute(_PROGRESS).fetchone())
