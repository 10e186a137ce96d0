"""`install`: adds this server to the configuration of an MCP client."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

from contextive.cli.load_project import project_dir
from contextive.cli.printing import print_data, print_line, print_text
from contextive.errors import UnsupportedOperation, UsageError
from contextive.ops.clients import CLIENTS, SERVER_NAME
from contextive.trace.reports.safe_text import printable_lines


def configure_install(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("client", choices=list(CLIENTS), metavar="CLIENT", help=f"one of {', '.join(CLIENTS)}")
    parser.add_argument("--project", type=Path, metavar="DIR", help="project directory (default: current directory)")
    parser.add_argument(
        "--scope",
        choices=("project", "user"),
        metavar="SCOPE",
        help="project (a file in the project, for everyone who works on it) or user (only for you)",
    )
    parser.add_argument("--write", action="store_true", help="write the file; without it, only the diff is shown")
    parser.add_argument("--remove", action="store_true", help="remove the server from the file")
    parser.add_argument(
        "--name", default=SERVER_NAME, metavar="NAME", help=f"name of the server in the file (default: {SERVER_NAME})"
    )
    parser.add_argument("--file", type=Path, metavar="FILE", help="file to edit, instead of the client's usual one")
    parser.add_argument(
        "--follow-links", action="store_true", help="allow a symbolic link that leads out of the project or home"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run_install)


##= docs/spec/commands.md#install
##% The command `install` MUST write nothing unless `--write` is given.
def run_install(options: argparse.Namespace) -> int:
    """Show what would change in the client's file, or write the change."""
    from contextive.ops.clients import UserEnvironment
    from contextive.ops.install import InstallRequest, plan_change, write_change

    client = CLIENTS[options.client]
    if not options.name.strip() or not options.name.isprintable() or len(options.name) > 64:
        raise UsageError("--name must have 1 to 64 printable characters.")
    request = InstallRequest(
        client,
        options.scope or client.scopes[0],
        project_dir(options),
        name=options.name,
        file=options.file.absolute() if options.file else None,
        remove=options.remove,
        follow_links=options.follow_links,
    )
    try:
        change = plan_change(request, UserEnvironment(sys.platform, Path.home(), os.environ))
    except UnsupportedOperation as error:
        if options.json:
            print_data(json.dumps({"error": error.as_dict()}, indent=2, ensure_ascii=False))
        elif error.details and not options.remove:
            print_text(f"Add this to the file:\n\n{error.details['snippet']}\n\n")
        raise
    written = options.write and change.is_needed
    backup = write_change(change) if written else None
    facts: dict[str, Any] = {
        "client": client.key,
        "scope": request.scope,
        "file": str(change.file),
        "changed": change.is_needed,
        "written": written,
        "backup": str(backup) if backup else None,
        "diff": change.diff(),
    }
    if options.json:
        print_data(json.dumps(facts, indent=2, ensure_ascii=False))
    elif not change.is_needed:
        print_line(f"{change.display_path} is up to date; nothing to do.")
    else:
        _print_change(change.diff(), change.display_path, client.title, facts)
    return 0


def _print_change(diff: str, display_path: str, title: str, facts: dict[str, Any]) -> None:
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.syntax import Syntax

        safe = "\n".join(printable_lines(diff))
        Console().print(Syntax(safe, "diff", background_color="default", word_wrap=True))
    else:
        print_text(diff)
    print_line()
    if not facts["written"]:
        print_line(f"Nothing was written. Run the command again with --write to change {display_path}.")
        return
    backup = f" The old file was saved as {Path(facts['backup']).name}." if facts["backup"] else ""
    print_line(f"Wrote {display_path}.{backup} Restart {title} to load it.")
