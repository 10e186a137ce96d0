"""`install`: adds this server to the configuration of an MCP client."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contextive.cli.load_project import project_dir
from contextive.cli.parser import add_write_option
from contextive.cli.printing import print_data, print_line, print_text
from contextive.errors import ContextiveError, UnsupportedOperation, UsageError
from contextive.ops.clients import (
    CLIENTS,
    OTHER_CLIENT,
    SERVER_NAME,
    ClientApp,
    UserEnvironment,
    installed_clients,
)
from contextive.registry.vendors import SKILL_FOLDERS
from contextive.trace.reports.safe_text import printable_lines

if TYPE_CHECKING:
    from contextive.ops.skill_files import SkillChange


def configure_install(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "client",
        nargs="?",
        metavar="CLIENT",
        help=f"one of {', '.join(CLIENTS)}; any other name prints the entry as JSON; without it, all that are installed",
    )
    parser.add_argument("--project", type=Path, metavar="DIR", help="project directory (default: current directory)")
    parser.add_argument(
        "--scope",
        choices=("project", "user"),
        metavar="SCOPE",
        help="project (a file in the project, for everyone who works on it) or user (only for you)",
    )
    parser.add_argument("--write", action="store_true", help="write the file; without it, only the diff is shown")
    add_write_option(parser)
    parser.add_argument(
        "--skills", action="store_true", help="also write the skills of this package where the client looks for skills"
    )
    parser.add_argument(
        "--remove", action="store_true", help="remove the server from the file, and with --skills the skills"
    )
    parser.add_argument(
        "--name", default=SERVER_NAME, metavar="NAME", help=f"name of the server in the file (default: {SERVER_NAME})"
    )
    parser.add_argument("--file", type=Path, metavar="FILE", help="file to edit, instead of the client's usual one")
    parser.add_argument(
        "--follow-links", action="store_true", help="allow a symbolic link that leads out of the project or home"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run_install)


def run_install(options: argparse.Namespace) -> int:
    """Add the server to the file of a client, or show what would change."""
    if not options.name.strip() or not options.name.isprintable() or len(options.name) > 64:
        raise UsageError("--name must have 1 to 64 printable characters.")
    if options.client is None:
        return _install_all(options)
    if options.client not in CLIENTS:
        return _print_entry(options)
    client = CLIENTS[options.client]
    skills = _plan_skills(client, options) if options.skills else None
    facts = _install(client, options)
    if skills is not None:
        facts["skills"] = _install_skills(skills, client, options)
        _print_paragraph(options)
    if options.json:
        print_data(json.dumps(facts, indent=2, ensure_ascii=False))
    return 0


##= docs/spec/commands.md#known-clients
##% For a client that is not known, `install` MUST print the entry as JSON.
def _print_entry(options: argparse.Namespace) -> int:
    from difflib import get_close_matches

    from contextive.ops.install import server_command

    entry = OTHER_CLIENT.entry(
        *server_command("user"), project=str(project_dir(options)), allow_writes=options.allow_writes
    )
    print_data(OTHER_CLIENT.snippet(options.name, entry))
    close = get_close_matches(options.client, CLIENTS, n=1)
    hint = f"Did you mean {close[0]}?" if close else f"Known: {', '.join(CLIENTS)}."
    print_line(f"{options.client[:60]!r} is not known, so this is the usual form of an entry. {hint}", file=sys.stderr)
    return 0


def _install_all(options: argparse.Namespace) -> int:
    """Do the same for every client that is installed."""
    if options.file or options.scope:
        raise UsageError("--file and --scope need the name of a client.")
    found = installed_clients(project_dir(options), _user_environment())
    results, failed = [], False
    seen: set[Path] = set()  # several clients read the same directory of skills
    for client in found:
        if not options.json:
            print_line(f"{client.title}:")
        try:
            has_skills = options.skills and client.key in SKILL_FOLDERS
            skills = [c for c in _plan_skills(client, options) if c.file not in seen] if has_skills else []
            facts = _install(client, options)
            if skills:
                seen.update(change.file for change in skills)
                facts["skills"] = _install_skills(skills, client, options)
            results.append(facts)
        except ContextiveError as error:
            failed = True
            results.append({"client": client.key, "error": error.as_dict()})
            print_line(error.full_message(), file=sys.stderr)
        if not options.json:
            print_line()
    if options.json:
        print_data(json.dumps(results, indent=2, ensure_ascii=False))
    elif not found:
        print_line(f"No client was found. Name one: {', '.join(CLIENTS)}, or any other name for the entry as JSON.")
    if options.skills and found:
        _print_paragraph(options)
    return 1 if failed else 0


##= docs/spec/commands.md#install
##% The command `install` MUST write nothing unless `--write` is given.
def _install(client: ClientApp, options: argparse.Namespace) -> dict[str, Any]:
    """Change the file of one client, or show what would change. Returns the facts for `--json`."""
    from contextive.ops.install import InstallRequest, plan_change, write_change

    request = InstallRequest(
        client,
        options.scope or client.scopes[0],
        project_dir(options),
        name=options.name,
        file=options.file.absolute() if options.file else None,
        remove=options.remove,
        follow_links=options.follow_links,
        allow_writes=options.allow_writes,
    )
    try:
        change = plan_change(request, _user_environment())
    except UnsupportedOperation as error:
        if options.json and options.client:
            print_data(json.dumps({"error": error.as_dict()}, indent=2, ensure_ascii=False))
        elif error.details and not options.remove and not options.json:
            print_text(f"Add this to the file:\n\n{error.details['snippet']}\n\n")
        raise
    written = options.write and change.is_needed
    backup = write_change(change) if written else None
    facts: dict[str, Any] = {
        "client": client.key,
        "scope": request.scope,
        "file": str(change.file),
        "name": change.name,
        "changed": change.is_needed,
        "written": written,
        "backup": str(backup) if backup else None,
        "diff": change.diff(),
    }
    if options.json:
        return facts
    if not change.is_needed:
        print_line(f"{change.display_path} is up to date; nothing to do.")
        return facts
    if change.name != request.name:
        print_line(f"The file has a server of another project, so this one is called {change.name}.")
    _print_change(change.diff(), change.display_path, client.title, facts)
    if written and not request.remove and request.scope == "project" and client.approval:
        print_line(client.approval)
    return facts


def _plan_skills(client: ClientApp, options: argparse.Namespace) -> Sequence[SkillChange]:
    from contextive.ops.skill_files import plan_skills

    scope = options.scope or client.scopes[0]
    return plan_skills(client, scope, project_dir(options), _user_environment(), remove=options.remove)


def _install_skills(
    changes: Sequence[SkillChange], client: ClientApp, options: argparse.Namespace
) -> list[dict[str, Any]]:
    """Write the skills of one client, or show what would change. Returns the facts for `--json`."""
    from contextive.ops.skill_files import write_skills

    needed = [change for change in changes if change.is_needed]
    if options.write:
        write_skills(needed)
    if not options.json:
        for change in changes:
            if change.state == "changed":
                print_line(f"{change.display_path} was changed by somebody, so it stays as it is.")
            elif change.is_needed:
                _print_diff(change.diff())
        if not needed:
            print_line(f"The skills of {client.title} are up to date.")
        elif options.write:
            print_line(f"{'Removed' if options.remove else 'Wrote'} {', '.join(c.display_path for c in needed)}.")
        else:
            print_line("Nothing was written. Run the command again with --write to write these files.")
    return [
        {"file": str(c.file), "state": c.state, "written": options.write and c.is_needed, "diff": c.diff()}
        for c in changes
    ]


def _print_paragraph(options: argparse.Namespace) -> None:
    from contextive.ops.skill_files import agents_paragraph

    if not options.json and not options.remove:
        print_line("For agents that read AGENTS.md or CLAUDE.md, you can add this paragraph to that file yourself:")
        print_text(f"\n{agents_paragraph()}\n")


def _user_environment() -> UserEnvironment:
    return UserEnvironment(sys.platform, Path.home(), os.environ)


def _print_diff(diff: str) -> None:
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.syntax import Syntax

        safe = "\n".join(printable_lines(diff))
        Console().print(Syntax(safe, "diff", background_color="default", word_wrap=True))
    else:
        print_text(diff)
    print_line()


def _print_change(diff: str, display_path: str, title: str, facts: dict[str, Any]) -> None:
    _print_diff(diff)
    if not facts["written"]:
        print_line(f"Nothing was written. Run the command again with --write to change {display_path}.")
        return
    backup = f" The old file was saved as {Path(facts['backup']).name}." if facts["backup"] else ""
    print_line(f"Wrote {display_path}.{backup} Restart {title} to load it.")
