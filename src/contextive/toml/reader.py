"""Reads TOML with limits. Everything that cannot be read raises the same error."""

from __future__ import annotations

import re
import tomllib
from typing import Any, Final

from contextive.errors import ParseError

_MAX_KEY_PARTS: Final = 64
_TOO_DEEP: Final = f"nested more than {_MAX_KEY_PARTS} levels deep"
_PART: Final = r"""(?:[A-Za-z0-9_-]++|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')"""
# tomllib takes quadratic time in the number of key parts, so such a key is refused before it is parsed.
# The expression never backtracks, so its time is linear in the text.
_LONG_KEY: Final = re.compile(
    rf"(?:^|[{{,])[ \t]*+\[{{0,2}}+[ \t]*+(?:{_PART}[ \t]*+\.[ \t]*+){{{_MAX_KEY_PARTS}}}+", re.MULTILINE
)
_POSITION: Final = re.compile(
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
        # Before Python 3.14 the position is only in the message.
        position = _POSITION.match(str(error).splitlines()[0])
        assert position is not None
        if position["line"] is None:
            raise ParseError(position["text"], text.count("\n") + 1) from None
        raise ParseError(position["text"], int(position["line"]), int(position["column"])) from None
    except RecursionError:
        raise ParseError(_TOO_DEEP) from None
    except ValueError:  # Python refuses integers with thousands of digits
        raise ParseError("a number has too many digits") from None
