"""Recognise files that nobody of the project writes: lock files, minified, generated and vendored code.

They repeat what other files say, or say it in a form that nobody reads, and they are often larger than the rest of the
project. A file is recognised by its name or by the comment at its start, never by its folder alone, except for folders
that only ever contain the code of others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Literal

GeneratedReason = Literal["generated", "lock_file", "minified", "vendored"]

_LOCK_FILES: Final = frozenset(
    {
        ".terraform.lock.hcl", "cabal.project.freeze", "go.sum", "go.work.sum", "gradle.lockfile", "npm-shrinkwrap.json",
        "package-lock.json", "package.resolved", "packages.lock.json", "pnpm-lock.yaml",
    }
)  # fmt: skip
_GENERATED_ENDINGS: Final = (
    ".tsbuildinfo", ".pb.go", ".pb.cc", ".pb.h", "_pb2.py", "_pb2.pyi", "_pb2_grpc.py", "_pb.js", "_pb.d.ts", ".g.dart",
    ".designer.cs",
)  # fmt: skip
_MINIFIED_NAME: Final = re.compile(
    r"[.-]min\.(?:[cm]?js|css)\Z|\.(?:bundle|chunk)\.(?:[cm]?js|css)\Z|\.(?:[cm]?js|css)\.map\Z"
)
_MINIFIED_ENDINGS: Final = (".js", ".mjs", ".cjs", ".css")
_PROSE_ENDINGS: Final = (".md", ".markdown", ".mdx", ".rst", ".txt", ".adoc", ".asciidoc", ".org")
_MINIFIED_SIZE: Final = 2_000
_MINIFIED_LINE: Final = 250
"""Mean length of a line. Code written by people is far below, minified code far above."""

_VENDORED_FOLDERS: Final = frozenset(
    {
        "3rd-party", "3rd_party", "3rdparty", "_vendor", "carthage", "pods", "third-party", "third_party", "thirdparty",
        "vendored",
    }
)  # fmt: skip
_ASSET_FOLDERS: Final = frozenset(
    {"assets", "css", "js", "lib", "libs", "media", "public", "scripts", "static", "www"}
)  # fmt: skip
_VENDOR_MARKERS: Final = frozenset(
    {"autoload.php", "bundle", "cache", "composer", "gems", "github.com", "golang.org", "modules.txt"}
)
"""Entries of a `vendor` folder that a package manager creates."""

_HEADER_CHARACTERS: Final = 4_000
_HEADER_LINES: Final = 60
_COMMENT: Final = re.compile(
    r"[ \t]*(?://+!?|#+!?|--+|;+|%+|'|/\*+!?|\*+|<!--+|\(\*+|\{-|\"\"\"|'''|rem\b|@rem\b|<\?\w*|<!doctype\b)",
    re.IGNORECASE,
)
_BLOCKS: Final = (("/*", "*/"), ("<!--", "-->"), ("(*", "*)"), ("{-", "-}"), ('"""', '"""'), ("'''", "'''"))
_BY_A_TOOL: Final = re.compile(
    r"(?:(?:note|warning|attention|caution)[:!]? )?(?:this (?:file|code|class|module|source) (?:is|was|has been) )?"
    r"(?:code|auto(?:matically)?)[- ]?generated (?:by|from|with|using)\b"
)
_GENERATED_FILE: Final = re.compile(r"\bthis (?:file|code|class|module|source) (?:is|was|has been) generated\b")
_NOT_EDITED: Final = ("do not edit", "do not modify", "don't edit", "don't modify", "do not change", "not be edited")
_MARK: Final = re.compile(r"(?<![\w`'\"])(?:@generated\b|<auto-?generated\b)(?![`'\"])")


def reason_by_name(name: str) -> GeneratedReason | None:
    """Why the name of a file shows that nobody wrote it; None if it does not."""
    name = name.lower()
    if name in _LOCK_FILES or (name.endswith((".lock", ".lockb")) and not name.startswith(".")):
        return "lock_file"
    if _MINIFIED_NAME.search(name):
        return "minified"
    return "generated" if name.endswith(_GENERATED_ENDINGS) else None


def reason_by_content(path: str, text: str) -> GeneratedReason | None:
    """Why the content of a file shows that nobody wrote it; None if it does not. Prose is never left out."""
    lowered = path.lower()
    if lowered.endswith(_PROSE_ENDINGS):
        return None
    is_long = lowered.endswith(_MINIFIED_ENDINGS) and len(text) >= _MINIFIED_SIZE
    if is_long and len(text) / (text.count("\n") + 1) > _MINIFIED_LINE:
        return "minified"
    return "generated" if _says_generated(list(_header_lines(text))) else None


def is_vendored_folder(path: str, entries: Iterable[str]) -> bool:
    """Whether a folder contains code of others; `entries` are the names in it. The path has no slash at its end."""
    *parents, name = path.lower().split("/")
    if name in _VENDORED_FOLDERS:
        return True
    if name != "vendor":
        return False
    # Elsewhere, `vendor` may be a part of the project that is about vendors.
    return not parents or parents[-1] in _ASSET_FOLDERS or not _VENDOR_MARKERS.isdisjoint(entries)


def _header_lines(text: str) -> Iterator[str]:
    """The text of the comments at the start of a file, line by line, in lower case."""
    closing = ""
    for line in text[:_HEADER_CHARACTERS].lower().split("\n", _HEADER_LINES)[:_HEADER_LINES]:
        bare = line.strip()
        if closing:
            yield bare.lstrip("*# ")
            closing = "" if closing in bare else closing
        elif found := _COMMENT.match(line):
            rest = line[found.end() :].strip()
            yield rest
            opening = next((pair for pair in _BLOCKS if bare.startswith(pair[0])), None)
            closing = opening[1] if opening is not None and opening[1] not in rest else ""
        elif bare:
            return


def _says_generated(header: Sequence[str]) -> bool:
    """Whether a tool wrote the file. One that a tool once started, and that people edit, does not say so in these words."""
    if any(_BY_A_TOOL.match(line) or _MARK.search(line) for line in header):
        return True
    forbidden = [any(words in line for words in _NOT_EDITED) for line in header]
    if any(is_forbidden and "generated" in line for is_forbidden, line in zip(forbidden, header, strict=True)):
        return True
    return any(forbidden) and any(_GENERATED_FILE.search(line) for line in header)
