"""Hooks for mkdocs: convert the marks of code blocks that tests read, and links that lead out of the site."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Any

_FENCE = re.compile(r"^( *```\w+) (?:file=(?P<file>\S+)|files|review)$", re.MULTILINE)
_LINK = re.compile(r"\[([^\]]+)\]\(((?:\.\./)+)([^)#\s]+)(?:#[^)\s]*)?\)")


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """The Markdown of a page, converted for mkdocs."""
    depth = len(PurePosixPath(page.file.src_uri).parts) - 1

    def inside(found: re.Match[str]) -> str:
        leaves = found[2].count("../") > depth
        return f"{found[1]} (`{found[3]}`)" if leaves else found[0]

    return _LINK.sub(inside, _FENCE.sub(_titled, markdown))


def _titled(found: re.Match[str]) -> str:
    return f'{found[1]} title="{found["file"]}"' if found["file"] else found[1]
