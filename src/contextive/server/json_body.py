"""Decodes JSON from clients and checks for repeated keys.

Of two equal keys this server would use the last one, while a proxy in front that checks requests may use the first.
"""

from __future__ import annotations

import json
from typing import Any

from pydantic_core import from_json

from contextive.errors import InvalidRequest

# Python's own decoder, because its hook gets the pairs of an object before they become a dict. Only their number is
# needed, so numbers are not converted.
_PAIRS = json.JSONDecoder(object_pairs_hook=len, parse_int=str, parse_float=str)


class RepeatedKey(InvalidRequest):
    """The body of a request has the same key twice at its top level."""

    def __init__(self) -> None:
        super().__init__("The body has the same key twice at its top level.", hint="Send each key once.")


def decode_json(data: bytes) -> Any:
    """Decode a JSON text. Raises `ValueError` for anything else, such as NaN or a byte order mark."""
    return from_json(data, allow_inf_nan=False)


def count_keys(data: bytes) -> Any:
    """The number of keys written in the top-level object of a JSON text; for an array, a list of these numbers."""
    return _PAIRS.decode(data.decode())


##= docs/spec/host.md#malformed-messages
##% A request with a duplicate key at its top level MUST be refused.
def has_repeated_key(value: Any, key_count: Any) -> bool:
    """Whether a decoded object has fewer keys than `count_keys` counted in its text."""
    return isinstance(value, dict) and len(value) != key_count
