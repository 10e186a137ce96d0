"""Links that open a file in an editor, built from the configured template."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePath
from typing import Final
from urllib.parse import quote

_PLACEHOLDER: Final = re.compile(r"\{(\w*)\}")
_PLACEHOLDERS: Final = frozenset({"path", "abs_path", "line", "line_start", "line_end"})


@dataclass(frozen=True, slots=True)
class EditorLinks:
    """A template with {path}, {abs_path}, {line}, {line_start} and {line_end}.

    A template with any other placeholder produces no links.
    """

    template: str | None
    root: PurePath | None = None
    """The project directory, for {abs_path}."""

    ##= docs/spec/knowledge.md#km-search-answers
    ##% A symbol MUST have an `editor_uri` if `knowledge.editorUriTemplate` is set.
    def link(self, path: str, line_start: int, line_end: int) -> str | None:
        """The link to some lines of a file; None without a usable template."""
        if not self.template or not _PLACEHOLDERS.issuperset(_PLACEHOLDER.findall(self.template)):
            return None
        values = {
            "path": _percent_encode(path),
            "abs_path": _percent_encode((self.root / path).as_posix() if self.root is not None else path),
            "line": str(line_start),
            "line_start": str(line_start),
            "line_end": str(line_end),
        }
        return _PLACEHOLDER.sub(lambda match: values[match[1]], self.template)


##= docs/spec/knowledge.md#km-search-answers
##% The path in an `editor_uri` MUST be percent-encoded, except for its slashes.
def _percent_encode(path: str) -> str:
    return quote(path.encode("utf-8", "surrogatepass"), safe="/")
