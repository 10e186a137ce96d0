"""`specs`: the table of all specifications, or the requirements of one, the worst first."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from contextive.cli.load_project import open_host
from contextive.cli.parser import add_project_options
from contextive.cli.printing import print_data, print_line
from contextive.cli.tables import print_rows
from contextive.errors import NotFound
from contextive.trace.reports.safe_text import printable_line

if TYPE_CHECKING:
    from contextive.ingest.evidence_service import EvidenceService
    from contextive.ingest.trace_service import TraceView


def configure_specs(parser: argparse.ArgumentParser) -> None:
    add_project_options(parser)
    parser.add_argument(
        "spec", nargs="?", metavar="SPEC", help="one specification, such as kiro:user-auth, with its requirements"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run_specs)


##= docs/spec/trace.md#spec-driven-formats
##% The command `specs` MUST print the same table, and with `--json` print it as JSON.
def run_specs(options: argparse.Namespace) -> int:
    from contextive.ingest.evidence_service import EvidenceService
    from contextive.ingest.trace_service import TraceService

    host = open_host(options)
    try:
        view = host.services.get(TraceService).for_profile(host.profile.name).view()
        evidence = host.services.get(EvidenceService)
    finally:
        host.close()
    if options.json:
        found = _one(view, options.spec, evidence) if options.spec else _all(view, evidence)
        print_data(json.dumps(found, ensure_ascii=False))
    elif options.spec:
        _print_requirements(_one(view, options.spec, evidence)["requirements"])
    else:
        _print_table(view)
    return 0


def _all(view: TraceView, evidence: EvidenceService) -> dict[str, Any]:
    from contextive.trace.spec_rows import unread_to_dicts, whole_row_to_dict
    from contextive.trace.spec_status import totals
    from contextive.trace.spec_trace import table

    rows = table(view.catalog, view.state.formats)
    counts = evidence.counts(view.catalog)
    return {
        "specifications": [whole_row_to_dict(row) | counts.get(row.id, {}) for row in rows],
        "totals": totals(rows),
        "not_understood": unread_to_dicts(view.state.formats.current),
    }


def _one(view: TraceView, name: str, evidence: EvidenceService) -> dict[str, Any]:
    from contextive.packs.trace.spec_tools import evidence_of_rows, find_format_specification
    from contextive.trace.spec_rows import (
        ambiguous_to_dicts,
        cited_rows,
        dangling_to_dicts,
        specification_rows,
        unread_to_dicts,
        with_evidence,
    )

    words = evidence_of_rows(view, evidence, name)
    specification = find_format_specification(view, name)
    if specification is not None:
        formats = view.state.formats
        return {
            "spec": specification.id,
            "requirements": with_evidence(specification_rows(formats, specification), words),
            "dangling": dangling_to_dicts(formats, specification),
            "ambiguous": ambiguous_to_dicts(formats, specification),
            "not_understood": unread_to_dicts([specification]),
        }
    entry = view.catalog.resolve(name)
    if entry is None:
        raise NotFound("No such specification.", hint="List them: contextive-mcp specs")
    return {"spec": entry.id, "requirements": with_evidence(cited_rows(view.catalog, entry), words)}


def _print_table(view: TraceView) -> None:
    from contextive.ops.spec_report import table_cells
    from contextive.trace.spec_rows import unread_to_dicts
    from contextive.trace.spec_trace import table

    rows = table(view.catalog, view.state.formats)
    if not rows:
        print_line("No specification was found in this project.")
        return
    print_rows(table_cells(rows))
    for line in unread_to_dicts(view.state.formats.current):
        print_line(printable_line(f"not understood: {line['place']}: {line['reason']}"))


def _print_requirements(rows: list[dict[str, Any]]) -> None:
    has_evidence = any("evidence" in row for row in rows)
    shown: list[tuple[str, ...]] = [
        ("requirement", "tasks", "code", "tests", *(["evidence"] if has_evidence else []), "text")
    ]
    for row in rows:
        places = [", ".join(row.get(name, ())) or "-" for name in ("tasks", "code", "tests")]
        level = [row.get("evidence", "-")] if has_evidence else []
        shown.append((row.get("handle") or row["identifier"][:16], *places, *level, row["text"]))
    print_rows([[printable_line(cell) for cell in cells] for cells in shown])
