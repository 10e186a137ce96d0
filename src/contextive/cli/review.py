"""`review` reports what a change means for the requirements, and `accept` records that a finding is right."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from contextive.cli.load_project import open_host
from contextive.cli.parser import add_project_options
from contextive.cli.printing import print_data, print_line
from contextive.errors import UsageError

if TYPE_CHECKING:
    from contextive.ingest.review_service import Review
    from contextive.review.findings import Finding

_FORMATS = ("text", "json", "sarif", "github", "markdown")


def configure_review(parser: argparse.ArgumentParser) -> None:
    add_project_options(parser, profile=False)
    add_range_options(parser)
    parser.add_argument("--format", choices=_FORMATS, default="text", help="what to print (default: text)")
    parser.add_argument("--fail-on", action="append", default=[], metavar="KIND",
                        help="exit with 1 if there is a finding of this kind, or of any kind with `any`; repeat it")  # fmt: skip
    parser.set_defaults(run=run_review)


def add_range_options(parser: argparse.ArgumentParser) -> None:
    """Add --base and --head."""
    parser.add_argument(
        "--base", metavar="REF", help="commit before the change (default: where it left the main branch)"
    )
    parser.add_argument("--head", metavar="REF", help="commit after the change (default: the working tree)")


##= docs/spec/review.md#reports
##% The command `review` MUST exit with 1 if there is a finding of a kind that `--fail-on` names, and with 0 otherwise.
def run_review(options: argparse.Namespace) -> int:
    from contextive.review.findings import NOTICES, Kind

    unknown = [word for word in options.fail_on if word not in (*Kind, "any")]
    if unknown:
        raise UsageError(f"{unknown[0][:40]!r} is not a kind of finding.", hint=f"Kinds: any, {', '.join(Kind)}.")
    review = make_review(options)
    _print(review, options.format)
    failing = {kind for kind in Kind if kind in options.fail_on or ("any" in options.fail_on and kind not in NOTICES)}
    return 1 if any(finding.kind in failing for finding in review.findings) else 0


def make_review(options: argparse.Namespace) -> Review:
    """The review of the change that the options name."""
    from contextive.ingest.notes_service import NotesService
    from contextive.ingest.review_service import ReviewService

    services = open_host(options).services
    notes = services.get(NotesService)
    return services.get(ReviewService).review(
        options.base,
        options.head,
        mentioned_in=lambda identifier: [note.path for note in notes.view().catalog.about_requirement(identifier)],
    )


def _print(review: Review, form: str) -> None:
    from contextive.review import reports

    findings: tuple[Finding, ...] = review.findings
    match form:
        case "json":
            print_data(reports.review_as_json(findings, review.as_of))
        case "sarif":
            print_data(reports.review_as_sarif(findings), end="")
        case "github":
            print_data(reports.review_as_github(findings), end="")
        case "markdown":
            print_data(reports.review_as_markdown(findings), end="")
        case _:
            for line in reports.review_as_text(findings):
                print_line(line)
            for notice in review.notices:
                print_line(f"Note: {notice}")


def configure_accept(parser: argparse.ArgumentParser) -> None:
    add_project_options(parser, profile=False)
    parser.add_argument("id", metavar="ID", help="id of the finding, as review shows it")
    parser.add_argument("--note", required=True, metavar="TEXT", help="why the change is right")
    add_range_options(parser)
    parser.set_defaults(run=run_accept)


##= docs/spec/review.md#acceptances
##% Findings MUST be accepted by the command `accept` and never by a tool, because agents do not vouch for themselves.
def run_accept(options: argparse.Namespace) -> int:
    from contextive.ingest.review_service import ReviewService
    from contextive.review.acceptances import ACCEPTANCES_PATH

    accepted = (
        open_host(options).services.get(ReviewService).accept(options.id, options.note, options.base, options.head)
    )
    print_line(
        f"Accepted {accepted.kind.replace('_', ' ')} at {accepted.place} in {ACCEPTANCES_PATH}. Commit that file."
    )
    return 0
