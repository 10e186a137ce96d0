"""Progress bars for long commands on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

UpdateProgress = Callable[[str, int, int], None]
"""Called with the name of a phase, the number of finished items and the total."""


@contextmanager
def progress_bar() -> Iterator[UpdateProgress]:
    """Show progress bars if standard error is a terminal, otherwise nothing."""
    if not sys.stderr.isatty():
        yield lambda _phase, _done, _total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description:<8}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        tasks: dict[str, Any] = {}
        without_total: set[str] = set()

        def update_bar(phase: str, done: int, total: int) -> None:
            if phase not in tasks:
                for ended in without_total:  # it would pulse at `0/?` until the end
                    bars.remove_task(tasks.pop(ended))
                without_total.clear()
                tasks[phase] = bars.add_task(phase, total=total or None)
                if not total:
                    without_total.add(phase)
            if total:
                without_total.discard(phase)
            bars.update(tasks[phase], completed=done, total=total or None)

        yield update_bar
