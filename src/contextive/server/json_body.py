"""JSON from clients, with a check for keys that occur twice.

Of two equal keys this server would believe the last one, and a proxy in front that checks requests perhaps the first.
"""

from __future__ import annotations

import json
from typing import Any

from pydantic_core import from_json

from contextive.errors import InvalidRequest

# Python's own decoder, because it hands over the pairs of an object before they become a dict. Only their number is
# wanted, so nothing else is converted.
_PAIRS = json.JSONDecoder(object_pairs_hook=len, parse_int=str, parse_float=str)


class RepeatedKey(InvalidRequest):
    """The body of a request has a key twice at its top level."""

    def __init__(self) -> None:
        super().__init__("The body has the same key twice at its top level.", hint="Send each key once.")


def decode_json(data: bytes) -> Any:
    """The value of a JSON text. Raises `ValueError` for anything else, such as NaN or a byte order mark."""
    return from_json(data, allow_inf_nan=False)


def count_keys(data: bytes) -> Any:
    """How many keys a valid JSON text writes in its top-level object; a list of such numbers for an array of objects."""
    return _PAIRS.decode(data.decode())


##= docs/spec/host.md#malformed-messages
##% A request with a duplicate key at its top level MUST be refused.
def has_repeated_key(value: Any, key_count: Any) -> bool:
    """Whether a decoded object has fewer keys than were written, as `count_keys` returns them."""
    return isinstance(value, dict) and len(value) != key_count
