"""A chart of a group: one bar per figure, with its ratio to the anchor on a logarithmic scale, and its budget."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import floor, log10
from typing import Any

_ROW, _LEFT, _WIDTH, _RIGHT = 20, 320, 420, 70
_TOP = 24
_STYLE = (
    "text{font:12px system-ui,sans-serif;fill:#333}.n{text-anchor:end}.pass{fill:#2a7f7f}.missed{fill:#b3402e}"
    ".info{fill:#8aa}.one{stroke:#333}.budget{stroke:#e09f00;stroke-width:3}"
    "@media(prefers-color-scheme:dark){text{fill:#ddd}.one{stroke:#ddd}}"
)


def as_svg(figures: Sequence[dict[str, Any]]) -> str:
    """The chart as SVG, from stored figures."""
    budgets = [_budget_ratio(figure) for figure in figures]
    values = [*(figure["ratio"] for figure in figures), *(ratio for ratio in budgets if ratio is not None), 1.0]
    low = floor(log10(max(min(values), 1e-6)))
    high = max(floor(log10(max(values))) + 1, low + 1)

    def position(ratio: float) -> float:
        return _LEFT + _WIDTH * (log10(max(ratio, 10**low)) - low) / (high - low)

    height = _TOP + _ROW * len(figures) + 8
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_LEFT + _WIDTH + _RIGHT} {height}" role="img">',
        f"<style>{_STYLE}</style>",
    ]
    for power in range(low, high + 1):
        lines.append(f'<text x="{position(10.0**power):.1f}" y="14" text-anchor="middle">{10.0**power:g}</text>')
    for number, (figure, budget) in enumerate(zip(figures, budgets, strict=True)):
        top = _TOP + _ROW * number
        kind = "info" if budget is None else "pass" if figure["withinBudget"] else "missed"
        end = position(figure["ratio"])
        lines.append(f'<text class="n" x="{_LEFT - 8}" y="{top + 13}">{escape(figure["name"])}</text>')
        lines.append(f'<rect class="{kind}" x="{_LEFT}" y="{top + 3}" width="{end - _LEFT:.1f}" height="13"/>')
        lines.append(f'<text x="{end + 4:.1f}" y="{top + 13}">{figure["ratio"]:.3g}</text>')
        if budget is not None:
            x = position(budget)
            lines.append(f'<line class="budget" x1="{x:.1f}" x2="{x:.1f}" y1="{top + 1}" y2="{top + 18}"/>')
    anchor = position(1.0)
    lines.append(f'<line class="one" x1="{anchor:.1f}" x2="{anchor:.1f}" y1="{_TOP}" y2="{height - 6}"/>')
    return "\n".join([*lines, "</svg>", ""])


def _budget_ratio(figure: dict[str, Any]) -> float | None:
    """The budget as a ratio; a limit in milliseconds or megabytes is divided by the anchor's value."""
    budget: float | None = figure["budget"]
    limit = figure.get("limit")
    if limit is not None and figure["anchor"]:
        of_limit = float(limit) / float(figure["anchor"])
        return of_limit if budget is None else min(budget, of_limit)
    return budget
