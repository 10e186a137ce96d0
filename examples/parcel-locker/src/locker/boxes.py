"""The boxes of a wall, and how a box is chosen for a delivery."""

from __future__ import annotations

from dataclasses import dataclass


class NoBoxIsLargeEnough(Exception):
    """Every box that the parcel fits into is taken."""


@dataclass
class Box:
    """One box: its number, its volume in litres, and whether it is taken or broken."""

    number: int
    litres: int
    is_taken: bool = False
    is_broken: bool = False


@dataclass
class Wall:
    """All boxes of one locker."""

    boxes: list[Box]
    mains_are_on: bool = True

    def box_for_delivery(self, litres: int) -> Box:
        """The box that a courier is sent to."""
        ##= docs/spec/locker.md#power
        ##% When the mains fail, the locker MUST finish what it is doing and then accept no delivery until they are back.
        if not self.mains_are_on:
            raise NoBoxIsLargeEnough("no delivery while the mains are off")

        ##= docs/spec/locker.md#delivery
        ##% The locker MUST NOT open a box that holds a parcel for a new delivery.
        free = [box for box in self.boxes if not box.is_taken and not box.is_broken]

        ##= docs/spec/locker.md#delivery
        ##% When no box is large enough, the locker MUST refuse the delivery and say so.
        fitting = [box for box in free if box.litres >= litres]
        if not fitting:
            raise NoBoxIsLargeEnough(f"no free box takes {litres} litres")

        ##= docs/spec/locker.md#delivery
        ##% A courier MUST be given the smallest free box that the parcel fits into.
        return min(fitting, key=lambda box: box.litres)
