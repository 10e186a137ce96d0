"""`evidence`: adds results of tests, and shows how well each requirement is shown to work."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import Any

from contextive.cli.load_project import open_host
from contextive.cli.parser import add_project_options
from contextive.cli.printing import print_data, print_line
from contextive.errors import UsageError

_LEVELS = ("tested", "passed", "exercised")
_MAX_SHOWN = 20


def configure_evidence(parser: argparse.ArgumentParser) -> None:
    add_project_options(parser, profile=False)
    parser.add_argument(
        "action", nargs="?", choices=("add", "show"), default="show", metavar="ACTION", help="add or show (default)"
    )
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE", help="files of test results and coverage to add")
    parser.add_argument("--require", choices=_LEVELS, help="exit with 1 if a requirement has weaker evidence")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run_evidence)


##= docs/spec/review.md#evidence
##% With `--require`, the command `evidence` MUST exit with 1 if the evidence of a requirement is weaker than that level.
def run_evidence(options: argparse.Namespace) -> int:
    from contextive.ingest.evidence_service import EvidenceService
    from contextive.ingest.trace_service import TraceService
    from contextive.review.evidence import EvidenceLevel

    services = open_host(options).services
    service, catalog = services.get(EvidenceService), services.get(TraceService).view().catalog
    if (options.action == "add") != bool(options.files):
        raise UsageError("Files are added with: evidence add FILE….", hint="Without files: evidence show.")
    added = service.add(options.files) if options.action == "add" else None
    counted = Counter(state.level for state in service.states(catalog.requirements))
    weak = service.below(EvidenceLevel[options.require.upper()]) if options.require else []
    if options.json:
        facts: dict[str, Any] = {"levels": {level.word: counted[level] for level in reversed(EvidenceLevel)}}
        if added is not None:
            facts["added"] = added.results
        if options.require:
            facts["weak"] = [
                {
                    "requirement": catalog.full_path(requirement),
                    "text": requirement.text,
                    "level": state.level.word,
                    "current": state.is_current,
                }
                for requirement, state in weak
            ]
        print_data(json.dumps(facts, indent=2, ensure_ascii=False))
        return 1 if weak else 0
    if added is not None:
        about = len({record.requirement for record in added.records})
        print_line(
            f"{added.results} results ({', '.join(added.formats)}); tests of {about} requirements are among them."
        )
    shown = ", ".join(f"{counted[level]} {level.word}" for level in reversed(EvidenceLevel) if counted[level])
    print_line(f"Evidence of {counted.total()} requirements: {shown or 'none'}.")
    for requirement, state in weak[:_MAX_SHOWN]:
        changed = "" if state.is_current else ", changed since"
        print_line(f"  {state.level.word}{changed}: {catalog.full_path(requirement)}")
        print_line(f"    {requirement.text[:160]}")
    if len(weak) > _MAX_SHOWN:
        print_line(f"  and {len(weak) - _MAX_SHOWN} more")
    return 1 if weak else 0
