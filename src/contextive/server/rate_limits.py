"""Rate limits: fixed windows, counted per key, in bounded memory."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from contextive.config import Config
from contextive.errors import RateLimited
from contextive.server.client_address import TrustedProxies

_MAX_KEYS = 10_000
_OVERFLOW_KEY = "the rest"


class RateLimiter:
    """Counts events per key and window. The clock is a parameter so that tests need not wait.

    When there are too many keys, the window that ends soonest is dropped, which harms no one. With `shares_when_full`
    new keys are counted together instead: an attacker with many addresses gets no new tries, and other callers at
    new addresses share the rest. That is for limits that never refuse a valid request.
    """

    def __init__(
        self,
        allowed: int,
        window_seconds: float,
        clock: Callable[[], float] = time.monotonic,
        *,
        shares_when_full: bool = False,
    ) -> None:
        self.allowed = allowed
        self.window_seconds = window_seconds
        self._clock = clock
        self._shares_when_full = shares_when_full
        # Ordered by start, so the first window ends first.
        self._windows: OrderedDict[str, tuple[float, int]] = OrderedDict()

    ##= docs/spec/host.md#limits
    ##% A caller that exceeds `limits.rateRequests` in a window MUST be refused with 429 and the number of seconds to
    ##% wait.
    def count(self, key: str) -> None:
        """Count one event. Raises `RateLimited`, with the seconds to wait, when the window is full."""
        if self.allowed <= 0:
            return
        now = self._clock()
        self._drop_expired(now)
        key = self._bucket_key(key)
        started, seen = self._windows.get(key, (now, 0))
        self._windows[key] = (started, seen + 1)
        if len(self._windows) > _MAX_KEYS:
            self._windows.popitem(last=False)
        if seen >= self.allowed:
            self._refuse(started, now)

    def check(self, key: str) -> None:
        """Raise `RateLimited` if the window is full, without counting."""
        now = self._clock()
        self._drop_expired(now)
        started, seen = self._windows.get(self._bucket_key(key), (now, 0))
        if 0 < self.allowed <= seen:
            self._refuse(started, now)

    def _drop_expired(self, now: float) -> None:
        while self._windows:
            key, (started, _) = next(iter(self._windows.items()))
            if now - started < self.window_seconds:
                return
            del self._windows[key]

    def _bucket_key(self, key: str) -> str:
        is_full = self._shares_when_full and len(self._windows) >= _MAX_KEYS - 1
        return _OVERFLOW_KEY if is_full and key not in self._windows else key

    def _refuse(self, started: float, now: float) -> None:
        wait = max(1, math.ceil(started + self.window_seconds - now))
        raise RateLimited("Rate limit exceeded.", retry_after_seconds=wait, hint=f"Wait {wait} seconds.")


@dataclass(frozen=True, slots=True)
class CallerLimits:
    """The rate limits of HTTP requests, and the proxies that decide which address is counted.

    Tokens and addresses are counted separately, so that many addresses cannot evict the count of a token.
    """

    proxies: TrustedProxies
    tokens: RateLimiter
    addresses: RateLimiter
    monitoring: RateLimiter
    failures: RateLimiter

    @classmethod
    def of(cls, config: Config, clock: Callable[[], float] = time.monotonic) -> CallerLimits:
        limits = config.limits
        allowed, seconds = limits.rate_requests, limits.rate_window_seconds
        return cls(
            proxies=TrustedProxies.of(config.server.trusted_proxies),
            tokens=RateLimiter(allowed, seconds, clock),
            addresses=RateLimiter(allowed, seconds, clock),
            monitoring=RateLimiter(allowed, seconds, clock),
            failures=RateLimiter(limits.auth_failures, seconds, clock, shares_when_full=True),
        )
