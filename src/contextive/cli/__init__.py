"""The command line: one module a group of commands. Nothing heavy is imported before a command runs."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn


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
    """The command `duvet`: the same program under the face that duvet's users know."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    code = run(arguments, program="duvet")
    _exit_now(code)
    sys.exit(code)


def _exit_now(code: int) -> None:
    """End the process at once, unless its last words cannot be said. What had to be closed is closed by then.

    A report on a large project is half a million objects: to take them apart one by one would only keep its reader waiting. And a
    model may still be loading in a thread, for a question that nobody waits for any more: its library aborts the process when
    the usual end takes away what it is working on.
    """
    try:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    except (AttributeError, OSError, ValueError):  # there is no such stream, or nobody reads it: the usual end copes
        return
    os._exit(code)


##= docs/spec/host.md#commands
##% A successful command MUST exit with code 0.
##= docs/spec/host.md#commands
##% A failed command MUST exit with code 1 and give the reason in one sentence on standard error.
def run(arguments: list[str], program: str = "contextive-mcp") -> int:
    """Do what the arguments say and give the exit code: 0, 1 for a failure, 2 for a call that cannot be understood."""
    from contextive.cli.parser import build_parser, parse
    from contextive.errors import ConfigError, ContextiveError, UsageError

    parser = build_parser(program, arguments[0] if arguments else None)
    try:
        ##= docs/spec/host.md#commands
        ##% Without a command, `contextive-mcp` MUST print its help on a terminal and serve stdio on a pipe.
        if not arguments and program == "contextive-mcp":
            if sys.stdin is None or sys.stdin.isatty():
                parser.print_help()
                return 0
            arguments = ["serve"]
        if not arguments:
            parser.print_help(sys.stderr)  # and 2, as duvet has it
            return 2
        options = parse(parser, arguments)
        code: int = options.run(options)
        return code
    except ContextiveError as error:
        # A configuration with several problems has one of them on each line.
        from contextive.cli.printing import print_line, print_text

        print_error = print_text if isinstance(error, ConfigError) else print_line
        print_error(f"{program}: {error.full_message()}", file=sys.stderr)
        ##= docs/spec/host.md#commands
        ##% A command with an invalid command line MUST exit with code 2.
        return 2 if isinstance(error, UsageError) else 1
    except BrokenPipeError:
        # The reader of our output has gone. Point standard output away so that the interpreter's last flush is quiet.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1
    except OSError as error:
        about = f"{Path(error.filename).name}: " if isinstance(error.filename, str) else ""
        from contextive.cli.printing import print_line

        print_line(f"{program}: {about}{error.strerror or 'the system refused'}.", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
