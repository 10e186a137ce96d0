"""Sells parking time by the minute, and refunds what is left."""

RATE = 5
"""Cents for one minute."""


# Requirements: 1.1, 1.2
def sell(coins: int) -> tuple[int, int]:
    """Minutes sold and coins returned."""
    minutes = coins // RATE
    return minutes, coins - minutes * RATE


def refund(until: int, now: int) -> int:
    """Coins for the full minutes that are left of a ticket. Times are in seconds."""
    ##= kiro:tickets/2.2
    ##% IF a ticket has expired, THEN THE meter SHALL refund nothing
    if now >= until:
        return 0
    ##= kiro:tickets/2.1
    ##% WHEN a driver returns a ticket, THE meter SHALL refund the full minutes that are left
    return (until - now) // 60 * RATE
