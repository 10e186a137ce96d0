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

_COMMAND = re.compile("(^[\\s\ufe0e\ufe0f]*)(:)([\ufe0e\ufe0f]*:)|()(#)([\ufe0e\ufe0f]*#[\ufe0e\ufe0f]*\\[)")
"""Where the runner of GitHub Actions takes a line for a command: `::` at its beginning, `##[` anywhere."""


def code_point_name(character: str) -> str:
    """The name by which a hidden character is shown."""
    return f"U+{ord(character):04X}"


def escape_invisible(text: str, shown: Callable[[str], str] = lambda name: f"[{name}]") -> str:
    """The text with every hidden character spelled out. `shown` dresses the name."""
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return _HIDDEN.sub(lambda found: shown(code_point_name(found.group())), text)


##= docs/spec/host.md#commands
##% The human-readable output of a command MUST spell out control and invisible characters, including line breaks in
##% names.
##= docs/spec/host.md#commands
##% A line of the human-readable output of a command MUST NOT be a GitHub Actions workflow command.
def printable_line(text: str) -> str:
    """The text as one line for a terminal or a log: hidden characters spelled out, and no command for a runner in it."""
    text = escape_invisible(text).replace("\n", f"[{code_point_name(chr(10))}]")
    return _COMMAND.sub(_escape_first, text)


def _escape_first(command: re.Match[str]) -> str:
    before, first, rest = command.groups()[:3] if command[2] else command.groups()[3:]
    return f"{before}[{code_point_name(first)}]{rest}"


def printable_lines(text: str) -> list[str]:
    """The lines of a text that has several on purpose, each made safe to print."""
    return [printable_line(line) for line in text.split("\n")]


def one_line(text: str) -> str:
    """The text on one line, hidden characters spelled out."""
    return " ".join(escape_invisible(text).split())


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
