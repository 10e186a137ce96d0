"""Text from a project, made safe to show: what would be invisible, or turn the reading order, is spelled out."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from urllib.parse import quote, urlsplit

_HIDDEN = re.compile(
    "["
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters; tab and line feed stay
    "\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\u2800\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff9-\ufffb\ufffe\uffff"  # zero width, bidi and blank letters
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff"  # tags and the variation selectors that can carry bytes
    "\ud800-\udfff"  # half of a pair: no encoding can write it
    "]"
    # One emoji or text selector belongs to the character before it; more than one belong to somebody's message.
    "|(?<=[\ufe00-\ufe0f])[\ufe0e\ufe0f]"
)


def spell(character: str) -> str:
    """The name by which a hidden character is shown."""
    return f"U+{ord(character):04X}"


def spell_hidden(text: str, shown: Callable[[str], str] = lambda name: f"[{name}]") -> str:
    """The text with every hidden character spelled out. `shown` dresses the name."""
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return _HIDDEN.sub(lambda found: shown(spell(found.group())), text)


def one_line(text: str) -> str:
    """The text on one line, hidden characters spelled out."""
    return " ".join(spell_hidden(text).split())


def shorten(text: str, length: int) -> str:
    """The text, or its beginning and an ellipsis."""
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


@lru_cache(maxsize=4096)
def uri_of_path(path: str) -> str:
    """A path as a URI reference: relative where the path is, every unusual byte percent-encoded."""
    try:
        data = path.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        data = path.encode("utf-8", "surrogatepass")
    encoded = quote(data, safe="/")
    if encoded.startswith("//"):
        encoded = "/" + encoded.lstrip("/")
    return f"file://{encoded}" if encoded.startswith("/") else encoded


@lru_cache(maxsize=4096)
def web_link(text: str | None) -> str | None:
    """The address, where it leads to the web. `javascript:` and its kind are text, never links."""
    if text is None or text[:4].lower() != "http":
        return None  # most are paths
    if not text.isprintable() or any(c in text for c in " \"'<>\\^`{|}"):
        return None
    try:
        parts = urlsplit(text)
    except ValueError:
        return None
    return text if parts.scheme in ("http", "https") and parts.netloc else None
