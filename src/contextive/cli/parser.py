"""What the command line understands."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn, cast

from contextive import __version__
from contextive.errors import UsageError

COMMANDS: dict[str, tuple[str, str]] = {
    "serve": ("contextive.cli.serve", "Serve MCP clients over stdio or HTTP"),
    "check": ("contextive.cli.inspect", "Validate the configuration; print packs, tools and providers"),
    "describe": ("contextive.cli.inspect", "Print the server's description as JSON"),
    "tools": ("contextive.cli.inspect", "List the tools"),
    "call": ("contextive.cli.call", "Call one tool in this process"),
    "recipes": ("contextive.cli.recipes", "List, show, check and run recipes"),
    "notes": ("contextive.cli.notes", "Bring in a vault of notes, or give the notes out as one"),
    "token": ("contextive.cli.tokens", "Create, list and revoke tokens for callers over HTTP"),
    "ingest": ("contextive.cli.index", "Bring the index in step with the files"),
    "search": ("contextive.cli.index", "Search documents, code, requirements and notes"),
    "status": ("contextive.cli.index", "Say what the index holds and how fresh it is"),
    "verify": ("contextive.cli.index", "Prove that the index is what the files say"),
    "rebuild": ("contextive.cli.index", "Forget what comes from the files, and index them again"),
    "backup": ("contextive.cli.backups", "Make, list and check backups of what only the index holds"),
    "restore": ("contextive.cli.backups", "Bring a backup back"),
    "eval": ("contextive.cli.index", "Measure how good the search is, by votes or by judgements"),
    "feedback": ("contextive.cli.feedback", "Give out the votes on results, without names and notes"),
    "report": ("contextive.cli.duvet", "Report how far the code keeps the project's requirements"),
    "schema": ("contextive.cli.inspect", "Print the JSON Schema of the configuration"),
    "init": ("contextive.cli.project", "Write a commented configuration and show how to attach clients"),
    "trust": ("contextive.cli.project", "Trust this project's configuration file, as it is now"),
    "install": ("contextive.cli.install", "Write this server into the configuration of an MCP client"),
    "doctor": ("contextive.cli.doctor", "Say what is wrong and how to mend it"),
    "completion": ("contextive.cli.completion", "Print a script that completes commands and flags in a shell"),
    "demo": ("contextive.cli.demo", "Play a short MCP session and show what an agent sees"),
}
DUVET_COMMANDS: dict[str, tuple[str, str]] = {
    "init": ("contextive.cli.duvet", "Write a first .duvet/config.toml"),
    "extract": ("contextive.cli.duvet", "Extract the requirements of a specification into files"),
    "report": ("contextive.cli.duvet", "Match citations against specifications and write reports"),
    "merge": ("contextive.cli.duvet", "Merge JSON v2 reports into one"),
    "query": ("contextive.cli.duvet", "Check quickly what is implemented, tested or cited twice"),
    "mcp": ("contextive.cli.serve", "Serve this project's requirements to an MCP client over stdio"),
}
ALIASES = {"recipe": "recipes"}
PROFILE_NAMES = ("contextive", "duvet", "spexus", "nexus", "duskmantle")


class _FixedWidthFormatter(argparse.HelpFormatter):
    """Looks at each argument as it is added. Nobody sees that, so it does not look for a terminal, which costs start-up."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=80)


class Parser(argparse.ArgumentParser):
    """An argument parser that says one clear sentence and leaves exiting to its caller."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"formatter_class": _FixedWidthFormatter, **options})

    def format_help(self) -> str:
        self.formatter_class = argparse.HelpFormatter
        return super().format_help()

    def format_usage(self) -> str:
        self.formatter_class = argparse.HelpFormatter
        return super().format_usage()

    def error(self, message: str) -> NoReturn:
        raise UsageError(message[0].upper() + message[1:].rstrip(".") + ".", hint=f"See {self.prog} --help.")


def build_parser(program: str = "contextive-mcp", first: str | None = None) -> Parser:
    """The parser with the name and the one-line help of every command; a command's own flags are added when it is named.

    Where the command line begins with a command, nobody asks for the others, and only that one is made.
    """
    commands = COMMANDS if program == "contextive-mcp" else DUVET_COMMANDS
    first = ALIASES.get(first, first) if first is not None else None
    parser = Parser(
        prog=program,
        description="One MCP server for what a project promised, where the code keeps it, and what its people know.",
        epilog="With no command and a pipe on standard input it serves stdio." if program == "contextive-mcp" else None,
        allow_abbrev=False,
    )
    parser.add_argument("-v", "--version", action="version", version=f"{program} {__version__}")
    # With the name given, no usage is put together to find it.
    group = parser.add_subparsers(
        dest="command", metavar="COMMAND", title="commands", parser_class=Parser, prog=program
    )
    for name in [first] if first in commands else commands:
        summary = commands[name][1]
        group.add_parser(name, help=summary, description=summary + ".", allow_abbrev=False)
    return parser


def command_parser(program: str, command: str) -> Parser:
    """The parser of one command with all its flags, for whoever wants to know them."""
    parser = build_parser(program)
    commands = COMMANDS if program == "contextive-mcp" else DUVET_COMMANDS
    _configure(parser, commands[command][0], command)
    return _subparser(parser, command)


def parse(parser: Parser, arguments: Sequence[str]) -> argparse.Namespace:
    """The options of the command that the arguments name, with `run` set to what does it."""
    commands = COMMANDS if parser.prog == "contextive-mcp" else DUVET_COMMANDS
    named = next((argument for argument in arguments if not argument.startswith("-")), None)
    if named in ALIASES and ALIASES[named] in commands:
        position = arguments.index(named)
        arguments = [*arguments[:position], ALIASES[named], *arguments[position + 1 :]]
        named = ALIASES[named]
    if named is not None and named not in commands:
        from difflib import get_close_matches

        close = get_close_matches(named, commands, n=1)
        hint = f"Did you mean {close[0]}?" if close else f"See {parser.prog} --help."
        raise UsageError(f"Unknown command {named[:60]!r}.", hint=hint)
    if named is not None:
        _configure(parser, commands[named][0], named)
    options = parser.parse_args(arguments)
    if getattr(options, "run", None) is None:
        raise UsageError("No command given.", hint=f"See {parser.prog} --help.")
    return options


def add_project_options(parser: argparse.ArgumentParser, *, profile: bool = True) -> None:
    """The options that say which project and which configuration a command is about."""
    parser.add_argument("--project", type=Path, metavar="DIR", help="project directory (default: this one)")
    parser.add_argument("--config", type=Path, metavar="FILE", help="configuration file")
    if profile:
        parser.add_argument("--profile", choices=PROFILE_NAMES, metavar="P", help=f"one of {', '.join(PROFILE_NAMES)}")


def _configure(parser: Parser, module: str, command: str) -> None:
    getattr(import_module(module), f"configure_{command}")(_subparser(parser, command))


def _subparser(parser: Parser, name: str) -> Parser:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return cast("Parser", action.choices[name])
    raise LookupError(name)
