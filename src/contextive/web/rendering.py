"""Turns pages into HTML, with templates that escape everything, and into JSON."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, is_dataclass
from functools import cache
from importlib import resources
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from markupsafe import Markup

from contextive.trace.reports.safe_text import escape_invisible
from contextive.web import words
from contextive.web.addresses import file_address, note_address, with_query
from contextive.web.page import Page, View

ASSETS: Final = {"site.css": "text/css", "site.js": "text/javascript", "graph.js": "text/javascript"}
"""The files that pages load, with their media types."""
_LONGEST_LINK: Final = 2_048


@dataclass(frozen=True, slots=True)
class Frame:
    """What every page shows besides its content."""

    project: str
    path: str
    """The address of the page itself, with its query."""
    navigation: tuple[View, ...] = ()
    theme: str = ""
    """`light` or `dark` if the reader has chosen one."""
    caller: str = ""
    """Who has signed in; empty if signing in is not needed."""
    form_token: str = ""
    may_write: bool = False


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("contextive.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters |= {
        "ago": words.ago,
        "css_class": words.css_class,
        "exact_time": words.exact_time,
        "plural": words.plural,
        "short_number": words.short_number,
        "short_path": words.short_path,
        "visible": visible,
        "web_link": safe_link,
    }
    environment.globals |= {
        "asset": asset_address,
        "file_address": file_address,
        "note_address": note_address,
        "sparkline": sparkline,
        "with_query": with_query,
        "json_address": json_address,
    }
    return environment


##= docs/spec/site.md#pages
##% A page MUST show text of the project as text: markup in it has no effect.
def render(page: Page, frame: Frame) -> str:
    """The page as HTML."""
    template = _environment().get_template(page.template)
    return template.render(page=page, it=page.content, frame=frame)


##= docs/spec/site.md#pages
##% Every page MUST also be available as JSON, with `?format=json` or with the header `Accept: application/json`.
def to_json(page: Page) -> bytes:
    """The content of the page as JSON."""
    content: Any = page.content
    data = asdict(content) if is_dataclass(content) and not isinstance(content, type) else content
    return json.dumps(data, ensure_ascii=True, default=str, separators=(",", ":")).encode()


@cache
def asset(name: str) -> bytes:
    """The content of a file that pages load."""
    return (resources.files("contextive.web") / "assets" / name).read_bytes()


@cache
def asset_address(name: str) -> str:
    """The address of a file that pages load. It changes with the content, so browsers may keep the file."""
    return f"/assets/{name}?v={hashlib.sha256(asset(name)).hexdigest()[:16]}"


def visible(text: str) -> Markup:
    """The text with invisible characters spelled out. The rest is escaped as usual."""
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return Markup.escape(text)
    escaped = str(Markup.escape(text))
    return Markup(escape_invisible(escaped, lambda name: f'<span class="invisible">{name}</span>'))  # noqa: S704


def safe_link(address: str | None) -> str | None:
    """An address that a page may link to; None for every other scheme, such as `javascript:`."""
    if address is None or len(address) > _LONGEST_LINK or not address.isprintable():
        return None
    return address if address.lower().startswith(("http://", "https://", "mailto:")) else None


def sparkline(points: tuple[int, ...]) -> str:
    """The points of a line through percentages, for a polyline in a box of 100 by 24."""
    if len(points) < 2:
        return ""
    step = 100 / (len(points) - 1)
    return " ".join(f"{number * step:.1f},{22 - 20 * value / 100:.1f}" for number, value in enumerate(points))


@pass_context
def json_address(context: Context) -> str:
    """The address of this page as JSON."""
    path = str(context["frame"].path)
    return f"{path}{'&' if '?' in path else '?'}format=json"
