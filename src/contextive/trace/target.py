"""Targets of citations: the specification, by URL or path."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from urllib.parse import quote, urlsplit

from contextive.trace.specification import Format

_RFC = r"(?s)https?://(?:www\.rfc-editor\.org/rfc|tools\.ietf\.org/rfc|datatracker\.ietf\.org/doc/html)/rfc(.*)\Z"
_RFC_BASE_URL = "https://www.rfc-editor.org/rfc/rfc"


@dataclass(frozen=True, slots=True)
class Target:
    """A specification as citations name it. Two spellings of one document are two targets, as in duvet."""

    path: str
    format: Format = Format.AUTO
    path_in_project: str | None = field(default=None, compare=False)
    """The path relative to the project directory, if the citation has an absolute one."""

    @property
    def display_name(self) -> str:
        """The name in reports."""
        return self.path if self.path_in_project is None else self.path_in_project

    @property
    def is_url(self) -> bool:
        return "://" in self.path

    def sort_key(self) -> tuple[int, tuple[tuple[int, str], ...], int]:
        """Sorts URLs before paths."""
        parts = ((0, self.path),) if self.is_url else tuple(_path_parts(self.path))
        return (0 if self.is_url else 1, parts, list(Format).index(self.format))

    @property
    def canonical(self) -> str:
        """The same name for every spelling of a document."""
        return canonical_url(self.path) if self.is_url else posixpath.normpath(self.path)


@dataclass(frozen=True, slots=True)
class TargetQuery:
    """The path or URL of a specification, as a citation writes it. Equal queries resolve to the same specification."""

    path: str
    format: Format
    base: str | None
    """The file whose directories are searched for a relative path; None means the project directory."""


@dataclass(frozen=True, slots=True)
class UnavailableSpec:
    """The error message for a specification that cannot be loaded."""

    reason: str


def _path_parts(path: str) -> Iterator[tuple[int, str]]:
    """The components of a path with their rank: first the root, then a leading `.`, then `..`, then names."""
    if path.startswith("/"):
        yield 0, ""
    for index, part in enumerate(path.split("/")):
        if part == ".." or (part == "." and index == 0):
            yield len(part), ""
        elif part not in ("", "."):
            yield 3, part


##= docs/spec/trace.md#targets
##% Every common URL of an RFC MUST lead to the same stored copy.
def canonical_url(url: str) -> str:
    """The URL from which a document is loaded. All common URLs of an RFC become the URL of its plain text."""
    found = re.match(_RFC, url)  # compiled on first use: most projects cite files
    if found is None:
        return url
    number = found.group(1).rstrip("/")
    for ending in (".txt", ".html", ".xml", ".pdf"):
        while number.endswith(ending):
            number = number.removesuffix(ending)
    return f"{_RFC_BASE_URL}{number}.txt"


def normalise_url(url: str) -> str:
    """A URL as URL parsers print it: scheme and host in lower case, dots resolved, the rest escaped."""
    return _normalised(url) if len(url) <= _LONGEST_CACHED else _normalised.__wrapped__(url)


# A project names the same few documents again and again, and every call of a tool resolves all of their names.
@lru_cache(maxsize=1024)
def _normalised(url: str) -> str:
    scheme, mark, rest = url.strip(_CONTROLS).translate(_REMOVED_FROM_URLS).partition("://")
    if not mark or scheme.lower() not in _DEFAULT_PORTS:
        return url
    rest = rest.partition("#")[0].lstrip("/\\")
    authority_end = next((index for index, character in enumerate(rest) if character in "/\\?"), len(rest))
    user, at, host = rest[:authority_end].rpartition("@")
    path, question, query = rest[authority_end:].partition("?")
    host = _normalise_host(host).removesuffix(f":{_DEFAULT_PORTS[scheme.lower()]}").removesuffix(":")
    escaped_path = quote(_resolve_dots(path.replace("\\", "/")), safe=_SAFE_IN_PATH)
    return f"{scheme.lower()}://{user}{at}{host}{escaped_path}{question}{quote(query, safe=_SAFE_IN_QUERY)}"


_LONGEST_CACHED = 500
_DEFAULT_PORTS = {"http": 80, "https": 443}
_CONTROLS = "".join(map(chr, range(0x21)))
_REMOVED_FROM_URLS = dict.fromkeys(map(ord, "\t\r\n"))
_SAFE_IN_PATH = "%/!$&'()*+,;=:@[]^|~\\"
_SAFE_IN_QUERY = "%/?!$&()*+,;=:@[]^|~`{}\\"


def _normalise_host(host: str) -> str:
    if host.isascii():
        return host.lower()
    try:
        return host.encode("idna").decode("ascii").lower()
    except UnicodeError:
        return host.lower()


def _resolve_dots(path: str) -> str:
    """A path without `.` and `..`. It is never empty."""
    kept: list[str] = []
    segments = path.split("/")[1:]
    for index, segment in enumerate(segments):
        plain = segment.lower().replace("%2e", ".")
        if plain == "..":
            del kept[-1:]
        elif plain != ".":
            kept.append(segment)
        if plain in (".", "..") and index == len(segments) - 1:
            kept.append("")
    return "/" + "/".join(kept)


def cached_path(url: str, download_dir: str) -> str:
    """The path below the download directory for the text of a URL. Its extension becomes `.txt`."""
    is_short = len(url) <= _LONGEST_CACHED
    return _cached_path(url, download_dir) if is_short else _cached_path.__wrapped__(url, download_dir)


@lru_cache(maxsize=1024)
def _cached_path(url: str, download_dir: str) -> str:
    parts = urlsplit(canonical_url(url))
    segments = [segment for segment in parts.path.split("/") if segment not in ("", ".", "..")]
    path = "/".join([download_dir, parts.hostname or "", *segments])
    folder, _, name = path.rpartition("/")
    stem = name.rpartition(".")[0] or name
    return f"{folder}/{stem}.txt"


def stored_path(path: str, download_dir: str) -> str:
    """The file with the text of a path or URL. Two spellings with the same file name the same document."""
    if "://" not in path:
        return posixpath.normpath(path)
    try:
        return cached_path(normalise_url(path), download_dir)
    except ValueError:
        return path  # not a valid URL, so there is no file


def requirements_dir(target: Target, download_dir: str, requirements_root: str) -> str:
    """The directory for the requirements extracted from a specification."""
    local = cached_path(target.path, download_dir) if target.is_url else target.path
    if target.is_url:
        local = local.removeprefix(download_dir).lstrip("/")
    elif local.startswith(requirements_root.rstrip("/") + "/"):
        local = local.removeprefix(requirements_root).lstrip("/")
    parts = [part for part in local.split("/") if part not in ("", ".", "..")]
    if parts:
        stem = parts[-1].rpartition(".")[0]
        parts[-1] = stem or parts[-1]
    return "/".join([requirements_root.rstrip("/"), *parts])
