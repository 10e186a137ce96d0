"""`feedback export`: writes the votes on search results as JSON Lines."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contextive.cli.load_project import open_host
from contextive.cli.parser import add_project_options
from contextive.cli.printing import print_line
from contextive.errors import UsageError

if TYPE_CHECKING:
    from contextive.server.host import Host

_MAX_EVENTS = 100_000


def configure_feedback(parser: argparse.ArgumentParser) -> None:
    add_project_options(parser, profile=False)
    parser.add_argument("action", choices=("export",), metavar="ACTION", help="export")
    parser.add_argument(
        "file",
        type=Path,
        nargs="?",
        metavar="FILE",
        help="where to write the votes as JSONL (default: standard output)",
    )
    parser.add_argument("--redact-queries", action="store_true", help="leave out the queries")
    parser.add_argument("--force", action="store_true", help="replace an existing file")
    parser.set_defaults(run=run_feedback)


def run_feedback(options: argparse.Namespace) -> int:
    """Write one line per vote, without notes, context, names and secrets."""
    host = open_host(options)
    try:
        rows = _rows(host, with_queries=not options.redact_queries)
    finally:
        host.close()
    if options.file is None:
        _write(rows, sys.stdout)
        return 0
    try:
        with options.file.open("w" if options.force else "x", encoding="utf-8", newline="\n") as file:
            _write(rows, file)
    except FileExistsError:
        raise UsageError(f"{options.file.name} exists already.", hint="Choose another name, or use --force.") from None
    print_line(f"Wrote {len(rows)} votes to {options.file}.")
    return 0


def _rows(host: Host, *, with_queries: bool) -> list[dict[str, Any]]:
    from contextive.search.feedback import export_rows, read_votes
    from contextive.search.index import Index
    from contextive.server.serve import secrets_of

    store = host.services.get(Index).store
    votes, events = read_votes(store), store.records.events(limit=_MAX_EVENTS)
    return list(export_rows(votes, events, secrets=secrets_of(host), with_queries=with_queries))


def _write(rows: Iterable[dict[str, Any]], file: Any) -> None:
    for row in rows:
        file.write(json.dumps(row, ensure_ascii=False) + "\n")
