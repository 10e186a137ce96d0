"""Tests that are coroutines: each runs in an event loop of its own."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec

P = ParamSpec("P")


def run_async(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    @functools.wraps(test)
    def run(*given: P.args, **named: P.kwargs) -> None:
        asyncio.run(test(*given, **named))

    return run
