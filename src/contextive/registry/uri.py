"""RFC 6570 URI templates of level 1 and 2.

`{name}` matches one path segment, `{+name}` several. The SDK has a full matcher, but importing it takes a second, and
commands such as `tools` and `call` do not need the SDK.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import quote, unquote

_VARIABLE = re.compile(r"\{(\+?)([A-Za-z_][A-Za-z0-9_]*)\}")


@dataclass(frozen=True)
class UriTemplate:
    """A URI template."""

    text: str

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(match.group(2) for match in _VARIABLE.finditer(self.text))

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        pattern, end = "", 0
        for match in _VARIABLE.finditer(self.text):
            pattern += re.escape(self.text[end : match.start()])
            pattern += f"(?P<{match.group(2)}>.+)" if match.group(1) else f"(?P<{match.group(2)}>[^/?#]+)"
            end = match.end()
        return re.compile(pattern + re.escape(self.text[end:]) + r"\Z", re.DOTALL)

    def match(self, uri: str) -> dict[str, str] | None:
        """The decoded variables, or None if `uri` does not match."""
        found = self._pattern.match(uri)
        return {name: unquote(value) for name, value in found.groupdict().items()} if found else None

    def fill(self, variables: Mapping[str, str]) -> str:
        """The URI with all variables encoded and filled in."""

        def encoded(match: re.Match[str]) -> str:
            return quote(variables[match.group(2)], safe="/:@" if match.group(1) else ":@")

        return _VARIABLE.sub(encoded, self.text)


##= docs/spec/host.md#resources-and-prompts
##% A path without a scheme MUST be accepted for a resource whose URI has no authority.
def bare_path_candidates(uri: str, schemes: tuple[str, ...]) -> tuple[str, ...]:
    """The URIs that `uri` can mean: itself, or for a bare path the path in each scheme without authority."""
    if uri.startswith("/") and not uri.startswith("//"):
        return tuple(f"{scheme}://{uri}" for scheme in schemes)
    return (uri,)
