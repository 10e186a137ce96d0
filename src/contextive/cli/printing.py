"""The only module in which commands write to standard output and standard error.

Text for people goes through `print_line` and `print_text`, which escape control characters, so that file names and texts
of a project cannot control a terminal or a CI runner. Data for programs goes through `print_data` unchanged.
"""

from __future__ import annotations

from typing import TextIO

from contextive.trace.reports.safe_text import printable_line, printable_lines

_TRACEBACK = "Traceback (most recent call last):"


def print_line(text: str = "", *, file: TextIO | None = None) -> None:
    """Print one line for people. A line break inside it, such as in a file name, is escaped."""
    print(printable_line(text), file=file)


def print_text(text: str, *, file: TextIO | None = None) -> None:
    """Print several lines for people."""
    for line in printable_lines(text.removesuffix("\n")):
        print(line, file=file)


def print_data(text: str, *, end: str = "\n") -> None:
    """Print data for programs, unchanged."""
    print(text, end=end)


def escape_log_lines() -> None:
    """Escape control characters in log messages of commands too. A server logs JSON instead."""
    import logging  # imported here because `report` does not need it

    class LogLine(logging.Formatter):
        def format(self, record: logging.LogRecord) -> str:
            message, *traceback = super().format(record).partition(f"\n{_TRACEBACK}")
            return "\n".join([printable_line(message), *printable_lines("".join(traceback))[1:]])

    if logging.lastResort is not None:
        logging.lastResort.setFormatter(LogLine())
