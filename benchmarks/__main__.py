"""`make bench`: measure, print the table, save the results, and fail if a figure is over its budget.

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
from benchmarks import crowd_group, host_group, index_group, notes_group, retrieval_group, search_group, trace_group
from benchmarks.figures import FULL, QUICK, Figure, Plan, as_text
from benchmarks.machine import describe_machine
from benchmarks.results import save

GROUPS: Mapping[str, Callable[[Plan], Iterable[Figure]]] = {
    "host": host_group.measure,
    "trace": trace_group.measure,
    "notes": notes_group.measure,
    "index": index_group.measure,
    "search": search_group.measure,
    "retrieval": retrieval_group.measure,
    "crowd": crowd_group.measure,
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Compare our figures with their anchors.")
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=f"any of {', '.join(GROUPS)}; all by default")
    parser.add_argument("--quick", action="store_true", help="few rounds, less than a minute; results are not saved")
    options = parser.parse_args()
    if unknown := [name for name in options.groups if name not in GROUPS]:
        parser.error(f"unknown group {unknown[0]!r}; choose from {', '.join(GROUPS)}")
    # An installed package is compiled, like the anchors. A checkout may not be, if Python is set not to write .pyc files.
    compileall.compile_dir(Path(contextive.__file__).parent, quiet=1)
    missed: list[str] = []
    for name in options.groups or GROUPS:
        machine = describe_machine()
        figures = _measured(GROUPS[name](QUICK if options.quick else FULL))
        print(as_text(figures))
        if not options.quick:
            print(f"\nsaved in benchmarks/results/{save(name, figures, machine).name}")
        missed += [figure.name for figure in figures if not figure.within_budget]
    if missed:
        print(f"\nover budget: {'; '.join(missed)}", file=sys.stderr)
    return 1 if missed else 0


def _measured(figures: Iterable[Figure]) -> list[Figure]:
    """All figures, with progress on standard error if it is a terminal."""
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
