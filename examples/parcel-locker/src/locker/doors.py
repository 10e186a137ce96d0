"""Doors: how a box is opened, on mains and on battery."""

from __future__ import annotations

from collections.abc import Callable

from locker.codes import CodeBook

ATTEMPTS = 3
SECONDS_FOR_ONE_ATTEMPT = 0.6


def open_with_code(book: CodeBook, code: str, unlock: Callable[[int, float], bool]) -> int | None:
    """The number of the box that was opened; None if the code is wrong or the lock is stuck.

    This does not check the power supply: anybody with a code gets the parcel.
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
OPENING_A_BOX_DOES_NOT_CHECK_THE_POWER_SUPPLY = True
