"""HTML fragments of the report. All text from a project passes through `escaped` or `escaped_attribute`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from contextive.trace.level import CitationType
from contextive.trace.reports.coverage_spans import NO_KINDS, Kinds, TextPiece
from contextive.trace.reports.safe_text import escape_invisible, one_line
from contextive.trace.requirement import Status, StatusSummary

STATUS_GROUPS = (
    ("complete", "done", (Status.COMPLETE,)),
    ("exception", "exception", (Status.EXCEPTION,)),
    ("partial", "in progress", (Status.MISSING_TEST, Status.MISSING_CITATION, Status.PARTIAL)),
    ("todo", "todo", (Status.TODO,)),
    ("open", "not started", (Status.NOT_STARTED,)),
)
MARK_LABELS = {
    CitationType.CITATION: "implemented",
    CitationType.IMPLICATION: "implied",
    CitationType.TEST: "tested",
    CitationType.EXCEPTION: "exception",
    CitationType.TODO: "todo",
}


_PLAIN = re.compile("[\\t\\n !#-%(-;=?-~]*")
"""Text that needs no escaping in HTML: visible ASCII without special characters."""


def escape(text: str) -> str:
    """The same as `html.escape`, without loading the module, which also loads all character names."""
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return text.replace('"', "&quot;").replace("'", "&#x27;")


def escaped(text: str) -> str:
    """The text as HTML, with invisible characters spelled out and framed."""
    if _PLAIN.fullmatch(text):
        return text
    return escape_invisible(escape(text), lambda name: f'<span class="hidden-char">{name}</span>')


def escaped_attribute(text: str) -> str:
    return escape(one_line(text))


def external_link(address: str | None, inner: str, css: str = "") -> str:
    """A link to another page, or plain text if there is no safe address."""
    css_class = f' class="{css}"' if css else ""
    if address is None:
        return f"<span{css_class}>{inner}</span>"
    return f'<a{css_class} href="{escape(address)}" rel="noopener noreferrer" target="_blank">{inner}</a>'


def percent(summary: StatusSummary) -> str:
    """The percentage that is done, rounded down: 100% means all."""
    return f"{100 * summary.done // summary.total}%" if summary.total else "none"


def bar(summary: StatusSummary) -> str:
    """A bar with the share of each status group. SVG, because the content security policy forbids style attributes."""
    return _bar(tuple(summary.by_status.items()))


@lru_cache(maxsize=4096)
def _bar(by_status: tuple[tuple[Status, int], ...]) -> str:
    numbers = dict(by_status)
    counts = [(css, label, sum([numbers[status] for status in statuses])) for css, label, statuses in STATUS_GROUPS]
    description = ", ".join(f"{count} {label}" for _, label, count in counts if count) or "no requirements"
    parts, position = [], 0
    for css, _, count in counts:
        if count:
            parts.append(f'<rect class="{css}" x="{position}" width="{count}" height="1"/>')
            position += count
    view = f'viewBox="0 0 {max(position, 1)} 1" preserveAspectRatio="none"'
    return f'<svg class="bar" role="img" aria-label="{description}" {view}>{"".join(parts)}</svg>'


def _css_class(kinds: Kinds) -> str:
    if CitationType.EXCEPTION in kinds:
        return "exception"
    if CitationType.IMPLICATION in kinds or {CitationType.CITATION, CitationType.TEST} <= kinds:
        return "both"
    for kind, css_class in ((CitationType.CITATION, "impl"), (CitationType.TEST, "test"), (CitationType.TODO, "todo")):
        if kind in kinds:
            return css_class
    return "open"


class _MarkTags(dict[Kinds, tuple[str, str]]):
    """The opening tag for each set of citation types: with a label, and without one for a run that continues."""

    def __missing__(self, kinds: Kinds) -> tuple[str, str]:
        label = " + ".join(name for kind, name in MARK_LABELS.items() if kind in kinds) or "not covered"
        css_class = _css_class(kinds)
        self[kinds] = found = (f'<mark class="{css_class}" data-label="{label}">', f'<mark class="{css_class}">')
        return found


_MARK_TAGS = _MarkTags()


def mark_pieces(pieces: Sequence[TextPiece]) -> str:
    """The pieces as HTML with marks. In a run of equal marks, only the last one has a label."""
    plain = _PLAIN.fullmatch("".join([text for text, _ in pieces])) is not None
    parts: list[str] = []
    following = NO_KINDS
    for text, kinds in reversed(pieces):
        escaped_text = text if plain else escaped(text)
        if kinds and not text.isspace():
            opening = _MARK_TAGS[kinds][kinds == following]
            is_tight = text[0] != " " and text[-1] != " "
            parts.append(f"{opening}{escaped_text}</mark>" if is_tight else _mark(text, escaped_text, opening))
            following = kinds
        else:
            parts.append(escaped_text)
            if following and text.strip():
                following = NO_KINDS
    return "".join(parts[::-1])


def _mark(text: str, escaped_text: str, opening: str) -> str:
    """A text with its mark; spaces around it stay outside."""
    before, _, after = text.partition(text.strip(" "))
    return f"{before}{opening}{escaped_text.strip(' ')}</mark>{after}"
