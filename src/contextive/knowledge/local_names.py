"""The local variables and parameters that are visible at a position of a source file, with their expressions.

The collector moves through the file from the start to the end. A binding takes effect where its statement ends, and
is gone where its scope ends. Replacing local names by their expressions leaves only names that the file itself or
its imports define, so a receiver can be resolved without knowing the function around it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Literal

from contextive.knowledge.expressions import UNKNOWN, join, merge

FrameKind = Literal["file", "class", "function", "closure"]
_MAX_FRAMES = 60
_HEAD = re.compile(r"[\w$]+")


@dataclass(slots=True)
class Frame:
    """One scope of names."""

    end: int
    kind: FrameKind
    owner: str
    """The qualified name of the symbol that the frame belongs to."""
    names: dict[str, str] = field(default_factory=dict)


class LocalNames:
    """The names in the frames around the current position."""

    def __init__(self) -> None:
        self.frames = [Frame(1 << 62, "file", "")]
        self._pending: list[tuple[int, int, Frame, str, str]] = []
        """A heap: position, number, and what to bind."""
        self._bound = 0

    def move_to(self, position: int) -> None:
        """Apply the bindings that end before this position, and leave the frames that do."""
        while self._pending and self._pending[0][0] <= position:
            _, _, frame, name, expression = heappop(self._pending)
            frame.names[name] = expression
        while self.frames[-1].end <= position:
            self.frames.pop()

    def enter(self, end: int, kind: FrameKind, owner: str) -> None:
        if len(self.frames) < _MAX_FRAMES:
            self.frames.append(Frame(end, kind, owner))

    def bind(self, name: str, expression: str, effective_at: int) -> None:
        """Give a name of the current frame an expression from a position on."""
        self._bound += 1
        heappush(self._pending, (effective_at, self._bound, self.frames[-1], name, expression))

    def find(self, name: str) -> str | None:
        """The expression of a local name; None if the name is not local."""
        for frame in reversed(self.frames):
            found = frame.names.get(name)
            if found is not None:
                return found
        return None

    def inline(self, expression: str) -> str:
        """The expression with local names replaced."""
        if "|" in expression:
            return merge([self._inline(part) for part in expression.split("|")])
        return self._inline(expression)

    def _inline(self, expression: str) -> str:
        head = _HEAD.match(expression)
        if head is None:
            return expression
        found = self.find(head.group())
        return expression if found is None else join(found, expression[head.end() :]) or UNKNOWN
