"""Saved results: one JSON file per group and day, and one page with the newest results of each group."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.figures import Figure, as_markdown
from benchmarks.plot import as_svg

RESULTS = Path(__file__).with_name("results")

_INTRODUCTION = """\
# Figures

`make bench` writes this page. Each figure is compared with an *anchor*: something similar that is measured alternately with
ours, in the same run on the same machine, such as a server built with the bare SDK. The values are medians over rounds. The
ratio is our cost divided by the anchor's, so a ratio below 1 is better than the anchor. Trust the ratios more than the
milliseconds. In the charts, the bar is the ratio, the thin line is the anchor, and the thick mark is the budget.
"""


def save(group: str, figures: Sequence[Figure], machine: dict[str, Any]) -> Path:
    """Save the figures of a group and rewrite the page."""
    date = datetime.now(UTC).date().isoformat()
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{date}-{group}.json"
    stored = {"group": group, "date": date, "machine": machine, "figures": [figure.as_dict() for figure in figures]}
    path.write_text(json.dumps(stored, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    write_page()
    return path


def write_page() -> None:
    newest: dict[str, dict[str, Any]] = {}
    for path in sorted(RESULTS.glob("*.json")):
        stored = json.loads(path.read_text(encoding="utf-8"))
        newest[stored["group"]] = stored
    for group, stored in newest.items():
        (RESULTS / f"{group}.svg").write_text(as_svg(stored["figures"]), encoding="utf-8")
    parts = [_INTRODUCTION, *(_section(stored) for stored in newest.values())]
    (RESULTS / "README.md").write_text("\n".join(parts), encoding="utf-8")


def _section(stored: dict[str, Any]) -> str:
    machine = stored["machine"]
    packages = ", ".join(f"{name} {number}" for name, number in machine["packages"].items())
    return (
        f"## {stored['group']}, {stored['date']}\n\n"
        f"{machine['processor']}, {machine['cores']} cores, {machine['system']}; {machine['python']}; {packages}. "
        f"Load before the run: {machine['loadBefore']}.\n\n"
        f"![Ratios of {stored['group']}]({stored['group']}.svg)\n\n"
        f"{as_markdown(stored['figures'])}\n"
    )
