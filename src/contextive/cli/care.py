"""`doctor` and `demo`."""

from __future__ import annotations

import argparse
import json

from contextive.cli.parser import add_project_options
from contextive.cli.printing import print_data
from contextive.cli.roots import config_loader, project_of
from contextive.cli.tables import print_findings


def configure_doctor(parser: argparse.ArgumentParser) -> None:
    add_project_options(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run_doctor)


##= docs/spec/care.md#doctor
##% The command `doctor` MUST say of each trouble what is wrong and how to mend it, and end with 1 where there is one.
def run_doctor(options: argparse.Namespace) -> int:
    from contextive.ops.doctor import examine

    findings = list(examine(config_loader(options), project_of(options)))
    if options.json:
        print_data(
            json.dumps([{"subject": f.subject, "ok": f.ok, "detail": f.detail, "remedy": f.remedy} for f in findings])
        )
    else:
        print_findings(findings)
    return 0 if all(finding.ok for finding in findings) else 1


def configure_demo(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=run_demo)


def run_demo(_options: argparse.Namespace) -> int:
    from contextive.ops.demo import play

    return play()
