"""An estimate of what a text costs a model, the same on every machine.

A word counts one for every eight letters that it begins, a number one for every three digits, and punctuation one for every
three characters in a row. Real tokenisers differ from one another by more than this differs from them, and none of them is a
dependency that a test should have. Compare figures of this estimator with each other only.
"""

from __future__ import annotations

import json
import re
from typing import Any

_PIECE = re.compile(r"[^\W\d_]{1,8}|\d{1,3}|(?:[^\w\s]|_){1,3}")


def estimate_tokens(text: str) -> int:
    return len(_PIECE.findall(text))


def estimate_json_tokens(value: Any) -> int:
    """The estimate for a value in the compact form in which it travels."""
    return estimate_tokens(json.dumps(value, ensure_ascii=False, separators=(",", ":")))
