"""`init` and `trust`: write a project's configuration file, and trust it."""

from __future__ import annotations

import argparse
import json
import shlex
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from contextive.cli.load_project import project_dir, trust_store
from contextive.cli.parser import add_project_options
from contextive.cli.printing import print_data, print_line
from contextive.config.discovery import FILE_NAMES
from contextive.errors import Conflict, UsageError

if TYPE_CHECKING:
    from contextive.ops.survey import Survey


_MOST_DOCUMENTS_PER_SOURCE = 4
"""In a project with more documents for each source file, the first question is about documents."""


def configure_init(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--project", type=Path, metavar="DIR", help="project directory (default: current directory)")
    parser.add_argument("--force", action="store_true", help="replace an existing contextive.config.yaml")
    parser.add_argument("--dry-run", action="store_true", help="show the configuration, and write nothing")
    parser.add_argument("--yes", action="store_true", help="ask nothing, which is the default; for scripts")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run_init)


##= docs/spec/commands.md#init
##% The command `init` MUST write a configuration that `check` accepts, from what it finds in the project.
##= docs/spec/commands.md#init
##% The command `init` MUST NOT replace an existing file unless the user asks for it.
def run_init(options: argparse.Namespace) -> int:
    """Find specifications, notes and sources, and write a configuration for them."""
    from contextive.cli.progress import progress_bar
    from contextive.ops.first_config import config_text
    from contextive.ops.survey import survey

    project = project_dir(options)
    present = [name for name in FILE_NAMES if (project / name).exists()]
    target = project / "contextive.config.yaml"
    if present and not options.dry_run and not (options.force and present == [target.name]):
        raise Conflict(
            f"The project already has {present[0]}.",
            hint=f"Edit it, or remove it first. --force replaces {target.name} only.",
        )
    with progress_bar() as progress:
        found = survey(project, lambda done, total: progress("scan", done, total))
    text = config_text(found)
    ##= docs/spec/commands.md#init
    ##% With `--dry-run` the command `init` MUST write nothing.
    if not options.dry_run:
        target.write_text(text, encoding="utf-8")
    if options.json:
        facts = {"file": target.name, "written": not options.dry_run, "found": asdict(found), "text": text}
        print_data(json.dumps(facts, indent=2, ensure_ascii=False))
    else:
        _print_found(found, text, target.name, written=not options.dry_run)
    return 0


def _print_found(found: Survey, text: str, name: str, *, written: bool) -> None:
    from contextive.ops.install import terminal_command

    print_line(f"Wrote {name}." if written else f"Nothing was written. {name} would contain:")
    print_line()
    for line in text.splitlines():
        print_line(f"  {line}".rstrip())
    print_line()
    for line in _summary(found):
        print_line(line)
    for finding, hint in _hints(found):
        print_line(f"{finding} {hint}")
    command = terminal_command()
    steps = [
        ("doctor", "check the setup"),
        ("ingest", "build the search index; the server also does this automatically"),
        ("install --write", "connect the clients that you have, such as Claude Code or Cursor"),
        *_first_commands(found),
    ]
    width = max(len(step) for step, _ in steps)
    print_line()
    print_line("Next:")
    for step, purpose in steps:
        print_line(f"  {command} {step:<{width}}  # {purpose}")


def _summary(found: Survey) -> Iterator[str]:
    """What was found, in two lines."""
    requirements = sum(match.count for match in found.specifications if "://" not in match.pattern)
    notes = sum(match.files for match in found.notes)
    counts = (
        (found.documents, "document", "documents"),
        (found.source_files, "file of source code", "files of source code"),
        (found.tests, "file of tests", "files of tests"),
        (notes, "note", "notes"),
        (requirements, "requirement", "requirements"),
    )
    parts = [f"{number} {one if number == 1 else many}" for number, one, many in counts if number]
    yield f"Scanned {found.files} files: {', '.join(parts) or 'nothing to search or trace yet'}."


##= docs/spec/commands.md#init
##% The output of `init` MUST end with a search and a question that have an answer in the project.
def _first_commands(found: Survey) -> Iterator[tuple[str, str]]:
    """A search and a question, made from what was found."""
    words = found.topic or found.symbol
    is_code = found.source_files * _MOST_DOCUMENTS_PER_SOURCE >= found.documents
    if words:
        yield f"search {shlex.quote(words)}", "a first search"
    if any(match.count and "://" not in match.pattern for match in found.specifications):
        yield "call next_requirement", "what should I do next?"
    elif found.symbol and (is_code or not found.topic):
        yield f"call find_usages --name {shlex.quote(found.symbol)}", f"who uses {found.symbol}?"
    elif words:
        yield f"call orient --task {shlex.quote(words)}", "what should I read first?"


def _hints(found: Survey) -> Iterator[tuple[str, str]]:
    if found.formats:
        counts = ", ".join(f"{count} of {name}" for name, count in found.formats)
        yield (
            f"Specifications in spec-driven formats, which need no configuration: {counts}.",
            "Show them with: contextive-mcp specs",
        )
    if found.has_duvet_config:
        yield (
            "Specifications and sources are configured in .duvet/config.toml.",
            "Show the requirements with: duvet report",
        )
    elif any("://" in match.pattern for match in found.specifications):
        yield (
            "Specifications with a URL are read from .duvet/specifications.",
            f"There are copies in {found.copies}: mkdir -p .duvet && cp -r {found.copies} .duvet/specifications"
            if found.copies
            else "Download them with: duvet report --fetch",
        )
    elif not found.specifications and not found.formats:
        yield "No specification was found.", "Search and notes work without one."


def configure_trust(parser: argparse.ArgumentParser) -> None:
    add_project_options(parser, profile=False)
    parser.add_argument("--revoke", action="store_true", help="stop trusting the file")
    parser.add_argument("--list", action="store_true", help="list all trusted files")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run_trust)


##= docs/spec/commands.md#trust
##% The command `trust` MUST let the project's configuration file set what only a trusted file may set, until its
##% content changes.
def run_trust(options: argparse.Namespace) -> int:
    store = trust_store()
    if options.list:
        paths = [str(entry.path) for entry in store.entries()]
        if options.json:
            print_data(json.dumps(paths, ensure_ascii=False), end="\n" if paths else "")
        else:
            for path in paths:
                print_line(path)
        return 0
    file = options.config or _project_file(project_dir(options))
    if options.revoke:
        store.revoke(file)
        message = f"{file.name} is no longer trusted."
    else:
        store.trust(file)
        message = f"{file.name} is now trusted. After a change it must be trusted again."
    if options.json:
        print_data(json.dumps({"file": str(file), "trusted": not options.revoke}))
    else:
        print_line(message)
    return 0


def _project_file(project: Path) -> Path:
    present = [name for name in FILE_NAMES if (project / name).is_file()]
    if len(present) != 1:
        found = " and ".join(present) if present else "no configuration file"
        raise UsageError(
            f"The project has {found}.", hint="There must be exactly one contextive.config.* file to trust."
        )
    return project / present[0]
