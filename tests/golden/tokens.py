"""Estimate the number of tokens of a text, the same on every machine.

A word counts one token per eight letters, a number one per three digits, and punctuation one per three characters in a
row, each rounded up. Real tokenisers differ more from one another than from this estimate, and tests should not depend
on one. Compare the figures only with each other.
"""

from __future__ import annotations

import json
import re
from typing import Any

_PIECE = re.compile(r"[^\W\d_]{1,8}|\d{1,3}|(?:[^\w\s]|_){1,3}")


def estimate_tokens(text: str) -> int:
    return len(_PIECE.findall(text))


def estimate_json_tokens(value: Any) -> int:
    """Return the estimate for a value as compact JSON, as it is sent."""
    return estimate_tokens(json.dumps(value, ensure_ascii=False, separators=(",", ":")))
