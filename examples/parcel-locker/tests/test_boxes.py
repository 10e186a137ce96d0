import pytest
from locker.boxes import Box, NoBoxIsLargeEnough, Wall


def wall() -> Wall:
    return Wall([Box(1, 10), Box(2, 30), Box(3, 90)])


def test_the_smallest_box_that_fits_is_given() -> None:
    ##= docs/spec/locker.md#delivery
    ##= type=test
    ##% A courier MUST be given the smallest free box that the parcel fits into.
    assert wall().box_for_delivery(20).number == 2


def test_an_occupied_box_is_never_assigned() -> None:
    ##= docs/spec/locker.md#delivery
    ##= type=test
    ##% The locker MUST NOT open a box that holds a parcel for a new delivery.
    boxes = wall()
    boxes.boxes[1].is_taken = True
    assert boxes.box_for_delivery(20).number == 3


def test_a_parcel_that_fits_nowhere_is_refused() -> None:
    ##= docs/spec/locker.md#delivery
    ##= type=test
    ##% When no box is large enough, the locker MUST refuse the delivery and say so.
    with pytest.raises(NoBoxIsLargeEnough, match="120 litres"):
        wall().box_for_delivery(120)


def test_there_are_no_deliveries_while_the_mains_are_off() -> None:
    ##= docs/spec/locker.md#power
    ##= type=test
    ##% When the mains fail, the locker MUST finish what it is doing and then accept no delivery until they are back.
    dark = wall()
    dark.mains_are_on = False
    with pytest.raises(NoBoxIsLargeEnough):
        dark.box_for_delivery(1)
