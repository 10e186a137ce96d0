"""Make text from a project safe to show: invisible and bidirectional control characters are spelled out."""

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
    # One emoji or text selector belongs to the character before it; more than one can hide a message.
    "|(?<=[\ufe00-\ufe0f])[\ufe0e\ufe0f]"
)

_COMMAND = re.compile("(^[\\s\ufe0e\ufe0f]*)(:)([\ufe0e\ufe0f]*:)|()(#)([\ufe0e\ufe0f]*#[\ufe0e\ufe0f]*\\[)")
"""What the GitHub Actions runner reads as a command: `::` at the start of a line, `##[` anywhere."""


def code_point_name(character: str) -> str:
    """The name shown for an invisible character."""
    return f"U+{ord(character):04X}"


def escape_invisible(text: str, format_name: Callable[[str], str] = lambda name: f"[{name}]") -> str:
    """The text with every invisible character replaced by its name. `format_name` adds the brackets."""
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return _HIDDEN.sub(lambda found: format_name(code_point_name(found.group())), text)


##= docs/spec/host.md#commands
##% The human-readable output of a command MUST spell out control and invisible characters, including line breaks in
##% names.
##= docs/spec/host.md#commands
##% A line of the human-readable output of a command MUST NOT be a GitHub Actions workflow command.
def printable_line(text: str) -> str:
    """The text on one line for a terminal or a log, without invisible characters and GitHub Actions commands."""
    text = escape_invisible(text).replace("\n", f"[{code_point_name(chr(10))}]")
    return _COMMAND.sub(_escape_first, text)


def _escape_first(command: re.Match[str]) -> str:
    before, first, rest = command.groups()[:3] if command[2] else command.groups()[3:]
    return f"{before}[{code_point_name(first)}]{rest}"


def printable_lines(text: str) -> list[str]:
    """The lines of a text that is meant to have several, each made safe to print."""
    return [printable_line(line) for line in text.split("\n")]


def one_line(text: str) -> str:
    """The text on one line, with invisible characters spelled out."""
    return " ".join(escape_invisible(text).split())


def shorten(text: str, length: int) -> str:
    """The text, cut to a length with an ellipsis if it is longer."""
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


@lru_cache(maxsize=4096)
def uri_of_path(path: str) -> str:
    """A path as a percent-encoded URI reference. A relative path stays relative."""
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
    """The URL, if it is an http or https one; None for others, such as `javascript:`."""
    if text is None or text[:4].lower() != "http":
        return None  # most are paths
    if not text.isprintable() or any(c in text for c in " \"'<>\\^`{|}"):
        return None
    try:
        parts = urlsplit(text)
    except ValueError:
        return None
    return text if parts.scheme in ("http", "https") and parts.netloc else None
