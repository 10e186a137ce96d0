"""`make differential`: compare the real duvet (`$DUVET_RS`) and Contextive on generated projects until time is up."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import Counter
from pathlib import Path

from tests.differential.outcome import Difference, difference, ignore_known_differences
from tests.differential.projects import make_project
from tests.differential.runs import is_0_4_2, merge_both, run_both
from tests.differential.shrink import shrink

Project = dict[str, bytes]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.differential", description=__doc__)
    parser.add_argument("--seconds", type=float, default=120.0, help="how long to run")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="seed of the first project")
    parser.add_argument("--only", action="store_true", help="run only the project of the seed")
    parser.add_argument("--stop-after", type=int, default=1, help="stop after this many differences")
    arguments = parser.parse_args()
    duvet = os.environ.get("DUVET_RS", "")
    if not Path(duvet).is_file():
        print("Set DUVET_RS to the path of the real duvet.", file=sys.stderr)
        return 2
    return _Session(duvet, arguments.stop_after).run(arguments.seed, arguments.seconds, only=arguments.only)


class _Session:
    def __init__(self, duvet: str, stop_after: int) -> None:
        self._duvet = duvet
        self._stop_after = stop_after
        self._counts: Counter[str] = Counter()
        self._reports: list[str] = []

    def run(self, seed: int, seconds: float, *, only: bool) -> int:
        started = time.monotonic()
        found = 0
        number = seed
        while found < self._stop_after and time.monotonic() - started < seconds:
            project = make_project(number)
            if differs := self.compare(project):
                found += 1
                self.show(number, project, differs)
            if differs := self.compare_merge():
                found += 1
                print(f"=== seed {number}, merged with the previous projects\n{differs}")
            if only:
                break
            number += 1
        counts = ", ".join(f"{count} {kind}" for kind, count in sorted(self._counts.items()))
        print(f"{number - seed} projects from seed {seed}: {counts or 'none'}; {found} differ.")
        if self._counts["succeed"] + self._counts["fail"] == 0:
            print("Nothing was compared: every run of this duvet crashed.", file=sys.stderr)
            return 2
        return 1 if found else 0

    def compare(self, project: Project, *, counted: bool = True) -> Difference | None:
        theirs, ours = run_both(project, self._duvet)
        known = ignore_known_differences(theirs, ours, is_0_4_2=is_0_4_2(self._duvet))
        if counted:
            self._counts.update(f"known: {name}" for name in known)
            self._counts["crash duvet" if theirs.crash else "fail" if theirs.exit_code else "succeed"] += 1
            if theirs.json_v2 is not None:
                self._reports.append(theirs.json_v2)
        return difference(theirs, ours)

    def compare_merge(self) -> Difference | None:
        """Compare merged reports, after every third report."""
        if len(self._reports) < 3:
            return None
        first, second, third = self._reports
        self._reports = []
        for texts in (
            [first],
            [first, second, third],
            [first, _with_changed_comments(first)],
            [_with_changed_comments(second), second, third],
        ):
            theirs, ours = merge_both(texts, self._duvet)
            self._counts["merges"] += 1
            if theirs != ours:
                return Difference("merge", theirs, ours)
        return None

    def show(self, seed: int, project: Project, differs: Difference) -> None:
        def fails_the_same_way(candidate: Project) -> bool:
            other = self.compare(candidate, counted=False)
            return other is not None and other.part == differs.part

        small = shrink(project, fails_the_same_way)
        print(f"=== seed {seed}")
        print(self.compare(small, counted=False))
        for name, content in small.items():
            print(f"--- {name}")
            for line in content.decode("utf-8", "replace").split("\n"):
                print(f"    {line!r}")


def _with_changed_comments(report: str) -> str:
    """The report of a second checkout of the same project with changed comments and tags."""
    document = json.loads(report)
    for name, bucket in document["annotations"].items():
        if name.endswith("#cite"):
            for index, cite in enumerate(bucket.values()):
                cite["tags"] = ["z", "a"][: index % 3]
                cite["comment"] = "another comment"
        if name.endswith("#requirement"):
            for requirement in list(bucket.values())[::2]:
                requirement.pop("coverage", None)
    document["annotations"]["https://else.example/x.json#more"] = {"b": 1, "a": [True, None, 1.5]}
    return json.dumps(document)


if __name__ == "__main__":
    sys.exit(main())
