"""`make bench`: measure, print the table, keep the numbers, and fail where a budget is missed.

To add a figure, yield one more `Figure` from a group's `measure`; to add a group, write a module with `measure(plan)` and
name it in `GROUPS`.
"""

from __future__ import annotations

import argparse
import compileall
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import contextive
from benchmarks import crowding, host, indexing, noting, searching, tracing
from benchmarks.figures import FULL, QUICK, Figure, Plan, as_text
from benchmarks.machine import describe_machine
from benchmarks.results import save

GROUPS: Mapping[str, Callable[[Plan], Iterable[Figure]]] = {
    "host": host.measure,
    "trace": tracing.measure,
    "notes": noting.measure,
    "index": indexing.measure,
    "search": searching.measure,
    "crowd": crowding.measure,
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure, each figure beside its anchor.")
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=f"any of {', '.join(GROUPS)}; all when left out")
    parser.add_argument("--quick", action="store_true", help="few rounds, in less than a minute; nothing is kept")
    options = parser.parse_args()
    if unknown := [name for name in options.groups if name not in GROUPS]:
        parser.error(f"no group {unknown[0]!r}; there are {', '.join(GROUPS)}")
    # An installed package is compiled, as the anchors are. A checkout may not be, where Python is told to leave no such files.
    compileall.compile_dir(Path(contextive.__file__).parent, quiet=1)
    missed: list[str] = []
    for name in options.groups or GROUPS:
        machine = describe_machine()
        figures = _measured(GROUPS[name](QUICK if options.quick else FULL))
        print(as_text(figures))
        if not options.quick:
            print(f"\nkept in benchmarks/results/{save(name, figures, machine).name}")
        missed += [figure.name for figure in figures if not figure.within_budget]
    if missed:
        print(f"\nover budget: {'; '.join(missed)}", file=sys.stderr)
    return 1 if missed else 0


def _measured(figures: Iterable[Figure]) -> list[Figure]:
    """All figures, with a word on a terminal about how far it is."""
    done = []
    for figure in figures:
        done.append(figure)
        if sys.stderr.isatty():
            print(f"\r\033[K{len(done)} measured: {figure.name}", end="", file=sys.stderr, flush=True)
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr, flush=True)
    return done


if __name__ == "__main__":
    sys.exit(main())
