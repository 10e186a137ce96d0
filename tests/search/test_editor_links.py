"""Editor links: the path can be decoded from the link, whatever the name of the file."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

from hypothesis import given
from hypothesis import strategies as st

from contextive.search.editor_links import EditorLinks

_PART = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="/\0"), min_size=1, max_size=20)
_PATHS = st.lists(_PART.filter(lambda part: part not in (".", "..")), min_size=1, max_size=4).map("/".join)


##= docs/spec/knowledge.md#km-search-answers
##% The path in an `editor_uri` MUST be percent-encoded, except for its slashes.
@given(_PATHS)
def test_the_path_can_be_decoded_from_the_link(path: str) -> None:
    link = EditorLinks("editor://open/{abs_path}?line={line}", PurePosixPath("/a b")).link(path, 3, 4)
    assert link is not None
    parts = urlsplit(link)
    assert (unquote(parts.path), parts.query, parts.fragment) == (f"//a b/{path}", "line=3", "")
    assert re.fullmatch(r"[\w.~/%-]+", parts.path, re.ASCII)


def test_special_characters_of_urls_are_encoded() -> None:
    link = EditorLinks("vscode://file/{path}:{line}").link("a#b?c%20 d'\"é.py", 1, 2)
    assert link == "vscode://file/a%23b%3Fc%2520%20d%27%22%C3%A9.py:1"
