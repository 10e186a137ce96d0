"""Doors: how a box is opened, on mains and on battery."""

from __future__ import annotations

from collections.abc import Callable

from locker.codes import CodeBook

ATTEMPTS = 3
SECONDS_FOR_ONE_ATTEMPT = 0.6


def open_with_code(book: CodeBook, code: str, unlock: Callable[[int, float], bool]) -> int | None:
    """The number of the box that was opened; None where the code opens none or the lock is stuck.

    The battery is not asked: who has a code gets the parcel.
    """
    box = book.redeem(code)
    if box is None:
        return None

    ##= docs/spec/locker.md#fetching
    ##% Opening a box MUST take no longer than three seconds after the last digit of the code.
    for _ in range(ATTEMPTS):
        if unlock(box, SECONDS_FOR_ONE_ATTEMPT):
            return box
    return None


##= docs/spec/locker.md#power
##= type=implication
##% On battery the locker MUST still give out parcels.
POWER_IS_NOT_ASKED_FOR_WHEN_A_BOX_OPENS = True
