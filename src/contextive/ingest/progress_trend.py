"""How far the specifications were on earlier days: one point for each day and commit."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from contextive.workspace.git import git_head

if TYPE_CHECKING:
    from contextive.store.protocol import Store

MAX_POINTS: Final = 400
_KEY: Final = "progress_trend"


@dataclass(frozen=True, slots=True)
class TrendPoint:
    """How many requirements of each specification were done, and how many there were."""

    day: str
    commit: str
    specifications: Mapping[str, tuple[int, int]]


class ProgressTrend:
    """The points of a project, in the database of its index, so that backups contain them."""

    def __init__(self, store: Store, root: Path, clock: Callable[[], float] = time.time) -> None:
        self._store = store
        self._root = root
        self._clock = clock

    def points(self) -> list[TrendPoint]:
        """All points, the oldest first."""
        return _decode(self._store.state(_KEY))

    ##= docs/spec/site.md#overview
    ##% The site MUST remember how far each specification is, with one point for each day and commit, and keep the newest
    ##% 400 points.
    def record(self, now: Mapping[str, tuple[int, int]]) -> Sequence[TrendPoint]:
        """Remember the current figures, in place of an earlier point of this day and commit; returns all points."""
        points = self.points()
        day = datetime.fromtimestamp(self._clock(), UTC).strftime("%Y-%m-%d")
        if not now or (points and (points[-1].day, dict(points[-1].specifications)) == (day, dict(now))):
            return points
        point = TrendPoint(day, git_head(self._root) or "", dict(now))
        with self._store.transaction() as writer:
            # Read again: another process may have added a point.
            points = [p for p in self.points() if (p.day, p.commit) != (point.day, point.commit)]
            points = [*points, point][-MAX_POINTS:]
            writer.put_state(_KEY, _encode(points))
        return points


def _encode(points: Sequence[TrendPoint]) -> str:
    return json.dumps([[p.day, p.commit, p.specifications] for p in points], separators=(",", ":"))


def _decode(text: str | None) -> list[TrendPoint]:
    """The stored points; those that cannot be read are left out."""
    try:
        stored = json.loads(text) if text else []
    except ValueError:
        return []
    return [point for item in stored if (point := _decode_point(item)) is not None] if isinstance(stored, list) else []


def _decode_point(item: Any) -> TrendPoint | None:
    match item:
        case [str(day), str(commit), dict(specifications)]:
            pairs = {
                str(name): (int(pair[0]), int(pair[1]))
                for name, pair in specifications.items()
                if isinstance(pair, list) and len(pair) == 2 and all(isinstance(number, int) for number in pair)
            }
            return TrendPoint(day, commit, pairs)
        case _:
            return None
