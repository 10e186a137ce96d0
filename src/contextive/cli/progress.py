"""Bars for work that takes a while, where somebody watches."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

UpdateProgress = Callable[[str, int, int], None]
"""Takes a phase, what is done of it, and all of it."""


@contextmanager
def progress_bar() -> Iterator[UpdateProgress]:
    """A bar on a terminal; silence where standard error is not one."""
    if not sys.stderr.isatty():
        yield lambda _phase, _done, _total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description:<8}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        tasks: dict[str, Any] = {}

        def update_bar(phase: str, done: int, total: int) -> None:
            if phase not in tasks:
                tasks[phase] = bars.add_task(phase, total=total or None)
            bars.update(tasks[phase], completed=done, total=total or None)

        yield update_bar
