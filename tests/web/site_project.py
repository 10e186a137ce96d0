"""A copy of the example project, as the views see it."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from contextive.config import ConfigRequest, load_config
from contextive.packs import BUILTIN
from contextive.search.editor_links import EditorLinks
from contextive.server.host import Host
from contextive.web.page import Page
from contextive.web.project import SiteProject
from contextive.web.rendering import Frame, render
from contextive.web.views import VIEWS

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "parcel-locker"


def copy_example(target: Path) -> Path:
    """A copy of the example without its index, so that no test changes the original."""
    return Path(shutil.copytree(EXAMPLE, target, ignore=shutil.ignore_patterns(".contextive")))


def open_host(project: Path) -> Host:
    request = ConfigRequest(project=project, builtin_packs=frozenset(BUILTIN), environ={})
    return Host(load_config(request), mode="in-process")


def site_project(host: Host, **changes: Any) -> SiteProject:
    root = host.loaded.project
    values: dict[str, Any] = {
        "name": root.name,
        "services": host.services,
        "checks": host.checks,
        "links": EditorLinks("vscode://file/{abs_path}:{line}", root),
        "profile": host.profile.name,
        "address": "http://127.0.0.1:8765",
    }
    return SiteProject(**{**values, **changes})


def page_of(project: SiteProject, view: str, given: Mapping[str, str] | None = None) -> Page:
    """The page of a view, by the view's name."""
    found = next(one for one in VIEWS if one.name == view).build(project, given or {})
    assert isinstance(found, Page)
    return found


def html_of(page: Page) -> str:
    return render(page, Frame(project="parcel-locker", path="/"))
