"""A small repository in several languages: a tide station with gauges, alerts, a page, a specification and notes."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from contextive.search.index import Index
from contextive.server.host import Host

FILES: Mapping[str, str] = {
    "docs/subsystems.json": """{
  "Gauge": {"description": "Reads the water level.", "criticality": "high", "owner": "harbour", "tags": ["water"],
            "paths": ["src/tidewatch/gauge", "tests/gauge", "docs/gauge.md"], "depends_on": ["Alerts"]},
  "Alerts": {"description": "Warns people of high water.", "criticality": "critical",
             "paths": ["src/tidewatch/alerts/**", "tests/alerts", "docs/alerts.md"]}
}
""",
    "docs/gauge.md": """# The gauge

How the water level is measured.

## Calibration

A pressure sensor drifts with temperature. `calibrate_sensor` corrects it against the reference mark every morning.

## Storm surge

During a storm the median of nine readings replaces a single one. See [the reader](../src/tidewatch/gauge/reader.py).
""",
    "docs/alerts.md": """---
title: Warnings for the harbour
tags: [siren, runbook]
subsystem: Alerts
---
# Alerts

The siren sounds when the level passes the threshold, and a HighWaterMessage goes to every boat.

## Silence

Nobody may silence the siren for longer than ten minutes.
""",
    "docs/spec/levels.md": """# Water levels

## Threshold

The station MUST raise an alert when the level is above the threshold.

## Rate

The gauge SHOULD read the level once a minute.
""",
    "notes/first-storm.md": """# First storm

We learned that [[siren-test]] matters. The rule is in [[file:docs/alerts.md]].
""",
    "notes/siren-test.md": """# Siren test

Every first Monday.
""",
    "src/tidewatch/__init__.py": '"""A tide station."""\n',
    "src/tidewatch/gauge/__init__.py": "",
    "src/tidewatch/gauge/reader.py": '''"""Reading the water level."""

from tidewatch.alerts.siren import Siren


class LevelReader:
    """Reads a pressure sensor."""

    def __init__(self, siren: Siren) -> None:
        self.siren = siren

    #= docs/spec/levels.md#rate
    #% The gauge SHOULD read the level once a minute.
    def read_level(self) -> float:
        """The level in metres, as the median of nine readings."""
        return median_of([1.0] * 9)


def calibrate_sensor(offset: float) -> float:
    """Correct the drift of the sensor against the reference mark."""
    return offset * 0.5


def median_of(values: list[float]) -> float:
    """The middle one of some values."""
    return sorted(values)[len(values) // 2]
''',
    "src/tidewatch/alerts/__init__.py": "",
    "src/tidewatch/alerts/siren.py": '''"""The siren on the harbour wall."""

TelemetrySiren = "siren.sounded"


class HighWaterMessage:
    """What every boat is told."""


class Siren:
    """Sounds, and can be silenced for a while."""

    #= docs/spec/levels.md#threshold
    #% The station MUST raise an alert when the level is above the threshold.
    def sound_alarm(self, level: float) -> HighWaterMessage:
        """Wake the harbour."""
        return HighWaterMessage()

    def silence(self, minutes: int) -> None:
        """Be quiet, for ten minutes at most."""
''',
    "tests/gauge/test_reader.py": """from tidewatch.gauge.reader import LevelReader, calibrate_sensor


#= docs/spec/levels.md#rate
#= type=test
#% The gauge SHOULD read the level once a minute.
def test_reads_the_level() -> None:
    assert LevelReader(None).read_level() == 1.0


def test_calibrates() -> None:
    assert calibrate_sensor(2.0) == 1.0
""",
    "web/dashboard.ts": """import { formatLevel } from "./format";

export interface Reading { metres: number; at: string }

export class Dashboard {
  constructor(private readonly readings: Reading[]) {}

  renderLatest(): string {
    return formatLevel(this.readings[0].metres);
  }
}
""",
    "web/format.ts": """export function formatLevel(metres: number): string {
  return `${metres.toFixed(2)} m`;
}
""",
    "web/App.tsx": """export function TideApp() {
  return <main>high water</main>;
}
""",
    "web/legacy.js": """function gatherAll(readings) {
  return readings.map(HTTPServer);
}
""",
    "cmd/logger/main.go": """package main

type Logger struct{ path string }

func (l *Logger) Append(level float64) error { return nil }

func main() { (&Logger{}).Append(1.5) }
""",
    "native/filter.c": """#include "filter.h"

double low_pass(double previous, double next) {
    return previous * 0.9 + next * 0.1;
}
""",
    "native/filter.h": "double low_pass(double previous, double next);\n",
    "rust/src/lib.rs": """pub struct Buoy { depth: f64 }

impl Buoy {
    pub fn sink(&mut self, metres: f64) { self.depth += metres; }
}
""",
    "java/Harbour.java": """package harbour;

public class Harbour {
    public int countBoats(int moored) { return moored + 1; }
}
""",
    "config/station.yaml": "station: lighthouse\nthreshold_metres: 3.2\n",
    "docs/ünïcode-Größe.md": "# Größe der Wellen\n\nDie Höhe der Wellen heißt 波の高さ auf Japanisch.\n",
    ".gitignore": "build/\n*.log\n",
    "build/generated.py": "SHOULD_NOT_BE_SEEN = 1\n",
    "station.log": "noise\n",
    ".env": "TOKEN=do-not-index\n",
    "src/tidewatch/empty.py": "   \n",
}


def write_repository(root: Path, files: Mapping[str, str] = FILES, *, git: bool = True) -> Path:
    """Write the files below `root`, and commit them if `git` is true."""
    for path, text in files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    if git:
        run_git(root, "init", "-q", "-b", "main")
        commit_all(root, "The station as it stands")
    return root


def commit_all(root: Path, message: str, when: str = "2024-05-01T12:00:00+00:00") -> None:
    run_git(root, "add", "-A")
    run_git(root, "commit", "-q", "--allow-empty", "-m", message, when=when)


def run_git(root: Path, *arguments: str, when: str = "2024-05-01T12:00:00+00:00") -> str:
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(root),
        "GIT_AUTHOR_NAME": "Keeper",
        "GIT_AUTHOR_EMAIL": "keeper@example.org",
        "GIT_COMMITTER_NAME": "Keeper",
        "GIT_COMMITTER_EMAIL": "keeper@example.org",
        "GIT_AUTHOR_DATE": when,
        "GIT_COMMITTER_DATE": when,
        "GIT_CONFIG_NOSYSTEM": "1",
    }
    done = subprocess.run(
        ["git", *arguments], cwd=root, env=environment, check=True, capture_output=True, text=True, timeout=60
    )
    return done.stdout


def parse_in_this_process(host: Host) -> None:
    """Parse files without worker processes, which take longer to start than a small project takes to index."""
    index = host.services.get(Index)
    index.settings = replace(index.settings, parser_processes=0)
