from meter.tickets import RATE, refund, sell


def test_money_is_conserved() -> None:
    """Feature: tickets, Property 1: Money is conserved. Validates: Requirements 1.1, 1.2"""
    for coins in range(100):
        minutes, returned = sell(coins)
        assert minutes * RATE + returned == coins
        assert returned < RATE


def test_the_full_minutes_that_are_left_are_refunded() -> None:
    """Validates: Requirements 2.1, 2.2"""
    assert refund(until=150, now=0) == 2 * RATE
    assert refund(until=150, now=150) == 0
