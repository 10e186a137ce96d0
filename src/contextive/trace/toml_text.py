"""TOML as projects write it: read within limits, with one error for everything that cannot be read."""

from __future__ import annotations

import re
import tomllib
from typing import Any

_PART = r"""(?:[A-Za-z0-9_-]++|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')"""
_MAX_PARTS = 1000
# tomllib needs time in the square of the number of parts, so such a key is refused before it is parsed.
# Nothing is ever given back, so that the search takes no longer than the text is long.
_LONG_KEY = re.compile(
    rf"(?:^|[{{,])[ \t]*+\[{{0,2}}+[ \t]*+(?:{_PART}[ \t]*+\.[ \t]*+){{{_MAX_PARTS}}}+", re.MULTILINE
)


class NotToml(ValueError):
    """A text that is not TOML, or goes beyond what is read. Its words are those of the parser, the place behind them."""


def read_toml(text: str) -> dict[str, Any]:
    """The value of a TOML text."""
    if long_key := _LONG_KEY.search(text):
        line = text.count("\n", 0, long_key.start()) + 1
        raise NotToml(f"A key has more than {_MAX_PARTS} parts (at line {line}, column 1)")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as failure:
        raise NotToml(str(failure)) from None
    except RecursionError:
        raise NotToml("Arrays or tables are nested too deep") from None
    except ValueError:  # Python refuses to read integers of thousands of digits
        raise NotToml("A number has too many digits") from None
