"""`backup` and `restore`: archives of the data that cannot be rebuilt from the files."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contextive.cli.load_project import open_host
from contextive.cli.parser import add_project_options
from contextive.cli.printing import print_data, print_line
from contextive.errors import UsageError

if TYPE_CHECKING:
    from contextive.store.archive import Manifest
    from contextive.store.backup import Backup, Backups
    from contextive.store.restore import RestoreResult


def configure_backup(parser: argparse.ArgumentParser) -> None:
    add_project_options(parser, profile=False)
    parser.add_argument(
        "--to",
        metavar="DIR",
        help="where to write the backup: the backup directory (default) or one below it",
    )
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--list", action="store_true", help="list the backups, newest first")
    action.add_argument("--check", type=Path, metavar="ARCHIVE", help="compare an archive with its manifest")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run_backup)


def run_backup(options: argparse.Namespace) -> int:
    if options.check is not None:
        return _check(options)
    with _backups(options) as backups:
        if options.list:
            return _list(backups, options)
        made = backups.create(options.to)
    if options.json:
        print_data(json.dumps({**_backup_to_dict(made), "sha256": made.sha256, "pruned": list(made.pruned)}))
    else:
        print_line(f"{made.display_path}  {made.size_bytes} bytes, {_manifest_text(made.manifest)}")
        if made.pruned:
            print_line(f"removed: {', '.join(made.pruned)}")
    return 0


def configure_restore(parser: argparse.ArgumentParser) -> None:
    add_project_options(parser, profile=False)
    parser.add_argument("archive", type=Path, metavar="ARCHIVE", help="archive made by `backup`")
    parser.add_argument("--to", type=Path, metavar="DIR", help="restore into this empty directory")
    parser.add_argument("--force", action="store_true", help="replace the existing index, after a backup of it")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run_restore)


def run_restore(options: argparse.Namespace) -> int:
    from contextive.store.restore import restore_backup, restore_elsewhere

    if options.to is not None and options.force:
        raise UsageError("--to and --force cannot be combined.", hint="--to needs an empty directory.")
    with _backups(options) as backups:
        if options.to is not None:
            restored = restore_elsewhere(options.archive, options.to, backups)
        else:
            restored = restore_backup(options.archive, backups, force=options.force)
    _print_restored(restored, options)
    return 0


def _check(options: argparse.Namespace) -> int:
    from contextive.store.archive import check_archive

    manifest = check_archive(options.check)
    if options.json:
        print_data(json.dumps({"ok": True, **_manifest_to_dict(manifest)}))
    else:
        print_line(
            f"The archive matches its manifest: {_manifest_text(manifest)}, {manifest.content_files} indexed files."
        )
    return 0


def _list(backups: Backups, options: argparse.Namespace) -> int:
    found = backups.existing()
    if options.json:
        print_data(json.dumps({"backups": [_backup_to_dict(backup) for backup in found]}))
        return 0
    for backup in found:
        print_line(f"{backup.display_path}  {backup.size_bytes} bytes, {_manifest_text(backup.manifest)}")
    if not found:
        print_line("There are no backups.")
    return 0


def _print_restored(restored: RestoreResult, options: argparse.Namespace) -> None:
    copy = restored.safety_copy
    if options.json:
        safety = copy.display_path if copy is not None else None
        print_data(
            json.dumps({"safety_copy": safety, "set_aside": restored.set_aside, **_manifest_to_dict(restored.manifest)})
        )
        return
    print_line(f"Restored: {_manifest_text(restored.manifest)}.")
    if copy is not None:
        print_line(f"The previous data was backed up to {copy.display_path}.")
    if restored.set_aside:
        print_line(
            "The previous database could not be read; it was renamed to index.db.damaged-<time> in the state directory."
        )
    print_line("Next: `contextive-mcp ingest` updates the index from the files, `contextive-mcp verify` checks it.")


@contextmanager
def _backups(options: argparse.Namespace) -> Iterator[Backups]:
    from contextive.packs.knowledge.pack import DocumentsAndBackups

    host = open_host(options)
    try:
        yield host.services.get(DocumentsAndBackups).backups()
    finally:
        host.close()


def _backup_to_dict(backup: Backup) -> dict[str, Any]:
    return {"archive": backup.display_path, "size_bytes": backup.size_bytes, **_manifest_to_dict(backup.manifest)}


def _manifest_to_dict(manifest: Manifest) -> dict[str, Any]:
    return {
        "created_at": manifest.created_at,
        "version": manifest.version,
        "schema_version": manifest.schema_version,
        "generation": manifest.generation,
        "counts": dict(manifest.counts),
        "content_files": manifest.content_files,
        "files": [member.name for member in manifest.files],
    }


def _manifest_text(manifest: Manifest) -> str:
    counts = ", ".join(f"{manifest.counts.get(table, 0)} {table}s" for table in ("run", "report", "vote"))
    return f"created {manifest.created_at} at generation {manifest.generation}, {counts}"
