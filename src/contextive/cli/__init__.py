"""The command line, with one module per group of commands. Heavy imports happen only when a command runs."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn, TextIO


##= docs/spec/host.md#commands
##% The package MUST install a command named `contextive-mcp`.
def main(argv: Sequence[str] | None = None) -> NoReturn:
    """The command `contextive-mcp`."""
    code = run(list(sys.argv[1:] if argv is None else argv))
    _exit_now(code)
    sys.exit(code)


##= docs/spec/host.md#commands
##% The package MUST install a command named `duvet`.
def duvet_main(argv: Sequence[str] | None = None) -> NoReturn:
    """The command `duvet`: the same program with the commands of duvet."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    code = run(arguments, program="duvet")
    _exit_now(code)
    sys.exit(code)


def _is_null_device(stream: TextIO) -> bool:
    """Whether a stream reads `/dev/null`, as in a cron job: nobody can speak MCP over it."""
    try:
        return os.path.samestat(os.fstat(stream.fileno()), Path(os.devnull).stat())
    except OSError:
        return False


def _exit_now(code: int) -> None:
    """End the process without the interpreter's cleanup; return only if the output cannot be flushed.

    Everything that must be closed is closed by now. A report on a large project has half a million objects, and freeing
    them one by one would only make the user wait. A model may also still be loading in a thread: its library aborts the
    process if the interpreter shuts down meanwhile.
    """
    try:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    except (AttributeError, OSError, ValueError):  # no such stream, or a closed pipe: leave it to the interpreter
        return
    os._exit(code)


##= docs/spec/host.md#commands
##% A successful command MUST exit with code 0.
##= docs/spec/host.md#commands
##% A failed command MUST exit with code 1 and give the reason in one sentence on standard error.
def run(arguments: list[str], program: str = "contextive-mcp") -> int:
    """Run a command and return its exit code: 0, 1 for a failure, 2 for an invalid command line."""
    from contextive.cli.parser import build_parser, parse
    from contextive.errors import ConfigError, ContextiveError, UsageError

    parser = build_parser(program, arguments[0] if arguments else None)
    try:
        ##= docs/spec/host.md#commands
        ##% Without a command, `contextive-mcp` MUST print its help on a terminal and serve stdio on a pipe.
        if not arguments and program == "contextive-mcp":
            if sys.stdin is None or sys.stdin.isatty() or _is_null_device(sys.stdin):
                parser.print_help()
                return 0
            arguments = ["serve"]
        if not arguments:
            parser.print_help(sys.stderr)  # like duvet, with exit code 2
            return 2
        options = parse(parser, arguments)
        code: int = options.run(options)
        return code
    except ContextiveError as error:
        # A ConfigError may have several lines, one for each problem.
        from contextive.cli.printing import print_line, print_text

        print_error = print_text if isinstance(error, ConfigError) else print_line
        print_error(f"{program}: {error.full_message()}", file=sys.stderr)
        ##= docs/spec/host.md#commands
        ##% A command with an invalid command line MUST exit with code 2.
        return 2 if isinstance(error, UsageError) else 1
    except BrokenPipeError:
        # The reader closed the pipe. Redirect standard output, so that the interpreter's last flush does not fail.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1
    except OSError as error:
        file_name = f"{Path(error.filename).name}: " if isinstance(error.filename, str) else ""
        from contextive.cli.printing import print_line

        print_line(
            f"{program}: {file_name}{error.strerror or 'the operating system reported an error'}.", file=sys.stderr
        )
        return 1
    except KeyboardInterrupt:
        return 130
