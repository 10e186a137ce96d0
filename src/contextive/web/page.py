"""What a view returns: a template with its content, which is also the JSON form of the page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from contextive.web.project import SiteProject

Parameters = Mapping[str, str]
"""The parts of the path that the route names, and the query."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page: the template, the title, and a dataclass with everything that the template shows."""

    template: str
    title: str
    content: object
    section: str = ""
    """The entry of the navigation that the page belongs to."""
    status: int = 200


@dataclass(frozen=True, slots=True)
class Download:
    """A file to save instead of a page."""

    name: str
    media_type: str
    text: str


@dataclass(frozen=True, slots=True)
class View:
    """One view: its path, with the syntax of Starlette's routes, and the function that builds its page."""

    name: str
    path: str
    build: Callable[[SiteProject, Parameters], Page | Download]
    pack: str
    """The pack whose tools answer the same questions. If it is switched off, so is the view."""
    label: str = ""
    """The text of its entry in the navigation."""


@dataclass(frozen=True, slots=True)
class Problem:
    """The content of an error page."""

    code: str
    message: str
    hint: str | None = field(default=None)
