"""Compare the readers of Kiro, spec-kit and OpenSpec with a plain counter, and time the first table.

Usage: python -m benchmarks.spec_formats PROJECT…
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from pathlib import Path

from benchmarks import spec_counter
from contextive.ingest.trace_service import TraceService
from contextive.trace.formats.values import FormatSpecification, ReferenceState, SpecFormat, SpecState
from contextive.trace.spec_trace import table

_COUNTERS = {
    SpecFormat.KIRO: spec_counter.kiro,
    SpecFormat.SPECKIT: spec_counter.speckit,
    SpecFormat.OPENSPEC: spec_counter.openspec,
}


def compare(root: Path, specification: FormatSpecification) -> tuple[int, int, list[str]]:
    """How many requirements were read and counted, and each difference."""
    read_total = counted_total = 0
    differences = []
    for path in specification.documents:
        if specification.key == "constitution" or path.endswith("bugfix.md"):
            continue
        counted = _COUNTERS[specification.format](root / path)
        read = {
            (r.key.partition("/")[2] if specification.state is SpecState.PROPOSED else r.key): r.place.line
            for r in specification.requirements
            if r.place.path == path and not r.key.startswith("US")
        }
        read_total, counted_total = read_total + len(read), counted_total + len(counted)
        for key in sorted(read.keys() | counted.keys()):
            if read.get(key) != counted.get(key):
                differences.append(f"{path}: {key[:60]}: read on line {read.get(key)}, counted on {counted.get(key)}")
    return read_total, counted_total, differences


def main(paths: list[str]) -> int:
    for name in paths:
        root = Path(name).resolve()
        start = time.perf_counter()
        service = TraceService(root, formats=tuple(SpecFormat))
        view = service.view()
        rows = table(view.catalog, view.state.formats)
        cold = time.perf_counter() - start
        start = time.perf_counter()
        table(service.view().catalog, service.view().state.formats)
        warm = time.perf_counter() - start
        formats = view.state.formats
        found = [compare(root, one) for one in formats.specifications if one.state is not SpecState.ARCHIVED]
        states = Counter(r.state for one in formats.current for task in one.tasks for r in task.references)
        plain = states[ReferenceState.RESOLVED] + states[ReferenceState.DANGLING]
        print(f"{root.name}: {len(rows)} rows, {sum(f[0] for f in found)} read, {sum(f[1] for f in found)} counted")
        print(f"  cold {cold:.2f} s, warm {warm * 1000:.0f} ms")
        share = 100 * states[ReferenceState.RESOLVED] / plain if plain else 100
        print(f"  task references: {plain}, {share:.1f} % resolved, {states[ReferenceState.OTHER]} other words")
        references = formats.references
        print(
            f"  natural references: {len(references.resolved)} resolved, {len(references.ambiguous)} ambiguous, "
            f"{len(references.dangling)} dangling"
        )
        for _, _, differences in found:
            for difference in differences:
                print(f"    {difference}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
