"""The values of a TOML text, read within limits, with one error for everything that cannot be read."""

from __future__ import annotations

import re
import tomllib
from typing import Any, Final

from contextive.errors import ParseError

_MAX_KEY_PARTS: Final = 64
_TOO_DEEP: Final = f"nested more than {_MAX_KEY_PARTS} levels deep"
_PART: Final = r"""(?:[A-Za-z0-9_-]++|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')"""
# tomllib needs time in the square of the number of parts, so such a key is refused before it is parsed.
# The search never backtracks, so its time grows with the text alone.
_LONG_KEY: Final = re.compile(
    rf"(?:^|[{{,])[ \t]*+\[{{0,2}}+[ \t]*+(?:{_PART}[ \t]*+\.[ \t]*+){{{_MAX_KEY_PARTS}}}+", re.MULTILINE
)
_PLACE: Final = re.compile(
    r"^(?P<text>.*?)(?: \(at (?:line (?P<line>\d+), column (?P<column>\d+)|end of document)\))?$"
)


def read_toml(text: str) -> dict[str, Any]:
    """The values of a TOML text; raises ParseError."""
    if long_key := _LONG_KEY.search(text):
        line = text.count("\n", 0, long_key.start()) + 1
        raise ParseError(_TOO_DEEP, line)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        # Before Python 3.14 the place is in the message alone.
        place = _PLACE.match(str(error).splitlines()[0])
        assert place is not None
        if place["line"] is None:
            raise ParseError(place["text"], text.count("\n") + 1) from None
        raise ParseError(place["text"], int(place["line"]), int(place["column"])) from None
    except RecursionError:
        raise ParseError(_TOO_DEEP) from None
    except ValueError:  # Python refuses to read integers of thousands of digits
        raise ParseError("a number has too many digits") from None
