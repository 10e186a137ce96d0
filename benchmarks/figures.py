"""The result of a measurement: our value, the anchor's, their ratio, and whether it is within the budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Literal, TypeVar

Unit = Literal["ms", "calls/s", "MB", "nDCG@10"]
T = TypeVar("T")
_MORE_IS_BETTER: frozenset[Unit] = frozenset({"calls/s", "nDCG@10"})


@dataclass(frozen=True, slots=True)
class Plan:
    """How much to measure. More rounds give steadier medians."""

    rounds: int
    """Rounds of calls, alternating between ours and the anchor."""
    calls: int
    """Calls in a round."""
    starts: int
    """Processes to start of each kind."""


FULL = Plan(rounds=15, calls=500, starts=15)
QUICK = Plan(rounds=3, calls=150, starts=2)


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the table. `ours` and `anchor` have one value per round; the table shows their medians."""

    name: str
    unit: Unit
    ours: Sequence[float]
    anchor: Sequence[float]
    anchor_name: str
    budget: float | None = None
    """The largest acceptable ratio; None if the figure has no budget."""
    limit: float | None = None
    """The largest acceptable value, for a budget that is a number and not a ratio."""

    @property
    def ratio(self) -> float:
        """Our cost divided by the anchor's: below 1 is better than the anchor, in every unit."""
        ours, anchor = median(self.ours), median(self.anchor)
        return anchor / ours if self.unit in _MORE_IS_BETTER else ours / anchor

    @property
    def within_budget(self) -> bool:
        in_ratio = self.budget is None or self.ratio <= self.budget
        return in_ratio and (self.limit is None or median(self.ours) <= self.limit)

    def as_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "unit": self.unit,
            "ours": round(median(self.ours), 4),
            "anchor": round(median(self.anchor), 4),
            "anchorName": self.anchor_name,
            "ratio": round(self.ratio, 3),
            "budget": self.budget,
            "limit": self.limit,
            "withinBudget": self.within_budget,
            "rounds": {"ours": [round(v, 4) for v in self.ours], "anchor": [round(v, 4) for v in self.anchor]},
        }


def alternate(rounds: int, ours: Callable[[], T], anchor: Callable[[], T]) -> tuple[list[T], list[T]]:
    """The results of both, measured alternately, so that a busy moment of the machine affects both."""
    results_ours: list[T] = []
    results_anchor: list[T] = []
    for number in range(rounds):
        if number % 2:
            results_anchor.append(anchor())
            results_ours.append(ours())
        else:
            results_ours.append(ours())
            results_anchor.append(anchor())
    return results_ours, results_anchor


def percentile(values: Sequence[float], percent: float) -> float:
    """The value that `percent` of the values do not exceed."""
    ranked = sorted(values)
    return ranked[min(len(ranked) - 1, int(len(ranked) * percent / 100))]


COLUMNS = ("figure", "unit", "ours", "anchor", "ratio", "budget", "", "anchor is")


def rows(figures: Sequence[Figure]) -> list[tuple[str, ...]]:
    """The figures as the cells of a table, under `COLUMNS`."""
    return [
        (
            figure.name,
            figure.unit,
            _format_value(median(figure.ours), figure.unit),
            _format_value(median(figure.anchor), figure.unit),
            f"{figure.ratio:.2f}",
            _wanted(figure),
            "" if not _wanted(figure) else ("pass" if figure.within_budget else "MISSED"),
            figure.anchor_name,
        )
        for figure in figures
    ]


def as_text(figures: Sequence[Figure]) -> str:
    """A plain-text table for a terminal."""
    table = [COLUMNS, *rows(figures)]
    widths = [max(len(row[column]) for row in table) for column in range(len(COLUMNS))]
    return "\n".join("  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in table)


def as_markdown(figures: Sequence[dict[str, Any]]) -> str:
    """A Markdown table of stored figures."""
    lines = ["| " + " | ".join(COLUMNS) + " |", "|" + "---|" * len(COLUMNS)]
    for stored in figures:
        [row] = rows([_restored(stored)])
        lines.append("| " + " | ".join(row) + " |")
    return "\n".join(lines)


def _restored(stored: dict[str, Any]) -> Figure:
    rounds = stored["rounds"]
    return Figure(
        stored["name"],
        stored["unit"],
        rounds["ours"],
        rounds["anchor"],
        stored["anchorName"],
        stored["budget"],
        stored.get("limit"),
    )


def _wanted(figure: Figure) -> str:
    if figure.limit is not None:
        return f"≤ {figure.limit:g} {figure.unit}"
    return "" if figure.budget is None else f"≤ {figure.budget:.2f}"


def _format_value(value: float, unit: Unit) -> str:
    if unit == "calls/s":
        return f"{value:,.0f}"
    if unit == "nDCG@10":
        return f"{value:.3f}"
    return f"{value:.2f}" if value < 100 else f"{value:.0f}"
