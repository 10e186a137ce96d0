from __future__ import annotations

import gc

from contextive.knowledge.extraction import extract_names

SOURCE = """
class Shop:
    def __init__(self, orders: list[Order]) -> None:
        self.orders = orders

    def sum(self) -> int:
        return sum(order.price() for order in self.orders)
"""


def test_reading_a_file_leaves_nothing_for_the_garbage_collector() -> None:
    extract_names("shop.py", SOURCE, "python", "code")
    gc.collect()
    gc.disable()
    try:
        names = extract_names("shop.py", SOURCE, "python", "code")
        assert gc.collect() == 0
    finally:
        gc.enable()
    assert names.hints
