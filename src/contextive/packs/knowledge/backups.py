"""`km-backup-trigger`: creates a backup."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from contextive.packs.knowledge.pack import LABELS, DocumentsAndBackups, pack
from contextive.registry import Annotations, Context, Scope, ToolInput, ToolOutput

if TYPE_CHECKING:
    from contextive.store.backup import Backup

_LONGEST_SECONDS = 3_600.0


class BackupInput(ToolInput):
    destination: str | None = Field(
        None, max_length=1000, description="Directory below the backup directory; default: the configured one"
    )


class BackupAnswer(ToolOutput):
    status: Literal["success"] = "success"
    archive: str
    size_bytes: int
    sha256: str
    created_at: str
    generation: int
    counts: dict[str, int]
    content_files: int
    pruned: list[str] = Field(description="Old archives that were removed")


##= docs/spec/gateway.md#creating-a-backup
##% The tool `km-backup-trigger` MUST create an archive and return its path and details.
@pack.tool(
    "km-backup-trigger",
    title="Back up",
    description="Back up the index, run history, reports, votes and audit log while in use. Returns the archive.",
    scope=Scope.MAINTAINER,
    labels=LABELS,
    safety_notes="Writes an archive; removes the oldest ones beyond backup.retention.",
    invocation_hints="before a release, an upgrade or a restore",
    annotations=Annotations(read_only=False, destructive=False, idempotent=False),
    timeout_seconds=_LONGEST_SECONDS,
)
def backup_trigger(given: BackupInput, ctx: Context) -> BackupAnswer:
    backup = ctx.service(DocumentsAndBackups).backups().create(given.destination, caller=ctx.caller.name)
    return BackupAnswer(**backup_to_dict(backup), pruned=list(backup.pruned))


def backup_to_dict(backup: Backup) -> dict[str, Any]:
    """A backup as a JSON object."""
    manifest = backup.manifest
    return {
        "archive": backup.display_path,
        "size_bytes": backup.size_bytes,
        "sha256": backup.sha256,
        "created_at": manifest.created_at,
        "generation": manifest.generation,
        "counts": dict(manifest.counts),
        "content_files": manifest.content_files,
    }
