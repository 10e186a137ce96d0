"""`notes import | export`: imports notes from a vault, and exports all notes as a zip file."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from contextive.cli.load_project import open_host
from contextive.cli.parser import add_project_options
from contextive.cli.printing import print_data, print_line
from contextive.errors import UsageError
from contextive.file_writing import write_file

if TYPE_CHECKING:
    from contextive.ingest.notes_service import NotesService


def configure_notes(parser: argparse.ArgumentParser) -> None:
    add_project_options(parser, profile=False)
    parser.add_argument("action", choices=("import", "export"), metavar="ACTION", help="import or export")
    parser.add_argument(
        "file",
        type=Path,
        metavar="PATH",
        help="import: a vault (folder of notes) or a zipped vault; export: the zip file to write",
    )
    parser.add_argument("--force", action="store_true", help="with export: replace an existing file")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run_notes)


def run_notes(options: argparse.Namespace) -> int:
    """Run the import or export. Returns 1 if a file of the vault was not imported."""
    from contextive.ingest.notes_service import NotesService

    if options.force and options.action != "export":
        raise UsageError("--force is only for notes export.")
    host = open_host(options)
    try:
        service = host.services.get(NotesService)
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
