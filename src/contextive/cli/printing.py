"""Printing: the only place where commands write to standard output and standard error.

Text for people goes through `print_line` and `print_text`, where names of files and texts of a project can do nothing to a
terminal or to a runner of CI. Formats for programs go through `print_data`, byte for byte.
"""

from __future__ import annotations

from typing import TextIO

from contextive.trace.reports.safe_text import printable_line, printable_lines

_TRACEBACK = "Traceback (most recent call last):"


def print_line(text: str = "", *, file: TextIO | None = None) -> None:
    """Print one line for people. A line end inside it, as in the name of a file, is spelled out."""
    print(printable_line(text), file=file)


def print_text(text: str, *, file: TextIO | None = None) -> None:
    """Print a text of several lines for people."""
    for line in printable_lines(text.removesuffix("\n")):
        print(line, file=file)


def print_data(text: str, *, end: str = "\n") -> None:
    """Print what a program reads, as it is."""
    print(text, end=end)


def escape_log_lines() -> None:
    """Have warnings that are logged while a command runs follow the same rule. A server writes JSON instead."""
    import logging  # a report does without

    class LogLine(logging.Formatter):
        def format(self, record: logging.LogRecord) -> str:
            message, *traceback = super().format(record).partition(f"\n{_TRACEBACK}")
            return "\n".join([printable_line(message), *printable_lines("".join(traceback))[1:]])

    if logging.lastResort is not None:
        logging.lastResort.setFormatter(LogLine())
