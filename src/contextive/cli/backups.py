"""`backup` and `restore`: what only the state directory holds, into an archive and back."""

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
    parser.add_argument("--to", metavar="DIR", help="directory below the one for backups, or that one")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--list", action="store_true", help="list the backups, newest first")
    what.add_argument("--check", type=Path, metavar="ARCHIVE", help="compare an archive with its manifest")
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
    parser.add_argument("archive", type=Path, metavar="ARCHIVE", help="archive that `backup` made")
    parser.add_argument("--to", type=Path, metavar="DIR", help="restore into this empty directory")
    parser.add_argument("--force", action="store_true", help="replace the index that is there, after a backup of it")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run_restore)


def run_restore(options: argparse.Namespace) -> int:
    from contextive.store.restore import restore_backup, restore_elsewhere

    if options.to is not None and options.force:
        raise UsageError("--to and --force do not go together.", hint="--to takes an empty directory only.")
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
            f"The archive agrees with its manifest: {_manifest_text(manifest)}, {manifest.content_files} indexed files."
        )
    return 0


def _list(backups: Backups, options: argparse.Namespace) -> int:
    found = backups.existing()
    if options.json:
        print_data(json.dumps({"backups": [_backup_to_dict(each) for each in found]}))
        return 0
    for each in found:
        print_line(f"{each.display_path}  {each.size_bytes} bytes, {_manifest_text(each.manifest)}")
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
        print_line(f"What was there before is in {copy.display_path}.")
    if restored.set_aside:
        print_line(
            "The database that was there could not be used; it is index.db.damaged-<time> in the state directory now."
        )
    print_line("`contextive-mcp ingest` brings it in step with the files; `contextive-mcp verify` proves it.")


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
    kept = ", ".join(f"{manifest.counts.get(table, 0)} {table}s" for table in ("run", "report", "vote"))
    return f"made {manifest.created_at} at generation {manifest.generation}, {kept}"
