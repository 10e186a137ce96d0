"""The commands of `contextive-mcp` and `duvet`, and their argument parsers."""

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
    "open": ("contextive.cli.open", "Show this project's site in the browser"),
    "check": ("contextive.cli.inspect", "Validate the configuration; show packs, tools and providers"),
    "describe": ("contextive.cli.inspect", "Print the server's tools, resources and prompts as JSON"),
    "tools": ("contextive.cli.inspect", "List the tools"),
    "call": ("contextive.cli.call", "Call a tool and print its result"),
    "recipes": ("contextive.cli.recipes", "List, show, validate and run recipes (chains of tool calls)"),
    "notes": ("contextive.cli.notes", "Import a folder of notes, or export the notes"),
    "token": ("contextive.cli.tokens", "Create, list and revoke tokens for HTTP clients"),
    "ingest": ("contextive.cli.index", "Update the search index from the files"),
    "search": ("contextive.cli.index", "Search documents, code, requirements and notes"),
    "status": ("contextive.cli.index", "Show what the index contains and how current it is"),
    "verify": ("contextive.cli.index", "Check that the index matches the files"),
    "rebuild": ("contextive.cli.index", "Rebuild the index from the files; votes and history are kept"),
    "backup": ("contextive.cli.backups", "Create, list and check backups of votes, reports and history"),
    "restore": ("contextive.cli.backups", "Restore a backup"),
    "eval": ("contextive.cli.index", "Measure search quality with votes or a file of judgements"),
    "feedback": ("contextive.cli.feedback", "Export the votes on search results, without names or notes"),
    "report": ("contextive.cli.duvet", "Report which requirements are implemented and tested"),
    "specs": ("contextive.cli.specs", "Show what is planned, ticked, in the code and tested"),
    "review": ("contextive.cli.review", "Report what a change means for the requirements"),
    "evidence": ("contextive.cli.evidence", "Add results of tests, and show how well requirements are shown to work"),
    "accept": ("contextive.cli.review", "Record that a finding of a review was read and is right"),
    "schema": ("contextive.cli.inspect", "Print the JSON Schema of the configuration"),
    "init": ("contextive.cli.project", "Write a first configuration, and show how to connect clients"),
    "trust": ("contextive.cli.project", "Trust this project's configuration file as it is now"),
    "install": ("contextive.cli.install", "Add this server to the configuration of an MCP client"),
    "doctor": ("contextive.cli.doctor", "Check the setup and say how to fix problems"),
    "completion": ("contextive.cli.completion", "Print a completion script for your shell"),
    "demo": ("contextive.cli.demo", "Run a short example session and show what an agent sees"),
}
DUVET_COMMANDS: dict[str, tuple[str, str]] = {
    "init": ("contextive.cli.duvet", "Write a first .duvet/config.toml"),
    "extract": ("contextive.cli.duvet", "Extract the requirements of a specification into files"),
    "report": ("contextive.cli.duvet", "Match citations against specifications and write reports"),
    "merge": ("contextive.cli.duvet", "Merge JSON v2 reports into one"),
    "query": ("contextive.cli.duvet", "Check what is implemented, tested or cited twice"),
    "mcp": ("contextive.cli.serve", "Serve this project's requirements to an MCP client over stdio"),
}
ALIASES = {"recipe": "recipes"}
PROFILE_NAMES = ("contextive", "duvet", "spexus", "nexus", "duskmantle")
_GLOBAL_FLAGS = ("-h", "--help", "-v", "--version")
_DESCRIPTION = (
    "An MCP server for coding agents: requirements traceability, code and document search, and Markdown notes."
)
_DUVET_DESCRIPTION = (
    "Trace requirements from specifications to code and tests. This is Contextive's version of duvet by AWS."
)
_EPILOG = (
    "New here? Run `contextive-mcp demo`, then `contextive-mcp init` in your project. "
    "Without a command, it serves MCP over stdio if standard input is a pipe."
)


class _FixedWidthFormatter(argparse.HelpFormatter):
    """Used while arguments are added, where argparse formats each one only to validate it.

    With a fixed width it does not ask for the size of the terminal, which would slow down every start.
    """

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=80)


class Parser(argparse.ArgumentParser):
    """An argument parser that raises UsageError instead of printing the usage and exiting."""

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
    """The parser with the name and the summary of every command; `parse` adds the flags of the chosen command.

    If the command line starts with a command, only the parser of that command is created.
    """
    commands = COMMANDS if program == "contextive-mcp" else DUVET_COMMANDS
    first = ALIASES.get(first, first) if first is not None else None
    is_duvet = program == "duvet"
    parser = Parser(
        prog=program,
        description=_DUVET_DESCRIPTION if is_duvet else _DESCRIPTION,
        epilog=None if is_duvet else _EPILOG,
        allow_abbrev=False,
    )
    parser.add_argument("-v", "--version", action="version", version=f"{program} {__version__}")
    # Without `prog`, argparse would format the usage to find the name.
    group = parser.add_subparsers(
        dest="command", metavar="COMMAND", title="commands", parser_class=Parser, prog=program
    )
    for name in [first] if first in commands else commands:
        summary = commands[name][1]
        group.add_parser(name, help=summary, description=summary + ".", allow_abbrev=False)
    return parser


def command_parser(program: str, command: str) -> Parser:
    """The parser of one command with all its flags."""
    parser = build_parser(program)
    commands = COMMANDS if program == "contextive-mcp" else DUVET_COMMANDS
    _configure(parser, commands[command][0], command)
    return _subparser(parser, command)


def parse(parser: Parser, arguments: Sequence[str]) -> argparse.Namespace:
    """The parsed options; `options.run` is the function that runs the command."""
    commands = COMMANDS if parser.prog == "contextive-mcp" else DUVET_COMMANDS
    command = next((argument for argument in arguments if not argument.startswith("-")), None)
    if command in ALIASES and ALIASES[command] in commands:
        position = arguments.index(command)
        arguments = [*arguments[:position], ALIASES[command], *arguments[position + 1 :]]
        command = ALIASES[command]
    if command is not None and arguments[0].startswith("-") and arguments[0] not in _GLOBAL_FLAGS:
        chosen = next((argument for argument in arguments if argument in commands), "COMMAND")
        flag = arguments[0][:60]
        raise UsageError(f"{flag} must come after the command.", hint=f"Write: {parser.prog} {chosen} {flag} …")
    if command is not None and command not in commands:
        from difflib import get_close_matches

        close = get_close_matches(command, commands, n=1)
        hint = f"Did you mean {close[0]}?" if close else f"See {parser.prog} --help."
        raise UsageError(f"Unknown command {command[:60]!r}.", hint=hint)
    if command is not None:
        _configure(parser, commands[command][0], command)
    options = parser.parse_args(arguments)
    if getattr(options, "run", None) is None:
        raise UsageError("No command given.", hint=f"See {parser.prog} --help.")
    return options


def add_project_options(parser: argparse.ArgumentParser, *, profile: bool = True) -> None:
    """Add --project and --config, and --profile if wanted."""
    parser.add_argument("--project", type=Path, metavar="DIR", help="project directory (default: current directory)")
    parser.add_argument("--config", type=Path, metavar="FILE", help="configuration file")
    if profile:
        names = ", ".join(PROFILE_NAMES)
        parser.add_argument(
            "--profile", choices=PROFILE_NAMES, metavar="P", help=f"set of tools to offer, one of {names}"
        )


def add_write_option(parser: argparse.ArgumentParser) -> None:
    """Add --allow-writes."""
    parser.add_argument(
        "--allow-writes",
        action="store_true",
        help="allow tools that write pages and documents, vote and ingest, without a token",
    )


def _configure(parser: Parser, module: str, command: str) -> None:
    getattr(import_module(module), f"configure_{command}")(_subparser(parser, command))


def _subparser(parser: Parser, name: str) -> Parser:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return cast("Parser", action.choices[name])
    raise LookupError(name)
