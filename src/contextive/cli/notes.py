"""`notes import | export | restore`: import a vault, export all notes as a zip file, and bring back earlier texts."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from contextive.cli.load_project import open_host
from contextive.cli.parser import add_project_options
from contextive.cli.printing import print_data, print_line
from contextive.cli.tables import print_rows
from contextive.errors import NotFound, UsageError
from contextive.file_writing import write_file

if TYPE_CHECKING:
    from contextive.ingest.notes_service import NotesService
    from contextive.ingest.page_journal import PageJournal


def configure_notes(parser: argparse.ArgumentParser) -> None:
    add_project_options(parser, profile=False)
    parser.add_argument(
        "action", choices=("import", "export", "restore"), metavar="ACTION", help="import, export or restore"
    )
    parser.add_argument(
        "file",
        type=Path,
        nargs="?",
        metavar="PATH",
        help="import: a vault (folder of notes) or a zipped vault; export: the zip file to write; "
        "restore: the page to restore, or nothing to list the texts that are kept",
    )
    parser.add_argument(
        "--at", metavar="TIME", help="with restore: the text that was replaced at this time (default: the last)"
    )
    parser.add_argument("--force", action="store_true", help="with export: replace an existing file")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run_notes)


def run_notes(options: argparse.Namespace) -> int:
    """Run the import or export. Returns 1 if a file of the vault was not imported."""
    from contextive.ingest.notes_service import NotesService
    from contextive.ingest.page_journal import PageJournal

    if options.force and options.action != "export":
        raise UsageError("--force is only for notes export.")
    if options.at and options.action != "restore":
        raise UsageError("--at is only for notes restore.")
    if options.file is None and options.action != "restore":
        raise UsageError(f"notes {options.action} needs a path.", hint="See contextive-mcp notes --help.")
    host = open_host(options)
    try:
        service = host.services.get(NotesService)
        if options.action == "restore":
            journal = PageJournal(host.state_dir, {"caller": host.owner.name, "client": "contextive-mcp notes"})
            return _restore(service, journal, options)
        if options.action == "import":
            return _import(service, options.file, as_json=options.json)
        return _export(service, options.file, force=options.force, as_json=options.json)
    finally:
        host.close()


def _import(service: NotesService, source: Path, *, as_json: bool) -> int:
    from contextive.ingest.notes_vault import import_vault

    report = import_vault(service, source)
    if as_json:
        errors = [{"filename": refused.filename, "error": refused.error} for refused in report.errors]
        facts = {"imported": list(report.imported), "errors": errors, "skipped": report.skipped}
        print_data(json.dumps(facts, indent=2, ensure_ascii=False))
    else:
        print_line(f"{len(report.imported)} notes imported, {report.skipped} other files skipped")
        for refused in report.errors:
            print_line(f"{refused.filename}: {refused.error}", file=sys.stderr)
    return 1 if report.errors else 0


def _export(service: NotesService, target: Path, *, force: bool, as_json: bool) -> int:
    from contextive.ingest.notes_vault import export_vault

    data = export_vault(service)
    try:
        write_file(target, data, overwrite=force)
    except FileExistsError:
        raise UsageError(f"{target.name} exists already.", hint="Choose another name, or use --force.") from None
    if as_json:
        print_data(json.dumps({"file": str(target), "bytes": len(data)}, ensure_ascii=False))
    else:
        print_line(f"Wrote {target}")
    return 0


def _restore(service: NotesService, journal: PageJournal, options: argparse.Namespace) -> int:
    """Restore a page, or list the earlier texts of pages if none is named."""
    from contextive.ingest.notes_editor import NotesEditor

    kept = [(version.replaced_at.strftime("%Y-%m-%dT%H:%M:%S.%fZ"), version) for version in journal.versions()]
    if options.file is None:
        if options.json:
            print_data(json.dumps([{"replaced_at": at, "path": version.path} for at, version in kept], indent=2))
        elif kept:
            print_rows([(at, version.path) for at, version in kept])
        else:
            print_line("No page was changed or deleted in the last 30 days.")
        return 0
    page = options.file.as_posix()
    names = {page, page + ".md"} | {version.path for _, version in kept if Path(version.path).stem == page}
    found = [(at, version) for at, version in kept if version.path in names and at.startswith(options.at or "")]
    if not found:
        raise NotFound("No earlier text of this page is kept.", hint="List them: contextive-mcp notes restore")
    if len({version.path for _, version in found}) > 1:
        paths = ", ".join(sorted({version.path for _, version in found}))
        raise UsageError("Several pages have this name.", hint=f"Give a path: {paths}")
    at, version = found[0]
    note = NotesEditor(service, journal).restore(version.path, version.text()).note
    if options.json:
        print_data(json.dumps({"slug": note.slug, "path": note.path, "replaced_at": at}, ensure_ascii=False))
    else:
        print_line(f"Restored {note.path} as it was until {at}.")
    return 0
