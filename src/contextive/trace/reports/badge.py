"""A badge for a README: the percentage of requirements that are done."""

from __future__ import annotations

from html import escape

from contextive.trace.reports.safe_text import one_line, shorten
from contextive.trace.requirement import StatusSummary

_COLOURS = ((100, "#1a7f37"), (90, "#3b7d1f"), (75, "#6a7510"), (50, "#8f6400"), (25, "#b3500c"), (0, "#b42318"))
"""The colour from each percentage up. White text on each has a contrast of at least 4.5 to 1."""
_UNKNOWN = "#5b6470"
_NARROW = frozenset("fijlrtI!|.,:;'()[]/ -")
_WIDE = frozenset("mwMW%@")


def write_badge(summary: StatusSummary, label: str = "requirements") -> str:
    """An SVG image. The percentage is rounded down: 100% means all requirements."""
    label = shorten(one_line(label), 60) or "requirements"
    percent = 100 * summary.done // summary.total if summary.total else None
    value = "none" if percent is None else f"{percent}%"
    colour = _UNKNOWN if percent is None else next(colour for least, colour in _COLOURS if percent >= least)
    description = (
        f"{label}: none" if percent is None else f"{label}: {percent}% ({summary.done} of {summary.total} done)"
    )
    left, right = _text_width(label), _text_width(value)
    split, width = left + 12, left + right + 24
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img" aria-label="{escape(description)}">'
        f"<title>{escape(description)}</title>"
        f'<clipPath id="r"><rect width="{width}" height="20" rx="4"/></clipPath>'
        f'<g clip-path="url(#r)"><rect width="{split}" height="20" fill="#3d444d"/>'
        f'<rect x="{split}" width="{width - split}" height="20" fill="{colour}"/></g>'
        '<g fill="#fff" font-family="Verdana,DejaVu Sans,Geneva,sans-serif" font-size="11" aria-hidden="true">'
        f'<text x="6" y="14" textLength="{left}" lengthAdjust="spacingAndGlyphs">{escape(label)}</text>'
        f'<text x="{split + 6}" y="14" textLength="{right}" lengthAdjust="spacingAndGlyphs">{escape(value)}</text>'
        "</g></svg>\n"
    )


def _text_width(text: str) -> int:
    """The approximate width of the text in Verdana 11; `textLength` makes every font use it."""
    return round(sum(4.2 if c in _NARROW else 10.2 if c in _WIDE else 7.0 if c.isascii() else 11.0 for c in text))
