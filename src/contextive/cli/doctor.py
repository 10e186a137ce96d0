"""`contextive-mcp doctor`."""

from __future__ import annotations

import argparse
import json

from contextive.cli.load_project import config_loader, project_dir
from contextive.cli.parser import add_project_options
from contextive.cli.printing import print_data
from contextive.cli.tables import print_diagnoses


def configure_doctor(parser: argparse.ArgumentParser) -> None:
    add_project_options(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run_doctor)


##= docs/spec/commands.md#doctor
##% The command `doctor` MUST report for each problem what is wrong and how to fix it, and exit with 1 if there is a
##% problem.
def run_doctor(options: argparse.Namespace) -> int:
    from contextive.ops.doctor import diagnose

    findings = list(diagnose(config_loader(options), project_dir(options)))
    if options.json:
        print_data(
            json.dumps([{"subject": f.subject, "ok": f.ok, "detail": f.detail, "remedy": f.remedy} for f in findings])
        )
    else:
        print_diagnoses(findings)
    return 0 if all(finding.ok for finding in findings) else 1
