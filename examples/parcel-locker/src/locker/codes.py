"""Codes: how they are created, used once, and protected against guessing."""

from __future__ import annotations

import hashlib
import logging
import secrets
from dataclasses import dataclass, field

log = logging.getLogger("locker")

WRONG_CODES = 5
WINDOW_SECONDS = 10 * 60
PAUSE_SECONDS = 15 * 60


def new_code() -> str:
    """Eight digits that nobody can guess."""
    ##= docs/spec/locker.md#codes
    ##% A code MUST have eight digits from a source of randomness that is fit for secrets.
    return f"{secrets.randbelow(100_000_000):08}"


@dataclass
class CodeBook:
    """Which code opens which box. Codes are stored only as hashes."""

    _boxes: dict[str, int] = field(default_factory=dict)

    def issue(self, box: int) -> str:
        code = new_code()
        self._boxes[_hash(code)] = box
        return code

    def redeem(self, code: str) -> int | None:
        """The box that this code opens, or None. A code works only once."""
        ##= docs/spec/locker.md#codes
        ##% A code MUST open one box, once.
        box = self._boxes.pop(_hash(code), None)

        ##= docs/spec/locker.md#codes
        ##% The locker MUST NOT write a code into its log.
        log.info("a code was entered; box %s", "none" if box is None else box)
        return box


@dataclass
class Guard:
    """Counts wrong codes and makes the panel wait."""

    _wrong: list[float] = field(default_factory=list)
    _closed_until: float = 0.0

    def may_try(self, now: float) -> bool:
        return now >= self._closed_until

    def wrong_code(self, now: float) -> None:
        ##= docs/spec/locker.md#codes
        ##% After five wrong codes within ten minutes the panel MUST take no further code for fifteen minutes.
        self._wrong = [at for at in self._wrong if now - at < WINDOW_SECONDS] + [now]
        if len(self._wrong) >= WRONG_CODES:
            self._closed_until = now + PAUSE_SECONDS
            self._wrong.clear()


def _hash(code: str) -> str:
    return hashlib.sha256(code.encode()).hexdigest()
