"""The findings of the newest commits of a project, one line each, to be judged by hand.

.venv/bin/python -m benchmarks.real_commits PROJECT [--commits N]
"""

from __future__ import annotations

import argparse
import subprocess
from collections import Counter
from pathlib import Path

from contextive.ingest.review_service import ReviewService
from contextive.ingest.trace_service import TraceService


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("project", type=Path)
    parser.add_argument("--commits", type=int, default=50)
    options = parser.parse_args()
    log = ["git", "-C", str(options.project), "log", "--no-merges", f"-{options.commits}", "--format=%H %s"]
    service = ReviewService(TraceService(options.project))
    counts: Counter[str] = Counter()
    commits = subprocess.run(log, capture_output=True, text=True, check=True).stdout.splitlines()
    for line in commits:
        commit, _, subject = line.partition(" ")
        found = service.review(f"{commit}~1", commit).findings
        counts.update(finding.kind.value for finding in found)
        print(f"{commit[:9]} {len(found)} {subject}", flush=True)
        for finding in found:
            print(f"    {finding.kind.value} {finding.place} {finding.reason}", flush=True)
    print(len(commits), "commits", counts.total(), "findings", dict(counts))


if __name__ == "__main__":
    main()
