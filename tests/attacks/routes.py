"""Every HTTP route, read from the application itself, so new routes are covered automatically."""

from __future__ import annotations

import re
from pathlib import Path

from contextive.config import ConfigRequest, load_config
from contextive.packs import BUILTIN
from contextive.server.host import Host
from contextive.server.http import HttpServer

OPEN = frozenset({"/healthz", "/readyz", "/sign-in", "/assets/site.css", "/instance"})
"""The paths that need no token."""
_FILLED = {"file": "site.css", "profile": "duvet", "name": "km-search", "node_id": "Document:docs/gauge.md"}


def status_without_token(method: str, path: str) -> int:
    """The status of a request without a token. A form of the site needs its Origin even on an open path."""
    if path not in OPEN:
        return 401
    return 403 if method == "POST" else 200


def declared_routes(project: Path) -> list[tuple[str, str]]:
    """Return method and path of every route, with placeholders filled; a route without declared methods gets three."""
    host = Host(load_config(ConfigRequest(project=project, builtin_packs=frozenset(BUILTIN), environ={})), mode="http")
    try:
        application = vars(HttpServer(host, "127.0.0.1").app)["_app"]
        found = []
        for route in application.routes:
            path = re.sub(
                r"\{(\w+)(?::\w+)?\}", lambda placeholder: _FILLED.get(placeholder.group(1), "harbour"), route.path
            )
            methods = sorted((route.methods or {"GET", "POST", "DELETE"}) - {"HEAD", "OPTIONS"})
            found += [(method, path) for method in methods]
    finally:
        host.close()
    return found
